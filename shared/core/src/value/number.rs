//! DynamoDB's numbers: up to 38 significant digits, magnitudes from 1E-130 to 9.99…E+125, compared by value.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html#HowItWorks.DataTypes.Number>

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Maximum significant digits in DynamoDB.
pub(crate) const DIGITS_MAX: u32 = 38;
/// The power of ten of the first digit of the smallest magnitude, 1E-130.
pub(crate) const MAGNITUDE_MIN: i32 = -130;
/// The power of ten of the first digit of the largest magnitude, 9.99…E+125.
pub(crate) const MAGNITUDE_MAX: i32 = 125;

/// A DynamoDB number, exactly. `1`, `1.0` and `10e-1` are one number.
///
/// ```
/// use keyfold_core::value::Number;
/// let price: Number = "88.30".parse()?;
/// assert_eq!(price.to_string(), "88.3");
/// assert!("-1E-130".parse::<Number>()? < "0".parse()?);
/// # Ok::<(), keyfold_core::value::NumberError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    /// Without trailing zeros; 0 for zero.
    coefficient: u128,
    /// The power of ten of the coefficient's last digit; 0 for zero.
    exponent: i32,
}

/// Why a text is not a DynamoDB number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Not decimal digits with an optional sign, point and exponent.
    #[error("not a decimal number")]
    Syntax,
    /// More than 38 significant digits.
    #[error("more than 38 significant digits")]
    Digits,
    /// Outside ±1E-130 to ±9.99…E+125.
    #[error("outside the magnitudes 1E-130 to 9.99E+125")]
    Magnitude,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number { negative: false, coefficient: 0, exponent: 0 };

    /// Is this below zero?
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Is this zero?
    pub fn is_zero(&self) -> bool {
        self.coefficient == 0
    }

    /// The digits as one integer without trailing zeros (0 for zero).
    pub fn coefficient(&self) -> u128 {
        self.coefficient
    }

    /// The power of ten of the last digit of [`coefficient`](Self::coefficient).
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The number of significant digits (0 for zero).
    pub fn digits(&self) -> u32 {
        if self.coefficient == 0 { 0 } else { self.coefficient.ilog10() + 1 }
    }

    /// The power of ten of the first digit: 2 for 314, -1 for 0.5. Zero's is 0.
    pub fn magnitude(&self) -> i32 {
        if self.coefficient == 0 { 0 } else { self.exponent + self.digits().cast_signed() - 1 }
    }

    /// A number from its parts, in canonical form.
    pub fn from_parts(negative: bool, coefficient: u128, exponent: i32) -> Result<Number, NumberError> {
        if coefficient == 0 {
            return Ok(Number::ZERO);
        }
        let (mut coefficient, mut exponent) = (coefficient, exponent);
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        let number = Number { negative, coefficient, exponent };
        if number.digits() > DIGITS_MAX {
            return Err(NumberError::Digits);
        }
        if !(MAGNITUDE_MIN..=MAGNITUDE_MAX).contains(&number.magnitude()) {
            return Err(NumberError::Magnitude);
        }
        Ok(number)
    }

    /// The digits, shifted left to 38 places: orders two numbers of one magnitude.
    fn mantissa(&self) -> u128 {
        if self.coefficient == 0 { 0 } else { self.coefficient * 10u128.pow(DIGITS_MAX - self.digits()) }
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Number, NumberError> {
        let (negative, unsigned) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let (digits, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&unsigned[..at], parse_exponent(&unsigned[at + 1..])?),
            None => (unsigned, 0),
        };
        let (mut coefficient, mut shift, mut significant) = (0u128, 0i32, 0u32);
        // Zeros count only once a digit other than zero follows: trailing zeros are never significant.
        let mut waiting = 0u32;
        let (mut any, mut after_point) = (false, false);
        for &byte in digits {
            match byte {
                b'.' if !after_point => after_point = true,
                b'0'..=b'9' => {
                    any = true;
                    shift = shift.checked_sub(i32::from(after_point)).ok_or(NumberError::Magnitude)?;
                    if byte == b'0' {
                        waiting = if significant == 0 { 0 } else { waiting + 1 };
                        continue;
                    }
                    significant = significant.saturating_add(waiting + 1);
                    if significant > DIGITS_MAX {
                        return Err(NumberError::Digits);
                    }
                    coefficient = coefficient * 10u128.pow(waiting + 1) + u128::from(byte - b'0');
                    waiting = 0;
                }
                _ => return Err(NumberError::Syntax),
            }
        }
        if !any {
            return Err(NumberError::Syntax);
        }
        let waiting = i32::try_from(waiting).map_err(|_| NumberError::Magnitude)?;
        let exponent = exponent.saturating_add(shift).saturating_add(waiting);
        Number::from_parts(negative, coefficient, exponent)
    }
}

/// The exponent, saturated: an exponent outside DynamoDB's range is refused anyway, unless the number is zero.
fn parse_exponent(text: &[u8]) -> Result<i32, NumberError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() {
        return Err(NumberError::Syntax);
    }
    let mut value = 0i32;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NumberError::Syntax);
        }
        value = value.saturating_mul(10).saturating_add(i32::from(byte - b'0')).min(1_000_000);
    }
    Ok(if negative { -value } else { value })
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let by_size = |a: &Number, b: &Number| {
            (!a.is_zero())
                .cmp(&!b.is_zero())
                .then_with(|| a.magnitude().cmp(&b.magnitude()))
                .then_with(|| a.mantissa().cmp(&b.mantissa()))
        };
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => by_size(self, other),
            (true, true) => by_size(other, self),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Plain decimal digits if they are short, otherwise `12E+40`: one text for each number.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.coefficient.to_string();
        let places = usize::try_from(self.exponent.unsigned_abs()).map_err(|_| fmt::Error)?;
        if places > DIGITS_MAX as usize {
            return write!(f, "{digits}E{:+}", self.exponent);
        }
        if self.exponent >= 0 {
            f.write_str(&digits)?;
            return (0..places).try_for_each(|_| f.write_str("0"));
        }
        match digits.len().checked_sub(places) {
            Some(whole @ 1..) => write!(f, "{}.{}", &digits[..whole], &digits[whole..]),
            _ => write!(f, "0.{}{digits}", "0".repeat(places - digits.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn one_number_has_one_text() {
        for (text, canonical) in [
            ("1.0", "1"),
            ("+0.50", "0.5"),
            ("-0", "0"),
            ("0e999999999999", "0"),
            ("10e-1", "1"),
            ("1200", "1200"),
            ("1E+125", "1E+125"),
            ("-12.5e-60", "-125E-61"),
            (".5", "0.5"),
            ("5.", "5"),
            ("0.001", "0.001"),
        ] {
            assert_eq!(number(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "NaN", "Infinity", "1e", "1 ", "0x10", "1.2.3", "--1", "e5", ".", "1e+", "١"] {
            assert_eq!(text.parse::<Number>(), Err(NumberError::Syntax), "{text}");
        }
        assert_eq!("1E126".parse::<Number>(), Err(NumberError::Magnitude));
        assert_eq!("1E-131".parse::<Number>(), Err(NumberError::Magnitude));
        assert_eq!("1".repeat(39).parse::<Number>(), Err(NumberError::Digits));
        assert!(format!("{}00", "9".repeat(38)).parse::<Number>().is_ok());
    }

    #[test]
    fn numbers_compare_by_value() {
        let ascending =
            ["-1E+125", "-10", "-9.5", "-1E-130", "0", "1E-130", "0.1", "0.11", "2", "10", "9.9E+125"];
        for pair in ascending.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn text_comes_back_as_the_same_number(negative: bool, coefficient in 0..10u128.pow(38), exponent in -130i32..=88) {
            if let Ok(number) = Number::from_parts(negative, coefficient, exponent) {
                prop_assert_eq!(number.to_string().parse::<Number>(), Ok(number));
            }
        }

        #[test]
        fn integers_compare_as_integers(a: i64, b: i64) {
            prop_assert_eq!(number(&a.to_string()).cmp(&number(&b.to_string())), a.cmp(&b));
        }
    }
}
