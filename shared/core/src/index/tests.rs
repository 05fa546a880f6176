//! Tests of sizes, folding, projection, changes and storage.

mod change;
mod fold;
mod key_parts;
mod laws;
mod project;
mod size;
mod storage;
mod validate;
