//! Short lists.

/// Few things, which need no memory of their own: a request has few conditions, and a key few parts.
pub(super) type Few<T> = smallvec::SmallVec<[T; 4]>;
