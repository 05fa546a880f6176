//! How often something happens: `40/s`, `3000/day`.

use std::fmt;
use std::str::FromStr;

/// How often a question is asked, or an item written. At least once in its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many times in one period.
    pub times: u64,
    /// The period.
    pub per: Period,
}

/// The period of a [`Rate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// `s`
    Second,
    /// `minute`
    Minute,
    /// `hour`
    Hour,
    /// `day`
    Day,
    /// `month`, of 730 hours, as AWS counts it
    Month,
}

/// A text that is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a rate is a whole number from 1 to a million millions, and a period: `40/s`, `5/minute`, `20/hour`, `3000/day` or `10/month`"
)]
pub struct RateError;

/// The highest number of times in one period.
const TIMES_MAX: u64 = 1_000_000_000_000;
const HOUR_SECONDS: f64 = 3600.0;
const MONTH_HOURS: f64 = 730.0;

impl Period {
    const ALL: [(&str, Period); 5] = [
        ("s", Period::Second),
        ("minute", Period::Minute),
        ("hour", Period::Hour),
        ("day", Period::Day),
        ("month", Period::Month),
    ];

    fn seconds(self) -> f64 {
        match self {
            Period::Second => 1.0,
            Period::Minute => 60.0,
            Period::Hour => HOUR_SECONDS,
            Period::Day => HOUR_SECONDS * 24.0,
            Period::Month => HOUR_SECONDS * MONTH_HOURS,
        }
    }
}

impl Rate {
    /// Times a second, on average.
    pub fn a_second(self) -> f64 {
        self.times as f64 / self.per.seconds()
    }

    /// Times a month.
    pub fn a_month(self) -> f64 {
        self.a_second() * Period::Month.seconds()
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Rate, RateError> {
        let (times, per) = text.split_once('/').ok_or(RateError)?;
        let (_, per) = Period::ALL.into_iter().find(|(word, _)| *word == per.trim()).ok_or(RateError)?;
        let times = times.trim().parse().map_err(|_| RateError)?;
        if (1..=TIMES_MAX).contains(&times) { Ok(Rate { times, per }) } else { Err(RateError) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Period::ALL.into_iter().find(|(_, per)| *per == self.per).map_or("", |(word, _)| word);
        write!(f, "{}/{word}", self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn a_rate_is_read_as_it_is_written_and_counted_in_months_of_730_hours() {
        for text in ["40/s", "5/minute", "20/hour", "3000/day", "10/month"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        assert_eq!("1/s".parse::<Rate>().unwrap().a_month(), 2_628_000.0);
        assert_eq!("10/month".parse::<Rate>().unwrap().a_month(), 10.0);
        for text in ["", "40", "/s", "0/s", "-1/s", "0.5/s", "1/year", "1000000000001/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
