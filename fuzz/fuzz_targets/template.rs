//! Any text is a template or has errors; a template can unfold every key it folds.
#![no_main]

use std::collections::HashMap;

use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use keyfold_core::value::{AttributeValue, Item};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, &str, i64, bool)| {
    let (text, a, b, n, verbatim) = input;
    let attributes = [
        Attribute::new("a", AttributeKind::String),
        Attribute::new("b", AttributeKind::String),
        Attribute::new("n", AttributeKind::Number),
        Attribute::new("t", AttributeKind::Timestamp(Precision::Seconds)),
    ]
    .map(|attribute| (attribute.name.clone(), attribute))
    .into();
    let mode = if verbatim { KeyMode::Verbatim } else { KeyMode::Escaped };
    let Ok(template) = Template::parse(text, &attributes, KeyRole::Partition, mode) else { return };
    let item: Item = HashMap::from([
        ("a".to_owned(), AttributeValue::S(a.to_owned())),
        ("b".to_owned(), AttributeValue::S(b.to_owned())),
        ("n".to_owned(), AttributeValue::N(n.to_string())),
        ("t".to_owned(), AttributeValue::S("2017-03-01T08:00:00Z".to_owned())),
    ])
    .into();
    if let Ok(Some(key)) = template.fold(&item) {
        assert!(template.unfold(&key).is_ok(), "{text}: a folded key cannot be unfolded");
    }
});
