//! The document around a plot: sizes, colours, texts.

use std::fmt::Write;

/// How wide every plot is.
pub(super) const WIDTH: f64 = 760.0;
/// About how wide a character is, in the size of the labels.
pub(super) const CHARACTER: f64 = 6.7;

/// Colours by what something is; the second set is for dark grounds.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:14px}\
.axis{stroke:#999;fill:none}.grid{stroke:#ddd;fill:none}.spread{stroke:#333;fill:none}.small{font-size:11px;fill:#666}\
.ours{fill:#0969da}.peer{fill:#9a9a9a}.line{fill:none;stroke-width:2}\
.c0{stroke:#0969da;fill:#0969da}.c1{stroke:#bc4c00;fill:#bc4c00}.c2{stroke:#1a7f37;fill:#1a7f37}\
.c3{stroke:#8250df;fill:#8250df}.c4{stroke:#bf3989;fill:#bf3989}.c5{stroke:#6e7781;fill:#6e7781}path.line{fill:none}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#777}.grid{stroke:#3a3a3a}.spread{stroke:#ddd}\
.small{fill:#aaa}.ours{fill:#58a6ff}.peer{fill:#6a6a6a}.c0{stroke:#58a6ff;fill:#58a6ff}.c1{stroke:#f0883e;fill:#f0883e}\
.c2{stroke:#56d364;fill:#56d364}.c3{stroke:#bc8cff;fill:#bc8cff}.c4{stroke:#f778ba;fill:#f778ba}\
.c5{stroke:#8b949e;fill:#8b949e}path.line{fill:none}}";
/// How many colours lines have.
pub(super) const COLOURS: usize = 6;

/// Where a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A document while it is drawn.
pub(super) struct Document {
    title: String,
    body: String,
}

impl Document {
    pub(super) fn new(title: &str) -> Document {
        let mut document = Document { title: escaped(title), body: String::new() };
        document.text("title", 12.0, 22.0, Anchor::Start, title);
        document
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        );
    }

    pub(super) fn segment(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        );
    }

    pub(super) fn bar(&mut self, class: &str, from: (f64, f64), size: (f64, f64)) {
        let ((x, y), (width, height)) = (from, size);
        let width = width.max(1.0);
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        let _ = writeln!(self.body, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#);
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let steps: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<path class="{class}" d="M{}"/>"#, steps.join(" L"));
    }

    /// The whole document, this high.
    pub(super) fn finish(self, height: f64) -> String {
        let Document { title, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\">\n\
<title>{title}</title>\n<style>{STYLE}</style>\n{body}</svg>\n"
        )
    }
}

/// A text that ends no element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_element() {
        let document = Document::new("a < b & \"c\" > d").finish(10.0);
        assert_eq!(document.matches("a &lt; b &amp; \"c\" &gt; d").count(), 2);
        assert!(document.starts_with("<svg ") && document.ends_with("</svg>\n"));
    }

    #[test]
    fn a_bar_of_nothing_can_still_be_seen() {
        let mut document = Document::new("");
        document.bar("ours", (1.0, 2.0), (0.0, 8.0));
        assert!(document.finish(1.0).contains(r#"x="1.0" y="2.0" width="1.0" height="8.0""#));
    }
}
