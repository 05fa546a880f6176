//! To come.
use crate::{Report, Setting};
pub(super) fn run(_: &Setting) -> anyhow::Result<Report> {
    Ok(Report::new("coldstart", ""))
}
