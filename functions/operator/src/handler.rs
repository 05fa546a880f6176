//! From an invocation's event to its answer.

use std::time::{Duration, Instant, SystemTime};

use keyfold_core::retrofit::operate::Outcome;
use keyfold_dynamo::retrofit::{PassOptions, PassWatch};
use keyfold_edge::retrofit::{Failure, Retrofits, SliceRecord};
use keyfold_edge::{Handled, Invocation};
use serde_json::{Value, json};

use crate::OperatorEvent;

/// The metrics' namespace.
const NAMESPACE: &str = "Keyfold/Operator";
/// Time reserved at the end of an invocation: an effect may have started just before.
const ANSWER_MARGIN: Duration = Duration::from_secs(30);

/// Takes one event.
pub async fn handle(retrofits: &Retrofits, invocation: Invocation<'_>) -> Handled<SliceRecord> {
    let Invocation { event, request_id, deadline } = invocation;
    Handled::by(NAMESPACE, request_id, async |record| respond(retrofits, event, deadline, record).await).await
}

/// The log of an invocation has its outcome; the passes are in the control table.
struct Unwatched;

impl PassWatch for Unwatched {}

async fn respond(
    retrofits: &Retrofits,
    event: &str,
    deadline: Option<SystemTime>,
    record: &mut SliceRecord,
) -> Result<Value, Failure> {
    let OperatorEvent { retrofit, operation: asked } = OperatorEvent::read(event)?;
    record.pass = asked.command.name();
    record.retrofit = Some(retrofit.clone()).filter(|name| retrofits.has(name));
    let mapping = retrofits.mapping(&retrofit)?;
    let left = deadline.map(|deadline| deadline.duration_since(SystemTime::now()).unwrap_or_default());
    let passes = PassOptions {
        deadline: left.map(|left| Instant::now() + left.saturating_sub(ANSWER_MARGIN)),
        ..PassOptions::of(Some(&record.request_id))
    };
    let operator = retrofits.operator(&mapping, passes).await;
    let command = asked.command(retrofits.limits());
    let outcome = operator.drive(command, &Unwatched).await;
    record.done = outcome.is_ok();
    match outcome {
        Ok(outcome) => {
            let compared = outcome.is_success() && retrofits.is_compared(&retrofit).await?;
            Ok(answer(&retrofit, &outcome, compared))
        }
        Err(status) => Ok(json!({ "retrofit": retrofit, "done": false, "doing": status.text })),
    }
}

/// `compared` says that a comparison without differences still counts.
fn answer(retrofit: &str, outcome: &Outcome, compared: bool) -> Value {
    json!({
        "retrofit": retrofit, "done": true, "compared": compared, "success": outcome.is_success(), "code": outcome.code,
        "phase": outcome.head.as_ref().map(|head| head.phase.name()), "text": outcome.text(),
        "next": outcome.next, "pausedMilliseconds": outcome.paused_ms, "counts": outcome.counts,
    })
}
