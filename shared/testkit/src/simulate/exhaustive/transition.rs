//! The possible next events in a small state.
//!
//! As long as nothing that can happen to one key touches the other key's rows, only that is walked: whatever happens to
//! the other key meanwhile would come to the same before or after. With a ledger, keys meet in the target; else nowhere.
//! So that this leaves no end out, a finished key says so.
//!
//! Irrelevant events are left out: a task is handed its records when it reads its first row, because it has touched
//! nothing before; and a task crashes only when it has just written something, because it could as well have crashed there,
//! or, if it has written nothing yet, not have started.

use super::compact_state::{CompactState, ScanState};
use super::open_task::Role;
use super::tables::VALUES;
use super::task_table::{Orders, TaskTable};

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    /// A writer gives this key this value.
    Write { key: usize, value: usize },
    /// A batch with this number of records of this key is delivered.
    Deliver { key: usize, count: usize },
    /// The next record of this key is given up.
    Discard { key: usize },
    /// This record of this key comes once more.
    Duplicate { key: usize, record: usize },
    /// The scan reads this key.
    Scan { key: usize },
    /// The request of this task is carried out.
    Advance { task: usize },
    /// This key is finished.
    Stop { key: usize },
    /// The task's process crashes before its request is carried out, or after.
    Crash { task: usize, after: bool },
}

impl CompactState {
    /// All that can happen next, but for what comes to the same later.
    pub(super) fn steps(&self, tasks: &mut TaskTable) -> Vec<Transition> {
        let mut all = Vec::new();
        for key in (0..2).filter(|key| !self.stopped[*key]) {
            let mut steps = Vec::new();
            self.steps_of(key, tasks, &mut steps);
            if tasks.walked == Orders::Distinct && !self.meets_other(key, tasks) {
                return steps;
            }
            all.append(&mut steps);
        }
        all
    }

    fn steps_of(&self, key: usize, tasks: &mut TaskTable, steps: &mut Vec<Transition>) {
        for (task, id) in self.open_tasks.iter().enumerate() {
            if tasks.open_task(*id).role.key() != key {
                continue;
            }
            steps.push(Transition::Advance { task });
            if self.left.crashes == 0 {
                continue;
            }
            let all = tasks.walked == Orders::All;
            if all {
                steps.push(Transition::Crash { task, after: false });
            }
            if all || tasks.effect(*id, &self.rows).writes() {
                steps.push(Transition::Crash { task, after: true });
            }
        }
        if self.is_still(key, tasks) {
            steps.push(Transition::Stop { key });
        }
        if self.left.changes > 0 {
            let others = (0..VALUES).filter(|value| *value != self.truth[key]);
            steps.extend(others.map(|value| Transition::Write { key, value }));
        }
        let left = self.records[key].len() - self.at[key];
        if left > 0 && !self.busy[key] {
            steps.extend((1..=left).map(|count| Transition::Deliver { key, count }));
            if self.left.discards > 0 {
                steps.push(Transition::Discard { key });
            }
        }
        if self.left.duplicates > 0 {
            steps.extend((0..self.at[key]).map(|record| Transition::Duplicate { key, record }));
        }
        if self.scans[key] == ScanState::Unread {
            steps.push(Transition::Scan { key });
        }
    }

    /// The state after this step.
    pub(super) fn after(&self, transition: Transition, tasks: &mut TaskTable) -> CompactState {
        let mut next = self.clone();
        match transition {
            Transition::Write { key, value } => next.write(key, value, tasks),
            Transition::Deliver { key, count } => {
                next.busy[key] = true;
                next.apply(Role::Record { key, count }, next.at[key] + count - 1, tasks);
            }
            Transition::Discard { key } => {
                next.left.discards -= 1;
                next.note(key, next.at[key], tasks);
                next.at[key] += 1;
            }
            Transition::Duplicate { key, record } => {
                next.left.duplicates -= 1;
                next.apply(Role::Duplicate { key }, record, tasks);
            }
            Transition::Scan { key } => next.scan(key, tasks),
            Transition::Stop { key } => next.stopped[key] = true,
            Transition::Advance { task } => next.advance(task, tasks),
            Transition::Crash { task, after } => {
                next.left.crashes -= 1;
                next.crash(task, after, tasks);
            }
        }
        next
    }
}
