//! Changes whose new value DynamoDB computes, and changes inside of a map.

use crate::condition::Path;
use crate::query::expression::ConditionExpression;
use crate::value::AttributeValue;

/// A change of an attribute, or of a value inside a map, without its new value as a whole. The attribute must not be
/// in a key.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeOperation {
    /// Sets a value inside a map, which must exist.
    Set(Path, AttributeValue),
    /// Removes a value inside a map.
    Remove(Path),
    /// Sets the value if it is missing.
    SetIfAbsent(Path, AttributeValue),
    /// Adds a number to a number; a missing one counts as 0.
    Count(Path, AttributeValue),
    /// Adds a list at the end of a list, or makes it.
    Append(Path, AttributeValue),
    /// Adds a list at the start of a list, or makes it.
    Prepend(Path, AttributeValue),
    /// Adds the elements of a set to a set, or makes it.
    AddElements(String, AttributeValue),
    /// Removes the elements of a set from a set.
    DeleteElements(String, AttributeValue),
}

impl AttributeOperation {
    /// The attribute.
    pub(crate) fn root(&self) -> &str {
        match self {
            AttributeOperation::Set(path, _)
            | AttributeOperation::Remove(path)
            | AttributeOperation::SetIfAbsent(path, _)
            | AttributeOperation::Count(path, _)
            | AttributeOperation::Append(path, _)
            | AttributeOperation::Prepend(path, _) => &path.root,
            AttributeOperation::AddElements(root, _) | AttributeOperation::DeleteElements(root, _) => root,
        }
    }

    /// A value of the type that the attribute has afterwards; `None` if it need not be there.
    pub(crate) fn example(&self) -> Option<AttributeValue> {
        match self {
            AttributeOperation::Remove(_) => None,
            AttributeOperation::Set(path, value)
            | AttributeOperation::SetIfAbsent(path, value)
            | AttributeOperation::Count(path, value)
            | AttributeOperation::Append(path, value)
            | AttributeOperation::Prepend(path, value) => Some(match path.inner.is_empty() {
                true => value.clone(),
                false => AttributeValue::M([].into()),
            }),
            AttributeOperation::AddElements(_, value) | AttributeOperation::DeleteElements(_, value) => {
                Some(value.clone())
            }
        }
    }

    /// The clause of the update expression: its word and its text.
    pub(crate) fn clause(&self, placeholders: &mut ConditionExpression) -> (&'static str, String) {
        let mut text = Clause { text: String::new(), placeholders };
        let word = match self {
            AttributeOperation::Set(path, value) => {
                text.path(path).word(" = ").value(value);
                "SET"
            }
            AttributeOperation::Remove(path) => {
                text.path(path);
                "REMOVE"
            }
            AttributeOperation::SetIfAbsent(path, value) => {
                text.path(path).word(" = ").or(path, value);
                "SET"
            }
            AttributeOperation::Count(path, value) => {
                text.path(path)
                    .word(" = ")
                    .or(path, &AttributeValue::N("0".to_owned()))
                    .word(" + ")
                    .value(value);
                "SET"
            }
            AttributeOperation::Append(path, value) => {
                let list = AttributeValue::L(Vec::new());
                text.path(path).word(" = list_append(").or(path, &list).word(", ").value(value).word(")");
                "SET"
            }
            AttributeOperation::Prepend(path, value) => {
                let list = AttributeValue::L(Vec::new());
                text.path(path).word(" = list_append(").value(value).word(", ").or(path, &list).word(")");
                "SET"
            }
            AttributeOperation::AddElements(root, value) => {
                text.path(&Path::attribute(root)).word(" ").value(value);
                "ADD"
            }
            AttributeOperation::DeleteElements(root, value) => {
                text.path(&Path::attribute(root)).word(" ").value(value);
                "DELETE"
            }
        };
        (word, text.text)
    }
}

/// A clause being written.
struct Clause<'p> {
    text: String,
    placeholders: &'p mut ConditionExpression,
}

impl Clause<'_> {
    fn word(&mut self, word: &str) -> &mut Self {
        self.text.push_str(word);
        self
    }

    fn value(&mut self, value: &AttributeValue) -> &mut Self {
        self.placeholders.value(value, &mut self.text);
        self
    }

    fn path(&mut self, path: &Path) -> &mut Self {
        for (at, name) in std::iter::once(&path.root).chain(&path.inner).enumerate() {
            self.word(if at == 0 { "" } else { "." });
            self.placeholders.name(name, &mut self.text);
        }
        self
    }

    /// The value at the path, or this one.
    fn or(&mut self, path: &Path, value: &AttributeValue) -> &mut Self {
        self.word("if_not_exists(").path(path).word(", ").value(value).word(")")
    }
}
