//! The MCP server: an agent asks the manifest's tables, within a budget, and cannot write.
//!
//! The planner chooses the index, so the model never sees an index key. Every call has a price before it runs, every
//! answer what it consumed. Nothing here can write: [`Reader`] is the only type with a client, and it has no method
//! that writes.
//!
//! Start with [`Server`] and its [`Settings`]; [`serve_stdio`] runs it, [`policy()`] is the IAM policy that it needs.

mod answer;
mod describe;
mod hidden;
mod limits;
mod policy;
mod reader;
mod server;
mod spending;
mod status;
mod tools;

pub use hidden::{HiddenAttributes, HiddenError};
pub use limits::Limits;
pub use policy::policy;
pub use reader::Reader;
pub use server::{ServeError, Server, Settings, serve_stdio};
pub use spending::{SPENDING_FORMAT, Spending, SpendingError};
