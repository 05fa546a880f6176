//! A request while it is answered: the reads that come next, and the answer.

use keyfold_core::execute::{Answer, Execution, Next, Position, RunOptions};
use keyfold_core::query::explain::explain;
use keyfold_core::query::{QueryPlan, QueryRequest};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::requests::{self, Response, read, sorted, text};
use crate::table_of::TableOf;

/// A request while it is answered.
pub struct Question {
    execution: Execution<TableOf, QueryPlan>,
    /// The operation that each access has under way.
    under_way: Vec<&'static str>,
    /// The plan, if it is wanted with the answer.
    explained: Option<Value>,
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
        let execution = Execution::new(of, plan, from.as_ref(), &options)?;
        Ok(Question { execution, under_way, explained })
    }

    /// What comes next: `{"send": [{"access", "operation", "input"}]}`, where none means that something under way must
    /// arrive first, or `{"answer": ...}`.
    pub fn step(&mut self) -> Result<String, Failure> {
        match self.execution.step()? {
            Next::Answer(answer) => Ok(text(&json!({ "answer": self.shown(&answer) }))),
            Next::Send(requests) => {
                let mut send = Vec::with_capacity(requests.len());
                for request in requests {
                    let (operation, input) = requests::operation(&request.read);
                    self.under_way[request.access] = operation;
                    send.push(json!({ "access": request.access, "operation": operation, "input": input }));
                }
                Ok(text(&json!({ "send": send })))
            }
        }
    }

    /// Takes in what the request of an access brought:
    /// `{"items", "count", "scanned", "lastKey", "units", "calls"}`.
    pub fn arrived(&mut self, access: usize, response: &str) -> Result<(), Failure> {
        let operation = self.under_way.get(access).copied().unwrap_or_default();
        let response: Response = read("the response", response)?;
        Ok(self.execution.arrived(access, response.brought(operation))?)
    }

    fn shown(&self, answer: &Answer) -> Value {
        let mut shown = json!({
            "items": answer.items.iter().map(sorted).collect::<Vec<_>>(),
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
