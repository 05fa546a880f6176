//! What others would write: with the SDK alone, and programs in other languages. The tools of these are prepared below
//! `target/peers`. What cannot be prepared is a row that is missing, with the reason said loudly; it never fails the run.

mod node;
mod python;
mod sdk;
mod tool;

pub use node::{Node, found};
pub use python::Python;
pub use sdk::sdk_alone;
pub use tool::Missing;
