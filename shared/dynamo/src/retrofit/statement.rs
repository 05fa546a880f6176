//! A guarded write as a PartiQL statement, where it can be one: 25 of them go in one round trip, each failing by itself.

use aws_sdk_dynamodb::types::{AttributeValue as SdkValue, BatchStatementRequest};
use keyfold_core::condition::Comparison;
use keyfold_core::query::Condition;
use keyfold_core::retrofit::{Action, Guard, TableRole, Write};
use keyfold_core::value::{AttributeValue, Item};

use crate::write::{STATEMENT_CHARS_MAX, insert_statement};

/// The write as a statement: an INSERT where nothing may be, or an UPDATE with its guard in WHERE. `None` for all others.
pub(super) fn statement(table: &str, write: &Write) -> Option<BatchStatementRequest> {
    let statement = match (&write.action, &write.guard) {
        (Action::Put(item), Guard::Absent) => insert_statement(table, item).ok()?,
        (Action::Update { key, set, remove }, Guard::Present(condition)) => {
            update(table, key, set, remove, condition)?
        }
        _ => return None,
    };
    short_enough(statement)
}

/// A put into the target as an INSERT, though it may go over something older too. `None` for all other writes.
pub(super) fn insert(table: &str, write: &Write) -> Option<BatchStatementRequest> {
    match (write.place, &write.action, &write.guard) {
        (TableRole::Target, Action::Put(item), Guard::Absent | Guard::AbsentOr(_)) => {
            short_enough(insert_statement(table, item).ok()?)
        }
        _ => None,
    }
}

fn short_enough(statement: BatchStatementRequest) -> Option<BatchStatementRequest> {
    (statement.statement().len() <= STATEMENT_CHARS_MAX).then_some(statement)
}

fn update(
    table: &str,
    key: &Item,
    set: &[(String, AttributeValue)],
    remove: &[String],
    condition: &Condition,
) -> Option<BatchStatementRequest> {
    let mut parameters = Vec::new();
    let mut text = String::from("UPDATE ");
    quote(&mut text, table);
    for (name, value) in set {
        text.push_str(" SET ");
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value.clone().into());
    }
    for name in remove {
        text.push_str(" REMOVE ");
        quote(&mut text, name);
    }
    text.push_str(" WHERE ");
    let mut names: Vec<_> = key.iter().collect();
    names.sort_unstable_by_key(|(name, _)| *name);
    for (at, (name, value)) in names.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { " AND " });
        quote(&mut text, name);
        text.push_str(" = ?");
        parameters.push(value.clone().into());
    }
    test(condition, key, &mut text, &mut parameters)?;
    BatchStatementRequest::builder().statement(text).set_parameters(Some(parameters)).build().ok()
}

/// Adds the condition's parts after the key; `None` if it has one that is not written here.
fn test(condition: &Condition, key: &Item, text: &mut String, parameters: &mut Vec<SdkValue>) -> Option<()> {
    match condition {
        Condition::All(parts) => {
            parts.iter().try_for_each(|part| test(part, key, text, parameters).ok_or(())).ok()
        }
        Condition::Is(path, Comparison::Equal(value)) => {
            let name = path.as_attribute()?;
            // The key is in the statement already.
            if !key.contains_key(name) {
                text.push_str(" AND ");
                quote(text, name);
                text.push_str(" = ?");
                parameters.push(value.clone().into());
            }
            Some(())
        }
        Condition::Is(path, Comparison::Exists(false)) => {
            text.push_str(" AND ");
            quote(text, path.as_attribute()?);
            text.push_str(" IS MISSING");
            Some(())
        }
        Condition::Is(..) | Condition::Any(_) | Condition::Not(_) => None,
    }
}

/// Writes a name in quotes.
fn quote(text: &mut String, name: &str) {
    text.push('"');
    if name.contains('"') {
        text.push_str(&name.replace('"', "\"\""));
    } else {
        text.push_str(name);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyfold_core::condition::Path;
    use keyfold_core::retrofit::TableRole;

    fn value(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn item<const N: usize>(attributes: [(&str, &str); N]) -> Item {
        let mut item = Item::default();
        item.extend(attributes.map(|(name, text)| (name.to_owned(), value(text))));
        item
    }

    fn is(name: &str, comparison: Comparison) -> Condition {
        Condition::Is(Path::attribute(name), comparison)
    }

    fn said(action: Action, guard: Guard) -> Option<(String, Vec<String>)> {
        let statement = statement("Au\"dit", &Write { place: TableRole::Target, action, guard })?;
        let parameters = statement.parameters().iter().map(|value| value.as_s().unwrap().clone());
        Some((statement.statement().to_owned(), parameters.collect()))
    }

    fn update(condition: Condition) -> Option<(String, Vec<String>)> {
        let set = vec![("k\"ey".to_owned(), value("1")), ("other".to_owned(), value("2"))];
        let action =
            Action::Update { key: item([("sk", "b"), ("pk", "a")]), set, remove: vec!["old".to_owned()] };
        said(action, Guard::Present(condition))
    }

    #[test]
    fn a_put_where_nothing_may_be_is_an_insert() {
        let (text, parameters) = said(Action::Put(item([("it's", "1"), ("a", "2")])), Guard::Absent).unwrap();
        assert_eq!(text, r#"INSERT INTO "Au""dit" VALUE {'a': ?, 'it''s': ?}"#);
        assert_eq!(parameters, ["2", "1"]);
    }

    #[test]
    fn an_update_has_its_key_once_and_all_of_its_guard() {
        let guard = Condition::all([
            is("pk", Comparison::Equal(value("a"))),
            is("part", Comparison::Equal(value("c"))),
            is("gone", Comparison::Exists(false)),
        ]);
        let (text, parameters) = update(guard).unwrap();
        let set = r#"UPDATE "Au""dit" SET "k""ey" = ? SET "other" = ? REMOVE "old""#;
        assert_eq!(
            text,
            format!(r#"{set} WHERE "pk" = ? AND "sk" = ? AND "part" = ? AND "gone" IS MISSING"#)
        );
        assert_eq!(parameters, ["1", "2", "a", "b", "c"]);
    }

    #[test]
    fn a_guard_that_cannot_be_written_is_never_left_out() {
        let newer = is("fence", Comparison::Less(value("f")));
        assert_eq!(update(newer.clone()), None);
        assert_eq!(update(Condition::all([is("part", Comparison::Equal(value("c"))), newer.clone()])), None);
        assert_eq!(update(Condition::Any(vec![newer.clone()])), None);
        let put = || Action::Put(item([("pk", "a")]));
        assert_eq!(said(put(), Guard::AbsentOr(newer.clone())), None);
        assert_eq!(said(put(), Guard::Present(newer.clone())), None);
        assert_eq!(said(Action::Delete(item([("pk", "a")])), Guard::Present(newer)), None);
    }

    #[test]
    fn a_statement_that_is_too_long_is_none() {
        let name = "n".repeat(STATEMENT_CHARS_MAX);
        assert_eq!(said(Action::Put(item([(&name, "1")])), Guard::Absent), None);
    }
}
