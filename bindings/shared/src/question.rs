//! A request being answered: the next reads, and the answer.

use keyfold_core::attribute::OWN_ATTRIBUTE_PREFIX;
use keyfold_core::execute::{Answer, Execution, HANDLE, Next, Position, ReadRequest, RunOptions};
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use keyfold_core::value::{AttributeValue, Item, Name};
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
    /// The attributes that the execution needs of each access's items; all if absent.
    looks_at: Vec<Option<Vec<Name>>>,
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
    looks_at: Option<&'a [Name]>,
    #[serde(flatten)]
    sent: Sent<'a>,
}

/// The last step.
#[derive(Serialize)]
struct LastStep<'a> {
    answer: ShownAnswer<'a>,
}

/// The answer. An item that the package keeps is a number; `only` and `without` then list the attributes to show.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAnswer<'a> {
    items: Vec<ShownItem<'a>>,
    only: Option<&'a [String]>,
    without: &'static str,
    count: u64,
    consumed_read_units: f64,
    items_read: u64,
    requests: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownItem<'a> {
    Kept(u64),
    Whole(&'a Item),
}

impl ShownItem<'_> {
    fn of(item: &Item) -> ShownItem<'_> {
        match item.get(HANDLE) {
            Some(AttributeValue::N(number)) => number.parse().map_or(ShownItem::Whole(item), ShownItem::Kept),
            _ => ShownItem::Whole(item),
        }
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
        let accesses = plan.accesses.len();
        let execution = Execution::new(of, plan, from.as_ref(), &options)?;
        let names = |names: Vec<String>| names.into_iter().map(Name::from).collect();
        let looks_at = (0..accesses).map(|access| execution.looks_at(access).map(names)).collect();
        Ok(Question { execution, under_way, explained, select, looks_at })
    }

    /// The next step: `{"send": [{"access", "looksAt", "operation", "input"}]}`, where an empty list means that a
    /// request in flight must finish first, or `{"answer": ...}`. The package keeps the items, and passes the attributes
    /// in `looksAt`; if that is `null`, it keeps none and passes all.
    pub fn step(&mut self) -> Result<String, Failure> {
        match self.execution.step()? {
            Next::Answer(answer) => Ok(text(&LastStep { answer: self.shown(&answer) })),
            Next::Send(requests) => {
                let (looks_at, under_way) = (&self.looks_at, &mut self.under_way);
                let asked = requests.iter().map(|ReadRequest { access, read }| Asked {
                    access: *access,
                    looks_at: looks_at[*access].as_deref(),
                    sent: Sent::of(read),
                });
                let send: Vec<Asked<'_>> = asked.collect();
                send.iter().for_each(|asked| under_way[asked.access] = asked.sent.operation);
                Ok(text(&NextReads { send: &send }))
            }
        }
    }

    /// Takes the response to the request of an access: `{"count", "scanned", "lastKey", "units", "calls"}`, with `"items"`
    /// or with `"kept"` and `"first"`.
    pub fn arrived(&mut self, access: usize, response: &str) -> Result<(), Failure> {
        self.take(access, read("the response", response)?)
    }

    /// The same with the values of the items that the package keeps: those of [`looks_at`](Self::looks_at), in that order.
    pub fn arrived_kept(
        &mut self,
        access: usize,
        response: &str,
        kept: Vec<Vec<Option<AttributeValue>>>,
    ) -> Result<(), Failure> {
        self.take(access, read::<Response>("the response", response)?.keeping(kept))
    }

    /// The attributes that the execution needs of an access's items, if it does not need all.
    pub fn looks_at(&self, access: usize) -> impl Iterator<Item = &str> {
        self.names(access).iter().map(AsRef::as_ref)
    }

    fn names(&self, access: usize) -> &[Name] {
        self.looks_at.get(access).and_then(Option::as_deref).unwrap_or_default()
    }

    fn take(&mut self, access: usize, response: Response) -> Result<(), Failure> {
        let operation = self.under_way.get(access).copied().unwrap_or_default();
        let brought = response.brought(operation, self.names(access));
        Ok(self.execution.arrived(access, brought)?)
    }

    fn shown<'r>(&'r self, answer: &'r Answer) -> ShownAnswer<'r> {
        ShownAnswer {
            items: answer.items.iter().map(ShownItem::of).collect(),
            only: self.select.as_deref(),
            without: OWN_ATTRIBUTE_PREFIX,
            count: answer.count,
            consumed_read_units: answer.consumed_read_units,
            items_read: answer.items_read,
            requests: answer.requests,
            page: answer.next.as_ref().map(text),
            plan: self.explained.as_ref(),
        }
    }
}

/// The position that a page's text names.
fn opened(token: &str) -> Result<Position, Failure> {
    serde_json::from_str(token).map_err(|_| keyfold_core::execute::AnswerError::BadPosition.into())
}
