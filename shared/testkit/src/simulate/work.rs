//! Tasks under way, and those who wait for them: invocations of the replicator, runs of a segment.

use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::{Action, Batch, Checkpoint, ItemTask, Request, Response, Slice, Write};
use keyfold_core::value::{AttributeValue, Item, Name};

/// Which job: of this epoch, of the retrofit's mapping or another version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) epoch: usize,
    pub(super) other: bool,
}

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskOrigin {
    /// The replicator's.
    Record,
    /// The backfill's.
    Scan,
    /// A repair.
    Repair,
    /// A note that a record was given up.
    Discard,
    /// A record replayed by a weakened protocol.
    Replay,
    /// A comparison.
    Verify,
}

/// Who waits for it.
#[derive(Debug, Clone)]
pub(super) enum Waiter {
    /// An invocation, for its record at this place.
    Invocation(u64, usize),
    /// A run, for an item of a page.
    SegmentRun(u64, PageNumber),
    /// No one; if it dies, this record's note is made again.
    Note(usize),
    /// No one.
    Nobody,
}

/// A task, and on whose behalf it runs.
pub(super) struct PendingTask {
    /// The task.
    pub(super) task: ItemTask,
    /// Whose it is.
    pub(super) kind: TaskOrigin,
    /// Who waits.
    pub(super) owner: Waiter,
    /// Its job.
    pub(super) version: Version,
    /// How often it was blocked.
    pub(super) blocked: usize,
}

/// A task that has a request to send.
pub(super) struct PendingRequest {
    /// The task.
    pub(super) pending: PendingTask,
    /// Its request.
    pub(super) request: Request,
    /// How often the request was throttled.
    pub(super) attempts: usize,
}

/// A task that waits for others to move.
pub(super) struct BlockedTask<P> {
    /// Its place.
    pub(super) at: P,
    /// The task.
    pub(super) task: ItemTask,
    /// How often it was blocked.
    pub(super) blocked: usize,
}

/// A batch at work.
pub(super) struct Invocation {
    /// Its number.
    pub(super) id: u64,
    /// Its shard; `None` if its result moves no checkpoint.
    pub(super) shard: Option<usize>,
    /// The batch.
    pub(super) batch: Batch,
    /// The records' places in the stream.
    pub(super) records: Vec<usize>,
    /// Tasks under way.
    pub(super) open: usize,
    /// Tasks that wait for others to move.
    pub(super) blocked: Vec<BlockedTask<usize>>,
    /// Its job.
    pub(super) version: Version,
    /// The version of the retrofit's row, if it is remembered and was not looked at.
    pub(super) remembered: Option<u64>,
    /// Was a record dealt with, and nothing written for it?
    pub(super) drops: bool,
}

/// A segment at work.
pub(super) struct SegmentRun {
    /// The slice.
    pub(super) slice: Slice,
    /// The last checkpoint that was given back.
    pub(super) returned: Checkpoint,
    /// The page that is being read.
    pub(super) reading: Option<PageRead>,
    /// Tasks under way.
    pub(super) open: usize,
    /// Tasks that wait for others to move.
    pub(super) blocked: Vec<BlockedTask<PageNumber>>,
    /// Its job.
    pub(super) version: Version,
}

/// A page of a scan, read item by item: between two of them, anything may be written.
pub(super) struct PageRead {
    /// The items read so far.
    pub(super) items: Vec<Item>,
    /// The number of the next item.
    pub(super) at: usize,
    /// The most items.
    pub(super) limit: usize,
}

/// A request that timed out.
pub(super) struct LateRequest {
    /// What will be carried out.
    pub(super) request: Request,
    /// Whose it was.
    pub(super) kind: TaskOrigin,
}

/// Does a request write?
pub(super) fn writes(request: &Request) -> bool {
    !matches!(request, Request::Get { .. })
}

/// A request, in a line of the trace.
pub(super) fn line(request: &Request) -> String {
    match request {
        Request::Get { role, key } => format!("get {role:?} {{{}}}", short(key)),
        Request::Write(one) => line_of(one),
        Request::Transact(all) => all.iter().map(line_of).collect::<Vec<_>>().join(" + "),
    }
}

fn line_of(write: &Write) -> String {
    let action = match &write.action {
        Action::Put(item) => format!("put {{{}}}", short(item)),
        Action::Delete(key) => format!("delete {{{}}}", short(key)),
        Action::Update { key, set, remove } => {
            let mut set = set.clone();
            set.sort_by(|a, b| a.0.cmp(&b.0));
            format!("update {{{}}} set {set:?} remove {remove:?}", short(key))
        }
    };
    format!("{:?} {action}", write.role)
}

/// An item in a line of the trace, its attributes in their order.
pub(super) fn short(item: &Item) -> String {
    let part = |(name, value): (&Name, &AttributeValue)| {
        let text: String = format!("{value:?}").chars().take(90).collect();
        format!("{name}={text}")
    };
    let mut parts: Vec<String> = item.iter().map(part).collect();
    parts.sort();
    parts.join(" ")
}

/// The outcome of a request, in a line of the trace.
pub(super) fn outcome_name(outcome: &Response) -> String {
    match outcome {
        Response::Item(_) => "got".to_owned(),
        Response::Written => "written".to_owned(),
        Response::Refused(_) => "refused".to_owned(),
        Response::Cancelled(held) => format!("cancelled {held:?}"),
        Response::Rejected(code) => format!("rejected {code}"),
        Response::Outdated => "not sent".to_owned(),
    }
}
