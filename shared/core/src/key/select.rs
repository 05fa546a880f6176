//! Selection: the ranges of keys that items passing some tests can have.
//!
//! The parts are visited from the left. While each part's text is known, prefixes grow; the first part that is only
//! narrowed, or open, ends the walk. A part with few values (an enumeration, a shard) can be expanded into all of them.

mod range;

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use self::range::{Exactness, Limits, lower_end, within};
use super::bounds::Narrowed;
use super::field::Field;
use super::selection::{KeyRange, Selection, Served, Test, Tests};
use super::shard::{Padded, Shards};
use super::template::{Element, Template};
use crate::value::AttributeValue;

impl Template {
    /// The keys that items can have which pass the tests. `tests` holds one test for an attribute; attributes without
    /// one are open. An open part with few values (an enumeration, a shard) is tried value by value if a later part is
    /// tested and at most `fan_out_max` ranges come of it.
    pub fn select(&self, tests: &Tests<'_>, fan_out_max: usize) -> Selection<'_> {
        self.walk(tests, fan_out_max, false).finish()
    }

    /// The same; but where every shard of one key is selected, there is one range, the key without its shard. A planner prices
    /// many such keys and reads few.
    pub(crate) fn select_stem(
        &self,
        tests: &Tests<'_>,
        fan_out_max: usize,
    ) -> (Selection<'_>, Option<Shards>) {
        let walk = self.walk(tests, fan_out_max, true);
        let shards = walk.shards;
        (walk.finish(), shards)
    }

    fn walk<'t, 's, 'n>(
        &'t self,
        tests: &'s Tests<'n>,
        fan_out_max: usize,
        keeps_stem: bool,
    ) -> Walk<'t, 's, 'n> {
        let mut walk = Walk {
            template: self,
            tests,
            fan_out_max,
            keeps_stem,
            shards: None,
            // Nearly always there is one key, and it is not much longer than its template.
            prefixes: smallvec![String::with_capacity(self.text.len() + VALUES_BYTES)],
            ranges: SmallVec::new(),
            served: SmallVec::new(),
        };
        walk.run();
        walk
    }
}

/// Bytes reserved for values above the template's length, so that a key seldom reallocates.
const VALUES_BYTES: usize = 24;

struct Walk<'t, 's, 'n> {
    template: &'t Template,
    tests: &'s Tests<'n>,
    fan_out_max: usize,
    /// May the shards of a lone key stay out of it?
    keeps_stem: bool,
    /// Those that did.
    shards: Option<Shards>,
    prefixes: SmallVec<[String; 1]>,
    ranges: SmallVec<[KeyRange; 1]>,
    served: SmallVec<[Served<'t>; 4]>,
}

/// Does the walk continue?
#[derive(PartialEq)]
enum Step {
    On,
    Stop,
}

impl<'t, 's, 'n> Walk<'t, 's, 'n> {
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
        if let [text] = texts {
            self.prefixes.iter_mut().for_each(|prefix| prefix.push_str(text.as_ref()));
            return;
        }
        let mut longer = SmallVec::with_capacity(self.prefixes.len() * texts.len());
        for prefix in &self.prefixes {
            longer.extend(texts.iter().map(|text| [prefix, text.as_ref()].concat()));
        }
        self.prefixes = longer;
    }

    /// Appends the text of one value. `false`: no key contains it.
    fn append_value(&mut self, at: usize, field: &Field, value: &AttributeValue) -> bool {
        let begins_tail = self.begins_tail(at);
        let mut nowhere = String::new();
        let (first, others) = match self.prefixes.split_first_mut() {
            Some((first, others)) => (first, others),
            None => (&mut nowhere, [].as_mut_slice()),
        };
        let before = first.len();
        // An empty text at the beginning of a tail is refused when folding.
        if field.write(value, first).is_err() || (first.len() == before && begins_tail) {
            return false;
        }
        others.iter_mut().for_each(|other| other.push_str(&first[before..]));
        true
    }

    fn serve(&mut self, attribute: &'t str, exact: bool) {
        match self.served.iter_mut().find(|served| served.attribute == attribute) {
            Some(served) => served.exact |= exact,
            None => self.served.push(Served { attribute, exact }),
        }
    }

    fn nothing(&mut self, attribute: &'t str) -> Step {
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
    fn fields_from(&self, at: usize) -> impl Iterator<Item = (&'t Field, usize)> + use<'t, 's, 'n> {
        self.template.elements[at..].iter().filter_map(|element| match element {
            Element::Field { field, level } => Some((field.as_ref(), *level)),
            Element::Literal { .. } => None,
        })
    }

    fn test(&self, field: &Field) -> Option<Test<&'n AttributeValue>> {
        self.tests.get(field.attribute.as_str())
    }

    /// At the beginning of an optional tail: is it there, absent, or either?
    fn enter_tail(&mut self, at: usize) -> Step {
        let level = self.template.elements[at].level();
        let present =
            self.fields_from(at).any(|(field, _)| self.test(field).is_some_and(|test| test != Test::Absent));
        let absent: Vec<&'t str> = self
            .fields_from(at)
            .filter(|(field, own)| *own == level && self.test(field) == Some(Test::Absent))
            .map(|(field, _)| field.attribute.as_str())
            .collect();
        match (present, absent.first()) {
            (true, Some(&attribute)) => self.nothing(attribute),
            (true, None) => Step::On,
            (false, Some(_)) => {
                // Where one attribute of a tail is absent all are, and those of the tails inside too.
                let all: Vec<&'t str> = self
                    .fields_from(at)
                    .filter(|(field, _)| self.test(field) == Some(Test::Absent))
                    .map(|(field, _)| field.attribute.as_str())
                    .collect();
                all.into_iter().for_each(|attribute| self.serve(attribute, true));
                self.ranges = self.prefixes.drain(..).map(KeyRange::Exact).collect();
                Step::Stop
            }
            (false, None) => self.either(at),
        }
    }

    /// Continues with and without the tail.
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
            test if let Some(shards) = Shards::of(&field.codec) => self.shard(at, field, shards, test),
            Some(Test::Equal(value)) if self.append_value(at, field, value) => {
                self.serve(name, !field.is_lossy());
                Step::On
            }
            Some(Test::Equal(_)) => self.nothing(name),
            Some(test) if field.finite.is_some() => self.listed(at, field, test),
            None if field.finite.is_some() => {
                let texts = self.texts_of(at, field, &|_| true);
                self.expand(at, &texts)
            }
            Some(Test::Range { low, high }) => self.narrow(at, field, field.between(&low, &high)),
            Some(Test::BeginsWith(prefix)) => self.narrow(at, field, field.beginning(prefix)),
            None => self.open(),
        }
    }

    fn shard(
        &mut self,
        at: usize,
        field: &'t Field,
        shards: Shards,
        test: Option<Test<&AttributeValue>>,
    ) -> Step {
        if let Some(Test::Equal(value)) = test {
            if !self.append_value(at, field, value) {
                return self.nothing(&field.attribute);
            }
            self.serve(&field.attribute, false);
            return Step::On;
        }
        // A shard at the end of a key leaves a small, known set of keys.
        let ends_key = self.template.elements.len() == at + 1
            && self.prefixes.len() * shards.count() <= self.fan_out_max;
        if ends_key && self.keeps_stem && self.has_one_stem(shards) {
            self.shards = Some(shards);
            return Step::On;
        }
        let texts: Vec<Padded> = shards.texts().collect();
        if ends_key {
            self.append(&texts);
            return Step::On;
        }
        self.expand(at, &texts)
    }

    /// Is there exactly one key so far, which stays valid with each of these shards?
    fn has_one_stem(&self, shards: Shards) -> bool {
        let bytes_max = self.template.role.bytes_max() - shards.bytes_max();
        matches!(self.prefixes.as_slice(), [stem] if (1..=bytes_max).contains(&stem.len()))
    }

    /// The texts of listed values that pass.
    fn texts_of(
        &self,
        at: usize,
        field: &'t Field,
        passes: &dyn Fn(&AttributeValue) -> bool,
    ) -> SmallVec<[Cow<'t, str>; 1]> {
        let Some(finite) = &field.finite else { return SmallVec::new() };
        finite
            .texts_where(passes)
            .filter_map(|text| {
                if finite.plain {
                    return Some(Cow::Borrowed(text));
                }
                let mut written = String::new();
                // A verbatim key that cannot hold a value holds no item with it.
                field.write_text(text, &mut written).ok()?;
                Some(Cow::Owned(written))
            })
            .filter(|text| !(text.is_empty() && self.begins_tail(at)))
            .collect()
    }

    fn listed(&mut self, at: usize, field: &'t Field, test: Test<&AttributeValue>) -> Step {
        let texts = self.texts_of(at, field, &|value| test.passes(value));
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
    fn expand(&mut self, at: usize, texts: &[impl AsRef<str>]) -> Step {
        let leads_on = self.fields_from(at + 1).any(|(field, _)| self.test(field).is_some());
        if !leads_on || self.prefixes.len() * texts.len() > self.fan_out_max {
            return self.open();
        }
        self.append(texts);
        Step::On
    }

    fn narrow(&mut self, at: usize, field: &'t Field, narrowed: Narrowed) -> Step {
        let attribute = field.attribute.as_str();
        match narrowed {
            Narrowed::Open => self.open(),
            Narrowed::Nothing => self.nothing(attribute),
            Narrowed::Prefix { text, exact } => {
                // An empty prefix at the start of a tail also matches items without the tail.
                if text.is_empty() && (!exact || self.begins_tail(at)) {
                    return self.open();
                }
                self.serve(attribute, exact);
                self.append(&[text]);
                self.open()
            }
            Narrowed::Between { low, high } => {
                let low = if self.begins_tail(at) { low.present(field.least()) } else { low };
                self.serve(attribute, true);
                for prefix in std::mem::take(&mut self.prefixes) {
                    let limits = Limits::new(self.template, &prefix, &low, &high);
                    match limits.exactness {
                        Exactness::Exact => {}
                        Exactness::NotOfThisPart => self.inexact(attribute),
                        Exactness::NotOfAny => self.inexact_all(),
                    }
                    self.ranges.extend(limits.range);
                }
                Step::Stop
            }
        }
    }

    /// Does an optional tail begin with this element?
    fn begins_tail(&self, at: usize) -> bool {
        let elements = &self.template.elements;
        at.checked_sub(1).is_some_and(|before| elements[before].level() < elements[at].level())
    }

    fn inexact(&mut self, attribute: &'t str) {
        self.served
            .iter_mut()
            .filter(|served| served.attribute == attribute)
            .for_each(|served| served.exact = false);
    }

    fn finish(mut self) -> Selection<'t> {
        let bytes_max = self.template.role.bytes_max();
        // Usually nothing must be cut, sorted or dropped: shards come in numeric order.
        let are_keys = self.ranges.iter().all(|range| match range {
            KeyRange::Exact(key) => (1..=bytes_max).contains(&key.len()),
            KeyRange::BeginsWith(prefix) => prefix.len() <= bytes_max,
            _ => false,
        });
        if are_keys && self.ranges.is_sorted_by(|a, b| lower_end(a) < lower_end(b)) {
            return Selection { ranges: self.ranges, served: self.served };
        }
        let mut cut = false;
        self.ranges.retain(|range| {
            let kept = within(std::mem::replace(range, KeyRange::All), bytes_max, &mut cut);
            let is_kept = kept.is_some();
            *range = kept.unwrap_or(KeyRange::All);
            is_kept
        });
        self.ranges.sort_by(|a, b| lower_end(a).cmp(lower_end(b)));
        self.ranges.dedup();
        if cut {
            self.inexact_all();
        }
        Selection { ranges: self.ranges, served: self.served }
    }

    fn inexact_all(&mut self) {
        self.served.iter_mut().for_each(|served| served.exact = false);
    }
}
