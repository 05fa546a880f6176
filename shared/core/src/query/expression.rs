//! Conditions as DynamoDB expressions: with placeholders to send, and with values to read.

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::query::plan::{Access, KeyEqual, Operation, SortCondition, SortTest};
use crate::value::AttributeValue;

/// The expressions of one request, with their placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expressions {
    /// `KeyConditionExpression`, for a query.
    pub key_condition: Option<String>,
    /// `FilterExpression`.
    pub filter: Option<String>,
    /// `ProjectionExpression`.
    pub projection: Option<String>,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: BTreeMap<String, AttributeValue>,
}

/// The expressions of one access. `projection`: the attributes to return; all of the table or index if absent.
pub fn expressions(access: &Access, projection: Option<&[String]>) -> Expressions {
    let mut holders = Placeholders::default();
    let key_condition = key_condition(&access.operation, &mut holders);
    let filter = condition(&access.filter, &mut holders);
    let projection = projection.filter(|names| !names.is_empty());
    let projection = projection.map(|names| {
        let mut text = Text::of(&mut holders);
        text.list(names, ", ", |text, name| text.name(name));
        text.out
    });
    Expressions { key_condition, filter, projection, names: holders.names, values: holders.values }
}

/// A key condition as text; `None` for a scan.
pub fn readable_key_condition(operation: &Operation) -> Option<String> {
    key_condition(operation, &mut Plain)
}

/// A condition as text; `None` if it is always true.
pub fn readable_condition(asked: &Condition) -> Option<String> {
    condition(asked, &mut Plain)
}

/// The condition of a write; placeholders of an update can be added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConditionExpression {
    /// `ConditionExpression`.
    pub text: String,
    /// `ExpressionAttributeNames`.
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`.
    pub values: BTreeMap<String, AttributeValue>,
}

impl ConditionExpression {
    /// The expression of a condition that is not always true.
    pub fn of(asked: &Condition) -> ConditionExpression {
        let mut holders = Placeholders::default();
        let mut text = Text::of(&mut holders);
        text.condition(asked, false);
        ConditionExpression { text: text.out, names: holders.names, values: holders.values }
    }

    /// Adds the placeholder of a name to a text.
    pub fn name(&mut self, name: &str, out: &mut String) {
        hold_name(&mut self.names, name, out);
    }

    /// Adds a placeholder for a value to a text.
    pub fn value(&mut self, value: &AttributeValue, out: &mut String) {
        hold_value(&mut self.values, value, out);
    }
}

/// How names and values are written.
trait Words {
    fn name(&mut self, name: &str, out: &mut String);
    fn value(&mut self, value: &AttributeValue, out: &mut String);
}

/// `#n0` and `:v0`, each name once.
#[derive(Default)]
struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
}

impl Words for Placeholders {
    fn name(&mut self, name: &str, out: &mut String) {
        hold_name(&mut self.names, name, out);
    }

    fn value(&mut self, value: &AttributeValue, out: &mut String) {
        hold_value(&mut self.values, value, out);
    }
}

fn hold_name(names: &mut BTreeMap<String, String>, name: &str, out: &mut String) {
    if let Some((holder, _)) = names.iter().find(|(_, known)| *known == name) {
        return out.push_str(holder);
    }
    let holder = placeholder("#n", names.len());
    out.push_str(&holder);
    names.insert(holder, name.to_owned());
}

fn hold_value(values: &mut BTreeMap<String, AttributeValue>, value: &AttributeValue, out: &mut String) {
    let holder = placeholder(":v", values.len());
    out.push_str(&holder);
    values.insert(holder, value.clone());
}

/// Without `format!`, which takes several times as long.
fn placeholder(kind: &str, number: usize) -> String {
    [kind, &number.to_string()].concat()
}

/// Names and values unchanged.
struct Plain;

impl Words for Plain {
    fn name(&mut self, name: &str, out: &mut String) {
        out.push_str(name);
    }

    fn value(&mut self, value: &AttributeValue, out: &mut String) {
        match value {
            AttributeValue::S(text) if needs_no_escape(text) => out.extend(["\"", text, "\""]),
            AttributeValue::S(text) => out.push_str(&format!("{text:?}")),
            AttributeValue::N(number) => out.push_str(number),
            AttributeValue::Bool(value) => out.push_str(&value.to_string()),
            AttributeValue::Null(_) => out.push_str("null"),
            AttributeValue::B(bytes) => out.push_str(&format!("{} bytes", bytes.len())),
            other => out.push_str(crate::value::type_letter(other)),
        }
    }
}

/// Most texts do not, and formatting takes several times as long.
fn needs_no_escape(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}

fn key_condition(operation: &Operation, words: &mut dyn Words) -> Option<String> {
    let Operation::Query { partition, sort } = operation else { return None };
    let mut text = Text::of(words);
    text.list(partition, AND, |text, KeyEqual { attribute, value }| {
        text.name(attribute).plain(" = ").value(value)
    });
    for SortCondition { attribute, test } in sort {
        text.plain(AND).sort_condition(attribute, test);
    }
    Some(text.out)
}

fn condition(asked: &Condition, words: &mut dyn Words) -> Option<String> {
    if asked.is_always() {
        return None;
    }
    let mut text = Text::of(words);
    text.condition(asked, false);
    Some(text.out)
}

const AND: &str = " AND ";
/// Initial capacity of an expression: most have one or two comparisons.
const TEXT_GUESSED: usize = 64;

/// An expression being built.
struct Text<'w> {
    words: &'w mut dyn Words,
    out: String,
}

impl<'w> Text<'w> {
    fn of(words: &'w mut dyn Words) -> Text<'w> {
        Text { words, out: String::with_capacity(TEXT_GUESSED) }
    }

    fn plain(&mut self, text: &str) -> &mut Self {
        self.out.push_str(text);
        self
    }

    fn name(&mut self, name: &str) -> &mut Self {
        self.words.name(name, &mut self.out);
        self
    }

    fn value(&mut self, value: &AttributeValue) -> &mut Self {
        self.words.value(value, &mut self.out);
        self
    }

    fn list<T>(
        &mut self,
        all: &[T],
        between: &str,
        one: impl for<'t> Fn(&'t mut Self, &T) -> &'t mut Self,
    ) -> &mut Self {
        for (at, each) in all.iter().enumerate() {
            if at > 0 {
                self.plain(between);
            }
            one(self, each);
        }
        self
    }

    fn sort_condition(&mut self, attribute: &str, test: &SortTest) {
        match test {
            SortTest::Equal(value) => self.name(attribute).plain(" = ").value(value),
            SortTest::AtLeast(value) => self.name(attribute).plain(" >= ").value(value),
            SortTest::Above(value) => self.name(attribute).plain(" > ").value(value),
            SortTest::AtMost(value) => self.name(attribute).plain(" <= ").value(value),
            SortTest::Below(value) => self.name(attribute).plain(" < ").value(value),
            SortTest::BeginsWith(value) => {
                self.plain("begins_with(").name(attribute).plain(", ").value(value).plain(")")
            }
            SortTest::Between(low, high) => {
                self.name(attribute).plain(" BETWEEN ").value(low).plain(AND).value(high)
            }
        };
    }

    /// `inner`: in brackets if it has several parts.
    fn condition(&mut self, asked: &Condition, inner: bool) -> &mut Self {
        let (parts, word) = match asked {
            Condition::Is(path, comparison) => return self.is(path, comparison),
            Condition::Not(part) => return self.plain("NOT ").condition(part, true),
            Condition::All(parts) => (parts, AND),
            Condition::Any(parts) => (parts, " OR "),
        };
        let (open, close) = if inner { ("(", ")") } else { ("", "") };
        self.plain(open).list(parts, word, |text, part| text.condition(part, true)).plain(close)
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        self.name(&path.root);
        for member in &path.inner {
            self.plain(".").name(member);
        }
        self
    }

    fn is(&mut self, path: &Path, comparison: &Comparison) -> &mut Self {
        match comparison {
            Comparison::Equal(value) => self.path(path).plain(" = ").value(value),
            Comparison::Less(value) => self.path(path).plain(" < ").value(value),
            Comparison::LessOrEqual(value) => self.path(path).plain(" <= ").value(value),
            Comparison::Greater(value) => self.path(path).plain(" > ").value(value),
            Comparison::GreaterOrEqual(value) => self.path(path).plain(" >= ").value(value),
            Comparison::Between(low, high) => {
                self.path(path).plain(" BETWEEN ").value(low).plain(AND).value(high)
            }
            Comparison::BeginsWith(value) => {
                self.plain("begins_with(").path(path).plain(", ").value(value).plain(")")
            }
            Comparison::Contains(value) => {
                self.plain("contains(").path(path).plain(", ").value(value).plain(")")
            }
            Comparison::In(values) => {
                let list = self.path(path).plain(" IN (");
                list.list(values, ", ", |text, value| text.value(value)).plain(")")
            }
            Comparison::Exists(true) => self.plain("attribute_exists(").path(path).plain(")"),
            Comparison::Exists(false) => self.plain("attribute_not_exists(").path(path).plain(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readable_text_is_escaped_like_a_literal() {
        for text in ["", "a b~!", "a\"b", "a\\b", "a\nb", "\u{7f}", "é", "\u{200b}"] {
            let is = Comparison::Equal(AttributeValue::S(text.to_owned()));
            let readable = readable_condition(&Condition::Is(Path::attribute("a"), is));
            assert_eq!(readable.as_deref(), Some(format!("a = {text:?}").as_str()));
        }
    }
}
