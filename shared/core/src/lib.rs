//! Keyfold's core: pure logic. It calls no service, reads no clock or file, and starts nothing, so the same code runs in a
//! Lambda function, in a simulator and in a browser.
//!
//! # Where things are
//!
//! Each module uses only earlier modules.
//!
//! | module | contents |
//! |---|---|
//! | [`value`] | items, attribute values, DynamoDB's numbers, and how DynamoDB compares them |
//! | [`json`] | JSON with exact numbers: items and values in DynamoDB's notation and plain |
//! | [`format`](mod@format) | versions of stored forms, and the refusal of others |
//! | [`attribute`] | the declared attributes and their types |
//! | [`condition`] | conditions on attributes, as DynamoDB's expressions mean them |
//! | [`key`] | key templates: several attributes become one key, a key is read back, a range of keys is selected |
//! | [`model`] | tables, indexes, entities, questions and retrofits, after every check has passed |
//! | [`cost`] | read units, write units and dollars |
//! | [`manifest`] | the text of `keyfold.toml` becomes a model, or a list of mistakes |
//! | [`index`] | the keys of an item, its entry in each index, and what a write costs |
//! | [`query`] | a request becomes a plan; a plan is data |
//! | [`write`](mod@write) | one item's write: what is sent, on which condition; updates that keep folded keys right |
//! | [`execute`] | a plan becomes requests, and their responses an answer |
//! | [`retrofit`] | what is written for changed and scanned items, and when; does the target hold what the source says? |
//! | [`audit`] | the journal of the audit trail: digests, chains, anchors, and what they prove |
//! | [`review`] | what the planner says of a manifest's questions |
//!
//! # Where to start
//!
//! ```
//! # use keyfold_core::value::{AttributeValue, Item};
//! let text = r#"
//! [tables.audit]
//! partition = "id"
//! attributes = { id = "string", resourceId = "string", action = "string" }
//! indexes.byResource = { partition = "{resourceId}-{action}", allow = ["native-would-serve"] }
//! "#;
//! let model = keyfold_core::manifest::parse("keyfold.toml", text).model.expect("no mistakes");
//! let audit = model.table("audit").expect("declared above");
//!
//! // An item of a writer gets its folded keys.
//! # let text = |text: &str| AttributeValue::S(text.to_owned());
//! let item = Item::from_iter([("id", text("1")), ("resourceId", text("123ccc")), ("action", text("viewed"))]);
//! let stored = audit.written(item)?;
//! assert_eq!(stored.get("byResource_pk"), Some(&text("123ccc-viewed")));
//! # Ok::<(), keyfold_core::index::ItemError>(())
//! ```
//!
//! From there: [`manifest::parse`] for the manifest, [`key::Template`] for keys, [`query::plan`](query::plan()) for plans,
//! [`retrofit`] for how a retrofit loses nothing.

pub mod attribute;
pub mod audit;
pub mod condition;
pub mod cost;
pub mod execute;
pub mod format;
pub mod index;
pub mod json;
pub mod key;
pub mod manifest;
pub mod measure;
pub mod model;
pub mod query;
pub mod retrofit;
pub mod review;
pub mod text;
pub mod value;
pub mod write;
