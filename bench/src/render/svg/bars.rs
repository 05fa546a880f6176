//! Horizontal bars, one below the other, each with its value and its quartiles.

use super::axis::Axis;
use super::document::{Anchor, CHARACTER, Document, WIDTH};
use crate::figure;
use crate::report::{Bar, Bars};

/// Where the first bar begins.
const TOP: f64 = 42.0;
const BAR_HEIGHT: f64 = 16.0;
const STEP: f64 = 26.0;
/// What stays free to the right of the axis, for values.
const RIGHT: f64 = 96.0;
/// What stays free below the last bar, for the axis.
const BOTTOM: f64 = 46.0;
/// The most that labels may take.
const LABELS_MAX: f64 = 360.0;

pub(super) fn draw(shown: &Bars) -> String {
    let longest = shown.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * CHARACTER + 24.0).min(LABELS_MAX);
    let values = shown.bars.iter().flat_map(|bar| [bar.value.median, bar.value.high, bar.value.low]);
    let axis = Axis::over(values, shown.is_log, left, WIDTH - RIGHT);
    let bottom = TOP + shown.bars.len() as f64 * STEP;
    let mut document = Document::new(&shown.title);
    for mark in axis.marks() {
        let x = axis.place(mark);
        document.segment("grid", (x, TOP - 6.0), (x, bottom));
        document.text("small", x, bottom + 16.0, Anchor::Middle, &figure::axis(mark));
    }
    let unit_at = (left + WIDTH - RIGHT) / 2.0;
    document.text("small", unit_at, bottom + 34.0, Anchor::Middle, &shown.unit);
    for (at, bar) in shown.bars.iter().enumerate() {
        draw_bar(&mut document, &axis, left, TOP + at as f64 * STEP, bar);
    }
    document.segment("axis", (left, TOP - 6.0), (left, bottom));
    document.finish(bottom + BOTTOM)
}

fn draw_bar(document: &mut Document, axis: &Axis, left: f64, top: f64, bar: &Bar) {
    let (middle, end) = (top + BAR_HEIGHT / 2.0, axis.place(bar.value.median));
    document.text("", left - 8.0, middle + 4.0, Anchor::End, &bar.label);
    document.bar(if bar.is_ours { "ours" } else { "peer" }, (left, top), (end - left, BAR_HEIGHT));
    let (low, high) = (axis.place(bar.value.low), axis.place(bar.value.high));
    if bar.value.is_spread() {
        document.segment("spread", (low, middle), (high, middle));
    }
    document.text("", high.max(end) + 8.0, middle + 4.0, Anchor::Start, &figure::number(bar.value.median));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let mut shown = Bars::new("f", "Folding", "ns");
        shown.ours("fold", Spread::exact(50.0));
        shown.peer("join", Spread { low: 90.0, median: 100.0, high: 100.0 });
        let drawn = draw(&shown);
        // Labels of four characters leave the bars 760 - 96 - 50.8 for 100.
        assert!(drawn.contains(r#"class="ours" x="50.8" y="42.0" width="306.6""#), "{drawn}");
        assert!(drawn.contains(r#"class="peer" x="50.8" y="68.0" width="613.2""#), "{drawn}");
        assert_eq!(drawn.matches(r#"class="spread""#).count(), 1);
        assert!(drawn.contains(">ns</text>") && drawn.contains(">fold</text>"));
    }

    #[test]
    fn a_value_that_is_missing_breaks_nothing() {
        let mut shown = Bars::new("f", "Nothing", "ns");
        shown.ours("fold", Spread::exact(f64::NAN));
        let drawn = draw(&shown);
        assert!(!drawn.contains("NaN"), "{drawn}");
    }
}
