//! Why a text cannot be read.

use std::ops::Deref;

use crate::value::NumberError;

/// Why and where a text cannot be read. It shows none of the text, which can be secret.
///
/// It is one pointer wide: a page of items is thousands of results that are all moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} (line {}, column {})", .0.reason, .0.line, .0.column)]
pub struct JsonError(pub(super) Box<JsonErrorDetails>);

impl Deref for JsonError {
    type Target = JsonErrorDetails;

    fn deref(&self) -> &JsonErrorDetails {
        &self.0
    }
}

/// The parts of a [`JsonError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonErrorDetails {
    /// The mistake.
    pub reason: JsonReason,
    /// The line, from 1.
    pub line: u32,
    /// The byte in its line, from 1.
    pub column: u32,
}

/// A mistake in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonReason {
    /// A missing or unexpected character.
    #[error("this is not JSON")]
    Syntax,
    /// It is a value of another kind.
    #[error("this is not a JSON {}", .0.name())]
    Not(JsonKind),
    /// It is not `{"S": "a"}` or the like.
    #[error("this is not a value in DynamoDB's notation")]
    NotTyped,
    /// A repeated member: one of its values would be lost.
    #[error("an object has the same member twice")]
    Duplicate,
    /// [`Bounds::levels`](super::Bounds::levels)
    #[error("the value is nested deeper than {0} levels")]
    TooDeep(u32),
    /// [`Bounds::values`](super::Bounds::values)
    #[error("there are more than {0} values")]
    TooManyValues(u32),
    /// DynamoDB has no such number.
    #[error("a number is not a valid DynamoDB number: {0}")]
    Number(#[from] NumberError),
}

/// The kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// Digits.
    Number,
    /// A string.
    Text,
    /// An array.
    List,
    /// An object.
    Object,
}

impl JsonKind {
    /// The kind's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            JsonKind::Null => "null",
            JsonKind::Boolean => "boolean",
            JsonKind::Number => "number",
            JsonKind::Text => "text",
            JsonKind::List => "list",
            JsonKind::Object => "object",
        }
    }
}
