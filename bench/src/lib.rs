//! Figures: what Keyfold costs beside what people use today, in one run on one machine.
//!
//! [`section`] has what is measured, one module each; every section gives a [`Report`], which is data. [`render`] makes
//! text, Markdown and SVG of it, and knows nothing of what was measured. What is compared is measured in interleaved
//! rounds, so that whatever else the machine does meets all alike; [`statistics`] has medians and quartiles.

pub mod allocations;
pub mod data;
pub mod figure;
pub mod goal;
pub mod machine;
pub mod micro;
pub mod page;
pub mod peers;
pub mod render;
pub mod report;
pub mod retrofit;
pub mod section;
pub mod setting;
pub mod start;
pub mod statistics;

pub use goal::Goal;
pub use report::Report;
pub use section::SECTIONS;
pub use setting::{Scale, Setting};
pub use statistics::Spread;
