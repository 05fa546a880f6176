//! What the packages for Node and Python share: `keyfold-core` behind texts.
//!
//! Every function takes JSON and returns JSON; items and values are in DynamoDB's notation (`{"S": "a"}`), so that numbers keep
//! their 38 digits. Requests come out as DynamoDB's API has them, with its own names. Nothing is decided here: a package is
//! what sends requests in its language, and turns that language's values into DynamoDB's.
//!
//! Start with [`Keyfold::load`]. A [`Question`] and a [`Change`] take several requests; each says what comes next.

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
pub use question::Question;
