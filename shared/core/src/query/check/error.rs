//! Errors in requests.

/// Why a request does not fit the model. The messages name tables and attributes, never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum RequestError {
    #[error("unknown table `{table}`")]
    UnknownTable { table: String, closest: Option<String> },
    #[error("table `{table}` has no entity `{entity}`")]
    UnknownEntity { table: String, entity: String, closest: Option<String> },
    #[error("table `{table}` declares no attribute `{attribute}`")]
    UnknownAttribute { table: String, attribute: String, closest: Option<String> },
    #[error("attribute `{attribute}` of table `{table}` has another type in `{first}` than in `{second}`")]
    MixedType { table: String, attribute: String, first: String, second: String },
    #[error("`{name}` begins with `keyfold_`: Keyfold keeps attributes of such names for itself")]
    ReservedName { name: String },
    #[error("unknown operator `{operator}` on attribute `{attribute}`")]
    UnknownOperator { attribute: String, operator: String, closest: Option<String> },
    #[error("attribute `{attribute}` of table `{table}` is a {kind}: it cannot be compared with a {given}")]
    TypeMismatch { table: String, attribute: String, kind: &'static str, given: &'static str },
    #[error("attribute `{attribute}` of table `{table}` is a {kind}: `{operator}` does not apply to it")]
    OperatorType { table: String, attribute: String, kind: &'static str, operator: &'static str },
    #[error("attribute `{attribute}` of table `{table}` is a {kind}: values of this type have no order")]
    OrderByType { table: String, attribute: String, kind: &'static str },
    #[error("the value for attribute `{attribute}` is not a valid {kind}")]
    InvalidValue { attribute: String, kind: &'static str },
    #[error("the value for attribute `{attribute}` is not a whole {kind}")]
    PartOfTime { attribute: String, kind: &'static str },
    #[error("the value for attribute `{attribute}` of table `{table}` is not one that the manifest lists")]
    UnlistedValue { table: String, attribute: String, listed: Vec<String>, closest: Option<String> },
    #[error("`between` on attribute `{attribute}` has its lower bound above its upper bound")]
    InvertedBetween { attribute: String },
    #[error("`in` on attribute `{attribute}` has no values")]
    EmptyIn { attribute: String },
    #[error("`{operator}` has no conditions")]
    EmptyGroup { operator: &'static str },
    #[error("`{place}` must be {wanted}")]
    Shape { place: String, wanted: &'static str },
    #[error("more than {most} {what}")]
    TooMany { what: &'static str, most: usize },
    #[error("`{what}` must lie between 1 and {most}")]
    Limit { what: &'static str, most: u32 },
    #[error("`select` names no attributes")]
    EmptySelect,
    #[error("the caller has no claim `{claim}`")]
    ClaimMissing { claim: String },
    #[error("the caller's claim `{claim}` is not a value of attribute `{attribute}` of table `{table}`")]
    ClaimMismatch { table: String, attribute: String, claim: String },
    #[error("attribute `{attribute}` of table `{table}` is fixed by the caller's scope")]
    OutOfScope { table: String, attribute: String },
}

impl RequestError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            RequestError::UnknownTable { .. } => "unknown-table",
            RequestError::UnknownEntity { .. } => "unknown-entity",
            RequestError::UnknownAttribute { .. } => "unknown-attribute",
            RequestError::MixedType { .. } => "mixed-type",
            RequestError::ReservedName { .. } => "reserved-name",
            RequestError::UnknownOperator { .. } => "unknown-operator",
            RequestError::TypeMismatch { .. }
            | RequestError::OperatorType { .. }
            | RequestError::OrderByType { .. } => "type-mismatch",
            RequestError::InvalidValue { .. } | RequestError::PartOfTime { .. } => "invalid-value",
            RequestError::UnlistedValue { .. } => "unlisted-value",
            RequestError::InvertedBetween { .. } => "inverted-between",
            RequestError::EmptyIn { .. } => "empty-in",
            RequestError::EmptyGroup { .. } | RequestError::Shape { .. } | RequestError::EmptySelect => {
                "malformed-request"
            }
            RequestError::TooMany { .. } | RequestError::Limit { .. } => "over-limit",
            RequestError::ClaimMissing { .. } => "claim-missing",
            RequestError::ClaimMismatch { .. } => "claim-mismatch",
            RequestError::OutOfScope { .. } => "out-of-scope",
        }
    }

    /// A suggestion, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            RequestError::UnknownTable { closest: Some(name), .. }
            | RequestError::UnknownEntity { closest: Some(name), .. }
            | RequestError::UnknownAttribute { closest: Some(name), .. }
            | RequestError::UnknownOperator { closest: Some(name), .. }
            | RequestError::UnlistedValue { closest: Some(name), .. } => {
                Some(format!("did you mean `{name}`?"))
            }
            RequestError::UnknownAttribute { table, .. } => {
                Some(format!("declare it under `[tables.{table}.attributes]` in the manifest"))
            }
            RequestError::MixedType { .. } => Some("name one entity in the request".to_owned()),
            RequestError::UnlistedValue { listed, .. } => Some(format!("it lists {}", listed.join(", "))),
            RequestError::PartOfTime { .. } => {
                Some("ask with `beginsWith`, `between`, `<`, `<=`, `>` or `>=`".to_owned())
            }
            RequestError::InvertedBetween { .. } => Some("swap the bounds".to_owned()),
            RequestError::EmptyIn { .. } => Some("leave the condition out, or give it values".to_owned()),
            _ => None,
        }
    }
}
