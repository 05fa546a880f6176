//! How a report looks: as text on a terminal, as Markdown, and its plots as SVG.

pub mod markdown;
pub mod svg;
pub mod text;
