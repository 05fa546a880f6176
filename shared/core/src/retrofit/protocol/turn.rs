//! The next step of a protocol.

use crate::retrofit::fence::Fence;
use crate::retrofit::quarantine::QuarantineReason;
use crate::retrofit::request::Request;
use crate::retrofit::result::TaskResult;

/// The next step of a protocol.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::retrofit) enum Turn {
    Send(Request),
    Done(TaskResult),
    /// The item goes into quarantine, with the change that failed.
    Enter(QuarantineReason, Fence),
}
