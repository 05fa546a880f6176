//! The order of the changes of one item: sequence numbers, and the fences on written items.

use std::fmt;

use super::attributes::FENCE_ATTRIBUTE;
use crate::value::{AttributeValue, Item};

/// The digits that a sequence number is padded to: DynamoDB's have 21 to 40.
pub const SEQUENCE_DIGITS: usize = 40;

/// A stream record's sequence number.
///
/// Compared as a number: as text, `"63"` would come after `"800"`. Only numbers of one item say anything: those of one
/// stream rise with every change of the item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber([u8; SEQUENCE_DIGITS]);

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SequenceNumber({:?})", self.padded())
    }
}

/// A text that is no sequence number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sequence number has 1 to {SEQUENCE_DIGITS} decimal digits, not `{}`", .given.chars().take(60).collect::<String>())]
pub struct SequenceNumberError {
    /// The given text.
    pub given: String,
}

impl SequenceNumber {
    /// Before all that a stream ever gives.
    pub fn zero() -> SequenceNumber {
        SequenceNumber([b'0'; SEQUENCE_DIGITS])
    }

    /// Reads a number as the stream gives it.
    ///
    /// ```
    /// use keyfold_core::retrofit::SequenceNumber;
    /// let (early, late) = (SequenceNumber::parse("6300000000002513012315")?, SequenceNumber::parse("800000000003126276362")?);
    /// assert!(early > late, "compared as numbers");
    /// # Ok::<(), keyfold_core::retrofit::SequenceNumberError>(())
    /// ```
    pub fn parse(text: &str) -> Result<SequenceNumber, SequenceNumberError> {
        let fits = (1..=SEQUENCE_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        if !fits {
            return Err(SequenceNumberError { given: text.to_owned() });
        }
        let mut digits = [b'0'; SEQUENCE_DIGITS];
        digits[SEQUENCE_DIGITS - text.len()..].copy_from_slice(text.as_bytes());
        Ok(SequenceNumber(digits))
    }

    /// The digits, padded.
    pub fn padded(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.padded().trim_start_matches('0');
        f.write_str(if digits.is_empty() { "0" } else { digits })
    }
}

/// Which stream a sequence number is of: a source whose stream was switched off and on again begins the next epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u16);

impl Epoch {
    /// The first stream.
    pub const FIRST: Epoch = Epoch(1);
    /// The last epoch that a fence can say.
    pub const MAX: u16 = 9999;

    /// The epoch with this number; `None` if there is no such one.
    pub fn new(number: u16) -> Option<Epoch> {
        (1..=Epoch::MAX).contains(&number).then_some(Epoch(number))
    }

    /// The next one.
    pub fn next(self) -> Option<Epoch> {
        Epoch::new(self.0 + 1)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// How new that is which was written: kept on the target item, or in the item's row of the ledger.
///
/// A write goes through only over an older fence. As text, fences are in their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence {
    epoch: Epoch,
    sequence: SequenceNumber,
    /// Counts repairs, which read the source again and belong to no record.
    revision: u32,
}

/// The most repairs of one item between two of its changes.
const REVISION_MAX: u32 = 999_999;

impl Fence {
    /// The fence of what a scan found: older than every record of its epoch.
    pub fn of_scan(epoch: Epoch) -> Fence {
        Fence { epoch, sequence: SequenceNumber::zero(), revision: 0 }
    }

    /// The fence of a record.
    pub fn of_record(epoch: Epoch, sequence: SequenceNumber) -> Fence {
        Fence { epoch, sequence, revision: 0 }
    }

    /// The fence of a repair of what has this fence: newer, but older than any later record.
    pub fn repaired(&self) -> Fence {
        Fence { revision: (self.revision + 1).min(REVISION_MAX), ..self.clone() }
    }

    /// Its epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// As it is stored: `0001.<40 digits>.000000`.
    pub fn value(&self) -> AttributeValue {
        AttributeValue::S(self.text())
    }

    /// Each item that is written gets this text: it takes one allocation.
    fn text(&self) -> String {
        let mut text = String::with_capacity("0001..000000".len() + SEQUENCE_DIGITS);
        push_digits(&mut text, u32::from(self.epoch.0), 4);
        text.push('.');
        text.push_str(self.sequence.padded());
        text.push('.');
        push_digits(&mut text, self.revision, 6);
        text
    }

    /// An item's, if it has one.
    pub fn on(item: &Item) -> Option<Fence> {
        Fence::read(item.get(FENCE_ATTRIBUTE)?)
    }

    /// Reads what [`value`](Self::value) wrote.
    pub fn read(value: &AttributeValue) -> Option<Fence> {
        let AttributeValue::S(text) = value else { return None };
        let mut parts = text.split('.');
        let (epoch, sequence, revision) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && epoch.len() == 4 && sequence.len() == SEQUENCE_DIGITS;
        let fence = Fence {
            epoch: Epoch::new(epoch.parse().ok()?)?,
            sequence: SequenceNumber::parse(sequence).ok()?,
            revision: revision.parse().ok().filter(|&number| number <= REVISION_MAX)?,
        };
        (whole && fence.text() == *text).then_some(fence)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Adds the last digits of a number.
fn push_digits(text: &mut String, number: u32, digits: u32) {
    text.extend((0..digits).rev().filter_map(|place| char::from_digit(number / 10_u32.pow(place) % 10, 10)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_in_one_order_as_values_and_as_text() {
        let sequence = |text: &str| SequenceNumber::parse(text).unwrap();
        let second = Epoch::FIRST.next().unwrap();
        let ascending = [
            Fence::of_scan(Epoch::FIRST),
            Fence::of_scan(Epoch::FIRST).repaired(),
            Fence::of_record(Epoch::FIRST, sequence("800000000003126276362")),
            Fence::of_record(Epoch::FIRST, sequence("800000000003126276362")).repaired(),
            Fence::of_record(Epoch::FIRST, sequence("6300000000002513012315")),
            Fence::of_scan(second),
            Fence::of_record(second, sequence("1")),
        ];
        for pair in ascending.windows(2) {
            assert!(
                pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string(),
                "{} < {}",
                pair[0],
                pair[1]
            );
        }
        for fence in ascending {
            assert_eq!(Fence::read(&fence.value()), Some(fence));
        }
    }

    #[test]
    fn what_is_no_sequence_number_or_fence_is_refused() {
        for text in ["", "12a", "-1", " 1", &"1".repeat(41)] {
            assert!(SequenceNumber::parse(text).is_err(), "{text:?}");
        }
        for text in ["", "0001", "1.2.3", "0000.0.0"] {
            assert_eq!(Fence::read(&AttributeValue::S(text.to_owned())), None, "{text:?}");
        }
    }
}
