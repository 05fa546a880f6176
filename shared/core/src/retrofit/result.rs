//! How work on one item ended.

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskResult {
    /// Something was written.
    Written,
    /// Everything was as it should be.
    Unchanged,
    /// Something newer is there.
    Superseded,
    /// The retrofit does not take this item, and nothing of it is in the target.
    NotSelected,
    /// It cannot be written, and is entered in the quarantine under this code.
    Quarantined(String),
    /// Another source item has the target key. Try again when other items have moved; [`ItemTask::park`](super::task::ItemTask::park) ends it.
    Blocked,
    /// The item changed under our hands too often. Nothing is lost; try again later.
    Busy,
    /// The control table does not take the quarantine's entry: with DynamoDB's code. The item is not dealt with.
    Unrecorded(String),
}

impl TaskResult {
    /// Is the item dealt with, so that a checkpoint may pass it?
    pub fn is_done(&self) -> bool {
        !matches!(self, TaskResult::Blocked | TaskResult::Busy | TaskResult::Unrecorded(_))
    }

    /// Of a record of the closed table: was it another program's write?
    pub fn is_late(&self) -> bool {
        !matches!(self, TaskResult::Superseded | TaskResult::NotSelected)
    }

    /// Its name in counts and logs.
    pub fn name(&self) -> &'static str {
        match self {
            TaskResult::Written => "written",
            TaskResult::Unchanged => "unchanged",
            TaskResult::Superseded => "superseded",
            TaskResult::NotSelected => "not-selected",
            TaskResult::Quarantined(_) => "quarantined",
            TaskResult::Blocked => "blocked",
            TaskResult::Busy => "busy",
            TaskResult::Unrecorded(_) => "unrecorded",
        }
    }

    /// After a repair: is the target what it should be?
    pub(super) fn is_repaired(&self) -> bool {
        matches!(self, TaskResult::Written | TaskResult::Unchanged | TaskResult::NotSelected)
    }
}
