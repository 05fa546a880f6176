//! Programs that others would write, in other languages: their tools are prepared below `target/peers`. What cannot be
//! prepared is a row that is missing, with the reason said loudly; it never fails the run.

mod node;
mod python;
mod tool;

pub use node::{Node, found};
pub use python::Python;
pub use tool::Missing;
