//! An update through the model: a change of natural attributes also updates the folded keys made of them.
//!
//! A stale key is worse than none, because the item is found under its old values. So an update of an attribute in a
//! folded key rewrites the key in the same request, on condition that the key's other attributes have not changed. An
//! [`UpdateTask`] returns the next request and takes its response.

mod change;
mod refusal;
mod spec;
mod task;

pub(super) use change::keys_of_stored;
pub use refusal::UpdateRefusal;
pub use spec::Update;
pub use task::{UPDATE_ATTEMPTS_MAX, UpdateRequest, UpdateTask};

#[cfg(test)]
mod tests;
