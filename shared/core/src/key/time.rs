//! Timestamps and dates in canonical form: UTC, a fixed number of decimal places, `Z` at the end.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::error::FoldProblem;
use crate::attribute::Precision;

impl Precision {
    /// The number of decimal places of the seconds.
    pub(super) fn places(self) -> u32 {
        match self {
            Precision::Seconds => 0,
            Precision::Milliseconds => 3,
            Precision::Microseconds => 6,
            Precision::Nanoseconds => 9,
        }
    }

    /// The length of a canonical timestamp.
    pub(crate) fn length(self) -> usize {
        match self {
            Precision::Seconds => 20,
            other => 21 + other.places() as usize,
        }
    }
}

/// A timestamp, cut to a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    utc: DateTime,
    /// Were digits cut off?
    pub(super) cut: bool,
}

/// Appends the canonical form of a timestamp, or returns why it has none.
pub(super) fn write(text: &str, precision: Precision, out: &mut String) -> Result<(), FoldProblem> {
    if is_canonical(text, precision) {
        out.push_str(text);
        return Ok(());
    }
    let stamp = read(text, precision).ok_or(FoldProblem::NotATimestamp)?;
    if stamp.cut {
        return Err(FoldProblem::TooFine { precision: precision.name() });
    }
    write_stamp(&stamp, precision, out);
    Ok(())
}

/// Appends the canonical form of a stamp.
pub(super) fn write_stamp(stamp: &Stamp, precision: Precision, out: &mut String) {
    let (date, time) = (stamp.utc.date(), stamp.utc.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    out.push_str(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"));
    let places = precision.places();
    if places > 0 {
        let fraction = time.subsec_nanosecond() / 10i32.pow(9 - places);
        out.push_str(&format!(".{fraction:0width$}", width = places as usize));
    }
    out.push('Z');
}

/// Reads a timestamp with date, hours, minutes and seconds. Without an offset it is UTC.
pub(super) fn read(text: &str, precision: Precision) -> Option<Stamp> {
    let (head, rest) = text.split_at_checked(19)?;
    let date = read_date(head.get(..10)?)?;
    let clock = head.get(10..)?.as_bytes();
    let [b'T' | b't' | b' ', h1, h2, b':', m1, m2, b':', s1, s2] = *clock else { return None };
    let (hour, minute, second) = (two(h1, h2)?, two(m1, m2)?, two(s1, s2)?);
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
    };
    if rest.starts_with('.') && fraction.is_empty() {
        return None;
    }
    let (nanoseconds, cut) = nanoseconds(fraction, precision.places())?;
    let time = jiff::civil::Time::new(hour, minute, second, nanoseconds).ok()?;
    let utc = date.to_datetime(time).checked_sub(offset(zone)?).ok()?;
    (0..=9999).contains(&utc.year()).then_some(Stamp { utc, cut })
}

/// The instant of a timestamp with any offset and number of decimal places.
pub(crate) fn instant(text: &str) -> Option<DateTime> {
    read(text, Precision::Nanoseconds).map(|stamp| stamp.utc)
}

/// Is this a timestamp, with any offset and number of decimal places?
pub(crate) fn is_timestamp(text: &str) -> bool {
    instant(text).is_some()
}

/// Is this a date?
pub(crate) fn is_date(text: &str) -> bool {
    read_date(text).is_some()
}

/// Can this text be a timestamp, a date, or a prefix of one? It begins with a year, and its month, day and time must
/// exist: `2015-02-31` is no date. Less strict than `read`: bounds are often shorter or longer than a value.
pub(crate) fn is_possible(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !bytes.iter().take(4).all(u8::is_ascii_digit) {
        return false;
    }
    let number = |at: usize| match bytes.get(at..at + 2) {
        Some(&[tens, ones]) => two(tens, ones),
        _ => None,
    };
    let is_within = |at: usize, range: std::ops::RangeInclusive<i8>| {
        number(at).is_none_or(|value| range.contains(&value))
    };
    let is_date = match text.get(..10) {
        // Any text may follow a year: `2015~` is above every time of that year.
        Some(head) => {
            let shaped = head.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
            !shaped || read_date(head).is_some()
        }
        None => is_within(5, 1..=12),
    };
    is_date && is_within(11, 0..=23) && is_within(14, 0..=59) && is_within(17, 0..=59)
}

/// A date in the form `2017-03-01`.
pub(super) fn read_date(text: &str) -> Option<Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return None };
    let year = i16::from(two(y1, y2)?) * 100 + i16::from(two(y3, y4)?);
    Date::new(year, two(m1, m2)?, two(d1, d2)?).ok()
}

fn two(tens: u8, ones: u8) -> Option<i8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
    i8::try_from(digit(tens)? * 10 + digit(ones)?).ok()
}

/// A fraction as nanoseconds, cut to `places` digits, and whether digits were cut off.
fn nanoseconds(fraction: &str, places: u32) -> Option<(i32, bool)> {
    let places = places as usize;
    let kept = &fraction[..fraction.len().min(places)];
    let cut = fraction.bytes().skip(places).any(|byte| byte != b'0');
    let mut value = if kept.is_empty() { 0 } else { kept.parse::<i32>().ok()? };
    for _ in kept.len()..9 {
        value *= 10;
    }
    Some((value, cut))
}

/// `Z`, no zone (UTC as well), or `+02:00`.
fn offset(zone: &str) -> Option<SignedDuration> {
    match *zone.as_bytes() {
        [] | [b'Z' | b'z'] => Some(SignedDuration::ZERO),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two(h1, h2)?, two(m1, m2)?);
            let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60;
            (hours <= 23 && minutes <= 59)
                .then(|| SignedDuration::from_secs(if sign == b'-' { -seconds } else { seconds }))
        }
        _ => None,
    }
}

/// Is the text canonical? A fast check, because most items hold canonical timestamps.
pub(super) fn is_canonical(text: &str, precision: Precision) -> bool {
    text.len() == precision.length()
        && text.ends_with('Z')
        && text.as_bytes().get(10) == Some(&b'T')
        && read(text, precision).is_some_and(|stamp| !stamp.cut)
}
