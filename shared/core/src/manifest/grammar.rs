//! The grammar of the manifest: the fields of each table, and the words that fields accept.
//!
//! `schema.json` is the same for editors; a test compares the two.

pub(super) const ROOT: &[&str] = &["prices", "deploy", "tables", "questions", "retrofits"];
pub(super) const PRICES: &[&str] = &["region", "as-of", "read-million", "write-million", "storage-gb-month"];
pub(super) const DEPLOY: &[&str] =
    &["audit-writer", "audit-journal", "audit-keep-days", "query-api", "query-api-writes", "retrofits"];
pub(super) const TABLE: &[&str] = &[
    "name",
    "managed",
    "partition",
    "sort",
    "entity-attribute",
    "ttl",
    "verbatim",
    "scope",
    "written-by",
    "allow",
    "expect",
    "collection-warning-gb",
    "attributes",
    "indexes",
    "entities",
    "templates",
];
pub(super) const EXPECT: &[&str] = &["items", "item-bytes", "items-per-partition", "writes", "values"];
pub(super) const ENTITY_EXPECT: &[&str] = &["items", "item-bytes", "writes"];
pub(super) const INDEX_EXPECT: &[&str] = &["items", "item-bytes", "items-per-partition"];
pub(super) const ATTRIBUTE: &[&str] =
    &["type", "values", "precision", "maps", "contains", "required", "from-key"];
pub(super) const INDEX: &[&str] = &["type", "partition", "sort", "projection", "expect", "allow"];
pub(super) const KEY: &[&str] = &["attribute", "fold", "verbatim"];
pub(super) const ENTITY: &[&str] = &["when", "attributes", "partition", "sort", "indexes", "expect"];
pub(super) const ENTITY_INDEX: &[&str] = &["partition", "sort"];
pub(super) const WHEN_TEST: &[&str] = &["exists", "begins-with"];
pub(super) const QUESTION: &[&str] =
    &["where", "or", "entity", "order", "select", "limit", "consistent", "scan", "rate"];
pub(super) const BRANCH: &[&str] = &["where", "entity"];
pub(super) const RETROFIT: &[&str] = &[
    "from",
    "to",
    "rename",
    "set",
    "drop",
    "changes-live-attributes",
    "only",
    "fills",
    "keep-folded",
    "misfits",
];
pub(super) const REMEDY: &[&str] = &["default"];

pub(super) const TYPES: &[&str] = &[
    "string",
    "number",
    "binary",
    "boolean",
    "timestamp",
    "date",
    "list",
    "map",
    "string-set",
    "number-set",
    "binary-set",
];
pub(super) const PRECISIONS: &[&str] = &["s", "ms", "us", "ns"];
pub(super) const INDEX_TYPES: &[&str] = &["local", "global"];
pub(super) const PROJECTIONS: &[&str] = &["all", "keys-only"];
pub(super) const OPERATORS: &[&str] =
    &["=", "<", "<=", ">", ">=", "between", "beginsWith", "contains", "in", "exists"];
