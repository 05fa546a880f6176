//! For any text: no panic, and a model exactly if there is no error.

use keyfold_core::manifest::{Severity, model, parse, render};
use proptest::prelude::*;

const SAMPLES: [&str; 3] = [
    include_str!("../../../keyfold.toml"),
    include_str!("../../../examples/projects/keyfold.toml"),
    include_str!("../../../examples/pets/keyfold.toml"),
];

fn model_xor_errors(text: &str) -> Result<(), TestCaseError> {
    let parsed = parse("keyfold.toml", text);
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    prop_assert_eq!(parsed.model.is_none(), errors > 0);
    for found in &parsed.diagnostics {
        prop_assert!(found.span.start <= found.span.end && found.span.end <= text.len());
        prop_assert!(text.is_char_boundary(found.span.start) && text.is_char_boundary(found.span.end));
        prop_assert_eq!(found.line, text[..found.span.start].matches('\n').count() + 1);
        prop_assert!(!found.message.ends_with('.') && !found.message.is_empty());
    }
    let rendered = parsed.render(text, true);
    prop_assert_eq!(rendered.is_empty(), parsed.diagnostics.is_empty());
    // A program that skips warnings gets the same model, or the same report.
    prop_assert_eq!(model("keyfold.toml", text), parsed.model.clone().ok_or(parsed.render(text, false)));
    // Rendering with another text is wrong, but must not panic.
    render("other.toml", &text[text.ceil_char_boundary(text.len() / 2)..], &parsed.diagnostics, false);
    Ok(())
}

/// One slip of an editor: bytes or lines lost, doubled or put elsewhere.
#[derive(Debug, Clone)]
enum Slip {
    DeleteBytes(prop::sample::Index, usize),
    DoubleBytes(prop::sample::Index, usize),
    Replace(prop::sample::Index, char),
    DeleteLine(prop::sample::Index),
    DoubleLine(prop::sample::Index),
    MoveLine(prop::sample::Index, prop::sample::Index),
}

fn slip() -> impl Strategy<Value = Slip> {
    let at = any::<prop::sample::Index>;
    let letter = prop::sample::select("\"'{}[]=.,#?-|:\n\\x1 é".chars().collect::<Vec<_>>());
    prop_oneof![
        (at(), 1..12usize).prop_map(|(at, count)| Slip::DeleteBytes(at, count)),
        (at(), 1..12usize).prop_map(|(at, count)| Slip::DoubleBytes(at, count)),
        (at(), letter).prop_map(|(at, letter)| Slip::Replace(at, letter)),
        at().prop_map(Slip::DeleteLine),
        at().prop_map(Slip::DoubleLine),
        (at(), at()).prop_map(|(from, to)| Slip::MoveLine(from, to)),
    ]
}

fn apply(text: &str, slip: &Slip) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let some = |range: &prop::sample::Index, count: usize, len: usize| {
        let start = range.index(len);
        start..(start + count).min(len)
    };
    match slip {
        _ if letters.is_empty() => return String::new(),
        Slip::DeleteBytes(at, count) => drop(letters.drain(some(at, *count, letters.len()))),
        Slip::DoubleBytes(at, count) => {
            let range = some(at, *count, letters.len());
            let again = letters[range.clone()].to_vec();
            letters.splice(range.end..range.end, again);
        }
        Slip::Replace(at, letter) => {
            let at = at.index(letters.len());
            letters[at] = *letter;
        }
        Slip::DeleteLine(at) => {
            lines.remove(at.index(lines.len()));
            return lines.concat();
        }
        Slip::DoubleLine(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at]);
            return lines.concat();
        }
        Slip::MoveLine(from, to) => {
            let line = lines.remove(from.index(lines.len()));
            lines.insert(to.index(lines.len() + 1), line);
            return lines.concat();
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        model_xor_errors(&text)?;
    }

    #[test]
    fn no_text_that_looks_like_toml_makes_it_panic(
        lines in prop::collection::vec("(\\[(tables|questions|retrofits)\\.[a-c](\\.(indexes|entities|attributes)(\\.[a-c]{3})?)?\\]|(partition|sort|when|type|where|a|values) = (\"[{}a-c|:\\[\\]-]{0,6}\"|[0-9]{1,3}|\\[\"a\"\\]|\\{ a = \"string\" \\}|))", 0..12)
    ) {
        model_xor_errors(&lines.join("\n"))?;
    }

    #[test]
    fn a_sample_after_some_slips_is_a_model_or_has_errors(
        sample in prop::sample::select(&SAMPLES[..]),
        slips in prop::collection::vec(slip(), 1..4),
    ) {
        let text = slips.iter().fold(sample.to_owned(), |text, slip| apply(&text, slip));
        model_xor_errors(&text)?;
    }
}
