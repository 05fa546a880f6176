//! Keyfold's core: pure logic, no AWS SDK, no clock, no I/O, no async.
//!
//! Read the modules in the order in which data passes through them:
//!
//! [`manifest`] (text) -> [`model`] (validated) -> [`key`] (templates and codecs) -> [`index`] (projection of an item
//! into an index, and what a change costs) -> [`query`] (request, plan, explain) -> [`retrofit`] (what is written for
//! changed and scanned items, and when; is the target what the source says). [`cost`] (units and dollars) and [`value`] stand below them.
//!
//! Start with [`manifest::parse`], which turns the text of `keyfold.toml` into a [`model::Model`].

pub mod attribute;
pub mod condition;
pub mod cost;
pub mod index;
pub mod key;
pub mod manifest;
pub mod model;
pub mod query;
pub mod retrofit;
pub mod review;
mod text;
pub mod value;
pub mod write;
