//! Reads CloudFormation templates, in YAML or JSON: for [`crate::compare()`], and for `keyfold init`.

mod node;
mod resolve;
mod yaml;

pub use node::{Kind, Node};
pub use resolve::{Resource, Template, intrinsic};
pub use yaml::{TEMPLATE_BYTES_MAX, TemplateError, read};
