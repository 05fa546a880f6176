//! Key templates: fold several attributes into one key, read a key back, and select ranges of keys.
//!
//! A [`Template`] is parsed once ([`Template::parse`]). It folds items into keys ([`Template::fold`]), reads keys back
//! ([`Template::unfold`]), and computes the ranges of keys that items passing some tests can have
//! ([`Template::select`]). `docs/key-format.md` specifies the format. Its laws:
//!
//! - *injective*: two different tuples never fold into one key;
//! - *prefix-safe*: the first parts select exactly their members;
//! - *ordered*: where a part has an ordered encoding, byte order is value order;
//! - *readable*: ordinary values look as in a plain join;
//! - *bounded*: never empty, never longer than DynamoDB allows.

mod bounds;
mod codec;
mod digest;
mod encode;
mod error;
mod field;
mod finite;
mod fold;
mod follow;
mod ordered;
mod overlap;
mod parse;
mod select;
mod selection;
mod shard;
mod template;
mod time;
mod unfold;

pub use codec::{Codec, KeyMode, KeyRole};
pub use error::{FoldError, FoldProblem, TemplateError, TemplateProblem, UnfoldError, UnfoldProblem};

pub use selection::{KeyRange, Selection, Served, Test, Tests};
pub use template::{Part, Template};
pub use unfold::Unfolded;

pub(crate) use follow::after_all;
pub(crate) use shard::Shards;
pub(crate) use time::{instant, is_date, is_possible, is_timestamp};

#[cfg(test)]
mod tests;
