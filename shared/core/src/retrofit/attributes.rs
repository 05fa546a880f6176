//! The attributes that a retrofit keeps on target items until it is finalised.

pub use crate::attribute::TOMBSTONE_ATTRIBUTE;

/// How new the item is.
pub const FENCE_ATTRIBUTE: &str = "keyfold_fence";
/// On an item whose key can move: the source item that it is of.
pub const OWNER_ATTRIBUTE: &str = "keyfold_source";
/// On an item whose key can move, just before the retrofit deletes it: distinguishes this deletion from another program's in the stream.
pub const REMOVING_ATTRIBUTE: &str = "keyfold_removing";
/// On an item whose key can move: a digest of the key that the retrofit wrote it to. Programs that move an item copy its fence.
pub const PLACE_ATTRIBUTE: &str = "keyfold_place";

/// All of them.
pub const OWN_ATTRIBUTES: [&str; 5] =
    [FENCE_ATTRIBUTE, TOMBSTONE_ATTRIBUTE, OWNER_ATTRIBUTE, REMOVING_ATTRIBUTE, PLACE_ATTRIBUTE];
