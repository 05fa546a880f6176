//! The next step of a protocol.

use crate::retrofit::fence::Fence;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::Request;
use crate::retrofit::result::TaskResult;

/// How often an item may change while a task works on it, before it is left for later.
pub(super) const ROUNDS_MAX: u32 = 8;

/// The next step of a protocol.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) enum Turn {
    Send(Request),
    Done(TaskResult),
    /// The item goes into quarantine, with the change that failed.
    Enter(QuarantineReason, Fence),
}
