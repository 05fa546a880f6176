//! A request being answered: the next reads, and the answer.

use keyfold_core::attribute::OWN_ATTRIBUTE_PREFIX;
use keyfold_core::execute::{Answer, Execution, HANDLE, Next, Position, ReadRequest, RunOptions};
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_core::value::{AttributeValue, Item};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::{Failure, text};
use crate::requests::{Response, Sent, read};
use crate::table_of::TableOf;

/// A request being answered.
pub struct Question {
    execution: Execution<TableOf, QueryPlan>,
    /// The operation in flight for each access.
    under_way: Vec<&'static str>,
    /// The plan, if it was requested.
    explained: Option<Value>,
    /// The attributes of the answer; all if absent.
    select: Option<Vec<String>>,
}

/// The next reads.
#[derive(Serialize)]
struct NextReads<'a> {
    send: &'a [Asked<'a>],
}

/// One of the next reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    access: usize,
    looks_at: Option<Vec<String>>,
    #[serde(flatten)]
    sent: Sent<'a>,
}

fn number_or_item(item: &Item) -> Value {
    match item.get(HANDLE) {
        Some(AttributeValue::N(number)) => json!(number.parse::<u64>().ok()),
        _ => json!(item),
    }
}

impl Question {
    pub(crate) fn new(of: TableOf, plan: QueryPlan, request: &QueryRequest) -> Result<Question, Failure> {
        let from: Option<Position> = match &request.page {
            Some(token) => Some(opened(token)?),
            None => None,
        };
        let options = RunOptions { read_units_max: request.read_units_max, ..RunOptions::default() };
        let explained = request.explain.then(|| json!(explain(&plan)));
        let under_way = vec![""; plan.accesses.len()];
        let select = plan.select.clone();
        let execution = Execution::new(of, plan, from.as_ref(), &options)?;
        Ok(Question { execution, under_way, explained, select })
    }

    /// The next step: `{"send": [{"access", "looksAt", "operation", "input"}]}`, where an empty list means that a
    /// request in flight must finish first, or `{"answer": ...}`. The package keeps the items, and passes for each the
    /// attributes in `looksAt` and, as [`HANDLE`], its number, as `{"N": "7"}`; if `looksAt` is `null`, the whole item
    /// without a number.
    pub fn step(&mut self) -> Result<String, Failure> {
        match self.execution.step()? {
            Next::Answer(answer) => Ok(text(&json!({ "answer": self.shown(&answer) }))),
            Next::Send(requests) => {
                let send: Vec<Asked<'_>> = requests.iter().map(|request| self.asked(request)).collect();
                let told = text(&NextReads { send: &send });
                let operations = send.iter().map(|asked| (asked.access, asked.sent.operation));
                operations.for_each(|(access, operation)| self.under_way[access] = operation);
                Ok(told)
            }
        }
    }

    /// Takes the response to the request of an access: `{"items", "count", "scanned", "lastKey", "units", "calls"}`.
    pub fn arrived(&mut self, access: usize, response: &str) -> Result<(), Failure> {
        let operation = self.under_way.get(access).copied().unwrap_or_default();
        let response: Response = read("the response", response)?;
        Ok(self.execution.arrived(access, response.brought(operation))?)
    }

    fn asked<'r>(&self, request: &'r ReadRequest) -> Asked<'r> {
        let access = request.access;
        Asked { access, looks_at: self.execution.looks_at(access), sent: Sent::of(&request.read) }
    }

    /// The answer. An item with a number is represented by it; `only` and `without` then list the attributes to show.
    fn shown(&self, answer: &Answer) -> Value {
        let mut shown = json!({
            "items": answer.items.iter().map(number_or_item).collect::<Vec<_>>(),
            "only": self.select,
            "without": OWN_ATTRIBUTE_PREFIX,
            "count": answer.count,
            "consumedReadUnits": answer.consumed_read_units,
            "itemsRead": answer.items_read,
            "requests": answer.requests,
        });
        if let Some(next) = &answer.next {
            shown["page"] = json!(text(next));
        }
        if let Some(explained) = &self.explained {
            shown["plan"] = explained.clone();
        }
        shown
    }
}

/// The position that a page's text names.
fn opened(token: &str) -> Result<Position, Failure> {
    serde_json::from_str(token).map_err(|_| keyfold_core::execute::AnswerError::BadPosition.into())
}
