//! The stable codes of every finding about a manifest: one line each, used by `--json`, `allow` and the docs.

use serde::Serialize;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no model until this is fixed.
    Error,
    /// The model works, but perhaps not as intended.
    Warning,
}

/// The documentation of one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// The stable name, in kebab-case.
    pub code: &'static str,
    /// The usual severity. Two codes can be either: `separator-in-values` is an error in verbatim mode, and
    /// `many-indexes` is a warning once it is allowed.
    pub severity: Severity,
    /// Its meaning, in one sentence.
    pub meaning: &'static str,
}

macro_rules! codes {
    ($($variant:ident $code:literal $severity:ident $meaning:literal)*) => {
        /// A code that this parser reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Code { $($variant),* }

        const CODES: &[CodeInfo] = &[
            $(CodeInfo { code: $code, severity: Severity::$severity, meaning: $meaning }),*
        ];
    };
}

codes! {
    TooLarge "too-large" Error "the manifest's text is over the limit of one MiB"
    MoreErrors "more-errors" Error "there are more errors than the 100 that are shown"
    TomlSyntax "toml-syntax" Error "the text is not TOML"
    DuplicateName "duplicate-name" Error "one name is given twice"
    UnknownField "unknown-field" Error "the manifest's language has no such field here"
    WrongType "wrong-type" Error "the value has another type than the field takes"
    MissingField "missing-field" Error "a required field is absent"
    BadName "bad-name" Error "a name has a length or a character that DynamoDB or Keyfold does not take"
    BadValue "bad-value" Error "the value is not one of those that the field takes"
    UnknownAttribute "unknown-attribute" Error "the attribute is not declared in the table"
    UnknownTable "unknown-table" Error "the manifest declares no such table"
    UnknownEntity "unknown-entity" Error "the table has no such entity"
    UnknownIndex "unknown-index" Error "the table has no such index"
    UnknownOperator "unknown-operator" Error "a question uses an operator that does not exist"
    UnknownWarning "unknown-warning" Error "`allow` names no warning"
    KeyNotScalar "key-not-scalar" Error "a key attribute is not a string, a number or a binary"
    FoldedOverNatural "folded-over-natural" Error "a folded key would overwrite a declared attribute"
    TemplateForNaturalKey "template-for-natural-key" Error "an entity gives a template for a key that is not folded"
    MissingTemplate "missing-template" Error "nothing says how a folded key is made"
    EntityWithoutKey "entity-without-key" Error "an entity has no template for the table's own key"
    RulesDiffer "rules-differ" Error "two keys share an attribute but make it differently"
    BadTemplate "bad-template" Error "a key template cannot be read"
    KeyTooLong "key-too-long" Error "every key of a template would be over DynamoDB's limit"
    LocalIndexPartition "local-index-partition" Error "a local index has another partition key than its table"
    LocalIndexSort "local-index-sort" Error "a local index has no sort key"
    LocalIndexTable "local-index-table" Error "a table with local indexes has no sort key"
    TooManyLocalIndexes "too-many-local-indexes" Error "a table has more than 5 local indexes"
    ManyIndexes "many-indexes" Error "a table has more than the default quota of 20 global indexes"
    TooManyProjected "too-many-projected-attributes" Error "the indexes of a table project more than 100 attributes by name"
    NativeKeyPlace "native-key-place" Error "a list of key attributes stands where DynamoDB takes one"
    NativeKeyCount "native-key-count" Error "a native multi-attribute key has too many or too few attributes"
    RepeatedKeyAttribute "repeated-key-attribute" Error "one key has the same attribute twice"
    BadValues "bad-values" Error "the list of an attribute's values is empty, repeats one, or does not fit its type"
    BadMap "bad-map" Error "a value map cannot be read back, or is not for this attribute"
    BadPrecision "bad-precision" Error "only timestamps have a precision"
    EntityWithoutWhen "entity-without-when" Error "nothing says which items are of an entity"
    SameWhen "same-when" Error "two entities claim the same items"
    OperatorMisfit "operator-misfit" Error "an operator cannot be asked of an attribute of this type"
    OrderMisfit "order-misfit" Error "values of this type have no order"
    MixedType "mixed-type" Error "an attribute needs one type here, and two entities give it different ones"
    BadFromKey "bad-from-key" Error "an attribute is declared as read from a key, and no key can tell it"
    ScopeUnproven "scope-unproven" Error "callers may write a table in which no key proves whose item it is"
    EntityKeyMismatch "entity-key-mismatch" Error "an entity's own `when` does not take the keys that its template makes"
    RetrofitKey "retrofit-key" Error "a retrofit takes away or changes what a key is made of"
    LiveAttributes "live-attributes" Error "a retrofit in place changes attributes that live programs read, and does not say so"
    StaleKeys "stale-keys" Error "a retrofit in place changes what folded keys are made of that it does not write"
    EntityUnknown "entity-unknown" Error "no item of a retrofit's source can be known to be of an entity of its target"
    RenameOverKey "rename-over-key" Error "a retrofit renames an attribute onto a key of its source, whose own value is lost"
    RetrofitCycle "retrofit-cycle" Error "retrofits lead back to the table that they come from"
    SharedTarget "shared-target" Error "two tables are carried into one, and items of both can have one primary key"
    LimitTooHigh "limit-too-high" Error "a question's limit is over what an answer can have"
    RenameUndeclared "rename-undeclared" Warning "a retrofit renames an attribute that its source does not declare"
    CarriedKey "carried-key" Warning "a retrofit carries folded keys of its source along as data"
    ClaimPath "claim-path" Warning "an attribute is bound to a claim that no authorizer gives"
    HotPartition "hot-partition" Warning "a partition key has so few values that its partitions run hot"
    SeparatorInValues "separator-in-values" Warning "values will contain the separator that follows them in a key"
    CollectionMayPass "collection-may-pass-10gb" Warning "an item collection of a table with local indexes may pass 10 GB"
    QuestionUnserved "question-unserved" Warning "no index serves a question, and it does not allow a scan"
    NativeWouldServe "native-would-serve" Warning "a native multi-attribute key would do what a folded one does, with nothing to backfill"
    LossyPrimaryKey "lossy-primary-key" Warning "two items may get one primary key"
    LiteralNamesAttribute "literal-names-attribute" Warning "a key is the same text for every item, and the text is the name of an attribute"
    KeysCanCollide "keys-can-collide" Warning "items of two entities can have the same primary key"
    HalfIndexKey "half-index-key" Warning "an entity gives one half of an index's key, so none of its items is in the index"
    IndexUnfilled "index-unfilled" Warning "no entity gives both halves of an index's key, so the index stays empty"
    UnusedAllow "unused-allow" Warning "`allow` names a warning that does not occur"
    RedundantProjection "redundant-projection" Warning "an index projects an attribute that is in it anyway"
    NothingToRetrofit "nothing-to-retrofit" Warning "a retrofit in place has nothing to change"
}

impl Code {
    pub(super) fn info(self) -> &'static CodeInfo {
        &CODES[self as usize]
    }
}

/// Every code that [`parse`](super::parse) reports, errors first.
pub fn codes() -> &'static [CodeInfo] {
    CODES
}

/// The warnings that `allow` silences, on a table or on one index.
pub(super) const ALLOWABLE: &[&str] = &[
    "hot-partition",
    "separator-in-values",
    "collection-may-pass-10gb",
    "native-would-serve",
    "lossy-primary-key",
    "literal-names-attribute",
    "keys-can-collide",
    "half-index-key",
    "index-unfilled",
    "redundant-projection",
    "many-indexes",
];
