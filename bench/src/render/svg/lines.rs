//! Lines over a quantity, with a dot for each measurement.

use super::axis::Axis;
use super::document::{Anchor, CHARACTER, COLOURS, Document, WIDTH};
use crate::figure;
use crate::report::{Line, Lines};

const TOP: f64 = 60.0;
const BOTTOM: f64 = 320.0;
const LEFT: f64 = 76.0;
const HEIGHT: f64 = 366.0;
/// What names of lines take to the right at least, beside their characters.
const NAME_MARGIN: f64 = 34.0;

pub(super) fn draw(shown: &Lines) -> String {
    let longest = shown.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let right = (WIDTH - longest as f64 * CHARACTER - NAME_MARGIN).max(WIDTH / 2.0);
    let points = || shown.lines.iter().flat_map(|line| &line.points);
    let x = Axis::over(points().map(|(x, _)| *x), shown.x_is_log, LEFT + 12.0, right);
    let y = Axis::over(points().map(|(_, y)| y.median), shown.y_is_log, BOTTOM, TOP);
    let mut document = Document::new(&shown.title);
    for mark in y.marks() {
        let at = y.place(mark);
        document.segment("grid", (LEFT, at), (right, at));
        document.text("small", LEFT - 8.0, at + 4.0, Anchor::End, &figure::axis(mark));
    }
    for mark in x.marks() {
        let at = x.place(mark);
        document.segment("grid", (at, TOP), (at, BOTTOM));
        document.text("small", at, BOTTOM + 16.0, Anchor::Middle, &figure::axis(mark));
    }
    document.segment("axis", (LEFT, BOTTOM), (right, BOTTOM));
    document.text("small", (LEFT + right) / 2.0, BOTTOM + 36.0, Anchor::Middle, &shown.x);
    document.text("small", 12.0, TOP - 18.0, Anchor::Start, &shown.y);
    for (at, line) in shown.lines.iter().enumerate() {
        draw_line(&mut document, (&x, &y), &format!("c{}", at % COLOURS), line);
    }
    draw_names(&mut document, shown, right);
    document.finish(HEIGHT)
}

fn draw_line(document: &mut Document, (x, y): (&Axis, &Axis), colour: &str, line: &Line) {
    let known = line.points.iter().filter(|(_, value)| value.median.is_finite());
    let places: Vec<_> = known.clone().map(|(at, value)| (x.place(*at), y.place(value.median))).collect();
    if places.len() > 1 {
        document.path(&format!("{colour} line"), &places);
    }
    for ((_, value), place) in known.zip(&places) {
        if value.is_spread() {
            document.segment(colour, (place.0, y.place(value.low)), (place.0, y.place(value.high)));
        }
        document.dot(colour, *place);
    }
}

/// In the order of the lines, with their colours.
fn draw_names(document: &mut Document, shown: &Lines, right: f64) {
    for (at, line) in shown.lines.iter().enumerate() {
        let y = TOP + 8.0 + at as f64 * 20.0;
        document.dot(&format!("c{}", at % COLOURS), (right + 16.0, y));
        document.text("", right + 26.0, y + 4.0, Anchor::Start, &line.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    fn shown(points: Vec<(f64, Spread)>) -> Lines {
        Lines {
            title: "Growth".to_owned(),
            x: "items".to_owned(),
            y: "seconds".to_owned(),
            x_is_log: true,
            lines: vec![Line { name: "ours".to_owned(), points }],
            ..Lines::default()
        }
    }

    #[test]
    fn more_lies_further_to_the_right_and_higher() {
        let points =
            vec![(10.0, Spread::exact(1.0)), (1000.0, Spread { low: 9.0, median: 10.0, high: 10.0 })];
        let drawn = draw(&shown(points));
        // 699.2 is where the names begin; one tenth of the height is 26.
        assert!(drawn.contains(r#"d="M88.0,294.0 L699.2,60.0""#), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert!(drawn.contains(r#"x1="699.2" y1="86.0" x2="699.2" y2="60.0""#), "{drawn}");
    }

    #[test]
    fn one_point_is_a_dot_and_a_missing_one_is_none() {
        let drawn = draw(&shown(vec![(10.0, Spread::exact(1.0)), (20.0, Spread::exact(f64::NAN))]));
        assert!(!drawn.contains("<path") && !drawn.contains("NaN"), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 2);
    }
}
