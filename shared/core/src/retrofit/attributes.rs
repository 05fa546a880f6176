//! The attributes that a retrofit keeps on target items until it is finalised.

pub use crate::attribute::TOMBSTONE_ATTRIBUTE;

/// How new the item is.
pub const FENCE_ATTRIBUTE: &str = "keyfold_fence";
/// On an item whose key can move: the source item that it is of.
pub const OWNER_ATTRIBUTE: &str = "keyfold_source";

/// All of them.
pub const OWN_ATTRIBUTES: [&str; 3] = [FENCE_ATTRIBUTE, TOMBSTONE_ATTRIBUTE, OWNER_ATTRIBUTE];
