//! Published models of other authors, with their access patterns, queried through Keyfold.
//!
//! A [`case`] is such a model: its items, and questions with their answers. A manifest declares the same items for
//! Keyfold. [`run`](run()) loads them through the write path, answers every question through planner and executor, and
//! compares.
//!
//! The data of real models belongs to others and is not part of this repository; the manifests in `manifests/` are. The
//! tests of this crate have their own small cases.

pub mod case;
pub mod compare;
pub mod json;
pub mod report;
pub mod request;
pub mod run;
pub mod subject;
pub mod summary;

pub use run::{Options, run};
