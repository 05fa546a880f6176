//! The common part of the Node and Python packages: `keyfold-core` behind JSON texts.
//!
//! Every function takes and returns JSON; items and values are in DynamoDB's notation (`{"S": "a"}`), so that numbers
//! keep their 38 digits. Requests have the form of DynamoDB's API. Nothing is decided here: a package sends requests in
//! its language, and converts that language's values.
//!
//! Start with [`Keyfold::load`]. A [`Question`] and a [`Change`] take several requests; each returns the next one.

mod asked;
mod change;
mod failure;
mod keyfold;
mod keys;
mod question;
mod readiness;
mod requests;
mod table_of;

pub use change::Change;
pub use failure::Failure;
pub use keyfold::Keyfold;
pub use keyfold_core::value::AttributeValue;
pub use question::Question;
pub use requests::value;
