//! A reader that walks a text in one pass and builds no tree.

use std::borrow::Cow;

use super::error::{JsonError, JsonErrorDetails, JsonKind, JsonReason};
use super::unescaped::unescaped;

/// How large a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The levels of objects and lists.
    pub levels: u32,
    /// The values at all levels together. Only plain JSON and trees are counted: there each value takes memory.
    pub values: u32,
}

impl Bounds {
    /// An item of DynamoDB has 32 levels, each of which is two in its notation, and an answer has some around it. An item of 400 KB
    /// has room for fewer values.
    ///
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
    pub const DEFAULT: Bounds = Bounds { levels: 128, values: 1 << 19 };
}

/// A place in a text. After an error it is of no use.
///
/// ```
/// use keyfold_core::json::Reader;
/// let (mut reader, mut count) = (Reader::new(r#"{"Items": [{}], "Count": 1}"#), None);
/// reader.object(|reader, name| match &*name {
///     "Count" => reader.once(&mut count, Reader::number),
///     _ => reader.skip(),
/// })?;
/// reader.end()?;
/// assert_eq!(count, Some("1"));
/// # Ok::<(), keyfold_core::json::JsonError>(())
/// ```
#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    bounds: Bounds,
    level: u32,
    values: u32,
    /// Are escapes in base64 refused?
    base64_as_written: bool,
}

impl<'t> Reader<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t str) -> Reader<'t> {
        Reader::within(text, Bounds::DEFAULT)
    }

    /// At the beginning of a text whose value has these bounds.
    pub fn within(text: &'t str, bounds: Bounds) -> Reader<'t> {
        Reader { text, at: 0, bounds, level: 0, values: 0, base64_as_written: false }
    }

    /// Refuses escapes in the base64 of a binary, as the SDK does.
    pub fn with_base64_as_written(self) -> Reader<'t> {
        Reader { base64_as_written: true, ..self }
    }

    /// An error here.
    #[cold]
    pub fn error(&self, reason: JsonReason) -> JsonError {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let bounded = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        JsonError(Box::new(JsonErrorDetails { reason, line: bounded(line), column: bounded(column) }))
    }

    /// Skips spaces and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Consumes this byte, which must come next.
    pub(super) fn eat(&mut self, wanted: u8, reason: JsonReason) -> Result<(), JsonError> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Ok(());
        }
        Err(self.error(reason))
    }

    /// Moves into an object or a list.
    pub(super) fn enter(&mut self, open: u8, reason: JsonReason) -> Result<(), JsonError> {
        self.eat(open, reason)?;
        self.level += 1;
        if self.level > self.bounds.levels {
            return Err(self.error(JsonReason::TooDeep(self.bounds.levels)));
        }
        Ok(())
    }

    /// Moves out of an object or a list.
    pub(super) fn leave(&mut self, close: u8, reason: JsonReason) -> Result<(), JsonError> {
        self.level -= 1;
        self.eat(close, reason)
    }

    /// Nothing is left.
    pub fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(JsonReason::Syntax)),
        }
    }

    /// The kind of the value that comes next.
    pub fn kind(&mut self) -> Result<JsonKind, JsonError> {
        Ok(match self.peek() {
            Some(b'n') => JsonKind::Null,
            Some(b't' | b'f') => JsonKind::Boolean,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            Some(b'"') => JsonKind::Text,
            Some(b'[') => JsonKind::List,
            Some(b'{') => JsonKind::Object,
            _ => return Err(self.error(JsonReason::Syntax)),
        })
    }

    /// Counts a value that takes memory.
    pub(super) fn count_value(&mut self) -> Result<(), JsonError> {
        self.values += 1;
        if self.values > self.bounds.values {
            return Err(self.error(JsonReason::TooManyValues(self.bounds.values)));
        }
        Ok(())
    }

    /// Walks an object. `member` is called at each value, and must read it.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Reader<'t>, Cow<'t, str>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.enter(b'{', JsonReason::Not(JsonKind::Object))?;
        if self.peek() == Some(b'}') {
            return self.leave(b'}', JsonReason::Syntax);
        }
        loop {
            let name = self.string()?;
            self.eat(b':', JsonReason::Syntax)?;
            member(self, name)?;
            if self.peek() != Some(b',') {
                return self.leave(b'}', JsonReason::Syntax);
            }
            self.at += 1;
        }
    }

    /// Walks a list. `element` is called at each value, and must read it.
    pub fn list(
        &mut self,
        mut element: impl FnMut(&mut Reader<'t>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.enter(b'[', JsonReason::Not(JsonKind::List))?;
        if self.peek() == Some(b']') {
            return self.leave(b']', JsonReason::Syntax);
        }
        loop {
            element(self)?;
            if self.peek() != Some(b',') {
                return self.leave(b']', JsonReason::Syntax);
            }
            self.at += 1;
        }
    }

    /// A list whose elements `element` reads.
    pub fn list_of<T>(
        &mut self,
        element: impl Fn(&mut Reader<'t>) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        let mut all = Vec::new();
        self.list(|reader| {
            all.push(element(reader)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// A string, copied only if it contains escapes.
    pub fn string(&mut self) -> Result<Cow<'t, str>, JsonError> {
        self.eat(b'"', JsonReason::Not(JsonKind::Text))?;
        let text: &'t str = self.text;
        let rest = &text.as_bytes()[self.at..];
        let length = unescaped(rest);
        let plain = &text[self.at..self.at + length];
        self.at += length;
        match rest.get(length) {
            Some(b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(plain))
            }
            Some(b'\\') => self.escaped(plain).map(Cow::Owned).ok_or_else(|| self.error(JsonReason::Syntax)),
            // The end, or an unescaped control character.
            _ => Err(self.error(JsonReason::Syntax)),
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

    /// The character after a backslash.
    fn escape(&mut self) -> Option<char> {
        let meant = match *self.text.as_bytes().get(self.at)? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return None,
        };
        self.at += 1;
        Some(meant)
    }

    /// At the `u` of an escape: the character that its digits are, or those of the pair that it begins.
    fn unicode_escape(&mut self) -> Option<char> {
        let unit = self.hex()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        if self.text.as_bytes().get(self.at) != Some(&b'\\') {
            return None;
        }
        self.at += 1;
        let low = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + low)
    }

    fn hex(&mut self) -> Option<u32> {
        let [b'u', digits @ ..] = self.text.as_bytes().get(self.at..self.at + 5)? else { return None };
        let unit =
            digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))?;
        self.at += 5;
        Some(unit)
    }

    /// The base64 text of a binary.
    pub(super) fn base64(&mut self) -> Result<Cow<'t, str>, JsonError> {
        match self.string()? {
            Cow::Owned(_) if self.base64_as_written => Err(self.error(JsonReason::NotTyped)),
            text => Ok(text),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool, JsonError> {
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" }, JsonKind::Boolean)?;
        Ok(value)
    }

    /// `null`
    pub fn null(&mut self) -> Result<(), JsonError> {
        self.word("null", JsonKind::Null)
    }

    fn word(&mut self, word: &str, kind: JsonKind) -> Result<(), JsonError> {
        self.peek();
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error(JsonReason::Not(kind)));
        }
        self.at += word.len();
        Ok(())
    }

    /// A number, as it is written.
    pub fn number(&mut self) -> Result<&'t str, JsonError> {
        self.peek();
        let rest: &'t str = &self.text[self.at..];
        let length =
            number_length(rest.as_bytes()).ok_or_else(|| self.error(JsonReason::Not(JsonKind::Number)))?;
        self.at += length;
        Ok(&rest[..length])
    }

    /// Reads a member that comes at most once.
    pub fn once<T>(
        &mut self,
        place: &mut Option<T>,
        read: impl FnOnce(&mut Reader<'t>) -> Result<T, JsonError>,
    ) -> Result<(), JsonError> {
        if place.is_some() {
            return Err(self.error(JsonReason::Duplicate));
        }
        *place = Some(read(self)?);
        Ok(())
    }

    /// Walks over a value of any kind.
    pub fn skip(&mut self) -> Result<(), JsonError> {
        match self.kind()? {
            JsonKind::Object => self.object(|reader, _| reader.skip()),
            JsonKind::List => self.list(Reader::skip),
            JsonKind::Text => self.string().map(drop),
            JsonKind::Boolean => self.boolean().map(drop),
            JsonKind::Null => self.null(),
            JsonKind::Number => self.number().map(drop),
        }
    }
}

/// The length of the number at the beginning.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(sign);
    // No leading zeros.
    if whole == 0 || (bytes[sign] == b'0' && whole > 1) {
        return None;
    }
    let mut at = sign + whole;
    if bytes.get(at) == Some(&b'.') {
        at += 1 + Some(digits(at + 1)).filter(|count| *count > 0)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at += Some(digits(at)).filter(|count| *count > 0)?;
    }
    Some(at)
}
