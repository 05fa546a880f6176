//! The start of a slice from its event, and its answer.

use std::time::{Duration, Instant, SystemTime};

use keyfold_core::retrofit::{Checkpoint, Pass, SegmentId};
use keyfold_dynamo::retrofit::{LAG_SECONDS_DEFAULT, RequestSender, SliceOptions};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Failure;

/// How long before Lambda's timeout the last page may start.
pub const PAGE_MARGIN: Duration = Duration::from_secs(4);
/// How long before Lambda's timeout the answer is sent, even with calls in flight.
pub const ANSWER_MARGIN: Duration = Duration::from_secs(1);
/// Maximum bytes of a worker's name.
pub const WORKER_BYTES_MAX: usize = 256;

/// The common fields of all slice events.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SliceEvent {
    /// The retrofit's name in the manifest.
    pub retrofit: String,
    /// The segment, counted from 0.
    pub segment: u32,
    /// The number of segments.
    pub total_segments: u32,
    /// The checkpoint of the previous answer; absent at the start of a segment.
    #[serde(default)]
    pub checkpoint: Option<Value>,
    /// The initial and maximum capacity units in a second.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Maximum pages of this invocation.
    #[serde(default)]
    pub pages_max: Option<u32>,
    /// The replicator's lag, in seconds: a comparison rechecks differences for twice as long.
    #[serde(default = "lag_default")]
    pub lag_seconds: u64,
    /// The worker: it resumes its own segment at once, while others wait until the lease expires.
    #[serde(default)]
    pub worker: Option<String>,
}

fn lag_default() -> u64 {
    LAG_SECONDS_DEFAULT
}

impl SliceEvent {
    /// The segment, if the event is valid.
    pub fn check(&self) -> Result<SegmentId, Failure> {
        if self.rate.is_some_and(|rate| rate.is_nan() || rate <= 0.0) {
            return Err(Failure::bad_event("`rate` must be above 0"));
        }
        if self.pages_max == Some(0) {
            return Err(Failure::bad_event("`pagesMax` must be above 0"));
        }
        if self.worker.as_ref().is_some_and(|worker| worker.is_empty() || worker.len() > WORKER_BYTES_MAX) {
            return Err(Failure::bad_event(format!("`worker` must have 1 to {WORKER_BYTES_MAX} bytes")));
        }
        Ok(SegmentId::new(self.segment, self.total_segments)?)
    }

    /// The checkpoint in the event, if there is one.
    pub fn resumed(
        &self,
        sender: &RequestSender,
        pass: Pass,
        segment: SegmentId,
    ) -> Result<Option<Checkpoint>, Failure> {
        let resume = |given: &Value| Checkpoint::resume(&given.to_string(), sender.job(), pass, segment);
        Ok(self.checkpoint.as_ref().map(resume).transpose()?)
    }

    /// The limits of the slice, which ends before Lambda's timeout.
    pub fn options(&self, request_id: &str, deadline: Option<SystemTime>, store: bool) -> SliceOptions {
        let now = Instant::now();
        let left = deadline.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
        let before = |margin: Duration| left.map(|left| now + left.saturating_sub(margin));
        SliceOptions {
            deadline: before(PAGE_MARGIN),
            stop_at: before(ANSWER_MARGIN),
            pages_max: self.pages_max,
            lag_seconds: self.lag_seconds,
            owner: Some(self.worker.clone().unwrap_or_else(|| request_id.to_owned())),
            store,
            ..SliceOptions::default()
        }
    }
}

/// The answer to a slice. `held_up`: the code of the reason it ended early.
pub fn answer(
    sender: &RequestSender,
    checkpoint: &Checkpoint,
    held_up: Option<&str>,
) -> Result<Value, Failure> {
    let spent = sender.spent();
    let shown =
        serde_json::to_value(checkpoint).map_err(|_| Failure::bad_event("the checkpoint has no text"))?;
    let mut answer = json!({
        "done": checkpoint.is_done(),
        "checkpoint": shown,
        "counts": checkpoint.counts(),
        "units": { "read": spent.read.units, "write": spent.write.units, "control": spent.control.units },
    });
    if let Some(code) = held_up {
        answer["heldUp"] = json!(code);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(more: &Value) -> SliceEvent {
        let mut event = json!({ "retrofit": "r", "segment": 1, "totalSegments": 2 });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn an_event_that_makes_no_sense_is_refused() {
        assert_eq!(event(&json!({})).check().unwrap().number(), 1);
        for (more, kind) in [
            (json!({ "segment": 2 }), "Keyfold.SegmentOutOfRange"),
            (json!({ "totalSegments": 0 }), "Keyfold.SegmentOutOfRange"),
            (json!({ "totalSegments": 1_000_001 }), "Keyfold.SegmentOutOfRange"),
            (json!({ "rate": 0 }), "Keyfold.BadEvent"),
            (json!({ "rate": -1.5 }), "Keyfold.BadEvent"),
            (json!({ "pagesMax": 0 }), "Keyfold.BadEvent"),
            (json!({ "worker": "" }), "Keyfold.BadEvent"),
            (json!({ "worker": "x".repeat(257) }), "Keyfold.BadEvent"),
        ] {
            assert_eq!(event(&more).check().unwrap_err().kind(), kind, "{more}");
        }
    }

    #[test]
    fn a_slice_ends_before_its_invocation() {
        let end = SystemTime::now() + Duration::from_secs(30);
        let options = event(&json!({})).options("request", Some(end), true);
        let left = |at: Option<Instant>| at.unwrap().saturating_duration_since(Instant::now()).as_secs_f64();
        assert!(left(options.deadline) <= 26.0 && left(options.stop_at) <= 29.0);
        assert!(left(options.deadline) > 20.0 && left(options.stop_at) > 23.0);
        assert_eq!(options.owner.as_deref(), Some("request"));
        let over = event(&json!({ "worker": "me" })).options("request", Some(SystemTime::UNIX_EPOCH), true);
        assert!(over.stop_at.unwrap() <= Instant::now());
        assert_eq!(over.owner.as_deref(), Some("me"));
    }
}
