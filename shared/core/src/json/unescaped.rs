//! The length of a text's unescaped start: up to the first byte that JSON escapes, or the end of the string.

/// The bytes before the first quotation mark, backslash or control character; all bytes if there is no such byte.
pub(super) fn unescaped(bytes: &[u8]) -> usize {
    // Eight at a time, as one number.
    let mut words = bytes.chunks_exact(WORD);
    let mut at = 0;
    for word in words.by_ref() {
        let word: [u8; WORD] = word.try_into().unwrap_or_default();
        let marks = marks(u64::from_le_bytes(word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    let rest = words.remainder();
    at + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// Must this byte be escaped?
fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

const WORD: usize = size_of::<u64>();
const ONES: u64 = u64::from_le_bytes([1; WORD]);
const HIGH: u64 = u64::from_le_bytes([0x80; WORD]);

/// The high bit of each special byte. A borrow can set bits above the lowest one, never below, so only the lowest
/// counts.
fn marks(word: u64) -> u64 {
    let less_than = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let equal_to = |byte: u8| less_than(word ^ (ONES * u64::from(byte)), 1);
    (less_than(word, b' ') | equal_to(b'"') | equal_to(b'\\')) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_at_every_place_whatever_stands_around_it() {
        for byte in 0..=u8::MAX {
            for (length, around) in [(1, b'a'), (7, b'~'), (8, 0xff), (9, b' '), (24, b'#'), (27, b'[')] {
                for at in 0..length {
                    let mut bytes = vec![around; length];
                    bytes[at] = byte;
                    let wanted = if is_special(byte) { at } else { length };
                    assert_eq!(unescaped(&bytes), wanted, "{byte} at {at} of {length} times {around}");
                    // A second special byte changes nothing.
                    bytes[length - 1] = b'"';
                    assert_eq!(unescaped(&bytes), wanted.min(length - 1), "{byte} at {at}, and one more");
                }
            }
        }
    }
}
