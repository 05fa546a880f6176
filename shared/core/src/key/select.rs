//! Selecting: which keys items can have that pass some tests.
//!
//! The parts are walked from the left. As long as each part's text is known, prefixes grow; the first part that is only
//! narrowed, or open, ends the walk. A part with few values (an enumeration, a shard) can be taken value by value.

use std::collections::BTreeMap;

use super::bounds::{End, Narrowed};
use super::field::{Field, next_char};
use super::{Codec, Element, KeyRange, Selection, Served, Template, Test};
use crate::query::condition::Comparison;
use crate::value::{AttributeValue, compare};

impl Template {
    /// The keys that items can have which pass the tests. `tests` holds one test for an attribute; attributes without
    /// one are open. An open part with few values (an enumeration, a shard) is tried value by value if a later part is
    /// tested and at most `fan_out_max` ranges come of it.
    pub fn select(&self, tests: &BTreeMap<&str, Test>, fan_out_max: usize) -> Selection {
        let mut walk = Walk {
            template: self,
            tests,
            fan_out_max,
            prefixes: vec![String::new()],
            ranges: Vec::new(),
            served: Vec::new(),
        };
        walk.run();
        walk.finish()
    }
}

struct Walk<'t> {
    template: &'t Template,
    tests: &'t BTreeMap<&'t str, Test>,
    fan_out_max: usize,
    prefixes: Vec<String>,
    ranges: Vec<KeyRange>,
    served: Vec<Served>,
}

/// Does the walk go on?
#[derive(PartialEq)]
enum Step {
    On,
    Stop,
}

impl<'t> Walk<'t> {
    fn run(&mut self) {
        let mut level = 0;
        for (at, element) in self.template.elements.iter().enumerate() {
            if element.level() > level && self.enter_tail(at) == Step::Stop {
                return;
            }
            level = element.level();
            let step = match element {
                Element::Literal { text, .. } => {
                    self.append(&[text]);
                    Step::On
                }
                Element::Field { field, .. } => self.field(at, field),
            };
            if step == Step::Stop {
                return;
            }
        }
        self.ranges = self.prefixes.drain(..).map(KeyRange::Exact).collect();
    }

    fn append(&mut self, texts: &[impl AsRef<str>]) {
        self.prefixes = self
            .prefixes
            .iter()
            .flat_map(|prefix| texts.iter().map(move |text| format!("{prefix}{}", text.as_ref())))
            .collect();
    }

    fn serve(&mut self, attribute: &str, exact: bool) {
        match self.served.iter_mut().find(|served| served.attribute == attribute) {
            Some(served) => served.exact |= exact,
            None => self.served.push(Served { attribute: attribute.to_owned(), exact }),
        }
    }

    fn nothing(&mut self, attribute: &str) -> Step {
        self.serve(attribute, true);
        self.prefixes.clear();
        self.ranges.clear();
        Step::Stop
    }

    /// The rest of the key is open.
    fn open(&mut self) -> Step {
        let range =
            |prefix: String| if prefix.is_empty() { KeyRange::All } else { KeyRange::BeginsWith(prefix) };
        self.ranges = self.prefixes.drain(..).map(range).collect();
        Step::Stop
    }

    /// The fields from an element on, with the number of tails around them.
    fn fields_from(&self, at: usize) -> impl Iterator<Item = (&'t Field, usize)> + use<'t> {
        self.template.elements[at..].iter().filter_map(|element| match element {
            Element::Field { field, level } => Some((field.as_ref(), *level)),
            Element::Literal { .. } => None,
        })
    }

    fn test(&self, field: &Field) -> Option<&'t Test> {
        self.tests.get(field.attribute.as_str())
    }

    /// At the beginning of an optional tail: is it there, absent, or either?
    fn enter_tail(&mut self, at: usize) -> Step {
        let level = self.template.elements[at].level();
        let present =
            self.fields_from(at).any(|(field, _)| self.test(field).is_some_and(|test| *test != Test::Absent));
        let absent: Vec<&str> = self
            .fields_from(at)
            .filter(|(field, own)| *own == level && self.test(field) == Some(&Test::Absent))
            .map(|(field, _)| field.attribute.as_str())
            .collect();
        match (present, absent.first()) {
            (true, Some(attribute)) => self.nothing(attribute),
            (true, None) => Step::On,
            (false, Some(_)) => {
                // Where one attribute of a tail is absent all are, and those of the tails inside too.
                let all: Vec<&str> = self
                    .fields_from(at)
                    .filter(|(field, _)| self.test(field) == Some(&Test::Absent))
                    .map(|(field, _)| field.attribute.as_str())
                    .collect();
                all.into_iter().for_each(|attribute| self.serve(attribute, true));
                self.ranges = self.prefixes.drain(..).map(KeyRange::Exact).collect();
                Step::Stop
            }
            (false, None) => self.either(at),
        }
    }

    /// Both with and without the tail, and nothing beside them.
    fn either(&mut self, at: usize) -> Step {
        let Element::Literal { text, .. } = &self.template.elements[at] else { return self.open() };
        self.ranges = self
            .prefixes
            .drain(..)
            .flat_map(|prefix| {
                let longer = format!("{prefix}{text}");
                [KeyRange::Exact(prefix), KeyRange::BeginsWith(longer)]
            })
            .collect();
        Step::Stop
    }

    fn field(&mut self, at: usize, field: &'t Field) -> Step {
        let name = field.attribute.as_str();
        match self.test(field) {
            Some(Test::Absent) => self.nothing(name),
            test if matches!(field.codec, Codec::Shard(_)) => self.shard(at, field, test),
            Some(test) if field.finite.is_some() => self.listed(field, test),
            None if field.finite.is_some() => {
                let texts = self.texts_of(field, &|_| true);
                self.expand(at, &texts)
            }
            Some(Test::Equal(value)) => {
                let mut text = String::new();
                match field.write(value, &mut text) {
                    Ok(()) => {
                        self.serve(name, !field.is_lossy());
                        self.append(&[text]);
                        Step::On
                    }
                    Err(_) => self.nothing(name),
                }
            }
            Some(Test::Range { low, high }) => self.narrow(name, field.between(low, high)),
            Some(Test::BeginsWith(prefix)) => self.narrow(name, field.beginning(prefix)),
            None => self.open(),
        }
    }

    fn shard(&mut self, at: usize, field: &Field, test: Option<&Test>) -> Step {
        if let Some(Test::Equal(value)) = test {
            let mut text = String::new();
            return match field.write(value, &mut text) {
                Ok(()) => {
                    self.serve(&field.attribute, false);
                    self.append(&[text]);
                    Step::On
                }
                Err(_) => self.nothing(&field.attribute),
            };
        }
        let Codec::Shard(shards) = field.codec else { return self.open() };
        let width = super::shard::digits(shards);
        let texts: Vec<String> = (0..shards).map(|shard| format!("{shard:0width$}")).collect();
        // A shard that ends the key is as good as known: the key is one of few.
        if self.template.elements.len() == at + 1 && self.prefixes.len() * texts.len() <= self.fan_out_max {
            self.append(&texts);
            return Step::On;
        }
        self.expand(at, &texts)
    }

    /// The texts of listed values that pass.
    fn texts_of(&self, field: &Field, passes: &dyn Fn(&AttributeValue) -> bool) -> Vec<String> {
        let Some(finite) = &field.finite else { return Vec::new() };
        let texts = finite.texts_where(passes).into_iter();
        texts
            .filter_map(|text| {
                let mut written = String::new();
                if finite.plain {
                    written.push_str(text);
                } else {
                    // A verbatim key that cannot hold a value holds no item with it.
                    field.write_text(text, &mut written).ok()?;
                }
                Some(written)
            })
            .collect()
    }

    fn listed(&mut self, field: &Field, test: &Test) -> Step {
        let texts = self.texts_of(field, &|value| passes(test, value));
        if texts.is_empty() {
            return self.nothing(&field.attribute);
        }
        if self.prefixes.len() * texts.len() > self.fan_out_max.max(1) {
            return self.open();
        }
        self.serve(&field.attribute, true);
        self.append(&texts);
        Step::On
    }

    /// Takes an open part value by value, if that leads to a part that is tested.
    fn expand(&mut self, at: usize, texts: &[String]) -> Step {
        let leads_on = self.fields_from(at + 1).any(|(field, _)| self.test(field).is_some());
        if !leads_on || self.prefixes.len() * texts.len() > self.fan_out_max {
            return self.open();
        }
        self.append(texts);
        Step::On
    }

    fn narrow(&mut self, attribute: &str, narrowed: Narrowed) -> Step {
        match narrowed {
            Narrowed::Open => self.open(),
            Narrowed::Nothing => self.nothing(attribute),
            Narrowed::Prefix { text, exact } => {
                if text.is_empty() && !exact {
                    return self.open();
                }
                let is_tailless = text.is_empty() && self.prefixes.iter().any(|prefix| self.is_key(prefix));
                self.serve(attribute, exact && !is_tailless);
                self.append(&[text]);
                self.open()
            }
            Narrowed::Between { low, high, exact } => {
                self.serve(attribute, exact);
                let prefixes = std::mem::take(&mut self.prefixes);
                for prefix in prefixes {
                    let (range, exact) = self.between(&prefix, &low, &high);
                    self.ranges.extend(range);
                    if !exact {
                        self.served.iter_mut().for_each(|served| served.exact = false);
                    }
                }
                Step::Stop
            }
        }
    }

    /// Is what stands before an attribute a key already, of an item that lacks the whole tail?
    fn is_key(&self, prefix: &str) -> bool {
        self.template.unfold(prefix).is_ok()
    }

    /// A range behind a prefix, and whether it holds no key that should not be in it.
    fn between(&self, prefix: &str, low: &End, high: &End) -> (Option<KeyRange>, bool) {
        if prefix.is_empty() {
            match (low, high) {
                (End::None, End::Excluded(high)) if high.is_empty() => return (None, true),
                (End::None, End::Excluded(high)) => return (Some(KeyRange::Below(high.clone())), true),
                (End::Excluded(low), End::None) if !low.is_empty() => {
                    return (Some(KeyRange::Above(low.clone())), true);
                }
                _ => {}
            }
        }
        let strict = matches!(low, End::Excluded(_)) || matches!(high, End::Excluded(_));
        let low = match low {
            End::None => prefix.to_owned(),
            End::Included(text) | End::Excluded(text) => format!("{prefix}{text}"),
        };
        let (high, is_exact) = match high {
            End::Included(text) | End::Excluded(text) => (Some(format!("{prefix}{text}")), true),
            // What comes first after all keys with the prefix must be no key itself.
            End::None => match after_all(prefix) {
                Some(after) => {
                    let is_key = self.template.unfold(&after).is_ok();
                    (Some(after), !is_key)
                }
                None => (None, true),
            },
        };
        let exact = is_exact && !strict && !(low == prefix && self.is_key(prefix));
        let range = match (low.is_empty(), high) {
            (true, None) => KeyRange::All,
            (true, Some(high)) if high.is_empty() => return (None, true),
            (true, Some(high)) => KeyRange::AtMost(high),
            (false, None) => KeyRange::AtLeast(low),
            (false, Some(high)) if low > high => return (None, true),
            (false, Some(high)) if low == high => KeyRange::Exact(low),
            (false, Some(high)) => KeyRange::Between(low, high),
        };
        (Some(range), exact)
    }

    fn finish(mut self) -> Selection {
        let bytes_max = self.template.role.bytes_max();
        let mut cut = false;
        let mut ranges: Vec<KeyRange> =
            self.ranges.drain(..).filter_map(|range| within(range, bytes_max, &mut cut)).collect();
        ranges.sort_by(|a, b| lower_end(a).cmp(lower_end(b)));
        ranges.dedup();
        if cut {
            self.served.iter_mut().for_each(|served| served.exact = false);
        }
        Selection { ranges, served: self.served }
    }
}

/// Does a listed value pass?
fn passes(test: &Test, value: &AttributeValue) -> bool {
    match test {
        Test::Equal(wanted) => crate::value::equal(value, wanted),
        Test::BeginsWith(prefix) => Comparison::BeginsWith(prefix.clone()).holds(Some(value)),
        Test::Absent => false,
        Test::Range { low, high } => {
            let above = match low {
                std::ops::Bound::Unbounded => true,
                std::ops::Bound::Included(low) => compare(value, low).is_some_and(std::cmp::Ordering::is_ge),
                std::ops::Bound::Excluded(low) => compare(value, low).is_some_and(std::cmp::Ordering::is_gt),
            };
            let below = match high {
                std::ops::Bound::Unbounded => true,
                std::ops::Bound::Included(high) => {
                    compare(value, high).is_some_and(std::cmp::Ordering::is_le)
                }
                std::ops::Bound::Excluded(high) => {
                    compare(value, high).is_some_and(std::cmp::Ordering::is_lt)
                }
            };
            above && below
        }
    }
}

/// The first text after all that begin with this one; `None` for the empty one.
fn after_all(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    let mut text = prefix[..prefix.len() - last.len_utf8()].to_owned();
    match next_char(last) {
        Some(next) => text.push(next),
        None => return after_all(&text),
    }
    Some(text)
}

/// DynamoDB refuses conditions on texts longer than a key; no key is that long. `cut`: a bound was shortened.
fn within(range: KeyRange, bytes_max: usize, cut: &mut bool) -> Option<KeyRange> {
    let fits = |text: &String| text.len() <= bytes_max;
    Some(match range {
        KeyRange::Exact(key) => return fits(&key).then_some(KeyRange::Exact(key)),
        KeyRange::BeginsWith(prefix) => return fits(&prefix).then_some(KeyRange::BeginsWith(prefix)),
        KeyRange::Between(low, high) => {
            let (low, high) = (shorter(low, bytes_max, false, cut), shorter(high, bytes_max, true, cut));
            KeyRange::Between(low, high)
        }
        KeyRange::AtLeast(low) => KeyRange::AtLeast(shorter(low, bytes_max, false, cut)),
        KeyRange::Above(low) if fits(&low) => KeyRange::Above(low),
        KeyRange::Above(low) => KeyRange::AtLeast(shorter(low, bytes_max, false, cut)),
        KeyRange::AtMost(high) => KeyRange::AtMost(shorter(high, bytes_max, true, cut)),
        KeyRange::Below(high) if fits(&high) => KeyRange::Below(high),
        KeyRange::Below(high) => KeyRange::AtMost(shorter(high, bytes_max, true, cut)),
        KeyRange::All => KeyRange::All,
    })
}

/// A bound cut to length, so that no key is lost.
fn shorter(text: String, bytes_max: usize, upper: bool, cut: &mut bool) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    *cut = true;
    let mut end = bytes_max.saturating_sub(4);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text[..end].to_owned();
    if upper { after_all(&kept).unwrap_or(kept) } else { kept }
}

fn lower_end(range: &KeyRange) -> &str {
    match range {
        KeyRange::All | KeyRange::AtMost(_) | KeyRange::Below(_) => "",
        KeyRange::Exact(text)
        | KeyRange::BeginsWith(text)
        | KeyRange::Between(text, _)
        | KeyRange::AtLeast(text)
        | KeyRange::Above(text) => text,
    }
}
