//! An axis: where a value lies between two ends, and which values are written beside it.

/// About how many steps an even axis has.
const STEPS: f64 = 5.0;

/// An axis from one end to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    is_log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis on which all these values lie, from one place of the plot to another. An even one begins at 0; steps of
    /// ten begin at the power of ten below the smallest value.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, is_log: bool, from: f64, to: f64) -> Axis {
        let fits = |value: &f64| value.is_finite() && (!is_log || *value > 0.0);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(fits) {
            (least, most) = (least.min(value), most.max(value));
        }
        if least > most {
            (least, most) = (1.0, 1.0);
        }
        let (low, high) = if is_log { decades(least, most) } else { (0.0, even_end(most)) };
        Axis { is_log, low, high, from, to }
    }

    /// Where a value lies; what is not on the axis lies at its nearer end, and no number at its begin.
    pub(super) fn place(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.from;
        }
        let share = if self.is_log {
            (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The values that are written beside it.
    pub(super) fn marks(&self) -> Vec<f64> {
        if self.is_log {
            let (first, last) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            return (first..=last).map(|power| 10_f64.powi(power)).collect();
        }
        let step = even_step(self.high);
        let steps = (self.high / step).round() as usize;
        (0..=steps).map(|at| at as f64 * step).collect()
    }
}

fn decades(least: f64, most: f64) -> (f64, f64) {
    let first = least.log10().floor();
    let last = most.log10().ceil().max(first + 1.0);
    (10_f64.powf(first), 10_f64.powf(last))
}

/// 1, 2 or 5 times a power of ten, so that there are about [`STEPS`] of them.
fn even_step(most: f64) -> f64 {
    let rough = most / STEPS;
    let power = 10_f64.powf(rough.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough * 0.999);
    nice.unwrap_or(10.0) * power
}

fn even_end(most: f64) -> f64 {
    let most = if most > 0.0 { most } else { 1.0 };
    let step = even_step(most);
    (most / step * 0.999).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_axis_begins_at_nothing_and_ends_past_the_largest() {
        let axis = Axis::over([3.0, 87.0, f64::NAN], false, 100.0, 200.0);
        assert_eq!(axis.marks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!([axis.place(0.0), axis.place(50.0), axis.place(1e9)], [100.0, 150.0, 200.0]);
    }

    #[test]
    fn steps_of_ten_are_equally_far_apart() {
        let axis = Axis::over([20.0, 9000.0, 0.0], true, 0.0, 300.0);
        assert_eq!(axis.marks(), [10.0, 100.0, 1000.0, 10_000.0]);
        let places = [10.0, 100.0, 1000.0, 10_000.0, 0.0].map(|value| axis.place(value).round());
        assert_eq!(places, [0.0, 100.0, 200.0, 300.0, 0.0]);
    }

    #[test]
    fn values_that_are_all_the_same_or_missing_have_an_axis_too() {
        assert_eq!(Axis::over([], false, 0.0, 1.0).marks().last(), Some(&1.0));
        assert_eq!(Axis::over([10.0, 10.0], true, 0.0, 1.0).marks(), [10.0, 100.0]);
        assert_eq!(Axis::over([0.0], false, 0.0, 1.0).place(0.0), 0.0);
    }
}
