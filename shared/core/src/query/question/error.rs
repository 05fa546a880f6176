//! Why parameters do not fit their question.

use crate::query::check::RequestError;

/// Why parameters do not fit their question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum QuestionError {
    /// No such question.
    #[error("table `{table}` has no question `{question}`")]
    Unknown { table: String, question: String, known: Vec<String> },
    /// A condition that must be given is not.
    #[error("question `{question}` needs the parameter `{parameter}`")]
    Missing { question: String, parameter: String },
    /// A parameter that the question does not have.
    #[error("question `{question}` has no parameter `{parameter}`")]
    UnknownParameter { question: String, parameter: String, known: Vec<String> },
    /// A parameter with a value that it cannot have.
    #[error("parameter `{parameter}` must be {wanted}")]
    Invalid { parameter: String, wanted: String },
    /// A value does not fit its attribute.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl QuestionError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            QuestionError::Unknown { .. } => "unknown-question",
            QuestionError::Missing { .. } => "missing-parameter",
            QuestionError::UnknownParameter { .. } => "unknown-parameter",
            QuestionError::Invalid { .. } => "invalid-parameter",
            QuestionError::Request(error) => error.code(),
        }
    }

    /// A suggestion.
    pub fn hint(&self) -> Option<String> {
        match self {
            QuestionError::Unknown { known, .. } if known.is_empty() => None,
            QuestionError::Unknown { known, .. } => Some(format!("it has `{}`", known.join("`, `"))),
            QuestionError::UnknownParameter { known, .. } => {
                Some(format!("its parameters are: `{}`", known.join("`, `")))
            }
            QuestionError::Request(error) => error.hint(),
            QuestionError::Missing { .. } | QuestionError::Invalid { .. } => None,
        }
    }
}
