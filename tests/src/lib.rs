//! Models that others published, with their access patterns, asked through Keyfold.
//!
//! A [`case`] is somebody's model: its items, and questions with their answers. A manifest says how Keyfold keeps the same
//! items. [`run`](run()) loads them through the write path, asks every question through planner and executor, and compares.
//!
//! [`start`](mod@start) measures how long a function's process needs until it asks for an event.
//!
//! [`console`] has sample data for the query API's console, and a browser that looks at it.
//!
//! The data of real models is other people's and is not part of this repository; the manifests in `cases/` are. The tests
//! of this crate have small cases of their own.

pub mod case;
pub mod compare;
pub mod console;
pub mod json;
pub mod memory;
pub mod published;
pub mod report;
pub mod request;
pub mod run;
pub mod start;
pub mod subject;
pub mod summary;

pub use run::{Options, run};
