//! The effects that an operation asks for, and their replies.
//!
//! Tables are named by their place in the retrofit: `Source` is the table it began with, `Target` the one it fills, whichever way items
//! are carried now. In place, both are the same table.

use std::sync::Arc;

use crate::retrofit::job::Job;
use crate::retrofit::record::ChangeRecord;
use crate::retrofit::request::{Response, TableRole, Write};
use crate::retrofit::result::TaskResult;
use crate::retrofit::segment::Pass;
use crate::retrofit::task::ItemTask;
use crate::value::Item;

/// One thing that a driver performs. The comment of each names its reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Items by their keys, strongly consistent, in the order of the keys: [`Reply::Items`]. Up to a thousand keys, possibly none; a
    /// key may come twice.
    // Strongly consistent: an older item would make a change count as arrived, or as still missing.
    Read {
        /// The table.
        table: TableRole,
        /// Their keys.
        keys: Vec<Item>,
    },
    /// One page, strongly consistent: [`Reply::Page`].
    // Strongly consistent: a lease or a quarantine entry that the page misses would leave a gate open.
    Page {
        /// A table's scan, or a partition of the control table.
        of: PageSource,
        /// The key that the page begins after.
        after: Option<Item>,
        /// The most items.
        limit: u32,
    },
    /// Writes that do not depend on each other; several at once are fine: [`Reply::Responses`], one for each.
    // The driver keeps no order. A write that needs an earlier one is in a later effect.
    Send(Vec<Write>),
    /// Carries item tasks of this job to their ends, different items at once; a blocked one is tried again, then parked:
    /// [`Reply::Results`], one for each. The job's own source and target count, not the retrofit's.
    // Parked, not waited for: one item that is in the way of another would keep all writers stopped until the limit.
    Carry {
        /// The job.
        job: Arc<Job>,
        /// The tasks, not yet started.
        tasks: Vec<ItemTask>,
    },
    /// The present state of a table: [`Reply::Table`].
    Describe(TableRole),
    /// A table's resource policy: [`Reply::Policy`].
    Policy(TableRole),
    /// Puts this policy in place of the one with this revision; without a text, deletes it: [`Reply::Changed`], false if another
    /// policy is there or DynamoDB takes no change yet.
    // With the revision: a statement that another program adds between the read and the change would be lost.
    SetPolicy {
        /// The table.
        table: TableRole,
        /// The document.
        text: Option<String>,
        /// The revision that was read; `None` if there was no policy.
        revision: Option<String>,
    },
    /// Several writes of this table at once, over different connections, whose condition never holds: [`Reply::Denied`], true if all
    /// were denied.
    // DynamoDB applies a policy on its servers at different times. One denied write says nothing about the server of the next one, and a
    // write that goes through must change nothing.
    Probe(TableRole),
    /// The tag that Keyfold keeps on a table for this retrofit, read, or written first: [`Reply::Tag`].
    // Kept outside the control table: restoring that to an earlier time does not restore the tag, so the difference shows.
    Tag {
        /// The table.
        table: TableRole,
        /// The text to write; `None` to read.
        write: Option<String>,
    },
    /// A page of a stream's shards: [`Reply::Shards`].
    Shards {
        /// The table.
        table: TableRole,
        /// The stream's ARN.
        stream: String,
        /// The shard that the page begins after.
        after: Option<String>,
    },
    /// One page of each of these shards, several at once: [`Reply::Records`], one for each.
    Records {
        /// The table.
        table: TableRole,
        /// The stream's ARN.
        stream: String,
        /// The shards, with what was read of them.
        from: Vec<ShardPosition>,
    },
    /// Goes on with this pass over all of its segments, for as long as the driver likes: [`Reply::Pass`]. By the job and the epoch of
    /// the row. Before a backfill or a repair the driver leaves a new mark (`progress::store_mark`).
    // The mark comes before the writes: after a crash in between, an earlier comparison would still count.
    Pass {
        /// The pass.
        pass: Pass,
        /// For a comparison: does it repair what differs?
        repair: bool,
    },
    /// Forgets how far the segments of this pass are, so that it restarts: [`Reply::Done`].
    ForgetSegments(Pass),
    /// Waits until this millisecond since 1970 by the clock whose times [`Operation::answer`](super::Operation::answer) gets, or until the
    /// operation is interrupted: [`Reply::Done`].
    Wait {
        /// The millisecond.
        until_ms: u64,
    },
}

/// The source of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageSource {
    /// The scan of a table.
    Scan(TableRole),
    /// A query of the control table.
    Partition(String),
}

/// Where to go on in a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardPosition {
    /// The shard.
    pub shard: String,
    /// [`ShardPage::last`] of the page before; `None` for the oldest record.
    pub after: Option<String>,
}

/// What came of an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The items that were read.
    Items(Vec<Option<Item>>),
    /// A page, and the key that the next one begins after.
    Page {
        /// Its items.
        items: Vec<Item>,
        /// `None` at the end.
        last: Option<Item>,
    },
    /// What came of writes.
    Responses(Vec<Response>),
    /// How tasks ended.
    Results(Vec<TaskResult>),
    /// The state of a table.
    Table(TableFacts),
    /// Its policy, if it has one.
    Policy(Option<TablePolicy>),
    /// Was the policy changed?
    Changed(bool),
    /// Was every write denied?
    Denied(bool),
    /// The tag as it is now.
    Tag(Option<String>),
    /// A page of shards, and the shard that the next page begins after.
    Shards {
        /// The shards.
        shards: Vec<Shard>,
        /// `None` at the end.
        last: Option<String>,
    },
    /// A page of each shard.
    // A failed shard must not discard the pages of the others.
    Records(Vec<Result<ShardPage, Failure>>),
    /// How far a pass is.
    Pass {
        /// Are all segments done?
        done: bool,
        /// Items by what became of them, over all segments.
        counts: std::collections::BTreeMap<String, u64>,
    },
    /// It is done.
    Done,
}

/// The present state of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// Its ARN.
    pub arn: String,
    /// The ARN of its stream, if it has one with both images.
    pub stream: Option<String>,
    /// Does it have replicas in other Regions?
    pub is_global: bool,
    /// Indexes that are not active.
    pub indexes_not_active: Vec<String>,
    /// Does its time to live delete items?
    pub expires: bool,
    /// How its keys differ from the manifest's; `None` if they do not.
    pub differences: Option<String>,
}

/// A table's resource policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePolicy {
    /// The document.
    pub text: String,
    /// Changes with each change of it.
    pub revision: String,
}

/// A shard of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Its name.
    pub name: String,
    /// The shard that it goes on from.
    pub parent: Option<String>,
}

/// A page of a shard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShardPage {
    /// Its records, in their order.
    pub changes: Vec<StreamedChange>,
    /// The last record's place, in the driver's own words; `None` if there was none.
    pub last: Option<String>,
    /// Does nothing come after it?
    pub ended: bool,
}

/// A change, and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedChange {
    /// The change.
    pub record: ChangeRecord,
    /// The second since 1970, by the stream.
    pub seconds: u64,
}

/// Why an effect has no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The prospects of another attempt.
    pub kind: FailureKind,
    /// The stable code, as in docs/errors.md.
    pub code: String,
    /// What happened.
    pub message: String,
    /// A hint for the reader.
    pub hint: Option<String>,
}

impl Failure {
    /// DynamoDB refused a row of the control table that nothing should keep out.
    pub(super) fn refused(what: &str, response: &Response) -> Failure {
        let code = if let Response::Rejected(code) = response { code } else { "condition" };
        Failure {
            kind: FailureKind::Other,
            code: "write-refused".to_owned(),
            message: format!("{what} could not be written to the control table (`{code}`)"),
            hint: None,
        }
    }
}

/// The prospects of another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Throttled, no answer, a conflict: it may pass.
    Passing,
    /// The caller may not do it.
    Denied,
    /// The table or the stream is not there.
    Gone,
    /// Anything else.
    Other,
}
