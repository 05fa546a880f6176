//! `keyfold doctor`: checks what a command needs, from the credentials to the versions of stored forms, and says what to
//! do. It only reads.

use std::collections::BTreeMap;
use std::process::ExitCode;

use keyfold_core::model::{KeyAttribute, Model, ScalarType, Table};
use keyfold_core::retrofit::Mapping;
use keyfold_core::value::AttributeValue;
use keyfold_dynamo::retrofit::RequestSender;
use keyfold_dynamo::{
    Client, Difference, DynamoError, PageRequest, QueryPage, TableDiff, describe, query_page, table_names,
    table_options,
};
use keyfold_edge::Problem;
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::manifest_file::model;
use crate::output::{Output, columns};
use crate::support::{block_on, exit_code};

/// A key value that is looked for; there is hardly an item with it.
const PROBE: &str = "keyfold-doctor";

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Warning,
    Problem,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }
}

/// One finding.
struct Finding {
    check: &'static str,
    state: State,
    says: String,
    /// What to do; empty if nothing.
    todo: String,
}

/// All findings so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, check: &'static str, state: State, says: impl Into<String>, todo: impl Into<String>) {
        self.0.push(Finding { check, state, says: says.into(), todo: todo.into() });
    }

    fn ok(&mut self, check: &'static str, says: impl Into<String>) {
        self.add(check, State::Ok, says, "");
    }

    fn problem(&mut self, check: &'static str, problem: &Problem) {
        let says = format!("{} ({})", problem.detail, problem.code);
        self.add(check, State::Problem, says, problem.hint.clone().unwrap_or_default());
    }
}

pub(super) fn run(globals: &Globals, out: &Output) -> anyhow::Result<ExitCode> {
    let mut findings = Findings::default();
    let model = manifest(globals, &mut findings, out);
    block_on(async {
        let client = match globals.client().await {
            Ok(client) => client,
            Err(error) => {
                let todo =
                    "correct `--endpoint`, or AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL and AWS_CA_BUNDLE";
                findings.add("endpoint", State::Problem, format!("{error:#}"), todo);
                return Ok(());
            }
        };
        if connection(globals, &client, &mut findings).await
            && let Some(model) = &model
        {
            for one in &model.tables {
                table(model, &client, one, &mut findings).await;
            }
            for retrofit in &model.retrofits {
                versions(model, &client, &retrofit.name, &globals.control, &mut findings).await;
            }
        }
        anyhow::Ok(())
    })?;
    let is_well = findings.0.iter().all(|finding| finding.state != State::Problem);
    out.show(&as_json(&findings), for_people(&findings))?;
    Ok(exit_code(is_well))
}

fn manifest(globals: &Globals, findings: &mut Findings, out: &Output) -> Option<Model> {
    let path = globals.manifest.display();
    if !globals.manifest.exists() {
        let todo = "write one with `keyfold init --table NAME`, or name yours with `--manifest`";
        findings.add(
            "manifest",
            State::Warning,
            format!("there is no `{path}`, so no table is checked"),
            todo,
        );
        return None;
    }
    match model(&globals.manifest, out) {
        Ok(model) => {
            findings.ok("manifest", format!("`{path}`: {} tables", model.tables.len()));
            Some(model)
        }
        Err(error) => {
            findings.add(
                "manifest",
                State::Problem,
                format!("{error:#}"),
                "`keyfold check` shows every mistake",
            );
            None
        }
    }
}

/// Region, credentials and endpoint, by one call. False if DynamoDB does not answer.
async fn connection(globals: &Globals, client: &Client, findings: &mut Findings) -> bool {
    let place = globals.endpoint.clone().or_else(|| std::env::var("AWS_ENDPOINT_URL").ok());
    let place = place.unwrap_or_else(|| "AWS".to_owned());
    let region = client.config().region().map(ToString::to_string);
    match &region {
        Some(region) => findings.ok("region", region.as_str()),
        None => {
            let todo = "set AWS_REGION, or a region in your AWS profile";
            findings.add("region", State::Problem, "no region is set", todo);
            return false;
        }
    }
    let error = match table_names(client).await {
        Ok(names) => {
            findings.ok("credentials", "accepted");
            findings.ok("endpoint", format!("{place}: DynamoDB, with {} tables", names.len()));
            return true;
        }
        Err(error) => error,
    };
    match &error {
        // Least rights rarely list tables.
        DynamoError::Denied { reason, .. } if reason == "AccessDeniedException" => {
            findings.ok("credentials", "accepted, without the right to list tables");
            findings.ok("endpoint", format!("{place}: DynamoDB"));
            true
        }
        DynamoError::Denied { reason, .. } => {
            let todo = match reason.as_str() {
                "ExpiredTokenException" => "sign in again, for example with `aws sso login`",
                _ => "check AWS_PROFILE and the keys: `aws sts get-caller-identity` shows whose they are",
            };
            findings.add("credentials", State::Problem, format!("refused (`{reason}`)"), todo);
            false
        }
        DynamoError::Other { .. } | DynamoError::Unreadable { .. } | DynamoError::Invalid { .. } => {
            let todo = "this port belongs to another service: `keyfold local` has DynamoDB on port 8000 and the console on 3000";
            findings.add("endpoint", State::Problem, format!("{place} answers, but is not DynamoDB"), todo);
            false
        }
        other => {
            let check = if other.code() == "no-credentials" { "credentials" } else { "endpoint" };
            let says = format!("{place}: {other} ({})", other.code());
            findings.add(check, State::Problem, says, other.hint().unwrap_or("try again in a moment"));
            false
        }
    }
}

/// A table, its indexes and its stream as the manifest has them.
async fn table(model: &Model, client: &Client, table: &Table, findings: &mut Findings) {
    let (id, options) = (&table.id, table_options(model, table));
    let found = match describe(client, table, options).await {
        Ok(found) => found,
        Err(DynamoError::NotFound { .. }) => {
            let says = format!("`{id}`: there is no table `{}`", table.name);
            let todo =
                format!("`keyfold tables apply {id}` creates it; if it exists, check region and account");
            return findings.add("table", State::Problem, says, todo);
        }
        Err(error) => return findings.problem("table", &Problem::from(error)),
    };
    for difference in &found.differences {
        let (state, todo) = match difference {
            Difference::NoIndex { index } => (State::Problem, format!("`keyfold index add {id} {index}`")),
            Difference::NoStream => (State::Problem, format!("`keyfold tables apply {id}` switches it on")),
            Difference::UnknownIndex { .. } => {
                (State::Warning, "declare it in the manifest, or delete it if nothing asks it".to_owned())
            }
            _ => (State::Problem, "correct the manifest, or retrofit into a new table".to_owned()),
        };
        let check = if matches!(difference, Difference::NoStream) { "stream" } else { "table" };
        findings.add(check, state, format!("`{id}`: {difference}"), todo);
    }
    if found.differences.is_empty() {
        findings.ok("table", format!("`{id}`: table, indexes and stream are those of the manifest"));
    }
    rights(client, table, &found, findings).await;
}

/// The right to query the table and those of its indexes that exist. No other right can be tested without a write or a scan, or
/// without the right `iam:SimulatePrincipalPolicy`.
async fn rights(client: &Client, table: &Table, found: &TableDiff, findings: &mut Findings) {
    let id = &table.id;
    let lacking = |name: &str| {
        let mut all = found.differences.iter();
        all.any(|one| matches!(one, Difference::NoIndex { index } if index == name))
    };
    let mut places = vec![(None, vec![table.partition.clone()])];
    places.extend(
        table
            .indexes
            .iter()
            .filter(|index| !lacking(&index.name))
            .map(|index| (Some(index.name.clone()), index.partition.clone())),
    );
    let mut denied = Vec::new();
    for (index, keys) in places {
        match query_page(client, &probe(table, index.clone(), &keys)).await {
            Ok(_) => {}
            Err(DynamoError::Denied { .. }) => denied.push(index.unwrap_or_else(|| "the table".to_owned())),
            Err(error) => findings.problem("rights", &Problem::from(error)),
        }
    }
    match denied.is_empty() {
        true => {
            let says = "queries of the table and its indexes are allowed; no other right is tested, such as to write";
            findings.ok("rights", format!("`{id}`: {says}"));
        }
        false => findings.add(
            "rights",
            State::Problem,
            format!("`{id}`: `dynamodb:Query` is not allowed on {}", denied.join(", ")),
            "`keyfold mcp --policy` prints the rights for reading; give them to your role",
        ),
    }
}

/// A query for a key that no item has: half a read unit.
fn probe(table: &Table, index: Option<String>, keys: &[KeyAttribute]) -> QueryPage {
    let value = |scalar| match scalar {
        ScalarType::S => AttributeValue::S(PROBE.to_owned()),
        ScalarType::N => AttributeValue::N("0".to_owned()),
        ScalarType::B => AttributeValue::B(PROBE.as_bytes().to_vec()),
    };
    let (mut names, mut values, mut parts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (at, key) in keys.iter().enumerate() {
        names.insert(format!("#k{at}"), key.name.clone());
        values.insert(format!(":k{at}"), value(key.scalar));
        parts.push(format!("#k{at} = :k{at}"));
    }
    let page = PageRequest {
        table: table.name.clone(),
        index,
        names,
        values,
        limit: Some(1),
        ..PageRequest::default()
    };
    QueryPage { page, key_condition: parts.join(" AND "), forward: true }
}

/// Does this Keyfold read what a retrofit has stored?
async fn versions(model: &Model, client: &Client, name: &str, control: &str, findings: &mut Findings) {
    let Ok(mapping) = Mapping::of(model, name) else { return };
    match RequestSender::started(client.clone(), mapping, control).await {
        Ok((_, head)) => findings.ok("versions", format!("retrofit `{name}`: {}", head.phase.name())),
        Err(error) if error.is_not_started(control) => {
            findings.ok("versions", format!("retrofit `{name}` was not started"));
        }
        Err(error) => findings.problem("versions", &Problem::from(error)),
    }
}

fn as_json(findings: &Findings) -> Value {
    let one = |found: &Finding| json!({ "check": found.check, "state": found.state.name(), "says": found.says, "do": found.todo });
    Value::Array(findings.0.iter().map(one).collect())
}

fn for_people(findings: &Findings) -> String {
    let mut rows = Vec::new();
    for found in &findings.0 {
        rows.push(vec![found.state.name().to_owned(), found.check.to_owned(), found.says.clone()]);
        if !found.todo.is_empty() {
            rows.push(vec![String::new(), String::new(), format!("do: {}", found.todo)]);
        }
    }
    columns(&rows)
}
