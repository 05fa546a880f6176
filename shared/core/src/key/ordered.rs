//! Numbers as texts whose byte order is the numbers' order, for every number that DynamoDB has.
//!
//! A sign (`n` < `o` < `p`: negative, zero, positive), three digits of the magnitude + 130, the significant digits, and a
//! terminator: `!` below all digits for positive numbers, `~` above them for negative ones. Negative numbers have their
//! digits complemented, so that larger magnitudes come first. 5 is `p1305!`, -5 is `n8694~`, 0 is `o`.

use crate::value::Number;

const MAGNITUDE_OFFSET: i32 = 130;

/// Appends the text of a number.
pub(super) fn write(number: &Number, out: &mut String) {
    if number.is_zero() {
        out.push('o');
        return;
    }
    let negative = number.is_negative();
    out.push(if negative { 'n' } else { 'p' });
    let magnitude = (number.magnitude() + MAGNITUDE_OFFSET).unsigned_abs();
    push_digits(u128::from(magnitude), 3, negative, out);
    push_digits(number.coefficient(), number.digits(), negative, out);
    out.push(if negative { '~' } else { '!' });
}

/// Reads a number from the beginning of a text: the number, and how many bytes it took.
pub(super) fn read(text: &str) -> Option<(Number, usize)> {
    let bytes = text.as_bytes();
    let (negative, terminator) = match bytes.first()? {
        b'o' => return Some((Number::ZERO, 1)),
        b'n' => (true, b'~'),
        b'p' => (false, b'!'),
        _ => return None,
    };
    let end = bytes.iter().take(64).position(|byte| *byte == terminator)?;
    let digits = bytes.get(1..end)?;
    let (magnitude, coefficient) = digits.split_at_checked(3)?;
    let magnitude = i32::try_from(read_digits(magnitude, negative)?).ok()? - MAGNITUDE_OFFSET;
    let length = i32::try_from(coefficient.len()).ok()?;
    let coefficient = read_digits(coefficient, negative)?;
    let number = Number::from_parts(negative, coefficient, magnitude - (length - 1)).ok()?;
    Some((number, end + 1))
}

fn push_digits(value: u128, width: u32, complement: bool, out: &mut String) {
    let mut power = 10u128.pow(width.saturating_sub(1));
    for _ in 0..width {
        let digit = u8::try_from(value / power % 10).unwrap_or(0);
        out.push(char::from(b'0' + if complement { 9 - digit } else { digit }));
        power = (power / 10).max(1);
    }
}

fn read_digits(digits: &[u8], complement: bool) -> Option<u128> {
    if digits.is_empty() || digits.len() > 38 {
        return None;
    }
    digits.iter().try_fold(0u128, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        Some(value * 10 + u128::from(if complement { 9 - digit } else { digit }))
    })
}
