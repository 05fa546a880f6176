//! Models that others published, with their access patterns, asked through Keyfold.
//!
//! A [`case`] is somebody's model: its items, and questions with their answers. A manifest says how Keyfold keeps the same
//! items. [`run`](run()) loads them through the write path, asks every question through planner and executor, and compares.
//!
//! The data of real models is other people's and is not part of this repository; the manifests in `manifests/` are. The tests
//! of this crate have small cases of their own.

pub mod case;
pub mod compare;
pub mod json;
pub mod report;
pub mod request;
pub mod run;
pub mod subject;
pub mod summary;

pub use run::{Options, run};
