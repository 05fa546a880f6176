//! The trait of a command's parts, and the small ones: rows of a partition, the stored row, seals, passes.

use std::collections::BTreeMap;

use super::context::OperationContext;
use super::effect::{Effect, Failure, PageSource, Reply};
use crate::retrofit::control::{self, RetrofitState};
use crate::retrofit::generation::Generation;
use crate::retrofit::request::{Response, TableRole, Write};
use crate::retrofit::seal;
use crate::retrofit::segment::Pass;
use crate::value::Item;

/// Rows of one page.
const PAGE_ROWS: u32 = 1_000;
/// Seals that are sent at once.
const SEALS_AT_ONCE: usize = 256;

/// The next step of a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartStep<T> {
    Ask(Effect),
    Over(T),
}

/// A part of a command.
pub(super) trait Part {
    /// How it ends.
    type End;
    /// The next step; the same until it is answered.
    fn next(&self, context: &OperationContext) -> PartStep<Self::End>;
    /// Takes the reply.
    fn take(&mut self, context: &mut OperationContext, reply: Reply);
}

impl<T> PartStep<T> {
    /// The effect, if the part is not over.
    pub(super) fn effect(self) -> Option<Effect> {
        match self {
            PartStep::Ask(effect) => Some(effect),
            PartStep::Over(_) => None,
        }
    }

    /// The effect of a stage's part, as the stage's.
    pub(super) fn pending<E>(self) -> PartStep<E> {
        match self {
            PartStep::Ask(effect) => PartStep::Ask(effect),
            PartStep::Over(_) => unreachable!("a stage that asks for nothing is left at once"),
        }
    }
}

/// Takes the reply; the part's end if it is over by that.
pub(super) fn advance<P: Part>(part: &mut P, context: &mut OperationContext, reply: Reply) -> Option<P::End> {
    part.take(context, reply);
    match part.next(context) {
        PartStep::Over(end) => Some(end),
        PartStep::Ask(_) => None,
    }
}

/// The only row of a read.
pub(super) fn one_row(items: &[Option<Item>]) -> Option<&Item> {
    items.first().and_then(Option::as_ref)
}

/// All rows of some partitions of the control table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    partitions: Vec<String>,
    after: Option<Item>,
    read: Vec<Vec<Item>>,
    done: usize,
}

impl Rows {
    pub(super) fn of(partitions: Vec<String>) -> Rows {
        let read = vec![Vec::new(); partitions.len()];
        Rows { partitions, after: None, read, done: 0 }
    }
}

impl Part for Rows {
    type End = Vec<Vec<Item>>;

    fn next(&self, _context: &OperationContext) -> PartStep<Vec<Vec<Item>>> {
        match self.partitions.get(self.done) {
            None => PartStep::Over(self.read.clone()),
            Some(partition) => PartStep::Ask(Effect::Page {
                of: PageSource::Partition(partition.clone()),
                after: self.after.clone(),
                limit: PAGE_ROWS,
            }),
        }
    }

    fn take(&mut self, _context: &mut OperationContext, reply: Reply) {
        let Reply::Page { items, last } = reply else { unreachable!("{reply:?} is no page") };
        self.read[self.done].extend(items);
        // A page may be empty although more follow: only a missing key ends the partition.
        self.done += usize::from(last.is_none());
        self.after = last;
    }
}

/// How a store of the row ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    /// The row is as it was to become.
    Done,
    /// Another operator changed it: this is what it says; `None` if it is gone.
    Raced(Option<Box<RetrofitState>>),
}

/// A write of the row over its known version. Where the answer was lost, reading the row shows whether it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Store {
    before: Option<RetrofitState>,
    next: RetrofitState,
    state: StoreState,
}

#[derive(Debug, Clone, PartialEq)]
enum StoreState {
    Sending,
    Checking,
    Over(Stored),
}

impl Store {
    pub(super) fn of(context: &OperationContext, next: RetrofitState) -> Store {
        Store { before: context.head.clone(), next, state: StoreState::Sending }
    }
}

impl Part for Store {
    type End = Stored;

    fn next(&self, _context: &OperationContext) -> PartStep<Stored> {
        match &self.state {
            StoreState::Sending => PartStep::Ask(Effect::Send(vec![self.next.store(self.before.as_ref())])),
            StoreState::Checking => PartStep::Ask(Effect::Read {
                table: TableRole::Control,
                keys: vec![control::head_key(&self.next.retrofit)],
            }),
            StoreState::Over(stored) => PartStep::Over(stored.clone()),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match (&self.state, reply) {
            (StoreState::Sending, Reply::Responses(responses)) => match responses.first() {
                Some(Response::Written) => {
                    context.head = Some(self.next.clone());
                    self.state = StoreState::Over(Stored::Done);
                }
                // Not a race: read again, the row would be the former one, and the message would blame another operator.
                Some(response @ Response::Rejected(_)) => {
                    context.failure = Some(Failure::refused("the retrofit's row", response));
                }
                // It may be this very row, written by an attempt whose answer was lost.
                _ => self.state = StoreState::Checking,
            },
            (StoreState::Checking, Reply::Items(items)) => {
                let there = RetrofitState::read(&self.next.retrofit, one_row(&items)).ok();
                // The whole row: another operator may have stored a different one under the same version.
                let done = there.as_ref() == Some(&self.next);
                context.head = there.clone();
                self.state =
                    StoreState::Over(if done { Stored::Done } else { Stored::Raced(there.map(Box::new)) });
            }
            (_, reply) => unreachable!("{reply:?} does not answer a store"),
        }
    }
}

/// All seals of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seals {
    retrofit: String,
    generation: Generation,
    written: u16,
}

impl Seals {
    pub(super) fn of(head: &RetrofitState) -> Seals {
        let Some(generation) = head.generation else { unreachable!("no stop begins without one") };
        Seals { retrofit: head.retrofit.clone(), generation, written: 0 }
    }

    /// Those of the generation before the row's.
    pub(super) fn of_former(head: &RetrofitState) -> Seals {
        let seals = Seals::of(head);
        Seals { generation: seals.generation.former(), ..seals }
    }

    fn some(&self) -> Vec<Write> {
        seal::seals(&self.retrofit, self.generation, self.written).take(SEALS_AT_ONCE).collect()
    }
}

impl Part for Seals {
    type End = ();

    fn next(&self, _context: &OperationContext) -> PartStep<()> {
        if self.written >= seal::SEALS {
            return PartStep::Over(());
        }
        PartStep::Ask(Effect::Send(self.some()))
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        let Reply::Responses(responses) = reply else { unreachable!("{reply:?} does not answer seals") };
        // Any other answer means that it is not written.
        let written = |response: &&Response| matches!(response, Response::Written);
        // Up to the first failure: a seal that is left out lets late writes of its items through after the turn.
        self.written += responses.iter().take_while(written).count() as u16;
        if let Some(response) = responses.iter().find(|response| !written(response)) {
            context.failure = Some(Failure::refused("a seal", response));
        }
    }
}

/// Passes over all segments, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passes {
    passes: Vec<Pass>,
    repair: bool,
    done: usize,
    counts: BTreeMap<String, u64>,
}

impl Passes {
    pub(super) fn of(passes: &[Pass], repair: bool) -> Passes {
        Passes { passes: passes.to_vec(), repair, done: 0, counts: BTreeMap::new() }
    }

    pub(super) fn status(&self) -> String {
        self.passes.get(self.done).map_or("done".to_owned(), |pass| format!("pass `{}`", pass.name()))
    }
}

impl Part for Passes {
    type End = BTreeMap<String, u64>;

    fn next(&self, _context: &OperationContext) -> PartStep<BTreeMap<String, u64>> {
        match self.passes.get(self.done) {
            Some(pass) => PartStep::Ask(Effect::Pass { pass: *pass, repair: self.repair }),
            None => PartStep::Over(self.counts.clone()),
        }
    }

    fn take(&mut self, _context: &mut OperationContext, reply: Reply) {
        let Reply::Pass { done, counts } = reply else { unreachable!("{reply:?} does not answer a pass") };
        if done {
            // Each reply counts all segments from the beginning: added before the last one, items would be counted several times.
            counts.into_iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
            self.done += 1;
        }
    }
}
