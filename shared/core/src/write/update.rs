//! An update through the model: a change of natural attributes takes the folded keys made of them along.
//!
//! A key that stays behind is worse than none: the item is found by what it was. So an update that touches what a folded
//! key is made of writes the key anew in the same request, on condition that everything else it is made of is as it was
//! when the key was made. An [`UpdateTask`] says which request comes next and receives the answer.

mod change;
mod refusal;
mod spec;
mod task;

pub use refusal::UpdateRefusal;
pub use spec::Update;
pub use task::{UPDATE_ATTEMPTS_MAX, UpdateRequest, UpdateTask};
