//! Models, items and requests from a seed: the same case for a seed on every machine.
//!
//! Few values are used, so that keys collide, ranges meet and conditions match; and they are awkward: separators,
//! escapes, prefixes of each other, the ends of every range.

pub(crate) mod asked;
mod items;
mod manifest;
mod operation;
mod random;
mod request;
mod template;
mod words;

pub use asked::{Asked, Operator};
pub use items::{CaseItem, changed, items, pending};
pub use manifest::manifest;
pub use operation::operation;
pub use random::Random;
pub use request::{Asking, request};
pub use words::Words;
