//! The retrofit's decisions: what is written for a changed or a scanned item, and on what condition.
//!
//! Nothing here calls DynamoDB. A [`Job`] makes [`ItemTask`]s; a task says what it wants sent next and gets the response,
//! until it is done. What sends the requests (`keyfold-dynamo`, the simulator) decides nothing: that
//! is what lets the same code run through hundreds of thousands of simulated histories.
//!
//! - [`mapping`] turns a source item into the target's, and says which [`Protocol`] keeps it right;
//! - [`diff`] counts what it changes on items; [`there_and_back`] tries the way back on them;
//! - [`record`] is a change from the stream, [`fence`] the order of changes of one item;
//! - [`request`] is what can be sent, and what can come of it;
//! - [`task`] brings one item up to date: `fenced`, `in_place` and `ledger` are the three protocols;
//! - [`batch`] is a stream batch, [`segment`] a part of a scan with its checkpoint;
//! - [`seal`] ends all writes of a generation at once; [`drain`] says whether a change was carried over;
//! - [`readiness`] says which indexes hold all their items;
//! - [`rate`] is how fast a worker may go, [`lease`] which one may;
//! - [`operate`] moves a retrofit from phase to phase: run, tidy, switch, finish;
//! - [`stop`] is the policy that keeps a table's writers out meanwhile;
//! - [`control`] are the rows of the control table: phase, segments, quarantine, ledger; [`finalise`] cleans up.
//!
//! Every write is conditional, and may be repeated, come late, or be lost after it was carried out: the conditions are
//! such that this does no harm. `docs/retrofit.md` says why.

pub mod attributes;
pub mod batch;
mod begin;
pub mod control;
pub mod diff;
pub mod drain;
pub mod estimate;
pub mod fence;
pub mod finalise;
pub mod gates;
mod generation;
pub mod job;
mod lag;
pub mod late;
pub mod lease;
pub mod mapping;
mod meaning;
pub mod misfit;
pub mod operate;
pub mod progress;
mod protocol;
mod protocol_choice;
pub mod quarantine;
pub mod rate;
pub mod readiness;
pub mod record;
pub mod request;
mod result;
pub mod reverse;
pub mod seal;
pub mod segment;
pub mod source_key;
mod step;
pub mod stop;
pub mod task;
pub mod there_and_back;
pub mod verify;

#[cfg(test)]
mod tests;

pub use batch::{Batch, Disposition};
pub use diff::{Diff, DiffLine};
pub use estimate::{IndexEstimate, RetrofitDollars, RetrofitEstimate, Survey};
pub use fence::{Epoch, Fence, SequenceNumber, SequenceNumberError};
pub use generation::Generation;
pub use job::{Job, Tracking};
pub use lag::Lag;
pub use lease::{Lease, WorkerRate};
pub use mapping::{Cause, ChangeOf, Mapping, MappingError, MappingHash, NoWayBack};
pub use misfit::{Misfit, MisfitKind, Misfits};
pub use protocol::LedgerRow;
pub use protocol_choice::{Protocol, ProtocolReason};
pub use quarantine::{QuarantineReason, Quarantined};
pub use rate::{RATE_MAX, Rate, ThrottledBy};
pub use record::{ChangeKind, ChangeRecord, Received, UnreadableRecord};
pub use request::{Action, Guard, ItemSeen, Request, Response, TableRole, Write};
pub use result::TaskResult;
pub use reverse::{Reverse, ReverseAnswer};
pub use segment::{Checkpoint, CheckpointError, Pass, SegmentId, SegmentRangeError, Slice};
pub use source_key::SourceKey;
pub use step::CompletedStep;
pub use task::{ItemTask, TaskStep};
pub use there_and_back::{NotCarriedBack, ThereAndBack};
