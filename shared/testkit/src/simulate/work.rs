//! Tasks under way, and those who wait for them: invocations of the replicator, runs of a segment.

use keyfold_core::retrofit::segment::PageNumber;
use keyfold_core::retrofit::{Batch, Checkpoint, Request, Slice, Task};
use keyfold_core::value::Item;

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub enum Owner {
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
pub struct Work {
    /// The task.
    pub task: Task,
    /// Whose it is.
    pub kind: Kind,
    /// Who waits.
    pub owner: Owner,
    /// The number of its job.
    pub epoch: usize,
    /// What it wants sent.
    pub request: Request,
    /// How often it was blocked.
    pub blocked: usize,
}

/// A batch at work.
pub struct Invocation {
    /// Its number.
    pub id: u64,
    /// Its shard; `None` if its result moves no checkpoint.
    pub shard: Option<usize>,
    /// The batch.
    pub batch: Batch,
    /// The records' places in the stream.
    pub records: Vec<usize>,
    /// Tasks under way.
    pub open: usize,
    /// Tasks that wait for others to move.
    pub blocked: Vec<(usize, Task, usize)>,
    /// The number of its job.
    pub epoch: usize,
}

/// A segment at work.
pub struct Run {
    /// Its number.
    pub id: u64,
    /// The slice.
    pub slice: Slice,
    /// The last checkpoint that was given back.
    pub returned: Checkpoint,
    /// Tasks under way.
    pub open: usize,
    /// Tasks that wait for others to move.
    pub blocked: Vec<(PageNumber, Task, usize)>,
    /// The number of its job.
    pub epoch: usize,
}

/// A request whose sender has gone.
pub struct Late {
    /// What will be carried out.
    pub request: Request,
    /// Whose it was.
    pub kind: Kind,
}

/// Does a request write?
pub fn writes(request: &Request) -> bool {
    !matches!(request, Request::Get { .. })
}

/// What a request is, in a line of the trace.
pub fn line(request: &Request) -> String {
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
