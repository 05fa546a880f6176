//! Medians and quartiles, and their text. No measurement is dropped: disturbed rounds show in the quartiles.

/// The median of some measurements, and their quartiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// The spread of these measurements; NaN without measurements.
    pub(crate) fn of(measured: &[f64]) -> Spread {
        let mut sorted = measured.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Spread { low: quantile(&sorted, 0.25), median: quantile(&sorted, 0.5), high: quantile(&sorted, 0.75) }
    }

    /// The spread of the ratios within each round, in which a slow round has no effect.
    pub(crate) fn of_ratios(measured: &[f64], beside: &[f64]) -> Spread {
        Spread::of(&measured.iter().zip(beside).map(|(this, that)| this / that).collect::<Vec<_>>())
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Spread {
        Spread { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// As a figure: `61.3 [60.9, 61.6]`.
    pub(crate) fn figure(self) -> String {
        self.written(number, "")
    }

    /// As a ratio: `1.05x [1.02, 1.07]`.
    pub(crate) fn ratio(self) -> String {
        self.written(|value| format!("{value:.2}"), "x")
    }

    fn written(self, number: impl Fn(f64) -> String, unit: &str) -> String {
        let median = format!("{}{unit}", number(self.median));
        match self.median.is_nan() {
            true => "-".to_owned(),
            false if self.low < self.high => {
                format!("{median} [{}, {}]", number(self.low), number(self.high))
            }
            false => median,
        }
    }
}

/// Between the two nearest measurements, in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// A number with three significant digits, or with all digits before the point.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        small if small < 1.0 => 3,
        small if small < 10.0 => 2,
        small if small < 100.0 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A whole number; commas between thousands.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

fn grouped(text: &str) -> String {
    let digits = text.find('.').unwrap_or(text.len());
    let comma = |at: usize| at > 0 && at < digits && (digits - at).is_multiple_of(3);
    text.char_indices().flat_map(|(at, digit)| comma(at).then_some(',').into_iter().chain([digit])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_measurements() {
        assert_eq!(Spread::of(&[4.0, 1.0, 3.0, 2.0]), Spread { low: 1.75, median: 2.5, high: 3.25 });
        assert_eq!(Spread::of(&[7.0]).figure(), "7.00");
        assert_eq!(Spread::of(&[]).ratio(), "-");
    }

    #[test]
    fn a_ratio_is_taken_within_a_round() {
        // Something slowed the second round down for both.
        assert_eq!(Spread::of_ratios(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]).ratio(), "2.00x");
        assert_eq!(Spread::of_ratios(&[2.0, 3.0], &[1.0, 1.0]).ratio(), "2.50x [2.25, 2.75]");
    }

    #[test]
    fn three_digits_are_significant() {
        let texts = [0.0, 0.5, 1.0, 12.345, 123.45, 1234.5, 1_234_567.8].map(number);
        assert_eq!(texts, ["0", "0.500", "1.00", "12.3", "123", "1,234", "1,234,568"]);
        assert_eq!([0, 25, 1000].map(count), ["0", "25", "1,000"]);
    }
}
