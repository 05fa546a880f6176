//! The WebAssembly module of the npm package: `keyfold-bindings` for JavaScript. `package` has the JavaScript.
//!
//! The interface is narrow, because every call pays for it. JavaScript writes the texts of a call, one after the other,
//! to [`input`], and calls an export with their lengths. The export returns twice the length of its answer, plus one if
//! the answer is a refusal; the answer is at [`output`]. Manifests, updates and questions stay on this side: JavaScript
//! knows them by number.

mod allocator;
mod border;

use allocator::Blocks;
use border::{Object, answered, with};
use keyfold_bindings::{Change, Failure, Keyfold, Question};

#[global_allocator]
static BLOCKS: Blocks = Blocks::new();

/// The address of the buffer for a call's texts.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *const u8 {
    with(|border| border.room(bytes))
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|border| border.answer())
}

/// A panic is a trap without a message, so its place is stored for [`panicked`].
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(at) = panic.location() {
            let file = at.file().rsplit("shared/").next().unwrap_or_default();
            border::note_panic(format!("{file}:{}", at.line()));
        }
    }));
}

/// The length of the text with the place of the last panic. The call that panicked may still hold the border.
#[unsafe(no_mangle)]
pub extern "C" fn panicked() -> usize {
    border::last_panic(str::len)
}

/// The address of that text.
#[unsafe(no_mangle)]
pub extern "C" fn panic_place() -> *const u8 {
    border::last_panic(str::as_ptr)
}

/// Loads a manifest, and returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn load(manifest: usize) -> usize {
    answered(|objects, [manifest]| Ok(objects.keep(Object::Tables(Keyfold::load(manifest)?))), [manifest])
}

/// Drops the object with this number.
#[unsafe(no_mangle)]
pub extern "C" fn forget(object: usize) {
    with(|border| border.objects.forget(object));
}

macro_rules! of_tables {
    ($($name:ident($($text:ident),+ $(; $flag:ident)?);)+) => {
        $(
            /// The method of [`Keyfold`] with this name.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(tables: usize, $($text: usize,)+ $($flag: bool,)?) -> usize {
                answered(|objects, [$($text),+]| objects.tables(tables)?.$name($($text,)+ $($flag,)?), [$($text),+])
            }
        )+
    };
}

of_tables! {
    fold(table, item);
    key_of(table, attributes);
    entries_of(table, item);
    put(table, item; is_new);
    put_if(table, item, asked);
    get(table, key);
    repair(table, image);
    entity_of(table, item);
    asked(table, question, parameters);
    delete(table, key, expecting);
    plan(request);
    explain(request);
    readiness_reads(table, control);
}

/// The tables of a manifest.
#[unsafe(no_mangle)]
pub extern "C" fn tables(tables: usize) -> usize {
    answered(|objects, []| objects.tables(tables)?.tables(), [])
}

/// Splits a key; of this index, if `is_of_index`.
#[unsafe(no_mangle)]
pub extern "C" fn unfold(tables: usize, table: usize, key: usize, index: usize, is_of_index: bool) -> usize {
    answered(
        |objects, [table, key, index]| {
            objects.tables(tables)?.unfold(table, key, is_of_index.then_some(index))
        },
        [table, key, index],
    )
}

/// Starts an update, and returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn update(tables: usize, table: usize, key: usize, update: usize) -> usize {
    answered(
        |objects, [table, key, update]| {
            let change = objects.tables(tables)?.update(table, key, update)?;
            Ok(objects.keep(Object::Change(change)))
        },
        [table, key, update],
    )
}

/// Starts to answer a request, and returns its number. `has_rows`: the control table was read.
#[unsafe(no_mangle)]
pub extern "C" fn question(tables: usize, request: usize, rows: usize, has_rows: bool) -> usize {
    answered(
        |objects, [request, rows]| {
            let question = objects.tables(tables)?.question(request, has_rows.then_some(rows))?;
            Ok(objects.keep(Object::Question(Box::new(question))))
        },
        [request, rows],
    )
}

fn changed<const N: usize>(
    object: usize,
    texts: [usize; N],
    change: impl FnOnce(&mut Change, [&str; N]) -> Result<String, Failure>,
) -> usize {
    answered(|objects, texts| change(objects.change(object)?, texts), texts)
}

/// The next request of an update.
#[unsafe(no_mangle)]
pub extern "C" fn request(object: usize) -> usize {
    changed(object, [], |change, []| Ok(change.request()))
}

/// Takes the item of an update.
#[unsafe(no_mangle)]
pub extern "C" fn was_read(object: usize, item: usize) -> usize {
    changed(object, [item], |change, [item]| change.was_read(item).map(|()| String::new()))
}

/// Takes the refusal of an update's write.
#[unsafe(no_mangle)]
pub extern "C" fn was_refused(object: usize, item: usize) -> usize {
    changed(object, [item], |change, [item]| change.was_refused(item).map(|()| change.refused().to_string()))
}

fn of_question<const N: usize>(
    object: usize,
    texts: [usize; N],
    ask: impl FnOnce(&mut Question, [&str; N]) -> Result<String, Failure>,
) -> usize {
    answered(|objects, texts| ask(objects.question(object)?, texts), texts)
}

/// The next step of a question.
#[unsafe(no_mangle)]
pub extern "C" fn step(object: usize) -> usize {
    of_question(object, [], |question, []| question.step())
}

/// Takes the response to a question's request.
#[unsafe(no_mangle)]
pub extern "C" fn arrived(object: usize, response: usize, access: usize) -> usize {
    of_question(object, [response], |question, [response]| {
        question.arrived(access, response).map(|()| String::new())
    })
}
