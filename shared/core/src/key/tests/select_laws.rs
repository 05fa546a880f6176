//! The laws of selection, over random templates, items and tests.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::choices::{Choices, choices};
use super::oracle::{passes, value_order};
use super::random::Case;
use super::values;
use super::*;
use crate::key::{Codec, KeyRange, Part, Selection, Test, Tests};

/// A template, items with their keys, tests, and the selection.
struct Selected {
    case: Case,
    tests: Vec<(String, Test)>,
    ranges: Vec<KeyRange>,
    /// The served tests, and whether each is exact.
    served: Vec<(String, bool)>,
    keyed: Vec<(Item, String)>,
}

fn draw(choices: &mut Choices) -> Option<Selected> {
    let mode = choices.one(&[KeyMode::Escaped, KeyMode::Escaped, KeyMode::Verbatim]);
    let case = Case::draw(choices, mode)?;
    let items = values::items(choices, &case, 5);
    let names: Vec<String> = case.template.attributes().map(str::to_owned).collect();
    let mut tests = Vec::new();
    for name in names {
        if !choices.rarely(4) {
            let test = match choices.pick(3) {
                // Mostly equality: later parts are reached only after it.
                0 | 1 => items[0].get(&name).map_or(Test::Absent, |value| Test::Equal(value.clone())),
                _ => values::test(choices, &case, &name, &items),
            };
            tests.push((name, test));
        }
    }
    let fan_out_max = choices.one(&[16, 0, 1, 2, 4, 1000]);
    let by_name = tests.iter().map(|(name, test): &(String, Test)| (name.as_str(), test.as_ref()));
    let Selection { ranges, served } = case.template.select(&by_name.collect(), fan_out_max);
    let served = served.into_iter().map(|served| (served.attribute.to_owned(), served.exact)).collect();
    let keyed = items
        .into_iter()
        .filter_map(|item| {
            let key = case.template.fold(&item).ok()??;
            Some((item, key))
        })
        .collect();
    Some(Selected { case, tests, ranges: ranges.into_vec(), served, keyed })
}

impl Selected {
    fn holds(&self, key: &str) -> bool {
        self.ranges.iter().any(|range| range.contains(key))
    }

    fn shown(&self, key: &str) -> String {
        let text = self.case.template.text();
        format!("{text} {:?} {:?} {:?} key {key:?}", self.case.template.mode(), self.tests, self.ranges)
    }
}

fn texts(range: &KeyRange) -> Vec<&str> {
    match range {
        KeyRange::All => vec![],
        KeyRange::Between(low, high) => vec![low, high],
        KeyRange::Exact(text)
        | KeyRange::BeginsWith(text)
        | KeyRange::AtLeast(text)
        | KeyRange::Above(text)
        | KeyRange::AtMost(text)
        | KeyRange::Below(text) => vec![text],
    }
}

/// Does a range end before another one begins?
fn before(range: &KeyRange, next: &KeyRange) -> bool {
    let from = match next {
        KeyRange::All | KeyRange::AtMost(_) | KeyRange::Below(_) => return false,
        other => texts(other)[0],
    };
    match range {
        KeyRange::All | KeyRange::AtLeast(_) | KeyRange::Above(_) => false,
        KeyRange::BeginsWith(prefix) => from > prefix.as_str() && !from.starts_with(prefix.as_str()),
        KeyRange::Below(high) => from >= high.as_str(),
        KeyRange::Exact(high) | KeyRange::AtMost(high) | KeyRange::Between(_, high) => from > high.as_str(),
    }
}

proptest! {
    /// Sound: no item that passes is left out.
    #[test]
    fn every_item_that_passes_is_selected(mut choices in choices()) {
        let Some(drawn) = draw(&mut choices) else { return Ok(()) };
        for (item, key) in &drawn.keyed {
            if drawn.tests.iter().all(|(name, test)| passes(&drawn.case, name, test.as_ref(), item)) {
                prop_assert!(drawn.holds(key), "{}", drawn.shown(key));
            }
        }
    }

    /// Exact: keys selected by an exact test belong to items that pass it.
    #[test]
    fn every_item_that_is_selected_passes_what_is_served_exactly(mut choices in choices()) {
        let Some(drawn) = draw(&mut choices) else { return Ok(()) };
        for (item, key) in drawn.keyed.iter().filter(|(_, key)| drawn.holds(key)) {
            for (served, _) in drawn.served.iter().filter(|(_, exact)| *exact) {
                let (_, test) = drawn.tests.iter().find(|(name, _)| name == served).unwrap();
                prop_assert!(passes(&drawn.case, served, test.as_ref(), item), "{served} {}", drawn.shown(key));
            }
        }
    }

    #[test]
    fn ranges_are_disjoint_ascending_and_sendable(mut choices in choices()) {
        let Some(drawn) = draw(&mut choices) else { return Ok(()) };
        let bytes_max = drawn.case.template.role().bytes_max();
        for range in &drawn.ranges {
            prop_assert!(texts(range).iter().all(|text| (1..=bytes_max).contains(&text.len())), "{}", drawn.shown(""));
            if let KeyRange::Between(low, high) = range {
                prop_assert!(low < high, "{}", drawn.shown(""));
            }
        }
        for pair in drawn.ranges.windows(2) {
            prop_assert!(before(&pair[0], &pair[1]), "{}", drawn.shown(""));
        }
    }

    /// Prefix-safe: the first parts select exactly their members.
    #[test]
    fn the_first_parts_select_exactly_their_members(mut choices in choices()) {
        let Some(case) = Case::draw(&mut choices, KeyMode::Escaped) else { return Ok(()) };
        let items = values::items(&mut choices, &case, 5);
        let names: Vec<&str> = case
            .template
            .parts()
            .iter()
            .take_while(|part| !matches!(part, Part::Attribute { codec: Codec::Lower | Codec::Upper | Codec::Shard(_) | Codec::Modulo(_), .. }))
            .filter_map(|part| match part {
                Part::Attribute { name, .. } => Some(name.as_str()),
                Part::Literal(_) => None,
            })
            .collect();
        let many = choices.pick(names.len() + 1);
        let tests: Tests<'_> = names[..many]
            .iter()
            .map(|name| (*name, items[0].get(*name).map_or(Test::Absent, Test::Equal)))
            .collect();
        let Ok(Some(_)) = case.template.fold(&items[0]) else { return Ok(()) };
        let selection = case.template.select(&tests, 1);
        prop_assert_eq!(selection.served.len(), many, "{} {:?}", case.template.text(), tests);
        for item in &items {
            let Ok(Some(key)) = case.template.fold(item) else { continue };
            let member = tests.iter().all(|(name, test)| passes(&case, name, test, item));
            let selected = selection.ranges.iter().any(|range| range.contains(&key));
            prop_assert_eq!(member, selected, "{} {:?} {:?}", case.template.text(), tests, key);
        }
    }

    /// Ordered: keys ascend by the attributes that the template reports; items without one come first.
    #[test]
    fn keys_ascend_by_what_they_are_said_to(mut choices in choices()) {
        let mode = choices.one(&[KeyMode::Escaped, KeyMode::Verbatim]);
        let Some(case) = Case::draw(&mut choices, mode) else { return Ok(()) };
        let mut items = values::items(&mut choices, &case, 4);
        let names: Vec<&str> = case.template.attributes().collect();
        let fixed: Vec<&str> = names.iter().copied().filter(|_| choices.pick(2) == 0).collect();
        let first = items[0].clone();
        for item in &mut items {
            for name in &fixed {
                match first.get(*name) {
                    Some(value) => item.insert((*name).to_owned(), value.clone()),
                    None => item.remove(*name),
                };
            }
        }
        let ascending = case.template.ascending(&|name| fixed.contains(&name));
        let keyed: Vec<(&Item, String)> =
            items.iter().filter_map(|item| Some((item, case.template.fold(item).ok()??))).collect();
        for (a, key_a) in &keyed {
            for (b, key_b) in &keyed {
                let order = ascending.iter().fold(Ordering::Equal, |order, name| order.then_with(|| {
                    match (a.get(*name), b.get(*name)) {
                        (Some(a), Some(b)) => value_order(case.kind(name), a, b),
                        (a, b) => a.is_some().cmp(&b.is_some()),
                    }
                }));
                if order != Ordering::Equal {
                    prop_assert_eq!(order, key_a.cmp(key_b), "{} by {:?}: {:?} {:?}", case.template.text(), ascending, key_a, key_b);
                }
            }
        }
    }
}
