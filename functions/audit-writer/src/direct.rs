//! By direct invocation: the event is an audit event, or a list of them.
//!
//! Whatever fails makes the invocation fail, so that one that nobody waits for is tried again, or ends where failures are
//! kept.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::content::content;
use crate::event::{Origin, draft};
use crate::outcome::answer;
use crate::write::write;
use crate::{Answer, Record, Writer, stamp};

pub(crate) async fn invoke(
    writer: &Writer,
    event: &str,
    deadline: Option<SystemTime>,
    record: &mut Record,
) -> Answer {
    let result = match content(event) {
        Err(problem) => Err(Box::new((problem, Value::Null))),
        Ok(content) => {
            let origin = Origin { time: stamp::now(), mark: None, claims: None };
            let drafts = content.events.iter().map(|text| draft(writer, text, &origin)).collect();
            let outcomes = write(writer, drafts, deadline, record).await;
            answer(&outcomes, content.listed)
        }
    };
    match result {
        Ok(document) => Answer::Value(document),
        Err(refused) => {
            let (problem, members) = *refused;
            record.refuse(&problem);
            let mut document = problem.document();
            document.insert("instance".to_owned(), json!(record.request_id));
            if let Value::Object(members) = members {
                document.extend(members);
            }
            Answer::Error { kind: problem.code, message: Value::Object(document).to_string() }
        }
    }
}
