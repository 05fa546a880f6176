//! The console in a browser: sample data behind the real handler, a headless Chromium, and what must hold on the page.
//!
//! `console-fixture` serves the sample to people; `console` looks at it and fails if anything is not as it should be.

pub mod browser;
pub mod checks;
pub mod fixture;
mod items;
mod looks;
pub mod page;
mod serve;
