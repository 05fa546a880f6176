//! The id of an event without one: a digest of its content.
//!
//! The server's time is not included, so a repeated event gets the same id. Two events with the same content and
//! neither id nor time may be different: the id of their request or message, and their position in it, distinguish
//! them.

use keyfold_core::value::{Hex, Item, injective, put_injective};
use sha2::{Digest, Sha256};

/// The number of the digest's bytes in an id.
const ID_BYTES: usize = 20;

/// The id of an event's content.
pub(crate) fn of_content(item: &Item, mark: Option<&str>) -> String {
    let mut text = injective(item.iter());
    if let Some(mark) = mark {
        put_injective(&mut text, b'm', mark.as_bytes());
    }
    Hex(&Sha256::digest(&text)[..ID_BYTES]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> String {
        of_content(&serde_json::from_str(json).unwrap(), None)
    }

    #[test]
    fn one_content_has_one_id_however_it_is_spelled() {
        let one = id(r#"{"a":{"N":"1.0"},"b":{"SS":["x","y"]},"c":{"M":{"d":{"S":"1"},"e":{"S":"2"}}}}"#);
        let same = id(r#"{"c":{"M":{"e":{"S":"2"},"d":{"S":"1"}}},"b":{"SS":["y","x"]},"a":{"N":"1"}}"#);
        assert_eq!((&one, one.len()), (&same, 2 * ID_BYTES));
    }

    #[test]
    fn two_contents_have_two_ids() {
        let all = [
            id(r#"{"a":{"S":"bc"}}"#),
            id(r#"{"ab":{"S":"c"}}"#),
            id(r#"{"a":{"S":"b"},"c":{"S":""}}"#),
            id(r#"{"a":{"N":"1"}}"#),
            id(r#"{"a":{"S":"1"}}"#),
            id(r#"{"a":{"L":[{"L":[]}]}}"#),
            id(r#"{"a":{"L":[]}}"#),
            of_content(&serde_json::from_str(r#"{"a":{"S":"bc"}}"#).unwrap(), Some("m")),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
