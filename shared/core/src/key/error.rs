//! Errors in templates, in an item's key parts, and in keys. None contains an item's contents.

use std::ops::Range;

/// A mistake in a template's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TemplateError {
    /// The position, in bytes of the template's text.
    pub span: Range<usize>,
    /// The problem.
    pub problem: TemplateProblem,
}

/// A template error at a position.
pub(super) fn problem(span: Range<usize>, problem: TemplateProblem) -> TemplateError {
    TemplateError { span, problem }
}

/// A problem in a template's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TemplateProblem {
    #[error("the template is empty")]
    Empty,
    #[error("`{{` has no `}}`")]
    UnclosedBrace,
    #[error("`}}` has no `{{`")]
    StrayBrace,
    #[error("`[` has no `]`")]
    UnclosedBracket,
    #[error("`]` has no `[`")]
    StrayBracket,
    #[error("the braces do not name an attribute")]
    NoAttribute,
    #[error("unknown attribute `{attribute}`")]
    UnknownAttribute { attribute: String, closest: Option<String> },
    #[error("unknown codec `{codec}` on attribute `{attribute}`")]
    UnknownCodec { attribute: String, codec: String },
    #[error("attribute `{attribute}` has no map `{map}`")]
    UnknownMap { attribute: String, map: String },
    #[error("the width of `{attribute}` must be written as `01` to `020`")]
    Width { attribute: String },
    #[error("the number of shards of `{attribute}` must lie between 2 and 1000")]
    Shards { attribute: String },
    #[error("attribute `{attribute}` is a {kind}: it cannot be part of a key")]
    NotAKeyPart { attribute: String, kind: &'static str },
    #[error("attribute `{attribute}` is a {kind}: the codec `{codec}` does not apply to it")]
    CodecKind { attribute: String, kind: &'static str, codec: String },
    #[error("there is no separator between `{first}` and `{second}`")]
    Adjacent { first: String, second: String },
    #[error("the separator after `{attribute}` begins with a hexadecimal digit")]
    HexSeparator { attribute: String },
    #[error("the separator after `{attribute}` begins with a digit")]
    DigitSeparator { attribute: String },
    #[error("the separator after `{attribute}` begins with `%`, the escape character")]
    PercentSeparator { attribute: String },
    #[error("an optional tail must be at the end")]
    AfterOptional,
    #[error("an optional tail has no attribute")]
    EmptyOptional,
    #[error("an optional tail needs something before it")]
    OnlyOptional,
    #[error("a `?` does not make an attribute optional")]
    QuestionMark { attribute: String },
    #[error("attribute `{attribute}` appears twice")]
    Repeated { attribute: String },
    #[error("more than {most} attributes in one template")]
    TooMany { most: usize },
    #[error("the shortest possible key has {bytes} bytes; at most {bytes_max} are allowed")]
    TooLong { bytes: usize, bytes_max: usize },
    #[error(
        "attribute `{attribute}` has values that contain the separator `{separator}`, which a verbatim key cannot contain"
    )]
    VerbatimValues { attribute: String, separator: String },
}

impl TemplateError {
    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<String> {
        use TemplateProblem as P;
        Some(match &self.problem {
            P::UnknownAttribute { closest: Some(name), .. } => format!("did you mean `{name}`?"),
            P::UnknownAttribute { .. } => "declare it among the table's attributes".to_owned(),
            P::UnclosedBrace | P::StrayBrace => {
                "write `{{` or `}}` for a brace that is meant as text".to_owned()
            }
            P::UnclosedBracket | P::StrayBracket => {
                "write `[[` or `]]` for a bracket that is meant as text".to_owned()
            }
            P::UnknownCodec { .. } => {
                "the codecs are `:06`, `:number`, `|lower`, `|upper`, `|map:NAME`, `|shard:N`, `|mod:N` and `|hex`"
                    .to_owned()
            }
            P::UnknownMap { attribute, map } => {
                format!("declare it: {attribute} = {{ type = \"string\", maps.{map} = {{ ... }} }}")
            }
            P::Adjacent { first, second } => {
                format!("write a separator between them: `{{{first}}}#{{{second}}}`")
            }
            P::QuestionMark { attribute } => {
                format!("write `[#{{{attribute}}}]`, with the separator inside the brackets")
            }
            P::AfterOptional => {
                "move the optional part to the end, or nest what follows in its brackets".to_owned()
            }
            P::HexSeparator { .. } => {
                "separate with a character that is not a digit and no letter from a to f".to_owned()
            }
            P::DigitSeparator { .. } => "separate with a character that is not a digit".to_owned(),
            P::PercentSeparator { .. } => "separate with another character".to_owned(),
            P::VerbatimValues { .. } => "choose another separator, or fold without `verbatim`".to_owned(),
            _ => return None,
        })
    }
}

/// Why an item's key cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("template `{template}`: {}{problem}", .attribute.as_ref().map(|name| format!("attribute `{name}` ")).unwrap_or_default())]
pub struct FoldError {
    /// The template.
    pub template: String,
    /// The attribute, if the problem concerns one.
    pub attribute: Option<String>,
    /// The problem.
    pub problem: FoldProblem,
}

/// Why a value cannot be part of a key, or why the key is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FoldProblem {
    #[error("is of type `{found}`, but the manifest declares `{expected}`")]
    WrongType { expected: &'static str, found: &'static str },
    #[error("has a value that the manifest does not list")]
    NotListed,
    #[error("has a value that the map `{map}` does not contain")]
    NotInMap { map: String },
    #[error("contains the separator `{separator}`, which a verbatim key cannot contain")]
    Separator { separator: String },
    #[error("is not UTF-8 text")]
    NotText,
    #[error("is not a DynamoDB number")]
    NotANumber,
    #[error("is not a whole number of at most {width} digits")]
    NotAnInteger { width: u32 },
    #[error("is not a whole number of zero or more, so it has no remainder")]
    NoRemainder,
    #[error("is not a timestamp (`2017-03-01T08:00:00Z`)")]
    NotATimestamp,
    #[error("is more precise than the key, which has the precision {precision}")]
    TooFine { precision: &'static str },
    #[error("is not a date (`2017-03-01`)")]
    NotADate,
    #[error("is empty, which the key cannot distinguish from an absent value")]
    EmptyOptional,
    #[error("is present, but a part before it is absent, so the key would leave it out")]
    OptionalGap,
    #[error("the key is empty")]
    EmptyKey,
    #[error("the key has {bytes} bytes; at most {bytes_max} are allowed")]
    TooLong { bytes: usize, bytes_max: usize },
}

/// A text that is not a key of this template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a key of this template: at byte {at} {problem}")]
pub struct UnfoldError {
    /// The position, in bytes of the text.
    pub at: usize,
    /// The problem.
    pub problem: UnfoldProblem,
}

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum UnfoldProblem {
    #[error("`{expected}` is expected")]
    Literal { expected: String },
    #[error("there is no value of `{attribute}`")]
    Value { attribute: String },
    #[error("there is text left over")]
    LeftOver,
    #[error("the key is empty or too long")]
    Length,
}
