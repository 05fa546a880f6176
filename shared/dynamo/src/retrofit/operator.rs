//! Performs what an operation of `keyfold_core::retrofit::operate` asks for. Nothing is decided here: an effect is one function, and
//! whether a failure is tried again is the operation's matter. The command line and the Lambda function `operator` drive operations
//! with it.

mod shards;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{IndexStatus, TableDescription};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyfold_core::model::Table;
use keyfold_core::retrofit::operate::{
    Command, Effect, Failure, Limits, Operation, OperationStatus, Outcome, PageSource, Reply, Step,
    TableFacts, TablePolicy,
};
use keyfold_core::retrofit::{
    Epoch, ItemTask, Job, Mapping, Pass, Request, Response, TableRole, TaskResult, Write,
};
use keyfold_core::value::Item;

use self::shards::Shards;
use super::backfill::unblock;
use super::clock::now_ms;
use super::pass::{PassEnd, PassOptions, PassWatch};
use super::preflight::stream_with_images;
use super::{IN_FLIGHT_DEFAULT, RequestSender, RetrofitError, rate};
use crate::policy::{change_policy, policy};
use crate::table::{TableDiff, TableOptions, description, set_tag, tag};
use crate::{DynamoError, Endpoint, PageRequest, ScanPage, Settings, client, scan_page};

/// How often one effect is sent by itself before its failure is reported: what passes within a second needs no decision.
const ATTEMPTS_MAX: u32 = 4;
/// The longest sleep before it is looked whether a wait was interrupted.
const WAIT_LOOK: Duration = Duration::from_millis(200);

/// How long an operation's steps wait at this endpoint: that follows from what can still be in flight there.
pub fn limits(endpoint: &Endpoint) -> Limits {
    if endpoint.is_loopback() { Limits::LOCAL } else { Limits::AWS }
}

/// Carries out the effects of operations on one retrofit.
#[derive(Debug)]
pub struct Operator {
    mapping: Mapping,
    control: String,
    /// Source, target and control table, as the retrofit names them.
    tables: RequestSender,
    shards: Shards,
    passes: PassOptions,
    /// The ARN of source and target and about how many items they have, once they were described.
    described: Mutex<[Option<(String, u64)>; 2]>,
}

impl Operator {
    /// Of the retrofit of this mapping, with the control table of this name. The passes' stop flag and deadline end waits too.
    pub async fn new(settings: &Settings, mapping: &Mapping, control: &str, passes: PassOptions) -> Operator {
        let passes = PassOptions { rate: passes.rate.or(rate(&settings.endpoint)), ..passes };
        // The SDK must not retry silently: the operation decides, and lowers its rate.
        let settings = Settings { attempts_max: 1, ..settings.clone() };
        let mapping = mapping.forward().clone();
        let job = Job::new(mapping.clone(), Epoch::FIRST);
        let tables = RequestSender::new(client(&settings).await, job, control).trying(ATTEMPTS_MAX);
        let shards = Shards::open(&settings).await;
        Operator { mapping, control: control.to_owned(), tables, shards, passes, described: Mutex::default() }
    }

    /// Performs the effects of a command until its operation is over; an error with the current status if the deadline ends it before.
    /// The stop flag interrupts it. `watch` learns how far it is.
    pub async fn drive(&self, command: Command, watch: &dyn PassWatch) -> Result<Outcome, OperationStatus> {
        let mut operation =
            Operation::new(self.mapping.clone(), command, self.passes.owner.clone(), now_ms());
        loop {
            // Taken once: what follows an interruption waits as it has to.
            if self.passes.stop.swap(false, Ordering::Relaxed) {
                operation.interrupt();
            }
            let effect = match operation.next() {
                Step::Over(outcome) => return Ok(*outcome),
                Step::Ask(effect) => effect,
            };
            if self.passes.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(operation.status());
            }
            watch.step(operation.status());
            let reply = self.perform(&effect, watch).await;
            operation.answer(now_ms(), reply);
        }
    }

    /// Performs one effect, once.
    async fn perform(&self, effect: &Effect, watch: &dyn PassWatch) -> Result<Reply, Failure> {
        let performed = match effect {
            Effect::Read { table, keys } => self.read(*table, keys.clone()).await,
            Effect::Page { of, after, limit } => self.page(of, after.clone(), *limit).await,
            Effect::Send(writes) => self.send(writes).await,
            Effect::Carry { job, tasks } => self.carry(job, tasks).await,
            Effect::Describe(table) => self.describe(*table).await,
            Effect::Policy(table) => self.policy(*table).await,
            Effect::SetPolicy { table, text, revision } => {
                self.set_policy(*table, text.as_deref(), revision.clone()).await
            }
            Effect::Probe(table) => self.tables.is_denied(self.tables.table(*table)).await.map(Reply::Denied),
            Effect::Tag { table, write } => self.tag(*table, write.as_deref()).await,
            Effect::Shards { table, stream, after } => {
                let name = &self.tables.table(*table).name;
                self.shards.page(name, stream, after.clone()).await.map_err(RetrofitError::from)
            }
            Effect::Records { table, stream, from } => {
                let name = &self.tables.table(*table).name;
                Ok(Reply::Records(self.shards.records(name, stream, from).await))
            }
            Effect::Pass { pass, repair } => self.pass(*pass, *repair, watch).await,
            Effect::ForgetSegments(pass) => self.forget(*pass).await,
            Effect::Wait { until_ms } => Ok(self.wait(*until_ms).await),
        };
        performed.map_err(Failure::from)
    }

    async fn read(&self, table: TableRole, keys: Vec<Item>) -> Result<Reply, RetrofitError> {
        Ok(Reply::Items(self.tables.look_up(table, keys).await?))
    }

    async fn page(&self, of: &PageSource, after: Option<Item>, limit: u32) -> Result<Reply, RetrofitError> {
        let page = match of {
            PageSource::Partition(partition) => {
                self.tables.page_of_rows(partition.clone(), after, Some(limit)).await?
            }
            PageSource::Scan(table) => {
                let page = PageRequest {
                    table: self.tables.table(*table).name.clone(),
                    limit: Some(limit),
                    consistent: true,
                    start_key: after,
                    ..PageRequest::default()
                };
                let scan = ScanPage { page, segment: None };
                self.tables.with_retries(|| scan_page(self.tables.client(), &scan).boxed()).await?
            }
        };
        Ok(Reply::Page { items: page.items, last: page.last_key })
    }

    async fn send(&self, writes: &[Write]) -> Result<Reply, RetrofitError> {
        let responses: Vec<Response> = stream::iter(writes.to_vec())
            .map(|write| async move { self.tables.send(&Request::Write(write)).await })
            .buffered(IN_FLIGHT_DEFAULT)
            .try_collect()
            .await?;
        Ok(Reply::Responses(responses))
    }

    async fn carry(&self, job: &Job, tasks: &[ItemTask]) -> Result<Reply, RetrofitError> {
        // This process may have stood still since the operation read the row, and the retrofit can be over by now.
        let sender = &self.sender(job.clone()).trying(ATTEMPTS_MAX).of_former_row();
        let results: Vec<TaskResult> = stream::iter(tasks.to_vec())
            .map(|mut task| async move {
                match sender.carry(&mut task).await? {
                    TaskResult::Blocked => unblock(sender, &mut task).await,
                    result => Ok(result),
                }
            })
            .buffered(IN_FLIGHT_DEFAULT)
            .try_collect()
            .await?;
        Ok(Reply::Results(results))
    }

    fn sender(&self, job: Job) -> RequestSender {
        RequestSender::new(self.tables.client().clone(), job, &self.control)
    }

    async fn describe(&self, role: TableRole) -> Result<Reply, RetrofitError> {
        let table = self.tables.table(role);
        let there = self.tables.with_retries(|| description(self.tables.client(), table).boxed()).await?;
        let not_active = there
            .global_secondary_indexes()
            .iter()
            .filter(|index| index.index_status() != Some(&IndexStatus::Active))
            .filter_map(|index| index.index_name().map(str::to_owned));
        let facts = TableFacts {
            arn: there.table_arn().unwrap_or_default().to_owned(),
            stream: stream_with_images(&there),
            is_global: !there.replicas().is_empty(),
            indexes_not_active: not_active.collect(),
            // Without the right to ask, an item whose time is over counts as any other.
            expires: self.tables.expires(role).await.unwrap_or(false),
            differences: differences(table, &there).filter(|_| role == TableRole::Target),
        };
        let about = there.item_count().unwrap_or(0).max(0).unsigned_abs();
        self.described()[place(role)] = Some((facts.arn.clone(), about));
        Ok(Reply::Table(facts))
    }

    fn described(&self) -> MutexGuard<'_, [Option<(String, u64)>; 2]> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn arn(&self, role: TableRole) -> Result<String, DynamoError> {
        let known = self.described()[place(role)].clone();
        match known {
            Some((arn, _)) => Ok(arn),
            None => {
                let there = description(self.tables.client(), self.tables.table(role)).await?;
                Ok(there.table_arn().unwrap_or_default().to_owned())
            }
        }
    }

    async fn policy(&self, role: TableRole) -> Result<Reply, RetrofitError> {
        let there = policy(self.tables.client(), &self.arn(role).await?).await?;
        Ok(Reply::Policy(there.map(|there| TablePolicy { text: there.text, revision: there.revision })))
    }

    async fn set_policy(
        &self,
        role: TableRole,
        text: Option<&str>,
        revision: Option<String>,
    ) -> Result<Reply, RetrofitError> {
        let arn = self.arn(role).await?;
        Ok(Reply::Changed(change_policy(self.tables.client(), &arn, revision.as_deref(), text).await?))
    }

    async fn tag(&self, role: TableRole, write: Option<&str>) -> Result<Reply, RetrofitError> {
        let (client, arn) = (self.tables.client(), self.arn(role).await?);
        let key = format!("keyfold:{}", self.mapping.name());
        if let Some(text) = write {
            set_tag(client, &arn, &key, text).await?;
        }
        Ok(Reply::Tag(tag(client, &arn, &key).await?))
    }

    /// In the direction and the phase of now: what a sender may do follows from the row.
    async fn pass(&self, pass: Pass, repair: bool, watch: &dyn PassWatch) -> Result<Reply, RetrofitError> {
        let (sender, _) = self.started().await?;
        let sender = sender.paced(self.passes.rate);
        let about = match pass.table() {
            // The rows of its ledger are not counted.
            TableRole::Control => 0,
            role => self.described()[place(role)].as_ref().map_or(0, |(_, about)| *about),
        };
        watch.begins_pass(pass, repair, about);
        let end = sender.pass(pass, repair, &self.passes, watch).await?;
        watch.spends(&sender.spent(), None);
        watch.ends_pass(pass, repair, &end);
        let PassEnd { done, counts, .. } = end;
        Ok(Reply::Pass { done, counts })
    }

    async fn forget(&self, pass: Pass) -> Result<Reply, RetrofitError> {
        // A retrofit that was abandoned may begin again with another mapping: that is no reason to refuse.
        let head = self.tables.head().await?;
        let mapping = self.mapping.clone();
        let job = head.leading_job(&mapping).unwrap_or_else(|| head.job(mapping));
        self.sender(job).forget_segments(pass).await?;
        Ok(Reply::Done)
    }

    async fn started(&self) -> Result<(RequestSender, super::RetrofitState), RetrofitError> {
        RequestSender::started(self.tables.client().clone(), self.mapping.clone(), &self.control).await
    }

    async fn wait(&self, until_ms: u64) -> Reply {
        loop {
            let left = Duration::from_millis(until_ms.saturating_sub(now_ms()));
            if left.is_zero() || self.passes.is_over() {
                return Reply::Done;
            }
            tokio::time::sleep(left.min(WAIT_LOOK)).await;
        }
    }
}

/// How the table differs from the manifest, if that matters.
fn differences(table: &Table, there: &TableDescription) -> Option<String> {
    let diff = TableDiff::of(table, TableOptions::default(), there);
    (!diff.is_compatible()).then(|| diff.to_string())
}

fn place(role: TableRole) -> usize {
    usize::from(role == TableRole::Target)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keyfold_core::manifest;
    use keyfold_core::retrofit::RATE_MAX;

    use super::*;

    const MANIFEST: &str = r#"
[tables.old]
name = "old-events"
partition = "id"
attributes = { id = "string" }
[tables.new]
name = "new-events"
partition = "id"
attributes = { id = "string" }
[retrofits.moved]
from = "old"
to = "new"
"#;

    async fn operator(endpoint: Endpoint, rate: Option<f64>) -> Operator {
        let model = manifest::parse("keyfold.toml", MANIFEST).model.unwrap();
        let mapping = Mapping::of(&model, "moved").unwrap();
        let settings = Settings { endpoint, region: Some("us-east-1".to_owned()), ..Settings::default() };
        Operator::new(&settings, &mapping, "control", PassOptions { rate, ..PassOptions::of(None) }).await
    }

    /// An operator whose process stood still, and the requests that it sends. The control table has no row of the retrofit: each response
    /// is an empty object.
    async fn one_that_stood_still() -> (Operator, Arc<Mutex<String>>) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::Plain(format!("http://{}", listener.local_addr().unwrap()));
        let requests = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut bytes = vec![0; 65_536];
                let read = connection.read(&mut bytes).await.unwrap();
                *seen.lock().unwrap() += &String::from_utf8_lossy(&bytes[..read]);
                let answer = "HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let operator = operator(endpoint, None).await;
        (Operator { tables: operator.tables.of_former_row(), ..operator }, requests)
    }

    #[tokio::test]
    async fn an_operator_that_stood_still_reads_the_row_before_it_writes_items() {
        use keyfold_core::retrofit::SequenceNumber;
        let (operator, requests) = one_that_stood_still().await;
        let key = serde_json::from_str(r#"{"id":{"S":"1"}}"#).unwrap();
        let job = Job::new(operator.mapping.clone(), Epoch::FIRST);
        let task = job.carry_now(&key, SequenceNumber::parse("7").unwrap());
        let Ok(Reply::Results(results)) = operator.carry(&job, &[task]).await else {
            panic!("the row is missing, which is a reason to write nothing")
        };
        assert_eq!(results, [TaskResult::Busy]);
        let requests = requests.lock().unwrap();
        assert!(!requests.contains("PutItem") && !requests.contains("TransactWriteItems"), "{requests}");
    }

    #[tokio::test]
    async fn an_operator_that_stood_still_writes_its_own_rows_and_none_of_an_item() {
        use keyfold_core::retrofit::{Action, Guard, control};
        let (operator, requests) = one_that_stood_still().await;
        for (partition, response) in
            [("retrofit#moved", Response::Written), ("ledger#moved#S:1", Response::Outdated)]
        {
            let action = Action::Put(control::key(partition, "row"));
            let write = Write { role: TableRole::Control, action, guard: Guard::Absent };
            let Ok(Reply::Responses(responses)) = operator.send(&[write]).await else {
                panic!("{partition}")
            };
            assert_eq!(responses, [response], "{partition}");
        }
        assert_eq!(requests.lock().unwrap().matches("PutItem").count(), 1);
    }

    #[tokio::test]
    async fn only_an_endpoint_on_this_machine_has_no_limit_of_the_rate() {
        for (endpoint, given, rate) in [
            (Endpoint::Aws, None, None),
            (Endpoint::Aws, Some(50.0), Some(50.0)),
            (Endpoint::Plain("http://dynamodb.us-east-1.amazonaws.com".to_owned()), None, None),
            (Endpoint::Plain("http://127.0.0.1:8000".to_owned()), None, Some(RATE_MAX)),
            (Endpoint::Plain("http://127.0.0.1:8000".to_owned()), Some(50.0), Some(50.0)),
        ] {
            let operator = operator(endpoint.clone(), given).await;
            assert_eq!(operator.passes.rate, rate, "{endpoint:?}, given {given:?}");
        }
    }
}
