//! The Rust side of the border: texts in transit, and the objects that JavaScript knows by number.

use std::cell::RefCell;

use keyfold_bindings::{Change, Failure, Keyfold, Question};

/// An object that JavaScript knows by number.
pub(crate) enum Object {
    Tables(Keyfold),
    Change(Change),
    Question(Box<Question>),
}

/// The objects, by number. A number is reused once its object is dropped.
pub(crate) struct Objects(Vec<Option<Object>>);

/// Both sides of a call.
pub(crate) struct Border {
    texts: Vec<u8>,
    answer: String,
    pub(crate) objects: Objects,
}

thread_local! {
    static BORDER: RefCell<Border> = const {
        RefCell::new(Border { texts: Vec::new(), answer: String::new(), objects: Objects(Vec::new()) })
    };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls with the border. No call calls another.
pub(crate) fn with<T>(call: impl FnOnce(&mut Border) -> T) -> T {
    BORDER.with_borrow_mut(call)
}

/// Calls with the texts of these lengths, and stores the answer. Returns twice its length, plus one if it is a refusal.
pub(crate) fn answered<const N: usize>(
    call: impl FnOnce(&mut Objects, [&str; N]) -> Result<String, Failure>,
    lengths: [usize; N],
) -> usize {
    with(|Border { texts, answer, objects }| {
        let done = split(texts, lengths).and_then(|texts| call(objects, texts));
        let is_refused = done.is_err();
        *answer = done.unwrap_or_else(|failure| failure.json());
        answer.len() * 2 + usize::from(is_refused)
    })
}

fn split<const N: usize>(mut texts: &[u8], lengths: [usize; N]) -> Result<[&str; N], Failure> {
    let mut split = [""; N];
    for (text, length) in split.iter_mut().zip(lengths) {
        let first = texts.split_off(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
        *text = first.ok_or_else(|| Failure::call("a text is not where it should be"))?;
    }
    Ok(split)
}

pub(crate) fn note_panic(place: String) {
    PANIC.set(place);
}

pub(crate) fn last_panic<T>(of: impl FnOnce(&str) -> T) -> T {
    PANIC.with_borrow(|place| of(place))
}

impl Border {
    pub(crate) fn room(&mut self, bytes: usize) -> *const u8 {
        self.texts.resize(bytes, 0);
        self.texts.as_ptr()
    }

    pub(crate) fn answer(&self) -> *const u8 {
        self.answer.as_ptr()
    }
}

impl Objects {
    /// Stores an object, and returns its number as a text.
    pub(crate) fn keep(&mut self, object: Object) -> String {
        let free = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        if free == self.0.len() {
            self.0.push(None);
        }
        self.0[free] = Some(object);
        free.to_string()
    }

    pub(crate) fn forget(&mut self, number: usize) {
        if let Some(object) = self.0.get_mut(number) {
            *object = None;
        }
    }

    pub(crate) fn tables(&self, number: usize) -> Result<&Keyfold, Failure> {
        match self.0.get(number) {
            Some(Some(Object::Tables(tables))) => Ok(tables),
            _ => Err(unknown()),
        }
    }

    pub(crate) fn change(&mut self, number: usize) -> Result<&mut Change, Failure> {
        match self.0.get_mut(number) {
            Some(Some(Object::Change(change))) => Ok(change),
            _ => Err(unknown()),
        }
    }

    pub(crate) fn question(&mut self, number: usize) -> Result<&mut Question, Failure> {
        match self.0.get_mut(number) {
            Some(Some(Object::Question(question))) => Ok(question),
            _ => Err(unknown()),
        }
    }
}

fn unknown() -> Failure {
    Failure::call("there is no such object")
}
