//! Whose requests are under way, and their lines in a trace.

use keyfold_core::retrofit::{Action, Request, Response, Write};
use keyfold_core::value::{AttributeValue, Item, Name};

/// Whose task it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TaskOrigin {
    /// The replicator's.
    #[default]
    Record,
    /// The backfill's.
    Scan,
    /// A repair.
    Repair,
    /// A note that a record was given up.
    Discard,
    /// A record replayed by a weakened protocol.
    Replay,
    /// A comparison.
    Verify,
}

/// A request, in a line of the trace.
pub(super) fn line(request: &Request) -> String {
    match request {
        Request::Get { role, key } => format!("get {role:?} {{{}}}", short(key)),
        Request::Write(one) => line_of(one),
        Request::Transact(all) => all.iter().map(line_of).collect::<Vec<_>>().join(" + "),
    }
}

fn line_of(write: &Write) -> String {
    let action = match &write.action {
        Action::Put(item) => format!("put {{{}}}", short(item)),
        Action::Delete(key) => format!("delete {{{}}}", short(key)),
        Action::Update { key, set, remove } => {
            let mut set = set.clone();
            set.sort_by(|a, b| a.0.cmp(&b.0));
            format!("update {{{}}} set {set:?} remove {remove:?}", short(key))
        }
    };
    format!("{:?} {action}", write.role)
}

/// An item in a line of the trace, its attributes in their order.
pub(super) fn short(item: &Item) -> String {
    let part = |(name, value): (&Name, &AttributeValue)| {
        let text: String = format!("{value:?}").chars().take(90).collect();
        format!("{name}={text}")
    };
    let mut parts: Vec<String> = item.iter().map(part).collect();
    parts.sort();
    parts.join(" ")
}

/// The outcome of a request, in a line of the trace.
pub(super) fn outcome_name(outcome: &Response) -> String {
    match outcome {
        Response::Item(_) => "got".to_owned(),
        Response::Written => "written".to_owned(),
        Response::Refused(_) => "refused".to_owned(),
        Response::Cancelled(held) => format!("cancelled {held:?}"),
        Response::Rejected(code) => format!("rejected {code}"),
        Response::Outdated => "not sent".to_owned(),
    }
}
