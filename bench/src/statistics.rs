//! Medians and quartiles. Nothing is left out: a round that met something else shows in the spread.

/// The middle of some measurements, and where their middle half lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A quarter of them is below.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// A quarter of them is above.
    pub high: f64,
}

impl Spread {
    /// Of these measurements; not a number if there are none.
    ///
    /// ```
    /// let spread = keyfold_bench::Spread::of(&[1.0, 2.0, 3.0, 4.0, 100.0]);
    /// assert_eq!((spread.low, spread.median, spread.high), (2.0, 3.0, 4.0));
    /// ```
    pub fn of(measured: &[f64]) -> Spread {
        let mut sorted = measured.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Spread { low: quantile(&sorted, 0.25), median: quantile(&sorted, 0.5), high: quantile(&sorted, 0.75) }
    }

    /// One number that was not measured several times.
    pub fn exact(value: f64) -> Spread {
        Spread { low: value, median: value, high: value }
    }

    /// Of the ratios of two things that were measured in the same rounds.
    pub fn of_ratios(measured: &[f64], beside: &[f64]) -> Spread {
        let ratios: Vec<f64> = measured.iter().zip(beside).map(|(this, that)| this / that).collect();
        Spread::of(&ratios)
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Spread {
        Spread { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// Was it measured more than once?
    pub fn is_spread(self) -> bool {
        self.low < self.high
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_measurements() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(spread, Spread { low: 1.75, median: 2.5, high: 3.25 });
    }

    #[test]
    fn one_measurement_is_its_own_spread_and_none_is_no_number() {
        assert_eq!(Spread::of(&[7.0]), Spread::exact(7.0));
        assert!(!Spread::of(&[7.0]).is_spread());
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn a_ratio_is_taken_within_a_round() {
        // The second round met something that made both slower: the ratio does not see it.
        let ratio = Spread::of_ratios(&[2.0, 20.0, 2.0], &[1.0, 10.0, 1.0]);
        assert_eq!(ratio, Spread::exact(2.0));
    }
}
