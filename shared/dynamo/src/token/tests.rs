use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use keyfold_core::query::QueryRequest;
use proptest::prelude::*;

use super::*;
use crate::secret::SecretVersion;

const NOW: u64 = 1_790_000_000;
const HOUR: u64 = 3600;

/// A position after an entry with these texts for its key.
fn position_of(keys: &[&str]) -> Position {
    let key: Vec<_> = keys.iter().map(|key| serde_json::json!({ "S": key })).collect();
    let lanes = serde_json::json!(["NotStarted", { "After": key }, "Done"]);
    serde_json::from_value(serde_json::json!({ "plan": u64::MAX, "place": { "Accesses": lanes } })).unwrap()
}

fn ring(text: &str) -> TokenKeys {
    let key = |part: &str| format!("{part}:{}", STANDARD.encode([part.as_bytes()[0]; 32]));
    TokenKeys::parse(&text.split(',').map(key).collect::<Vec<_>>().join(",")).unwrap()
}

fn request(json: &str) -> QueryRequest {
    serde_json::from_str(json).unwrap()
}

fn asked() -> QueryRequest {
    request(r#"{"table":"audit","where":{"a":1,"b":{"in":[1,2]}},"order":"-timestamp","limit":20}"#)
}

fn bound() -> Binding {
    Binding::new(&asked(), "joe1", &model_version("model 1"))
}

fn sealed() -> String {
    ring("a").seal(&position_of(&["123", "x"]), &bound(), NOW, HOUR).unwrap()
}

#[test]
fn a_token_opens_to_what_was_sealed() {
    for position in [position_of(&[]), position_of(&["123", "x"]), position_of(&["ü"; 100])] {
        let token = ring("a").seal(&position, &bound(), NOW, HOUR).unwrap();
        assert!(ring("a").open(&token, &bound(), NOW) == Ok(position));
    }
}

#[test]
fn a_token_shows_no_key_and_is_never_the_same_twice() {
    let secret = position_of(&["a-secret-key"]);
    let token = ring("a").seal(&secret, &bound(), NOW, HOUR).unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    assert_ne!(token, ring("a").seal(&secret, &bound(), NOW, HOUR).unwrap());
}

#[test]
fn a_token_expires() {
    let open = |now| ring("a").open(&sealed(), &bound(), now).is_ok();
    assert!(open(NOW + HOUR - 1));
    assert!(!open(NOW + HOUR));
    let forever = ring("a").seal(&position_of(&[]), &bound(), NOW, u64::MAX).unwrap();
    assert!(ring("a").open(&forever, &bound(), NOW + 1000 * HOUR).is_ok());
}

#[test]
fn not_one_byte_of_a_token_can_be_changed() {
    let bytes = URL_SAFE_NO_PAD.decode(sealed()).unwrap();
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let token = URL_SAFE_NO_PAD.encode(&changed);
            assert_eq!(ring("a,b").open(&token, &bound(), NOW).err(), Some(BadToken), "byte {at}");
        }
    }
}

#[test]
fn not_one_character_of_a_token_can_be_changed() {
    let token = sealed();
    for at in 0..token.len() {
        for other in ["A", "z", "-", "=", "+", "é"] {
            if &token[at..=at] != other {
                let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
                assert!(ring("a").open(&changed, &bound(), NOW).is_err(), "character {at}");
            }
        }
    }
}

#[test]
fn a_token_that_is_cut_short_or_longer_is_refused() {
    let token = sealed();
    for length in 0..token.len() {
        assert!(ring("a").open(&token[..length], &bound(), NOW).is_err(), "{length} characters");
    }
    for more in ["A", "AA", "AAA", "AAAA", "="] {
        assert!(ring("a").open(&format!("{token}{more}"), &bound(), NOW).is_err());
    }
}

#[test]
fn a_token_is_for_one_caller_one_request_and_one_model() {
    let token = sealed();
    let opens = |binding: &Binding| ring("a").open(&token, binding, NOW).is_ok();
    let model = model_version("model 1");
    assert!(opens(&bound()));
    assert!(!opens(&Binding::new(&asked(), "joe2", &model)));
    assert!(!opens(&Binding::new(&asked(), "", &model)));
    assert!(!opens(&Binding::new(&asked(), "joe1", &model_version("model 2"))));
    for other in [
        r#"{"table":"audit","where":{"a":1,"b":{"in":[1,3]}},"order":"-timestamp","limit":20}"#,
        r#"{"table":"audit","where":{"a":1,"b":{"in":[2,1]}},"order":"-timestamp","limit":20}"#,
        r#"{"table":"audit","where":{"a":1.00000000000000000001,"b":{"in":[1,2]}},"order":"-timestamp","limit":20}"#,
        r#"{"table":"audit","where":{"a":1,"b":{"in":[1,2]}},"order":"timestamp","limit":20}"#,
        r#"{"table":"audit","where":{"a":1,"b":{"in":[1,2]}},"order":"-timestamp","limit":21}"#,
        r#"{"table":"audit","where":{"a":1,"b":{"in":[1,2]}},"order":"-timestamp","limit":20,"count":true}"#,
    ] {
        assert!(!opens(&Binding::new(&request(other), "joe1", &model)), "{other}");
    }
}

#[test]
fn the_page_itself_the_explanation_and_the_order_of_members_do_not_matter() {
    let again = request(
        r#"{"limit":20,"explain":true,"page":"abc","where":{"b":{"in":[1,2]},"a":1},"table":"audit","order":["-timestamp"]}"#,
    );
    let binding = Binding::new(&again, "joe1", &model_version("model 1"));
    assert!(ring("a").open(&sealed(), &binding, NOW).is_ok());
}

#[test]
fn a_new_key_seals_and_the_old_one_still_opens() {
    let old = sealed();
    let both = ring("b,a");
    assert!(both.open(&old, &bound(), NOW).is_ok());
    let new = both.seal(&position_of(&[]), &bound(), NOW, HOUR).unwrap();
    assert!(ring("b").open(&new, &bound(), NOW).is_ok());
    assert!(ring("a").open(&new, &bound(), NOW).is_err());
    assert!(ring("b").open(&old, &bound(), NOW).is_err());
}

#[test]
fn another_key_under_the_same_id_does_not_open() {
    let other = TokenKeys::parse(&format!("a:{}", STANDARD.encode([7; 32]))).unwrap();
    assert!(other.open(&sealed(), &bound(), NOW).is_err());
    let (one, two) = (TokenKeys::random().unwrap(), TokenKeys::random().unwrap());
    let token = one.seal(&position_of(&[]), &bound(), NOW, HOUR).unwrap();
    assert!(one.open(&token, &bound(), NOW).is_ok());
    assert!(two.open(&token, &bound(), NOW).is_err());
}

#[test]
fn a_token_of_another_version_is_refused() {
    let mut bytes = URL_SAFE_NO_PAD.decode(sealed()).unwrap();
    bytes[0] += 1;
    let other = URL_SAFE_NO_PAD.encode(bytes);
    assert_eq!(ring("a").open(&other, &bound(), NOW).err(), Some(BadToken));
    let documented = include_str!("../../../../docs/architecture.md");
    for (name, version) in [
        ("a page token", u32::from(envelope::VERSION)),
        (crate::BUDGET_FORMAT.name, crate::BUDGET_FORMAT.version),
    ] {
        assert!(documented.contains(&format!("| {name} | {version} |")), "{name}");
    }
}

#[test]
fn a_gigantic_token_is_neither_made_nor_read() {
    let huge = position_of(&["x".repeat(TOKEN_CHARS_MAX).as_str()]);
    assert_eq!(ring("a").seal(&huge, &bound(), NOW, HOUR), Err(SealError::TooLong));
    let token = "A".repeat(10_000_000);
    assert!(ring("a").open(&token, &bound(), NOW).is_err());
}

#[test]
fn keys_are_read_in_either_alphabet_and_mistakes_show_no_key() {
    let key = STANDARD.encode([0xfb; 32]);
    let url = URL_SAFE_NO_PAD.encode([0xfb; 32]);
    let token = TokenKeys::parse(&format!(" k:{key} ")).unwrap().seal(&position_of(&[]), &bound(), NOW, HOUR);
    assert!(TokenKeys::parse(&format!("k:{url}")).unwrap().open(&token.unwrap(), &bound(), NOW).is_ok());
    let long = format!("{}:{key}", "i".repeat(65));
    let many = (0..=KEYS_MAX).map(|id| format!("{id}:{key}")).collect::<Vec<_>>().join(",");
    for (text, expected) in [
        ("", KeysParseError::Empty),
        (" ", KeysParseError::Empty),
        (key.as_str(), KeysParseError::Form { number: 1 }),
        (&format!("a:{key},{key}"), KeysParseError::Form { number: 2 }),
        (&format!("a:{key},"), KeysParseError::Form { number: 2 }),
        (&format!(":{key}"), KeysParseError::Form { number: 1 }),
        (&long, KeysParseError::Form { number: 1 }),
        ("a:", KeysParseError::Key { id: "a".to_owned() }),
        (&format!("a:{}", &key[..40]), KeysParseError::Key { id: "a".to_owned() }),
        (&format!("a:{key},a:{key}"), KeysParseError::Twice { id: "a".to_owned() }),
        (&many, KeysParseError::TooMany),
    ] {
        assert_eq!(TokenKeys::parse(text).err(), Some(expected), "{text}");
    }
    assert_eq!(format!("{:?}", ring("a,b")), r#"{"a", "b"}"#);
}

proptest! {
    #[test]
    fn no_random_text_is_a_token(text in any::<String>()) {
        prop_assert_eq!(ring("a").open(&text, &bound(), NOW).err(), Some(BadToken));
    }

    #[test]
    fn no_random_bytes_are_a_token(mut bytes in prop::collection::vec(any::<u8>(), 0..200), header in any::<bool>()) {
        if header {
            // Its public part looks valid.
            bytes.splice(..0, [envelope::VERSION, 1, b'a']);
        }
        let token = URL_SAFE_NO_PAD.encode(bytes);
        prop_assert_eq!(ring("a").open(&token, &bound(), NOW).err(), Some(BadToken));
    }

    #[test]
    fn any_position_survives(keys in prop::collection::vec(any::<String>(), 0..20)) {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let position = position_of(&keys);
        let token = ring("a").seal(&position, &bound(), NOW, HOUR).unwrap();
        prop_assert!(ring("a").open(&token, &bound(), NOW) == Ok(position));
    }
}

fn version(id: &str, text: &str) -> SecretVersion {
    SecretVersion { id: id.to_owned(), text: text.to_owned() }
}

#[test]
fn the_newest_version_of_a_secret_seals_and_the_one_before_opens() {
    let text = |letter: &str| format!(r#"{{"key":"{}"}}"#, letter.repeat(42));
    let (one, two) = (version("v1", &text("a")), version("v2", &text("b")));
    let old = TokenKeys::of_versions(std::slice::from_ref(&one)).unwrap();
    let both = TokenKeys::of_versions(&[two, one]).unwrap();
    let of_old = old.seal(&position_of(&[]), &bound(), NOW, HOUR).unwrap();
    let of_new = both.seal(&position_of(&[]), &bound(), NOW, HOUR).unwrap();
    assert!(both.open(&of_old, &bound(), NOW).is_ok() && both.open(&of_new, &bound(), NOW).is_ok());
    assert!(both.know(&of_old) && both.know(&of_new) && old.know(&of_old));
    assert!(!old.know(&of_new) && old.open(&of_new, &bound(), NOW).is_err());
    assert!(!old.know("") && !old.know("no token"));
}

#[test]
fn a_secret_that_is_no_key_is_refused() {
    assert_eq!(TokenKeys::of_versions(&[]).err(), Some(KeysParseError::Empty));
    for text in ["", "text", "{}", r#"{"key":"short"}"#, r#"{"key":7}"#, "[]"] {
        let error = TokenKeys::of_versions(&[version("v1", text)]).unwrap_err().to_string();
        assert!(!error.contains("short"), "{error}");
    }
}
