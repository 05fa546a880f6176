//! Any text is a key of a template or an error; no text makes unfolding panic.
#![no_main]

use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{Attribute, AttributeKind, Precision};
use libfuzzer_sys::fuzz_target;

const TEMPLATES: [&str; 6] =
    ["{a}-{b}", "{a}[#{b}[#{n}]]", "x:{n:06}:{a}", "{n:number}{t}{a}", "{a|lower}#{a|shard:10}", "{t}|{b|upper}"];

fuzz_target!(|key: &str| {
    let attributes = [
        Attribute::new("a", AttributeKind::String),
        Attribute::new("b", AttributeKind::String),
        Attribute::new("n", AttributeKind::Number),
        Attribute::new("t", AttributeKind::Timestamp(Precision::Milliseconds)),
    ]
    .map(|attribute| (attribute.name.clone(), attribute))
    .into();
    for text in TEMPLATES {
        for mode in [KeyMode::Escaped, KeyMode::Verbatim] {
            if let Ok(template) = Template::parse(text, &attributes, KeyRole::Sort, mode) {
                let _ = template.unfold(key);
            }
        }
    }
});
