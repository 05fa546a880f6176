//! Why a source cannot be read: the source, the position, and a suggestion.

use std::fmt;

/// Maximum bytes of a source.
pub const SOURCE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Why a source cannot be read. One line; it never holds the contents of items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", Prefix(.source_name, .place))]
pub struct ReadError {
    /// The file or table.
    pub source_name: String,
    /// The position: a path, or a line. Empty for the whole source.
    pub place: String,
    /// The problem.
    pub problem: Problem,
}

/// Maximum characters of the source's text in a message.
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

/// A problem of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum Problem {
    /// An empty source.
    #[error("there is nothing in it")]
    Empty,
    /// It is too large.
    #[error("it has more than {SOURCE_BYTES_MAX} bytes: give a part of it")]
    TooLarge,
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// Neither JSON nor YAML nor HCL.
    #[error("it cannot be parsed: {}", OneLine(.0))]
    Syntax(String),
    /// An unknown format.
    #[error("its format is unknown (docs/init.md lists the formats that are read)")]
    UnknownFormat,
    /// A source for another service.
    #[error("it is {}, not a model of DynamoDB tables", OneLine(.0))]
    OtherService(String),
    /// An unknown version.
    #[error("its version is `{}`; versions {known} are read", OneLine(.found))]
    Version { found: String, known: &'static str },
    /// No table in it.
    #[error("it has no DynamoDB table")]
    NoTable,
    /// A required part is missing.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A text is required.
    #[error("it must be a text")]
    NotText,
    /// Not an item.
    #[error("it is not an item, in DynamoDB's notation or plain")]
    NotAnItem,
    /// A text that is not a number, under the letter of numbers.
    #[error("`{}` is not a number, and its type says `N`", OneLine(.0))]
    NotANumber(String),
    /// A name that is unknown in the format.
    #[error("`{}` is not known here", OneLine(.0))]
    UnknownWord(String),
    /// A name that only a deployment knows.
    #[error(
        "the name is an expression that only a deployment knows: write the name, or give its parameter a `Default`"
    )]
    UnknownName,
    /// More of something than the limit.
    #[error("there are more than {max} {what}")]
    TooMany { max: usize, what: &'static str },
    /// Items of an unknown table.
    #[error("which table do these items belong to? Give its description too: `aws dynamodb describe-table`")]
    ItemsOfNoTable,
    /// Hints for entities, with several tables.
    #[error("--entities is for one table: give one at a time")]
    HintsOfSeveralTables,
    /// Two hints for one item.
    #[error("--entities: some sampled items are of `{}` and of `{}`", OneLine(.0), OneLine(.1))]
    HintsOverlap(String, String),
    /// A hint that no item fits.
    #[error("--entities: no sampled item is of `{}`", OneLine(.0))]
    HintWithoutItem(String),
    /// A table with an unknown key.
    #[error("the table's key is not known: give its description too, or --table")]
    NoKey,
}

impl ReadError {
    /// The stable error code, listed in docs/errors.md.
    pub fn code(&self) -> &'static str {
        match self.problem {
            Problem::Empty => "init-empty",
            Problem::TooLarge | Problem::TooMany { .. } => "init-too-large",
            Problem::NotUtf8 | Problem::Syntax(_) => "init-syntax",
            Problem::UnknownFormat | Problem::OtherService(_) | Problem::NoTable => "init-not-a-model",
            Problem::Version { .. } => "init-version",
            Problem::Missing(_) | Problem::NotText | Problem::UnknownWord(_) | Problem::UnknownName => {
                "init-malformed"
            }
            Problem::NotAnItem | Problem::NotANumber(_) => "init-not-an-item",
            Problem::HintsOfSeveralTables | Problem::HintsOverlap(..) | Problem::HintWithoutItem(_) => {
                "init-entities"
            }
            Problem::ItemsOfNoTable | Problem::NoKey => "init-no-key",
        }
    }
}
