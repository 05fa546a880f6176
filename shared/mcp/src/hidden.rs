//! Attributes that agents must not see: left out of answers and descriptions, refused in conditions and orders.
//!
//! An index whose key holds one is not used: the order of its entries would follow the hidden values.

use std::collections::BTreeSet;

use keyfold_core::condition::Condition;
use keyfold_core::model::{Index, KeyAttribute, Model, Question, Table};
use keyfold_core::query::Readiness;
use keyfold_core::query::check::{CheckedRequest, RequestError};
use keyfold_core::query::plan::{PlanError, PlanProblem, RejectReason, RejectedPath};
use keyfold_core::query::readiness::Pending;
use keyfold_core::value::Item;
use keyfold_edge::Problem;
use serde_json::Value;

/// Shown in place of a hidden attribute's name.
const REDACTED: &str = "(hidden)";

/// The hidden attributes, by name, in every table.
#[derive(Debug, Clone, Default)]
pub struct HiddenAttributes {
    names: BTreeSet<String>,
    /// Are folded keys shown?
    keys: bool,
}

/// An attribute that cannot be hidden.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "attribute `{attribute}` is in the sort key of table `{table}`: the order of every answer would follow it"
)]
pub struct HiddenError {
    /// The table.
    pub table: String,
    /// The attribute.
    pub attribute: String,
}

impl HiddenAttributes {
    /// Hides these attributes, and folded keys unless `keys`.
    pub fn new(
        model: &Model,
        names: impl IntoIterator<Item = String>,
        keys: bool,
    ) -> Result<HiddenAttributes, HiddenError> {
        let hidden = HiddenAttributes { names: names.into_iter().collect(), keys };
        for table in &model.tables {
            if let Some(attribute) = table.sort.as_ref().and_then(|key| hidden.found_in(key)) {
                return Err(HiddenError { table: table.id.clone(), attribute: attribute.to_owned() });
            }
        }
        Ok(hidden)
    }

    pub(crate) fn is_hidden(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn found_in<'k>(&self, key: &'k KeyAttribute) -> Option<&'k str> {
        std::iter::once(key.name.as_str()).chain(key.inputs()).find(|name| self.is_hidden(name))
    }

    /// May the index be used and described?
    pub(crate) fn allows_index(&self, index: &Index) -> bool {
        index.key_attributes().all(|key| self.found_in(key).is_none())
    }

    /// Can the question be asked without a hidden attribute?
    pub(crate) fn allows_question(&self, table: &Table, question: &Question) -> bool {
        let required = question.parameters().into_iter().filter(|condition| !condition.optional);
        let entities = question.branches.iter().flat_map(|branch| &branch.entities).chain(&question.entities);
        required.map(|condition| condition.attribute).all(|name| !self.is_hidden(&name))
            && question.order.iter().all(|by| !self.is_hidden(&by.attribute))
            && question.select.iter().flatten().all(|name| !self.is_hidden(name))
            && entities
                .map(|id| &table.entities[id.0])
                .all(|entity| entity.when.iter().all(|when| !self.is_hidden(&when.attribute)))
    }

    /// Refuses a request that depends on a hidden attribute: its answer would tell about the value. `asked`: the request
    /// without the caller's scope.
    pub(crate) fn check(&self, asked: &CheckedRequest<'_>) -> Result<(), Problem> {
        let of_entities = asked.entities.iter().flat_map(|id| &asked.table.entities[id.0].when);
        let names = of_entities
            .map(|when| when.attribute.as_str())
            .chain(asked.order.iter().map(|by| by.attribute.as_str()))
            .chain(asked.select.iter().flatten().map(String::as_str))
            .find(|name| self.is_hidden(name));
        match names.or_else(|| self.found_in_condition(&asked.condition)) {
            None => Ok(()),
            Some(_) => Err(refusal("this request depends on a hidden attribute")),
        }
    }

    /// The refusal of a malformed request. A message about a hidden attribute would reveal its type or its listed values.
    pub(crate) fn malformed(&self, error: RequestError) -> Problem {
        let text = error.to_string();
        if self.redact(&text) == text {
            error.into()
        } else {
            refusal("this request depends on a hidden attribute")
        }
    }

    fn found_in_condition<'c>(&self, condition: &'c Condition) -> Option<&'c str> {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().find_map(|part| self.found_in_condition(part))
            }
            Condition::Not(inner) => self.found_in_condition(inner),
            Condition::Is(path, _) => Some(path.root.as_str()).filter(|root| self.is_hidden(root)),
        }
    }

    /// The readiness without the indexes whose key holds a hidden attribute.
    pub(crate) fn withhold(&self, table: &Table, readiness: &Readiness) -> Readiness {
        let mut rest = readiness.clone();
        for index in table.indexes.iter().filter(|index| !self.allows_index(index)) {
            rest.add_index(&table.id, &index.name, Pending::Withheld);
        }
        rest
    }

    /// The planner's refusal: without a word about withheld indexes, or about scans that this server does not allow.
    pub(crate) fn unplanned(mut error: PlanError, allow_scans: bool) -> Problem {
        error.rejected.retain(is_visible);
        match &error.problem {
            PlanProblem::Pending(_, pending) if **pending == Pending::Withheld => {
                refusal("only an index with a hidden attribute answers this")
            }
            _ => match error.hint_without_scan().filter(|_| !allow_scans) {
                Some(ways) => Problem::from(error).hint(format!("this server does not scan: {ways}")),
                None => error.into(),
            },
        }
    }

    /// Takes hidden attributes and folded keys out of an item.
    pub(crate) fn strip(&self, table: &Table, item: &mut Item) {
        let keys: Vec<&str> = self.withheld_keys(table).collect();
        item.retain(|name, _| !self.is_hidden(name) && !keys.contains(&name.as_str()));
    }

    /// The key attributes that answers lack: folded keys, and all keys that hold a hidden attribute.
    fn withheld_keys<'t>(&'t self, table: &'t Table) -> impl Iterator<Item = &'t str> {
        let indexes = table.indexes.iter().flat_map(Index::key_attributes);
        let is_only_place = |key: &KeyAttribute| {
            let mut inputs = key.inputs();
            inputs.any(|name| {
                let of_entities = table.entities.iter().filter_map(|entity| entity.attributes.get(name));
                of_entities.chain(table.attributes.get(name)).any(|attribute| attribute.from_key)
            })
        };
        // A folded primary key stays where it holds attributes that are stored nowhere else.
        let own = table.key_attributes().map(move |key| (key, is_only_place(key)));
        own.chain(indexes.map(|key| (key, false)))
            .filter(move |(key, needed)| {
                let is_folded = !table.attributes.contains_key(&key.name);
                self.found_in(key).is_some() || is_folded && !self.keys && !needed
            })
            .map(|(key, _)| key.name.as_str())
    }

    /// The text without the names of hidden attributes.
    fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for name in self.names.iter().filter(|name| !name.is_empty()) {
            let is_part =
                |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
            let mut redacted = String::new();
            let mut rest = text.as_str();
            while let Some(at) = rest.find(name.as_str()) {
                let (before, after) = (&rest[..at], &rest[at + name.len()..]);
                let before_it = before.chars().next_back().or_else(|| redacted.chars().next_back());
                let is_word = !is_part(before_it) && !is_part(after.chars().next());
                redacted.push_str(before);
                redacted.push_str(if is_word { REDACTED } else { name });
                rest = after;
            }
            redacted.push_str(rest);
            text = redacted;
        }
        text
    }

    /// The texts of a document without the names of hidden attributes. Not for items.
    pub(crate) fn redact_all(&self, value: &mut Value) {
        match value {
            Value::String(text) if !self.names.is_empty() => *text = self.redact(text),
            Value::Array(list) => list.iter_mut().for_each(|one| self.redact_all(one)),
            Value::Object(members) => members.values_mut().for_each(|one| self.redact_all(one)),
            _ => {}
        }
    }
}

/// Is the rejection for a reason that agents may see?
pub(crate) fn is_visible(rejected: &RejectedPath) -> bool {
    !matches!(&rejected.reason, RejectReason::Pending(pending) if **pending == Pending::Withheld)
}

fn refusal(detail: &str) -> Problem {
    Problem::new(403, "attribute-hidden", detail).hint("ask by other attributes; describe_model lists them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_redacted_as_whole_words() {
        let names = BTreeSet::from(["user".to_owned(), "id".to_owned()]);
        let hidden = HiddenAttributes { names, keys: false };
        for (text, redacted) in [
            ("user = 1", "(hidden) = 1"),
            ("users, my_user, `user`", "users, my_user, `(hidden)`"),
            ("an idle id", "an idle (hidden)"),
            ("idid id.id", "idid (hidden).(hidden)"),
            ("", ""),
        ] {
            assert_eq!(hidden.redact(text), redacted);
        }
    }
}
