//! The `keyfold` command.
fn main() {}
