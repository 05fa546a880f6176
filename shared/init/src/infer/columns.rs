//! The template of one key attribute over the items of one group: equal text is literal, varying text is an attribute
//! of the item or is stored only in the key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use keyfold_core::value::{AttributeValue, Item, Name, Number};

use crate::name::plain;
use crate::template::literal;

/// Maximum pieces of one key.
const PIECES_MAX: usize = 40;
/// Maximum nesting of optional tails.
const TAILS_MAX: usize = 3;
/// Fewer items than this can share an id by chance.
const FEW: usize = 20;
/// Minimum characters of a text with digits to be an id.
const ID_CHARS_MIN: usize = 3;
/// Separators that always end a part; others also occur within words and dates.
const HARD: [char; 4] = ['#', '|', '/', ':'];
/// The separators that also occur within words and dates.
const SOFT: [char; 3] = ['_', '-', '.'];

/// One item's key, with its item.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) item: &'a Item,
    /// Parts that were read from the item's keys.
    pub(super) read: &'a BTreeMap<String, String>,
    pub(super) value: &'a str,
}

/// The notation of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Written {
    Plain,
    Lower,
    Upper,
    Padded(usize),
    Remainder(u32),
}

/// A piece of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Literal text, and the attributes that have it too.
    Text(String, Vec<Rival>),
    Part {
        attribute: String,
        written: Written,
        /// The other attributes with the same text in every key, the best first.
        rivals: Vec<Rival>,
    },
    /// A part that is in no attribute: its text in each row.
    KeyOnly {
        values: Vec<String>,
        is_time: bool,
        name: Option<String>,
    },
    Tail(Vec<Piece>),
}

/// An attribute that explains a part too, and why another was chosen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rival {
    pub(super) attribute: String,
    reason: Reason,
}

/// Why one explanation of a part is better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Coverage,
    Name,
    Agreement,
    Stored,
    Id,
    Simplicity,
    Order,
    Selects,
    Mark,
}

/// One group: an entity, or the whole table.
pub(super) struct Group {
    pub(super) entity: Option<usize>,
    pub(super) rows: Vec<usize>,
}

/// The pieces of each key of each group.
pub(super) type Found = BTreeMap<(usize, String), Vec<Piece>>;

/// The parameters of the search.
pub(super) struct Search<'a> {
    /// Attributes that cannot be parts: folded keys, the entity attribute.
    pub(super) never: &'a dyn Fn(&str) -> bool,
    /// Does a part read from a key belong to another prefix than this word?
    pub(super) other: &'a dyn Fn(&str, &str) -> bool,
    /// Is this value of the attribute literal text, because items with other values lack the key?
    pub(super) selects: &'a dyn Fn(&str, &str) -> bool,
    /// How many other entities of the item collection can have the attribute (second) behind this word (first) of the key?
    pub(super) shared: &'a dyn Fn(&str, &str) -> usize,
    /// The names of the key and its indexes, in plain letters.
    pub(super) hint: &'a str,
    /// Is text that fits both unchanged and in lower case treated as lower case?
    pub(super) lower: bool,
    /// May a key consist of only another attribute?
    pub(super) bare: bool,
}

/// The pieces of a key in all rows; `None` if they have no common form.
pub(super) fn find(rows: &[Row<'_>], search: &Search<'_>) -> Option<Vec<Piece>> {
    let all = walk(rows, search);
    if all.as_ref().is_some_and(|pieces| has_part(pieces)) {
        return all;
    }
    // A few items may differ from the common form; the proof reports them.
    let better = |some: Vec<Row<'_>>| walk(&some, search).filter(|pieces| has_part(pieces));
    usual_form(rows).and_then(better).or_else(|| holding(rows, search).and_then(better)).or(all)
}

/// The rows with the most common form, if some have another.
fn usual_form<'a>(rows: &[Row<'a>]) -> Option<Vec<Row<'a>>> {
    let mut forms: BTreeMap<String, Vec<Row<'a>>> = BTreeMap::new();
    for row in rows {
        let form: String = row.value.chars().filter(|letter| !letter.is_alphanumeric()).collect();
        forms.entry(form).or_default().push(*row);
    }
    let usual = forms.into_values().max_by_key(Vec::len)?;
    (usual.len() < rows.len() && usual.len() * 5 >= rows.len() * 4).then_some(usual)
}

/// The rows whose key ends with an attribute, if at most one in ten does not.
fn holding<'a>(rows: &[Row<'a>], search: &Search<'_>) -> Option<Vec<Row<'a>>> {
    let ends = |row: &Row<'a>, name: &str| {
        let text = text_of(row, name, Written::Plain).filter(|text| !text.is_empty());
        let before = text.and_then(|text| row.value.strip_suffix(text.as_str()));
        before.is_some_and(|before| !before.ends_with(char::is_alphanumeric))
    };
    let first = rows.iter().take(2).flat_map(|row| row.item.keys());
    first.filter(|name| !(search.never)(name)).find_map(|name| {
        let some: Vec<Row<'a>> = rows.iter().filter(|row| ends(row, name)).copied().collect();
        (some.len() < rows.len() && some.len() * 10 >= rows.len() * 9).then_some(some)
    })
}

pub(super) fn has_part(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Part { .. } => true,
        Piece::Tail(inner) => has_part(inner),
        Piece::Text(..) | Piece::KeyOnly { .. } => false,
    })
}

fn walk(rows: &[Row<'_>], search: &Search<'_>) -> Option<Vec<Piece>> {
    let mut rests: Vec<&str> = rows.iter().map(|row| row.value).collect();
    let mut pieces = from(rows, &mut rests, search, 0, true)?;
    for at in 0..pieces.len() {
        let Piece::KeyOnly { values, .. } = &pieces[at] else { continue };
        let is_whole = pieces.len() == 1;
        let part = held_by_most(rows, values, search, &last_word(&pieces[..at]), is_whole);
        pieces[at] = part.unwrap_or(pieces[at].clone());
    }
    Some(pieces)
}

/// The attribute with this text in most rows, if the others lack it: their key alone holds it.
fn held_by_most(
    rows: &[Row<'_>],
    values: &[String],
    search: &Search<'_>,
    word: &str,
    is_whole: bool,
) -> Option<Piece> {
    if is_whole && !search.bare {
        return None;
    }
    let names: BTreeSet<&str> = rows.iter().flat_map(|row| row.item.keys().map(Name::as_str)).collect();
    let mut fitting: Vec<(Rank, &str, Written)> = Vec::new();
    for name in names.into_iter().filter(|name| !(search.never)(name)) {
        let with: Vec<(&Row<'_>, &String)> =
            rows.iter().zip(values).filter(|(row, _)| row.item.contains_key(name)).collect();
        if with.len() * 3 < rows.len() * 2 {
            continue;
        }
        let agrees = |written: &Written| {
            with.iter().all(|(row, value)| text_of(row, name, *written).as_ref() == Some(*value))
        };
        let same = with.iter().all(|(_, value)| *value == with[0].1);
        let ways = [Written::Plain, Written::Lower, Written::Upper, Written::Padded(values[0].len())];
        let Some(written) = ways.into_iter().find(agrees).filter(|_| !same) else { continue };
        let length = with.iter().map(|(_, value)| value.len()).sum();
        fitting.push((rank(name, word, length, true, written, search), name, written));
    }
    best(fitting)
}

fn from<'a>(
    rows: &[Row<'a>],
    rests: &mut [&'a str],
    search: &Search<'_>,
    tails: usize,
    at_start: bool,
) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    for _ in 0..PIECES_MAX {
        let ended = rests.iter().filter(|rest| rest.is_empty()).count();
        if ended == rests.len() {
            return Some(pieces);
        }
        if ended > 0 {
            let tail = tail(rows, rests, search, tails)?;
            pieces.push(Piece::Tail(tail));
            return Some(pieces);
        }
        let word = last_word(&pieces);
        let first = at_start && pieces.is_empty();
        let mut lost = Vec::new();
        let part = attribute(rows, rests, search, &word, first, &mut lost);
        if let Some(Piece::Part { attribute, written, rivals }) = part {
            for (row, rest) in rows.iter().zip(rests.iter_mut()) {
                let length = text_of(row, &attribute, written).map_or(0, |text| text.len());
                *rest = rest.get(length..)?;
            }
            pieces.push(Piece::Part { attribute, written, rivals });
        } else if let Some(length) = constant(rests, is_behind_separator(&pieces)) {
            let text = rests.first()?.get(..length)?.to_owned();
            match pieces.last_mut() {
                Some(Piece::Text(known, rivals)) => {
                    known.push_str(&text);
                    rivals.append(&mut lost);
                }
                _ => pieces.push(Piece::Text(text, lost)),
            }
            for rest in rests.iter_mut() {
                *rest = rest.get(length..)?;
            }
        } else {
            let (lengths, is_time) = unknown(rests);
            let mut values = Vec::new();
            for (rest, length) in rests.iter_mut().zip(lengths) {
                values.push(rest.get(..length)?.to_owned());
                *rest = rest.get(length..)?;
            }
            if values.iter().any(String::is_empty) {
                return None;
            }
            pieces.push(Piece::KeyOnly { values, is_time, name: None });
        }
    }
    None
}

/// Some keys end here, others continue: an optional tail, if the short ones lack its attributes.
fn tail<'a>(rows: &[Row<'a>], rests: &[&'a str], search: &Search<'_>, tails: usize) -> Option<Vec<Piece>> {
    if tails == TAILS_MAX {
        return None;
    }
    let (mut on, mut on_rests, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    for (row, rest) in rows.iter().zip(rests) {
        if rest.is_empty() {
            ended.push(row);
        } else {
            on.push(*row);
            on_rests.push(*rest);
        }
    }
    let pieces = from(&on, &mut on_rests, search, tails + 1, false)?;
    let mut parts = 0;
    for piece in &pieces {
        match piece {
            Piece::Part { attribute, .. } => {
                parts += 1;
                if ended.iter().any(|row| row.item.contains_key(attribute)) {
                    return None;
                }
            }
            Piece::KeyOnly { .. } => return None,
            Piece::Text(..) | Piece::Tail(_) => {}
        }
    }
    (parts > 0).then_some(pieces)
}

/// The last word before a part: a hint at its meaning.
pub(super) fn last_word(pieces: &[Piece]) -> String {
    let Some(Piece::Text(text, _)) = pieces.last() else { return String::new() };
    let mut words = text.split(|letter: char| HARD.contains(&letter) || letter == '$');
    words.rfind(|word| !word.is_empty()).map(plain).unwrap_or_default()
}

/// The attribute with this value in every row, in one notation. `lost`: those whose value is literal text.
fn attribute(
    rows: &[Row<'_>],
    rests: &[&str],
    search: &Search<'_>,
    word: &str,
    first: bool,
    lost: &mut Vec<Rival>,
) -> Option<Piece> {
    let one = rows.first()?;
    let names = one.item.keys().map(Name::as_str).chain(one.read.keys().map(String::as_str));
    let mut fitting: Vec<(Rank, &str, Written)> = Vec::new();
    for name in names {
        let is_read = !one.item.contains_key(name);
        if (search.never)(name)
            || (is_read && (search.other)(name, word) && time_length(rests.first()?).is_none())
        {
            continue;
        }
        for written in ways(one, name, rests.first()?, search.lower, rows.len() == 1 && !search.lower) {
            let Some(length) = fits(rows, rests, name, written) else { continue };
            let whole = rests.iter().map(|rest| rest.len()).sum::<usize>() == length;
            if first && whole && !search.bare && !one.read.contains_key(name) {
                continue;
            }
            let same = same_everywhere(rows, name);
            let selects =
                || text_of(one, name, Written::Plain).is_some_and(|text| (search.selects)(name, &text));
            // A constant word at the start of the key marks the entity, unless the key's name says what it is.
            let marks = first && !whole && rows.len() > 1 && !is_hinted(name, search);
            let literal = match same {
                true if selects() => Some(Reason::Selects),
                true if marks => Some(Reason::Mark),
                _ => None,
            };
            match literal {
                Some(reason) => lost.push(Rival { attribute: name.to_owned(), reason }),
                None => fitting.push((rank(name, word, length, !is_read, written, search), name, written)),
            }
            // The first matching notation is preferred.
            break;
        }
    }
    best(fitting)
}

/// The attribute with the greatest rank, with the others as its rivals.
fn best(mut fitting: Vec<(Rank, &str, Written)>) -> Option<Piece> {
    fitting.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    let (best, name, written) = fitting.first()?;
    let rival = |((criteria, _), name, _): &(Rank, &str, Written)| {
        let first = best.0.iter().zip(criteria).find(|(best, other)| best != other);
        Rival { attribute: (*name).to_owned(), reason: first.map_or(Reason::Order, |(best, _)| best.1) }
    };
    let rivals = fitting[1..].iter().map(rival).collect();
    Some(Piece::Part { attribute: (*name).to_owned(), written: *written, rivals })
}

/// How well an attribute explains a part of a key; the greatest is chosen. The first difference is the reason.
type Rank = ([(usize, Reason); 6], Reverse<String>);

fn rank(
    name: &str,
    word: &str,
    length: usize,
    is_stored: bool,
    written: Written,
    search: &Search<'_>,
) -> Rank {
    let named = affinity(name, word).max(if is_hinted(name, search) { 2 } else { 0 });
    let is_simple = written == Written::Plain || search.lower && written == Written::Lower;
    let criteria = [
        (length, Reason::Coverage),
        (named, Reason::Name),
        ((search.shared)(word, name), Reason::Agreement),
        (usize::from(is_stored), Reason::Stored),
        (usize::from(name.to_lowercase().ends_with("id")), Reason::Id),
        (usize::from(is_simple), Reason::Simplicity),
    ];
    (criteria, Reverse(name.to_owned()))
}

/// Does the name of the key or of an index contain the attribute's?
fn is_hinted(name: &str, search: &Search<'_>) -> bool {
    plain(name).len() > 2 && search.hint.contains(&plain(name))
}

fn same_everywhere(rows: &[Row<'_>], name: &str) -> bool {
    let first = rows.first().and_then(|row| text_of(row, name, Written::Plain));
    rows.iter().all(|row| text_of(row, name, Written::Plain) == first)
}

fn affinity(name: &str, word: &str) -> usize {
    let name = plain(name);
    match () {
        () if word.is_empty() || name.is_empty() => 0,
        () if name == word => 3,
        () if name.starts_with(word) || word.ends_with(&name) => 2,
        () if name.contains(word) || word.contains(&name) => 1,
        () => 0,
    }
}

/// The notations in which the first row could have the attribute here, the preferred one first.
fn ways(row: &Row<'_>, name: &str, rest: &str, lower: bool, alone: bool) -> Vec<Written> {
    match row.item.get(name) {
        Some(AttributeValue::N(text)) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let mut ways = vec![Written::Plain];
            if digits > text.len() || (digits == text.len() && text.len() > 1) {
                ways.push(Written::Padded(digits));
            }
            ways
        }
        // A single item cannot show a change of letter case.
        Some(AttributeValue::S(_)) if alone => vec![Written::Plain],
        Some(AttributeValue::S(_)) if lower => vec![Written::Lower, Written::Plain, Written::Upper],
        Some(AttributeValue::S(_)) => vec![Written::Plain, Written::Lower, Written::Upper],
        Some(AttributeValue::Bool(_)) | None => vec![Written::Plain],
        Some(_) => Vec::new(),
    }
}

/// The total length of the attribute's texts in the keys; `None` if a row does not have it here.
fn fits(rows: &[Row<'_>], rests: &[&str], name: &str, written: Written) -> Option<usize> {
    let mut taken = 0;
    for (row, rest) in rows.iter().zip(rests) {
        let text = text_of(row, name, written)?;
        let behind = rest.strip_prefix(text.as_str())?;
        let ends = !behind.starts_with(char::is_alphanumeric);
        if text.is_empty() || !ends {
            return None;
        }
        taken += text.len();
    }
    Some(taken)
}

/// The attribute's text in a key.
pub(super) fn text_of(row: &Row<'_>, name: &str, written: Written) -> Option<String> {
    let text = match row.item.get(name) {
        Some(AttributeValue::S(text)) => text.clone(),
        Some(AttributeValue::N(text)) => text.parse::<Number>().ok()?.to_string(),
        Some(AttributeValue::Bool(flag)) => flag.to_string(),
        Some(_) => return None,
        None => row.read.get(name)?.clone(),
    };
    Some(match written {
        Written::Plain => text,
        Written::Lower => text.to_lowercase(),
        Written::Upper => text.to_uppercase(),
        Written::Padded(width) => {
            if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.len() > width {
                return None;
            }
            format!("{text:0>width$}")
        }
        Written::Remainder(_) => return None,
    })
}

fn is_behind_separator(pieces: &[Piece]) -> bool {
    matches!(pieces.last(), Some(Piece::Text(text, _)) if text.ends_with(HARD))
}

/// The length of the text common to all keys: one word with its separator, or everything.
fn constant(rests: &[&str], behind: bool) -> Option<usize> {
    let first = *rests.first()?;
    let common = rests.iter().fold(first.len(), |common, rest| {
        let same = first.bytes().zip(rest.bytes()).take_while(|(one, other)| one == other).count();
        common.min(same)
    });
    let mut common = common;
    while !first.is_char_boundary(common) {
        common -= 1;
    }
    if common == 0 {
        return None;
    }
    let all_end = rests.iter().all(|rest| rest.len() == common);
    let text = &first[..common];
    let separators =
        text.chars().take_while(|letter| !letter.is_alphanumeric()).map(char::len_utf8).sum::<usize>();
    if separators > 0 {
        return Some(separators);
    }
    let word = text.find(|letter: char| !letter.is_alphanumeric());
    let has_letter = |word: &str| word.chars().any(char::is_alphabetic);
    if rests.len() == 1 {
        // A single item shows no differences: a word without digits before a hard separator, or the whole, is literal.
        let end = text.find(HARD);
        return match end {
            Some(end) if !text[..end].chars().any(char::is_numeric) => Some(end + 1),
            None if !text.chars().any(char::is_numeric) => Some(common),
            _ => None,
        };
    }
    match word {
        Some(end) if is_time(text) && end == 4 => None,
        Some(end) if has_letter(&text[..end]) || rests.len() > 2 => {
            let behind = text[end..].chars().next().map_or(0, char::len_utf8);
            Some(end + behind)
        }
        // A few items with the same number belong together; the number is not literal text.
        None if all_end
            && rests.len() < FEW
            && text.chars().any(char::is_numeric)
            && (common >= ID_CHARS_MIN || behind && text.bytes().all(|byte| byte.is_ascii_digit())) =>
        {
            None
        }
        None if all_end => Some(common),
        // All end or continue with a separator after the same word.
        None if rests.iter().all(|rest| !rest[common..].starts_with(char::is_alphanumeric)) => Some(common),
        _ => None,
    }
}

fn is_time(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 4 && text.as_bytes().get(4) == Some(&b'-')
}

/// The length of a part that is in no attribute, for each row; and whether it is a date or a timestamp.
fn unknown(rests: &[&str]) -> (Vec<usize>, bool) {
    let times: Option<Vec<usize>> = rests.iter().map(|rest| time_length(rest)).collect();
    if let Some(lengths) = times {
        return (lengths, true);
    }
    let up_to = |separator: char| -> Vec<usize> {
        rests.iter().map(|rest| rest.find(separator).unwrap_or(rest.len())).collect()
    };
    let same_number = |separator: char| {
        let count = |rest: &&str| rest.matches(separator).count();
        let first = rests.first().map_or(0, count);
        first > 0 && rests.iter().all(|rest| count(rest) == first)
    };
    if let Some(separator) =
        HARD.into_iter().filter(|one| same_number(*one)).min_by_key(|one| rests[0].find(*one))
    {
        return (up_to(separator), false);
    }
    for separator in SOFT {
        // `20160630-12928`: a day, and more.
        let day = |rest: &&str| {
            rest.split_once(separator).is_some_and(|(day, more)| {
                day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()) && !more.is_empty()
            })
        };
        if rests.iter().all(day) {
            return (up_to(separator), true);
        }
    }
    (rests.iter().map(|rest| rest.len()).collect(), false)
}

/// The length of the date or timestamp at the start of a text.
fn time_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let date = bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !date {
        return None;
    }
    if bytes.get(10) != Some(&b'T') {
        return (!text[10..].starts_with(char::is_alphanumeric)).then_some(10);
    }
    let length = 11
        + bytes[11..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'Z' | b'+'))
            .count();
    // Trailing separators do not belong to it.
    Some(text[..length].trim_end_matches([':', '.', '+']).len())
}

/// The pieces as a template. The caller must have named all parts.
pub(super) fn written(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(part, _) => text.push_str(&literal(part)),
            Piece::Part { attribute, written, .. } => text.push_str(&match written {
                Written::Plain => format!("{{{attribute}}}"),
                Written::Lower => format!("{{{attribute}|lower}}"),
                Written::Upper => format!("{{{attribute}|upper}}"),
                Written::Padded(width) => format!("{{{attribute}:0{width}}}"),
                Written::Remainder(shards) => format!("{{{attribute}|mod:{shards}}}"),
            }),
            Piece::KeyOnly { name, .. } => {
                text.push_str(&format!("{{{}}}", name.as_deref().unwrap_or("part")));
            }
            Piece::Tail(inner) => text.push_str(&format!("[{}]", written(inner))),
        }
    }
    text
}

/// The attributes that are parts of the key in every row.
pub(super) fn parts(pieces: &[Piece]) -> Vec<String> {
    let part = |piece: &Piece| match piece {
        Piece::Part { attribute, .. } => Some(attribute.clone()),
        Piece::Text(..) | Piece::KeyOnly { .. } | Piece::Tail(_) => None,
    };
    pieces.iter().filter_map(part).collect()
}

/// At most two rivals of each piece, with the reasons why they lost.
pub(super) fn rivals(pieces: &[Piece]) -> Vec<String> {
    const SHOWN_MAX: usize = 2;
    let mut texts = Vec::new();
    for piece in pieces {
        let (winner, rivals) = match piece {
            Piece::Part { attribute, rivals, .. } => (attribute, rivals),
            Piece::Text(text, rivals) => (text, rivals),
            Piece::Tail(inner) => {
                texts.extend(rivals(inner));
                continue;
            }
            Piece::KeyOnly { .. } => continue,
        };
        for Rival { attribute, reason } in rivals.iter().take(SHOWN_MAX) {
            let why = match reason {
                Reason::Coverage => "explains less of the key".to_owned(),
                Reason::Name => format!("the text before it, the key or an index names `{winner}`"),
                Reason::Agreement => format!("other entities of the item collection have `{winner}` here"),
                Reason::Stored => "only another key holds it".to_owned(),
                Reason::Id => format!("the name of `{winner}` ends with `id`"),
                Reason::Simplicity => "the key has it in another notation".to_owned(),
                Reason::Order => {
                    format!("the sample shows no difference, and `{winner}` is first by name")
                }
                Reason::Selects => "literal text, as items with another value lack the key".to_owned(),
                Reason::Mark => "literal text, as the key of each of these items begins with it".to_owned(),
            };
            texts.push(format!("not `{attribute}`: {why}"));
        }
    }
    texts
}
