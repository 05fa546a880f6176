//! From the ends of one part to conditions on the whole key, in the words of DynamoDB's key conditions.

use crate::key::bounds::End;
use crate::key::follow::after_all;
use crate::key::selection::KeyRange;
use crate::key::template::Template;

/// A range of keys after a prefix.
pub(super) struct Limits {
    /// `None`: the range is empty.
    pub(super) range: Option<KeyRange>,
    pub(super) exactness: Exactness,
}

/// Which tests do all keys in a range pass?
pub(super) enum Exactness {
    Exact,
    /// All but that of the part which is narrowed.
    NotOfThisPart,
    /// Perhaps none.
    NotOfAny,
}

impl Limits {
    /// The keys after a prefix, between two ends. DynamoDB has no range with two ends of which one is excluded, so an
    /// excluded end is included. The result stays exact if that end is not a key.
    pub(super) fn new(template: &Template, prefix: &str, low: &End, high: &End) -> Limits {
        let is_key = |text: &str| template.unfold(text).is_ok();
        let place = |end: &End| match end {
            End::None => None,
            End::Included(text) => Some((format!("{prefix}{text}"), false)),
            End::Excluded(text) => {
                let text = format!("{prefix}{text}");
                let excluded = is_key(&text);
                Some((text, excluded))
            }
        };
        let (low, low_excluded) = place(low).unwrap_or_else(|| (prefix.to_owned(), false));
        let Some((high, high_excluded)) = place(high) else {
            return Limits::upwards(prefix, low, low_excluded, &is_key);
        };
        let excluded = low_excluded || high_excluded;
        let exact = |range| Limits { range, exactness: Exactness::Exact };
        match low.cmp(&high) {
            _ if high.is_empty() => exact(None),
            _ if low.is_empty() && high_excluded => exact(Some(KeyRange::Below(high))),
            _ if low.is_empty() => exact(Some(KeyRange::AtMost(high))),
            std::cmp::Ordering::Greater => exact(None),
            std::cmp::Ordering::Equal if excluded => exact(None),
            std::cmp::Ordering::Equal => exact(Some(KeyRange::Exact(low))),
            std::cmp::Ordering::Less => Limits {
                range: Some(KeyRange::Between(low, high)),
                exactness: if excluded { Exactness::NotOfThisPart } else { Exactness::Exact },
            },
        }
    }

    /// All keys after a prefix, from one end on.
    fn upwards(prefix: &str, low: String, low_excluded: bool, is_key: &dyn Fn(&str) -> bool) -> Limits {
        let own = if low_excluded { Exactness::NotOfThisPart } else { Exactness::Exact };
        let (range, exactness) = match after_all(prefix) {
            _ if low.is_empty() => (KeyRange::All, Exactness::Exact),
            _ if low == prefix => (KeyRange::BeginsWith(low), own),
            Some(after) => {
                // The first text after all keys with the prefix may itself be a key.
                let exactness = if is_key(&after) { Exactness::NotOfAny } else { own };
                (KeyRange::Between(low, after), exactness)
            }
            None if low_excluded => (KeyRange::Above(low), Exactness::Exact),
            None => (KeyRange::AtLeast(low), Exactness::Exact),
        };
        Limits { range: Some(range), exactness }
    }
}

/// DynamoDB refuses conditions on texts longer than a key, or empty; no key is either. `cut`: a bound was shortened.
pub(super) fn within(range: KeyRange, bytes_max: usize, cut: &mut bool) -> Option<KeyRange> {
    let fits = |text: &String| text.len() <= bytes_max;
    let at_most = |high: Option<String>| high.map_or(KeyRange::All, KeyRange::AtMost);
    Some(match range {
        KeyRange::Exact(key) => {
            return Some(KeyRange::Exact(key))
                .filter(|range| (1..=bytes_max).contains(&lower_end(range).len()));
        }
        KeyRange::BeginsWith(prefix) => return fits(&prefix).then_some(KeyRange::BeginsWith(prefix)),
        KeyRange::Between(low, high) => {
            let low = not_above(low, bytes_max, cut);
            match not_below(high, bytes_max, cut) {
                Some(high) => KeyRange::Between(low, high),
                None => KeyRange::AtLeast(low),
            }
        }
        KeyRange::AtLeast(low) => KeyRange::AtLeast(not_above(low, bytes_max, cut)),
        KeyRange::Above(low) if fits(&low) => KeyRange::Above(low),
        KeyRange::Above(low) => KeyRange::AtLeast(not_above(low, bytes_max, cut)),
        KeyRange::AtMost(high) => at_most(not_below(high, bytes_max, cut)),
        KeyRange::Below(high) if fits(&high) => KeyRange::Below(high),
        KeyRange::Below(high) => at_most(not_below(high, bytes_max, cut)),
        KeyRange::All => KeyRange::All,
    })
}

/// A lower bound, cut to length so that no key is lost.
fn not_above(text: String, bytes_max: usize, cut: &mut bool) -> String {
    match shorter(&text, bytes_max, cut) {
        None => text,
        Some(kept) => kept.to_owned(),
    }
}

/// An upper bound, shortened without losing a key; `None` if no shorter text is above the keys.
fn not_below(text: String, bytes_max: usize, cut: &mut bool) -> Option<String> {
    match shorter(&text, bytes_max, cut) {
        None => Some(text),
        Some(kept) => after_all(kept),
    }
}

/// The kept part of an overlong text, with room for the longest character.
fn shorter<'t>(text: &'t str, bytes_max: usize, cut: &mut bool) -> Option<&'t str> {
    if text.len() <= bytes_max {
        return None;
    }
    *cut = true;
    Some(&text[..text.floor_char_boundary(bytes_max - char::MAX.len_utf8())])
}

/// Where a range begins.
pub(super) fn lower_end(range: &KeyRange) -> &str {
    match range {
        KeyRange::All | KeyRange::AtMost(_) | KeyRange::Below(_) => "",
        KeyRange::Exact(text)
        | KeyRange::BeginsWith(text)
        | KeyRange::Between(text, _)
        | KeyRange::AtLeast(text)
        | KeyRange::Above(text) => text,
    }
}
