//! By direct invocation: the event is an audit event, or a list of them.
//!
//! Any failure makes the invocation fail. Lambda then repeats an asynchronous one, or sends it where failures are kept.

use std::time::SystemTime;

use keyfold_edge::{FunctionError, Problem};
use serde_json::Value;

use crate::content::content;
use crate::event::{Origin, Received};
use crate::outcome::answer;
use crate::write::write;
use crate::{Record, Writer, stamp};

pub(crate) async fn invoke(
    writer: &Writer,
    event: &str,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Result<Value, FunctionError> {
    let answered = match content(event) {
        Err(problem) => Err(Box::new(problem)),
        Ok(content) => {
            let received = Received { source: "direct", principal: None, request_id: &record.request_id };
            let origin = Origin { time: stamp::now(), claims: None, received };
            let drafts = origin.drafts(writer, &content.events);
            let outcomes = write(writer, drafts, deadline, record).await;
            answer(&outcomes, content.listed)
        }
    };
    answered.map_err(|problem| failed(&problem, record))
}

/// The invocation fails with this problem.
pub(crate) fn failed(problem: &Problem, record: &mut Record) -> FunctionError {
    record.refuse(problem);
    let message = problem.document(Some(&record.request_id)).to_string();
    FunctionError { error_type: problem.code.to_owned(), message }
}
