//! How an operation ends. Whatever the end, it says which table is open and which command goes on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::retrofit::control::{Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::source_key::SourceKey;
use crate::retrofit::stop::PolicyChange;

/// The kind of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The command's work is done.
    Done,
    /// It was done before.
    Already,
    /// A check without changes found no obstacle.
    Checked,
    /// Nothing was started, because of an obstacle.
    Refused,
    /// Writers were stopped, and may go on where they were.
    TakenBack,
    /// It was interrupted before writers were stopped.
    Interrupted,
    /// An error ended it.
    Failed,
}

/// Which table the writers may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenTable {
    /// The table that the retrofit began with. In place, the one table.
    Source,
    /// The table that it fills.
    Target,
    /// Neither: writers are stopped.
    Neither,
    /// The row could not be read.
    Unknown,
}

impl OpenTable {
    /// By the retrofit's row.
    pub fn of(head: &RetrofitState) -> OpenTable {
        match head.phase {
            // In place there is one table, and no phase stops its writers.
            _ if head.protocol == Protocol::InPlace => OpenTable::Source,
            // `CutOver` too: only readers have moved, and a change that a writer makes in the target would not be carried back.
            Phase::Running | Phase::Tidying | Phase::Tidy | Phase::CutOver | Phase::Abandoned => {
                OpenTable::Source
            }
            Phase::Closing | Phase::Returning => OpenTable::Neither,
            Phase::Reversed | Phase::Settled | Phase::Finalising | Phase::Finalised => OpenTable::Target,
        }
    }

    fn text(self, mapping: &Mapping) -> String {
        let (source, target) = (&mapping.source().name, &mapping.target().name);
        match self {
            OpenTable::Source => format!("table `{source}` is open: its writers may write"),
            OpenTable::Target => format!("table `{target}` is open: its writers may write"),
            OpenTable::Neither => {
                format!("tables `{source}` and `{target}` are closed: writers are stopped")
            }
            OpenTable::Unknown => format!(
                "the retrofit's row could not be read: writers of `{source}` and `{target}` may be stopped"
            ),
        }
    }
}

/// The changes still to arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BacklogReport {
    /// Items that the streams name.
    pub items: u64,
    /// Of them, those whose newest change has not arrived.
    pub waiting: u64,
    /// Those that have arrived, and are not the same on both sides.
    pub differing: u64,
    /// Those whose last write the other table's stream has not shown.
    pub unseen: u64,
    /// The first of all these, by their keys in the table that changes are carried from.
    pub first: Vec<SourceKey>,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The kind of end.
    pub end: End,
    /// The stable code, as in docs/errors.md; of an end without an error, the phase's name.
    pub code: String,
    /// What happened: lower case, no final stop.
    pub message: String,
    /// A hint for the reader.
    pub hint: Option<String>,
    /// Which table the writers may use.
    pub open: OpenTable,
    /// The same in words.
    pub open_text: String,
    /// The command that goes on; `None` after the last.
    pub next: Option<String>,
    /// The row as it was last read.
    pub head: Option<RetrofitState>,
    /// The changes still to arrive, where streams were read.
    pub backlog: Option<BacklogReport>,
    /// Gates that are closed.
    pub gates: Vec<Gate>,
    /// How long writers were stopped.
    pub paused_ms: Option<u64>,
    /// Items by what a pass made of them.
    pub counts: std::collections::BTreeMap<String, u64>,
    /// The policies that were removed or, of a check, would be changed, by table.
    pub policies: Vec<PolicyChange>,
    /// Policies may still be other ones than the row says: a table that should be open may be closed.
    pub policies_behind: bool,
    /// Additional remarks for the reader.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Everything that is to be said, in lines: after what happened, which table is open, what goes on, and the policies.
    pub fn text(&self) -> String {
        let mut lines = vec![self.message.clone()];
        lines.extend(self.hint.iter().map(|hint| format!("hint: {hint}")));
        lines.extend(self.notes.iter().cloned());
        lines.push(self.open_text.clone());
        lines.extend(self.next.iter().map(|next| format!("next: `{next}`")));
        let verb = if self.end == End::Checked { "would become" } else { "was changed" };
        lines.extend(self.policies.iter().map(|PolicyChange { table, policy }| {
            format!("the policy of table `{table}` {verb}: {}", policy.as_deref().unwrap_or("no policy"))
        }));
        lines.join("\n")
    }

    /// As a document, for programs.
    pub fn document(&self, mapping: &Mapping) -> Value {
        let open = match self.open {
            OpenTable::Source => Some(&mapping.source().name),
            OpenTable::Target => Some(&mapping.target().name),
            OpenTable::Neither | OpenTable::Unknown => None,
        };
        let head = self.head.as_ref();
        let mut document = json!({
            "retrofit": mapping.name(), "said": self.message, "open": open, "next": self.next, "code": self.code,
            "phase": head.map(|head| head.phase.name()), "epoch": head.map(|head| head.epoch.number()),
            "counts": self.counts, "gates": self.gates.iter().map(Gate::code).collect::<Vec<_>>(),
            "policies": self.policies.iter().map(PolicyChange::json).collect::<Vec<_>>(), "notes": self.notes,
        });
        if let Some(paused) = self.paused_ms {
            document["seconds"] = json!(Duration::from_millis(paused).as_secs_f64());
        }
        if let Some(BacklogReport { items, waiting, differing, unseen, .. }) = &self.backlog {
            document["items"] = json!(items);
            document["waiting"] = json!(waiting);
            document["differing"] = json!(differing);
            document["unseen"] = json!(unseen);
        }
        document
    }

    /// Did the command reach what it is for?
    pub fn is_success(&self) -> bool {
        matches!(self.end, End::Done | End::Already | End::Checked)
    }

    pub(super) fn new(end: End, code: &str, message: impl Into<String>) -> Outcome {
        Outcome {
            end,
            code: code.to_owned(),
            message: message.into(),
            hint: None,
            // `of_row` fills it in. Any other default could send writers to a table that is closed.
            open: OpenTable::Unknown,
            open_text: String::new(),
            next: None,
            head: None,
            backlog: None,
            gates: Vec::new(),
            paused_ms: None,
            counts: std::collections::BTreeMap::new(),
            policies: Vec::new(),
            policies_behind: false,
            notes: Vec::new(),
        }
    }

    pub(super) fn refused(code: &str, message: impl Into<String>) -> Outcome {
        Outcome::new(End::Refused, code, message)
    }

    #[must_use]
    pub(super) fn hinted(self, hint: impl Into<String>) -> Outcome {
        Outcome { hint: Some(hint.into()), ..self }
    }

    /// The same with what follows from the row: which table is open, and the next command.
    #[must_use]
    pub(super) fn of_row(self, mapping: &Mapping, head: Option<&RetrofitState>) -> Outcome {
        let open = head.map_or(OpenTable::Unknown, OpenTable::of);
        let head_cloned = head.cloned();
        // A text from the command says more than the row can, for example that the row does not exist.
        let open_text = if self.open_text.is_empty() { open.text(mapping) } else { self.open_text.clone() };
        // The row says that the table is open, and the policy denies its writers: they would be sent into errors.
        if let Some(head) = head.filter(|head| self.policies_behind && !head.phase.is_stop()) {
            let open_text =
                format!("{}, but a policy on a table may still deny their writes", open.text(mapping));
            let next = self.next.or_else(|| Some(enforcing_command(head)));
            return Outcome { open: OpenTable::Neither, open_text, next, head: head_cloned, ..self };
        }
        // While the row is unknown, any other command may be one that its phase refuses.
        let of_head =
            || head.map_or_else(|| Some(command("status", mapping.name())), |head| head.next_command(&[]));
        let next = self.next.or_else(of_head);
        Outcome { open, open_text, next, head: head_cloned, ..self }
    }
}

fn command(words: &str, retrofit: &str) -> String {
    format!("keyfold retrofit {words} {retrofit}")
}

/// A command that makes the policies what this row says, and changes nothing else.
fn enforcing_command(head: &RetrofitState) -> String {
    let words = match head.phase {
        // In its phase, each command makes the policies right before anything else. `switch` moves no writers here: they have moved.
        Phase::Reversed => "switch",
        Phase::Settled | Phase::Finalising | Phase::Finalised => "finish",
        _ => "switch --back",
    };
    command(words, &head.retrofit)
}
