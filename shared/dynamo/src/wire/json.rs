//! A reader of JSON texts that walks a body once and builds nothing by itself.
//!
//! It knows less than JSON allows, on purpose. What it does not know it does not read: `None` means "ask a decoder that knows all of
//! JSON", which is the SDK's for an answer, and never "this is wrong".

use std::borrow::Cow;

use super::plain::plain;

/// The deepest nesting that is read. DynamoDB itself takes 32 levels in an item.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
pub(super) const DEPTH_MAX: usize = 64;

/// A place in a text of JSON. `None` from any of its methods means that only a slower reader may judge the text.
#[derive(Debug)]
pub struct Reader<'b> {
    text: &'b str,
    at: usize,
}

impl<'b> Reader<'b> {
    /// At the beginning of a body; `None` if it is not UTF-8.
    pub(super) fn of(body: &'b [u8]) -> Option<Reader<'b>> {
        Some(Reader::at_start(std::str::from_utf8(body).ok()?))
    }

    /// At the beginning of a text.
    pub fn at_start(text: &'b str) -> Reader<'b> {
        Reader { text, at: 0 }
    }

    /// The next byte that is no space, without moving behind it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Moves behind this byte, which must come next.
    pub(super) fn eat(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// Nothing is left.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Walks an object. `member` is called at each value, and must read it.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Reader<'b>, Cow<'b, str>) -> Option<()>,
    ) -> Option<()> {
        self.eat(b'{')?;
        if self.peek()? == b'}' {
            return self.eat(b'}');
        }
        loop {
            let name = self.string()?;
            self.eat(b':')?;
            member(self, name)?;
            if self.goes_on(b'}')? {
                continue;
            }
            return Some(());
        }
    }

    /// Walks an array. `element` is called at each value, and must read it.
    pub fn array(&mut self, mut element: impl FnMut(&mut Reader<'b>) -> Option<()>) -> Option<()> {
        self.eat(b'[')?;
        if self.peek()? == b']' {
            return self.eat(b']');
        }
        loop {
            element(self)?;
            if self.goes_on(b']')? {
                continue;
            }
            return Some(());
        }
    }

    /// Behind a value: does another follow, or does this close the whole?
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            byte if byte == close => Some(false),
            _ => None,
        }
    }

    /// A string. It is a copy only if something in it is escaped.
    pub(super) fn string(&mut self) -> Option<Cow<'b, str>> {
        self.eat(b'"')?;
        let text: &'b str = self.text;
        let rest = &text.as_bytes()[self.at..];
        let length = plain(rest);
        let plain = &text[self.at..self.at + length];
        self.at += length;
        match rest.get(length)? {
            b'"' => {
                self.at += 1;
                Some(Cow::Borrowed(plain))
            }
            b'\\' => self.escaped(plain).map(Cow::Owned),
            // A control character as it is.
            _ => None,
        }
    }

    /// The rest of a string from its first escape on.
    fn escaped(&mut self, plain: &str) -> Option<String> {
        let mut whole = plain.to_owned();
        loop {
            let mut letters = self.text[self.at..].char_indices();
            match letters.next()?.1 {
                '"' => {
                    self.at += 1;
                    return Some(whole);
                }
                '\\' => {
                    self.at += 1;
                    whole.push(self.escape()?);
                }
                '\0'..='\u{1f}' => return None,
                letter => {
                    self.at += letter.len_utf8();
                    whole.push(letter);
                }
            }
        }
    }

    /// Behind a backslash: the character that is meant.
    fn escape(&mut self) -> Option<char> {
        let letter = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                // The first half of a pair.
                let (backslash, u) =
                    (self.text.as_bytes().get(self.at)?, self.text.as_bytes().get(self.at + 1)?);
                if (*backslash, *u) != (b'\\', b'u') {
                    return None;
                }
                self.at += 2;
                let low = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + low);
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self) -> Option<bool> {
        let known = [("true", true), ("false", false)];
        self.peek()?;
        let (word, value) = known.into_iter().find(|(word, _)| self.text[self.at..].starts_with(word))?;
        self.at += word.len();
        Some(value)
    }

    /// A number that is not negative and has no exponent, as it is written: no other is a count or a price.
    pub(super) fn number(&mut self) -> Option<&'b str> {
        self.peek()?;
        let text: &'b str = self.text;
        let rest = &text[self.at..];
        let length = rest.find(|letter: char| !matches!(letter, '0'..='9' | '.')).unwrap_or(rest.len());
        let number = &rest[..length];
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = !whole.is_empty()
            && !fraction.is_empty()
            && !fraction.contains('.')
            && (whole == "0" || !whole.starts_with('0'))
            && number.len() <= DIGITS_MAX
            && !rest[length..].starts_with(['e', 'E', '+', '-']);
        self.at += length;
        is_number.then_some(number)
    }

    /// Reads one value; says its text, too.
    pub fn with_text<T>(&mut self, read: impl FnOnce(&mut Reader<'b>) -> Option<T>) -> Option<(&'b str, T)> {
        self.peek()?;
        let from = self.at;
        let read = read(self)?;
        Some((&self.text[from..self.at], read))
    }

    /// Walks over a value of any kind: its text.
    pub fn any(&mut self) -> Option<&'b str> {
        self.with_text(|reader| reader.skip(0)).map(|(text, ())| text)
    }

    /// Walks over a value of any kind that is so deep inside others.
    pub(super) fn skip(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(|reader, _| reader.skip(depth + 1)),
            b'[' => self.array(|reader| reader.skip(depth + 1)),
            b'"' => self.string().map(drop),
            b't' | b'f' => self.boolean().map(drop),
            _ => self.number().map(drop),
        }
    }
}

/// Keeps what was read. What comes twice is left to the slower decoder: which of the two counts is its business.
pub fn once<T>(place: &mut Option<T>, read: Option<T>) -> Option<()> {
    place.replace(read?).is_none().then_some(())
}

/// So many digits a float tells apart; a longer number is left to the SDK's decoder.
const DIGITS_MAX: usize = 15;
