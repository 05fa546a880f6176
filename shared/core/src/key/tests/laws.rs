//! The laws of folding, over random templates and items.

use proptest::prelude::*;

use super::choices::{Choices, choices};
use super::oracle::canonical_value;
use super::random::Case;
use super::values;
use super::*;
use crate::key::template::Element;
use crate::key::{Codec, Part, Unfolded};

/// The expected unfolded value of an item's attribute.
fn expected(case: &Case, part: &Part, item: &Item) -> Option<Unfolded> {
    let Part::Attribute { name, codec, .. } = part else { return None };
    let Some(value) = item.get(name) else { return Some(Unfolded::Absent) };
    Some(match codec {
        Codec::Lower | Codec::Upper => Unfolded::Lossy(case.plain(part, value).unwrap()),
        Codec::Shard(_) | Codec::Modulo(_) => {
            Unfolded::Shard(case.plain(part, value).unwrap().parse().unwrap())
        }
        _ => Unfolded::Value(canonical_value(case.kind(name), value)),
    })
}

/// All parts joined without escapes, and whether none contains a `%` or the start of a separator; `None` if a part has
/// no text.
fn join(case: &Case, item: &Item) -> Option<(String, bool)> {
    let elements = &case.template.elements;
    let absent = elements.iter().filter_map(|element| match element {
        Element::Field { field, level } if item.get(&field.attribute).is_none() => Some(level - 1),
        _ => None,
    });
    let depth = absent.min().unwrap_or(usize::MAX);
    let literals: Vec<&str> = elements
        .iter()
        .filter_map(|element| match element {
            Element::Literal { text, .. } => Some(text.as_str()),
            Element::Field { .. } => None,
        })
        .collect();
    let (mut joined, mut clean) = (String::new(), true);
    for (element, part) in elements.iter().zip(case.template.parts()) {
        match element {
            _ if element.level() > depth => break,
            Element::Literal { text, .. } => joined.push_str(text),
            Element::Field { field, .. } => {
                let text = case.plain(part, item.get(&field.attribute)?)?;
                clean &= !text.contains('%')
                    && !literals.iter().any(|literal| text.contains(|letter| literal.starts_with(letter)));
                joined.push_str(&text);
            }
        }
    }
    Some((joined, clean))
}

fn draw(choices: &mut Choices, mode: KeyMode) -> Option<(Case, Item)> {
    let case = Case::draw(choices, mode)?;
    let item = values::item(choices, &case);
    Some((case, item))
}

proptest! {
    /// Folding and unfolding return the values, so no two tuples share a key.
    #[test]
    fn a_key_says_what_the_item_holds(mut choices in choices()) {
        for mode in [KeyMode::Escaped, KeyMode::Verbatim] {
            let Some((case, item)) = draw(&mut choices, mode) else { continue };
            let Ok(Some(key)) = case.template.fold(&item) else { continue };
            let unfolded = case.template.unfold(&key);
            let wanted: Vec<Unfolded> =
                case.template.parts().iter().filter_map(|part| expected(&case, part, &item)).collect();
            let found = unfolded.map(|parts| parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>());
            prop_assert_eq!(found, Ok(wanted), "{} {:?} {:?}", case.template.text(), key, item);
        }
    }

    #[test]
    fn two_different_tuples_never_have_one_key(mut choices in choices()) {
        for mode in [KeyMode::Escaped, KeyMode::Verbatim] {
            let Some(case) = Case::draw(&mut choices, mode) else { continue };
            let folded: Vec<(Vec<Option<Unfolded>>, String)> = values::items(&mut choices, &case, 5)
                .into_iter()
                .filter_map(|item| {
                    let key = case.template.fold(&item).ok()??;
                    Some((case.template.parts().iter().map(|part| expected(&case, part, &item)).collect(), key))
                })
                .collect();
            for (tuple, key) in &folded {
                for (other, other_key) in &folded {
                    prop_assert_eq!(tuple == other, key == other_key, "{} {:?} {:?}", case.template.text(), tuple, other);
                }
            }
        }
    }

    /// Folding an unfolded text writes the same text. No text causes a panic.
    #[test]
    fn a_text_that_unfolds_folds_back_to_itself(mut choices in choices()) {
        let mode = choices.one(&[KeyMode::Escaped, KeyMode::Verbatim]);
        let Some((case, item)) = draw(&mut choices, mode) else { return Ok(()) };
        let mut key = case.template.fold(&item).ok().flatten().unwrap_or_default();
        for _ in 0..choices.pick(3) {
            let at = key.floor_char_boundary(choices.pick(256).min(key.len()));
            match choices.pick(3) {
                0 => key.truncate(at),
                1 => key.insert_str(at, &values::free_text(&mut choices)),
                _ if at < key.len() => {
                    key.remove(at);
                }
                _ => {}
            }
        }
        let Ok(parts) = case.template.unfold(&key) else { return Ok(()) };
        if parts.iter().any(|(_, part)| matches!(part, Unfolded::Lossy(_) | Unfolded::Shard(_))) {
            return Ok(());
        }
        let values = parts.into_iter().filter_map(|(name, part)| match part {
            Unfolded::Value(value) => Some((name.to_owned(), value)),
            _ => None,
        });
        let item = HashMap::from_iter(values).into();
        prop_assert_eq!(case.template.fold(&item), Ok(Some(key)), "{} {:?}", case.template.text(), item);
    }

    /// Keyfold warns of keys that two entities can share. False warnings are allowed, missed ones are not.
    #[test]
    fn templates_with_a_key_in_common_are_never_taken_for_apart(mut choices in choices()) {
        let mode = choices.one(&[KeyMode::Escaped, KeyMode::Verbatim]);
        let (Some((one, item)), Some(other)) = (draw(&mut choices, mode), Case::draw(&mut choices, mode)) else {
            return Ok(());
        };
        let Ok(Some(key)) = one.template.fold(&item) else { return Ok(()) };
        let any = |_: &str| None;
        prop_assert!(one.template.can_equal(&any, &one.template, &any), "{}", one.template.text());
        if other.template.unfold(&key).is_ok() {
            let (text, other_text) = (one.template.text(), other.template.text());
            prop_assert!(one.template.can_equal(&any, &other.template, &any), "{text} {other_text} {key:?}");
        }
    }

    #[test]
    fn ordinary_values_look_as_the_plain_join(mut choices in choices()) {
        let Some((case, item)) = draw(&mut choices, KeyMode::Escaped) else { return Ok(()) };
        let Ok(Some(key)) = case.template.fold(&item) else { return Ok(()) };
        if let Some((joined, true)) = join(&case, &item) {
            prop_assert_eq!(key, joined, "{}", case.template.text());
        }
    }

    #[test]
    fn a_verbatim_key_is_the_plain_join_or_refused(mut choices in choices()) {
        let Some((case, item)) = draw(&mut choices, KeyMode::Verbatim) else { return Ok(()) };
        let Ok(Some(key)) = case.template.fold(&item) else { return Ok(()) };
        if let Some((joined, _)) = join(&case, &item) {
            prop_assert_eq!(key, joined, "{}", case.template.text());
        }
    }

    #[test]
    fn a_key_is_never_empty_nor_too_long(mut choices in choices()) {
        let Some((case, item)) = draw(&mut choices, KeyMode::Escaped) else { return Ok(()) };
        if let Ok(Some(key)) = case.template.fold(&item) {
            prop_assert!((1..=case.template.role().bytes_max()).contains(&key.len()), "{} bytes", key.len());
        }
    }

    #[test]
    fn no_text_makes_a_template_panic(mut choices in choices()) {
        let pieces = ["{a}", "{n", ":0", "6", "}", "{", "[", "]", "#", "|lower", "|map:short", "|shard:", "|mod:", "{at}", "é", "?", "%"];
        let text: String = (0..choices.pick(12)).map(|_| choices.one(&pieces)).collect();
        let mode = choices.one(&[KeyMode::Escaped, KeyMode::Verbatim]);
        match Template::parse(&text, &attributes(), KeyRole::Sort, mode) {
            Ok(template) => { let _ = template.unfold(&text); }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                prop_assert!(errors.iter().all(|error| text.get(error.span.clone()).is_some()), "{text} {errors:?}");
            }
        }
    }

    /// Number texts have numeric order, for all digits.
    #[test]
    fn numbers_are_ordered_to_the_last_digit(a: i128, b: i128, e in -130i32..90, f in -130i32..90, near: bool) {
        let number = |digits: i128, exponent: i32| crate::value::Number::from_parts(digits < 0, digits.unsigned_abs() % 10u128.pow(38), exponent);
        let (b, f) = if near { (a.saturating_add(b % 3), e) } else { (b, f) };
        let (Ok(a), Ok(b)) = (number(a, e), number(b, f)) else { return Ok(()) };
        let folded = template("{n:number}[{a}]");
        let key = |number: crate::value::Number, rest: &str| folded.fold(&item(&[("n", &number.to_string()), ("a", rest)])).unwrap().unwrap();
        let (x, y) = (key(a, "~\u{10FFFF}"), key(b, "\u{0}"));
        if a != b {
            prop_assert_eq!(a.cmp(&b), x.cmp(&y), "{} {}", x, y);
        }
    }
}

/// If most random templates were refused, the laws would be tested on too little.
#[test]
fn most_random_templates_and_items_have_a_key() {
    use proptest::strategy::{Strategy, ValueTree};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut keys = 0;
    for _ in 0..1000 {
        let mut choices = choices().new_tree(&mut runner).unwrap().current();
        let Some((case, item)) = draw(&mut choices, KeyMode::Escaped) else { continue };
        keys += u32::from(matches!(case.template.fold(&item), Ok(Some(_))));
    }
    assert!(keys > 600, "{keys} of 1000");
}

#[test]
fn mapping_letters_twice_changes_nothing_more() {
    for letter in char::MIN..=char::MAX {
        for map in [|c: char| c.to_lowercase().collect::<String>(), |c: char| c.to_uppercase().collect()] {
            let once = map(letter);
            assert_eq!(once.chars().map(map).collect::<String>(), once);
        }
    }
}
