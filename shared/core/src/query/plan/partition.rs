//! The attributes of one partition key with their values. Nearly always it is one, which then lies in no memory of its own:
//! a fan-out has many partitions.

use std::ops::Deref;

use smallvec::{SmallVec, smallvec};

use crate::value::AttributeValue;

/// An attribute of the partition key, and the value that it is fixed to.
pub(super) type Fixed<'m> = (&'m str, AttributeValue);

/// A partition's key.
#[derive(Debug, Clone)]
pub(super) enum Partition<'m> {
    One(Fixed<'m>),
    Several(Vec<Fixed<'m>>),
}

impl<'m> Partition<'m> {
    /// The key with one more attribute.
    pub(super) fn with(&self, part: Fixed<'m>) -> Partition<'m> {
        let mut parts = self.to_vec();
        parts.push(part);
        Partition::Several(parts)
    }

    /// All attributes.
    pub(super) fn into_parts(self) -> impl ExactSizeIterator<Item = Fixed<'m>> {
        let parts: SmallVec<[Fixed<'m>; 1]> = match self {
            Partition::One(part) => smallvec![part],
            Partition::Several(parts) => parts.into(),
        };
        parts.into_iter()
    }
}

impl<'m> Deref for Partition<'m> {
    type Target = [Fixed<'m>];

    fn deref(&self) -> &[Fixed<'m>] {
        match self {
            Partition::One(part) => std::slice::from_ref(part),
            Partition::Several(parts) => parts,
        }
    }
}

impl PartialEq for Partition<'_> {
    fn eq(&self, other: &Partition<'_>) -> bool {
        **self == **other
    }
}
