//! Why a source cannot be read: which one, where in it, and what to do.

use std::fmt;

/// The largest source that is read.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Why a source cannot be read. One line; it never holds the contents of items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", Prefix(.source_name, .place))]
pub struct ReadError {
    /// The file or table.
    pub source_name: String,
    /// Where in it: a path, or a line. Empty for the whole.
    pub place: String,
    /// What is wrong.
    pub problem: Problem,
}

/// The most characters of a word of the source that a message repeats.
const WORD_CHARS_MAX: usize = 80;

struct Prefix<'a>(&'a str, &'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", OneLine(self.0))?;
        if self.1.is_empty() { Ok(()) } else { write!(f, "{}: ", OneLine(self.1)) }
    }
}

/// A text of the source, short and without line breaks.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, letter) in self.0.chars().enumerate() {
            match at {
                WORD_CHARS_MAX => return f.write_str("..."),
                _ if letter.is_control() => f.write_str(" ")?,
                _ => write!(f, "{letter}")?,
            }
        }
        Ok(())
    }
}

/// What is wrong with a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum Problem {
    /// There is nothing in it.
    #[error("there is nothing in it")]
    Empty,
    /// It is too large.
    #[error("it has more than {SOURCE_BYTES_MAX} bytes: give a part of it")]
    TooLarge,
    /// It is no text.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// Neither JSON nor YAML nor HCL.
    #[error("it cannot be parsed: {}", OneLine(.0))]
    Syntax(String),
    /// It is none of the formats.
    #[error("it is none of the formats that are read (docs/init.md lists them)")]
    UnknownFormat,
    /// It is for something else.
    #[error("it is {}, not a model of DynamoDB tables", OneLine(.0))]
    OtherService(String),
    /// Its version is not known.
    #[error("its version is `{}`; versions {known} are read", OneLine(.found))]
    Version { found: String, known: &'static str },
    /// No table in it.
    #[error("it has no DynamoDB table")]
    NoTable,
    /// Something must be there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A text must be there.
    #[error("it must be a text")]
    NotText,
    /// Not an item.
    #[error("it is not an item, in DynamoDB's notation or plain")]
    NotAnItem,
    /// A name that no word of the format.
    #[error("`{}` is not known here", OneLine(.0))]
    UnknownWord(String),
    /// More of something than is read.
    #[error("there are more than {max} {what}")]
    TooMany { max: usize, what: &'static str },
    /// The table of the items is not known.
    #[error("which table do these items belong to? Give its description too: `aws dynamodb describe-table`")]
    ItemsOfNoTable,
    /// A table's key is not known.
    #[error("the table's key is not known: give its description too, or --table")]
    NoKey,
}

impl ReadError {
    /// A stable name of the mistake, for machines; docs/errors.md lists them.
    pub fn code(&self) -> &'static str {
        match self.problem {
            Problem::Empty => "init-empty",
            Problem::TooLarge | Problem::TooMany { .. } => "init-too-large",
            Problem::NotUtf8 | Problem::Syntax(_) => "init-syntax",
            Problem::UnknownFormat | Problem::OtherService(_) | Problem::NoTable => "init-not-a-model",
            Problem::Version { .. } => "init-version",
            Problem::Missing(_) | Problem::NotText | Problem::UnknownWord(_) => "init-malformed",
            Problem::NotAnItem => "init-not-an-item",
            Problem::ItemsOfNoTable | Problem::NoKey => "init-no-key",
        }
    }
}
