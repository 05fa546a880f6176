//! Tasks under way, and those who wait for them: invocations of the replicator, runs of a segment.

use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::{Batch, Checkpoint, Request, Slice, Task};
use keyfold_core::value::Item;

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
}

/// Who waits for it.
#[derive(Debug, Clone)]
pub(super) enum Owner {
    /// An invocation, for its record at this place.
    Invocation(u64, usize),
    /// A run, for an item of a page.
    Run(u64, PageNumber),
    /// Nobody; if it dies, this record's note is made again.
    Note(usize),
    /// Nobody.
    Nobody,
}

/// A task that has a request to send.
pub(super) struct Work {
    /// The task.
    pub(super) task: Task,
    /// Whose it is.
    pub(super) kind: Kind,
    /// Who waits.
    pub(super) owner: Owner,
    /// The number of its job.
    pub(super) epoch: usize,
    /// What it wants sent.
    pub(super) request: Request,
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
    pub(super) blocked: Vec<(usize, Task, usize)>,
    /// The number of its job.
    pub(super) epoch: usize,
}

/// A segment at work.
pub(super) struct Run {
    /// Its number.
    pub(super) id: u64,
    /// The slice.
    pub(super) slice: Slice,
    /// The last checkpoint that was given back.
    pub(super) returned: Checkpoint,
    /// Tasks under way.
    pub(super) open: usize,
    /// Tasks that wait for others to move.
    pub(super) blocked: Vec<(PageNumber, Task, usize)>,
    /// The number of its job.
    pub(super) epoch: usize,
}

/// A request whose sender has gone.
pub(super) struct Late {
    /// What will be carried out.
    pub(super) request: Request,
    /// Whose it was.
    pub(super) kind: Kind,
}

/// Does a request write?
pub(super) fn writes(request: &Request) -> bool {
    !matches!(request, Request::Get { .. })
}

/// What a request is, in a line of the trace.
pub(super) fn line(request: &Request) -> String {
    let short = |item: &Item| {
        let mut parts: Vec<String> = item
            .iter()
            .map(|(name, value)| {
                let text = format!("{value:?}");
                let text: String = text.chars().take(90).collect();
                format!("{name}={text}")
            })
            .collect();
        parts.sort();
        parts.join(" ")
    };
    let write = |write: &keyfold_core::retrofit::Write| {
        use keyfold_core::retrofit::Action;
        let action = match &write.action {
            Action::Put(item) => format!("put {{{}}}", short(item)),
            Action::Delete(key) => format!("delete {{{}}}", short(key)),
            Action::Update { key, set, remove } => {
                let mut set = set.clone();
                set.sort_by(|a, b| a.0.cmp(&b.0));
                format!("update {{{}}} set {set:?} remove {remove:?}", short(key))
            }
        };
        format!("{:?} {action}", write.place)
    };
    match request {
        Request::Get { place, key } => format!("get {place:?} {{{}}}", short(key)),
        Request::Write(one) => write(one),
        Request::Transact(all) => all.iter().map(write).collect::<Vec<_>>().join(" + "),
    }
}
