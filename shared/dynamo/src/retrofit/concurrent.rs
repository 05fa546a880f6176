//! Many tasks at once: their reads and those of their writes that can be statements go together.

use std::collections::VecDeque;
use std::pin::pin;

use futures_util::stream::{self, Stream, StreamExt};
use keyfold_core::retrofit::{ItemSeen, ItemTask, Request, Response, TableRole, TaskResult, TaskStep, Write};
use keyfold_core::value::Item;

use super::RequestSender;
use crate::backoff::{BACKOFF_ATTEMPTS_MAX, pause};
use crate::error::DynamoError;
use crate::guarded::{STATEMENTS_MAX, Statement, StatementResult, execute, statement};
use crate::read::BATCH_GET_KEYS_MAX;

/// Tasks that are started before anything is sent: one batch of statements. The server works while the rest is decided.
const STARTED_FIRST: usize = STATEMENTS_MAX;
/// Tasks that are started together after that: as many as one read takes.
const STARTED_TOGETHER: usize = BATCH_GET_KEYS_MAX;

/// A task that waits for what came of its request. With its place among the tasks.
pub(super) struct Waiting {
    pub(super) at: usize,
    pub(super) task: Box<ItemTask>,
    pub(super) request: Request,
}

/// How a write to this table becomes a statement, if it can be one.
type Form = fn(&str, &Write) -> Option<Statement>;

/// The write with all of its guard.
fn guarded_statement(table: &str, write: &Write) -> Option<Statement> {
    statement(table, &write.action, &write.guard)
}

impl Waiting {
    /// Its request as a statement, if it can be one.
    pub(super) fn statement(&self, sender: &RequestSender, form: Form) -> Option<Statement> {
        match &self.request {
            Request::Write(write) => form(&sender.table(write.role).name, write),
            Request::Get { .. } | Request::Transact(_) => None,
        }
    }

    /// The task's progress after this outcome of its request.
    pub(super) fn respond(self, sender: &RequestSender, outcome: Response) -> After {
        let Waiting { at, mut task, .. } = self;
        let step = task.respond(sender.job(), outcome);
        After::of(at, task, step)
    }
}

/// Requests that go together, or tasks that need none.
enum Group {
    Done(Vec<After>),
    Alone(Box<Waiting>),
    Reads(TableRole, Vec<(Waiting, Item)>),
    Statements(TableRole, Vec<(Waiting, Statement)>),
}

/// How a task ended; a blocked one is given back to be tried again or parked.
pub(super) type End = (Result<TaskResult, DynamoError>, Box<ItemTask>);

/// Carries all tasks out, and says how each ended, in their order. Tasks are of different items. They are taken from the
/// iterator little by little: what it costs to make them is spent while the server is at work.
pub(super) async fn carry_all(
    sender: &RequestSender,
    tasks: impl ExactSizeIterator<Item = ItemTask>,
    in_flight_max: usize,
) -> Vec<End> {
    let mut ends = Vec::new();
    ends.resize_with(tasks.len(), || None);
    let parts = stream::unfold((tasks.enumerate(), STARTED_FIRST), |(mut tasks, count)| async move {
        // Requests that were sent before are repeated now.
        tokio::task::yield_now().await;
        let part: Vec<_> = tasks.by_ref().take(count).collect();
        (!part.is_empty()).then_some((part, (tasks, STARTED_TOGETHER)))
    });
    let groups = parts.map(|part| stream::iter(started(sender, part))).flatten();
    let mut ready = all_responses(sender, groups, in_flight_max, &mut ends).await;
    // In rounds: what a task wants after a batch goes together with what others want then.
    while !ready.is_empty() {
        let groups = stream::iter(grouped(sender, ready));
        ready = all_responses(sender, groups, in_flight_max, &mut ends).await;
    }
    ends.into_iter().flatten().collect()
}

/// Sends the groups, up to `in_flight_max` at once. Notes ended tasks, and returns the next requests.
async fn all_responses(
    sender: &RequestSender,
    groups: impl Stream<Item = Group>,
    in_flight_max: usize,
    ends: &mut [Option<End>],
) -> VecDeque<Waiting> {
    let mut ready = VecDeque::new();
    let running = groups.map(|group| run(sender, group)).buffer_unordered(in_flight_max.max(1));
    let mut running = pin!(running);
    while let Some(responses) = running.next().await {
        for after in responses {
            match after {
                After::Ended(at, end, task) => ends[at] = Some((end, task)),
                After::Wants(waiting) => ready.push_back(waiting),
            }
        }
    }
    ready
}

/// Asks tasks what they want first.
fn started(sender: &RequestSender, tasks: Vec<(usize, ItemTask)>) -> Vec<Group> {
    let (mut done, mut ready) = (Vec::new(), VecDeque::new());
    for (at, task) in tasks {
        let mut task = Box::new(task);
        let step = task.start(sender.job());
        match After::of(at, task, step) {
            After::Wants(waiting) => ready.push_back(waiting),
            ended @ After::Ended(..) => done.push(ended),
        }
    }
    let mut groups = grouped(sender, ready);
    groups.push(Group::Done(done));
    groups
}

/// The requests, together where they can be.
fn grouped(sender: &RequestSender, ready: VecDeque<Waiting>) -> Vec<Group> {
    let (mut groups, mut reads, mut statements) = (Vec::new(), Vec::new(), Vec::new());
    for waiting in ready {
        match &waiting.request {
            Request::Get { role, key } => {
                let (role, key) = (*role, key.clone());
                reads.push((role, waiting, key));
            }
            Request::Write(write) => match waiting.statement(sender, guarded_statement) {
                Some(statement) => statements.push((write.role, waiting, statement)),
                None => groups.push(Group::Alone(Box::new(waiting))),
            },
            Request::Transact(_) => groups.push(Group::Alone(Box::new(waiting))),
        }
    }
    for (role, batch) in batches(reads, BATCH_GET_KEYS_MAX) {
        groups.push(Group::Reads(role, batch));
    }
    for (role, batch) in batches(statements, STATEMENTS_MAX) {
        groups.push(Group::Statements(role, batch));
    }
    groups
}

type BatchOf<T> = (TableRole, Vec<(Waiting, T)>);

fn batches<T>(given: Vec<(TableRole, Waiting, T)>, most: usize) -> Vec<BatchOf<T>> {
    let mut batches: Vec<BatchOf<T>> = Vec::new();
    for (role, waiting, what) in given {
        match batches.last_mut() {
            Some((of, batch)) if *of == role && batch.len() < most => batch.push((waiting, what)),
            _ => batches.push((role, vec![(waiting, what)])),
        }
    }
    batches
}

/// The progress of a task after its start or its request.
pub(super) enum After {
    Ended(usize, Result<TaskResult, DynamoError>, Box<ItemTask>),
    Wants(Waiting),
}

impl After {
    /// The progress for the task's next step.
    pub(super) fn of(at: usize, task: Box<ItemTask>, step: TaskStep) -> After {
        match step {
            TaskStep::Done(verdict) => After::Ended(at, Ok(verdict), task),
            TaskStep::Send(request) => After::Wants(Waiting { at, task, request }),
        }
    }
}

/// Sends a group. A request that goes alone takes its task to the end.
async fn run(sender: &RequestSender, group: Group) -> Vec<After> {
    let responses = match group {
        Group::Done(after) => return after,
        Group::Alone(waiting) => vec![(*waiting, None)],
        Group::Reads(role, batch) => read_all(sender, role, batch).await,
        Group::Statements(role, batch) => execute_all(sender, role, guarded_statement, batch).await,
    };
    let mut after = Vec::with_capacity(responses.len());
    for (waiting, outcome) in responses {
        after.push(match outcome {
            Some(outcome) => waiting.respond(sender, outcome),
            None => {
                let Waiting { at, mut task, request } = waiting;
                let end = sender.resume(&mut task, TaskStep::Send(request)).await;
                After::Ended(at, end, task)
            }
        });
    }
    after
}

/// The outcome of each request; `None` where it must be sent by itself.
pub(super) type Responses = Vec<(Waiting, Option<Response>)>;

async fn read_all(sender: &RequestSender, role: TableRole, batch: Vec<(Waiting, Item)>) -> Responses {
    let (waiting, keys): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    // After an error each is read by itself, so that its own error is known.
    match sender.look_up(role, keys).await {
        Ok(items) => {
            waiting.into_iter().zip(items.into_iter().map(|item| Some(Response::Item(item)))).collect()
        }
        Err(_) => waiting.into_iter().map(|waiting| (waiting, None)).collect(),
    }
}

/// Sends the statements until each is carried out or refused, or the attempts are used up. The rest is sent one by one,
/// so that its own error is known: all of it is conditional.
pub(super) async fn execute_all(
    sender: &RequestSender,
    role: TableRole,
    form: Form,
    batch: Vec<(Waiting, Statement)>,
) -> Responses {
    let mut responses: Responses = Vec::with_capacity(batch.len());
    let (mut left, mut statements): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    for attempt in 0..BACKOFF_ATTEMPTS_MAX {
        let Some(answers) = execute_once(sender, role, statements).await else { break };
        let mut again = Vec::new();
        for (waiting, answer) in left.into_iter().zip(answers) {
            match answer {
                Answered::Response(outcome) => responses.push((waiting, Some(outcome))),
                Answered::Again => again.push(waiting),
                Answered::Alone => responses.push((waiting, None)),
            }
        }
        left = again;
        if left.is_empty() {
            return responses;
        }
        pause(attempt).await;
        statements = left.iter().filter_map(|waiting| waiting.statement(sender, form)).collect();
    }
    responses.extend(left.into_iter().map(|waiting| (waiting, None)));
    responses
}

/// The outcome of a statement.
enum Answered {
    Response(Response),
    /// It can pass if it is sent again.
    Again,
    /// Its error says too little.
    Alone,
}

/// Sends the statements once; `None` if that cannot pass.
async fn execute_once(
    sender: &RequestSender,
    role: TableRole,
    statements: Vec<Statement>,
) -> Option<Vec<Answered>> {
    // Each is then sent by itself, and learns why.
    if role != TableRole::Control && sender.is_outdated().await.unwrap_or(true) {
        return None;
    }
    let (table, count) = (&sender.table(role).name, statements.len());
    match execute(sender.client(), table, statements).await {
        Ok((results, consumed)) => {
            sender.wrote(table, &consumed);
            Some(results.into_iter().map(|result| answered(sender, &result)).collect())
        }
        Err(error) => {
            sender.failed(&error);
            error.is_retryable().then(|| (0..count).map(|_| Answered::Again).collect())
        }
    }
}

fn answered(sender: &RequestSender, result: &StatementResult) -> Answered {
    match result {
        StatementResult::Written => Answered::Response(Response::Written),
        StatementResult::Refused => Answered::Response(Response::Refused(ItemSeen::Unknown)),
        StatementResult::Failed(error) => match **error {
            DynamoError::Throttled { .. }
            | DynamoError::Conflict { .. }
            | DynamoError::Unavailable { .. } => {
                sender.failed(error);
                Answered::Again
            }
            _ => Answered::Alone,
        },
    }
}
