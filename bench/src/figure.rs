//! Numbers as people read them: three digits that count, a unit, the spread behind.

use crate::Spread;

/// A number with three digits that count, or all before the point if there are more; thousands apart.
///
/// ```
/// use keyfold_bench::figure::number;
/// assert_eq!([number(0.01234), number(61.27), number(1234567.8)], ["0.0123", "61.3", "1,234,568"]);
/// ```
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    let whole_digits = if size < 1.0 { 0 } else { size.log10().floor() as i32 + 1 };
    let decimals = match whole_digits {
        _ if size == 0.0 => 0,
        0 => (2 - size.log10().floor() as i32).min(6),
        digits => 3 - digits,
    };
    grouped(&format!("{value:.*}", decimals.max(0) as usize))
}

/// Thousands apart, before the point.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// A whole number, thousands apart.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number beside an axis: as short as it can be.
pub fn axis(value: f64) -> String {
    let (size, unit) = match value.abs() {
        big if big >= 1e6 => (1e6, "M"),
        big if big >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    // Sums of steps like 0.1 are a little beside what they should be.
    let scaled = format!("{:.6}", value / size);
    let short = scaled.trim_end_matches('0').trim_end_matches('.');
    format!("{short}{unit}")
}

/// A median with its quartiles, if they differ.
pub fn spread(spread: Spread) -> String {
    let median = number(spread.median);
    if !spread.is_spread() || !spread.median.is_finite() {
        return median;
    }
    format!("{median} [{}, {}]", number(spread.low), number(spread.high))
}

/// A ratio with its quartiles: how many times.
pub fn ratio(ratio: Spread) -> String {
    let times = |value: f64| format!("{value:.2}");
    match (ratio.median.is_finite(), ratio.is_spread()) {
        (false, _) => "-".to_owned(),
        (true, false) => format!("{}x", times(ratio.median)),
        (true, true) => format!("{}x [{}, {}]", times(ratio.median), times(ratio.low), times(ratio.high)),
    }
}

/// What a ratio of costs says: who is ahead, if the spread leaves no doubt.
///
/// `why` is said only where the peer is ahead: what would close the gap, or why it stays.
pub fn verdict(what: &str, peer: &str, cost: Spread, why: &str) -> String {
    /// Less than this is not called a difference.
    const NOTABLE: f64 = 0.05;
    let times = ratio(cost);
    if !cost.median.is_finite() {
        return format!("{what}: not measured beside {peer}.");
    }
    if cost.low > 1.0 + NOTABLE {
        return format!("{what}: **{peer} is ahead**; ours costs {times} as much. {why}");
    }
    if cost.high < 1.0 - NOTABLE {
        return format!("{what}: ours is ahead of {peer}; it costs {times} as much.");
    }
    format!("{what}: about as much as {peer} ({times}).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let texts = [0.0, 0.5, 0.00098765, 1.0, 9.999, 12.345, 123.45, 1234.5, -98765.4].map(number);
        assert_eq!(texts, ["0", "0.500", "0.000988", "1.00", "10.00", "12.3", "123", "1,234", "-98,765"]);
        assert_eq!((number(f64::NAN), count(1_000_000)), ("-".to_owned(), "1,000,000".to_owned()));
    }

    #[test]
    fn marks_of_an_axis_are_short() {
        let texts = [0.0, 0.1 + 0.2, 25.0, 5000.0, 20_000.0, 2.5e6].map(axis);
        assert_eq!(texts, ["0", "0.3", "25", "5000", "20k", "2.5M"]);
    }

    #[test]
    fn the_spread_is_shown_where_there_is_one() {
        assert_eq!(spread(Spread { low: 1.5, median: 2.0, high: 2.25 }), "2.00 [1.50, 2.25]");
        assert_eq!(spread(Spread::exact(2.0)), "2.00");
        assert_eq!(ratio(Spread { low: 0.5, median: 1.0, high: 1.255 }), "1.00x [0.50, 1.25]");
    }

    #[test]
    fn a_verdict_needs_more_than_the_spread() {
        let of = |low, median, high| verdict("fold", "a join", Spread { low, median, high }, "It checks.");
        assert_eq!(
            of(1.4, 1.5, 1.6),
            "fold: **a join is ahead**; ours costs 1.50x [1.40, 1.60] as much. It checks."
        );
        assert!(of(0.4, 0.5, 0.6).contains("ours is ahead of a join"));
        for unsure in [of(0.9, 1.5, 1.6), of(1.03, 1.04, 1.06), of(0.4, 0.9, 1.0)] {
            assert!(unsure.contains("about as much as a join"), "{unsure}");
        }
        assert!(!of(0.4, 0.5, 0.6).contains("It checks"));
    }
}
