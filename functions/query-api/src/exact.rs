//! Numbers of a request, kept exact.
//!
//! A JSON parser makes a double of `12345678901234567890.5`, and the answer would be that of another question. Such a
//! number is put into DynamoDB's own notation before it is parsed: `{"N":"12345678901234567890.5"}`.

use keyfold_core::value::{Number, NumberError};

/// The text with every number that a double would change in DynamoDB's notation. Invalid JSON is unchanged; a
/// number that DynamoDB does not have is an error.
pub(crate) fn exact(text: &str) -> Result<String, NumberError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with('"') { string_length(rest) } else { number_length(rest) };
        let token = &rest[..length];
        if rest.starts_with('"') || survives(token)? {
            out.push_str(token);
        } else {
            out.push_str(&format!(r#"{{"N":"{token}"}}"#));
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The string at the start, with its quotes; all of the text if it does not end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_digit() && !"+-.eE".contains(letter)).unwrap_or(text.len())
}

/// Does a parser that knows integers of 64 bits and doubles read the same number?
fn survives(token: &str) -> Result<bool, NumberError> {
    let meant: Number = match token.parse() {
        // For the parser to say.
        Err(NumberError::Syntax) => return Ok(true),
        other => other?,
    };
    Ok(serde_json::from_str::<serde_json::Number>(token)
        .map_or(true, |read| read.to_string().parse() == Ok(meant)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_a_double_would_change_are_rewritten() {
        for (given, wanted) in [
            (r#"{"a":1,"b":-2.5e3,"c":18446744073709551615}"#, None),
            (r#"{"a":"12345678901234567890.5","b\"":"1.00000000000000000001"}"#, None),
            (r#"{"a":0.1}"#, None),
            (r#"{"a":12345678901234567890.5}"#, Some(r#"{"a":{"N":"12345678901234567890.5"}}"#)),
            (r#"[-0.1000000000000000000001,2]"#, Some(r#"[{"N":"-0.1000000000000000000001"},2]"#)),
            (r#"{"a":"open"#, None),
            ("", None),
            ("-", None),
            ("é1é", None),
        ] {
            assert_eq!(exact(given).unwrap(), wanted.unwrap_or(given));
        }
    }

    #[test]
    fn a_number_that_dynamodb_does_not_have_is_not_rounded_to_one_that_it_has() {
        assert_eq!(exact(&format!("[{}]", "1".repeat(39))), Err(NumberError::Digits));
        assert_eq!(exact("[1e400]"), Err(NumberError::Magnitude));
        assert_eq!(exact("[1e-131]"), Err(NumberError::Magnitude));
    }
}
