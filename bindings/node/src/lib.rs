//! The WebAssembly module of the npm package: `keyfold-bindings` for JavaScript. `package/index.js` is what users import.
//!
//! A refusal is thrown as the JSON text of its code, message and hint. A panic would be a trap without words, so its words
//! are kept for [`last_panic`].

use std::sync::Mutex;

use keyfold_bindings::{Change, Failure, Keyfold, Question};
use wasm_bindgen::prelude::*;

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn thrown(failure: Failure) -> JsValue {
    JsValue::from_str(&failure.json())
}

/// Keeps the words of a panic.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        if let (Some(at), Ok(mut last)) = (panic.location(), LAST_PANIC.lock()) {
            *last = format!("{}:{}", at.file().rsplit("shared/").next().unwrap_or_default(), at.line());
        }
    }));
}

/// Where the last panic was.
#[wasm_bindgen(js_name = lastPanic)]
pub fn last_panic() -> String {
    LAST_PANIC.lock().map(|last| last.clone()).unwrap_or_default()
}

/// The tables of a manifest.
#[wasm_bindgen]
pub struct Tables(Keyfold);

#[wasm_bindgen]
impl Tables {
    #[wasm_bindgen(constructor)]
    pub fn new(manifest: &str) -> Result<Tables, JsValue> {
        Keyfold::load(manifest).map(Tables).map_err(thrown)
    }

    pub fn fold(&self, table: &str, item: &str) -> Result<String, JsValue> {
        self.0.fold(table, item).map_err(thrown)
    }

    pub fn unfold(&self, table: &str, key: &str, index: Option<String>) -> Result<String, JsValue> {
        self.0.unfold(table, key, index.as_deref()).map_err(thrown)
    }

    #[wasm_bindgen(js_name = keyOf)]
    pub fn key_of(&self, table: &str, attributes: &str) -> Result<String, JsValue> {
        self.0.key_of(table, attributes).map_err(thrown)
    }

    #[wasm_bindgen(js_name = entriesOf)]
    pub fn entries_of(&self, table: &str, item: &str) -> Result<String, JsValue> {
        self.0.entries_of(table, item).map_err(thrown)
    }

    pub fn put(&self, table: &str, item: &str, is_new: bool) -> Result<String, JsValue> {
        self.0.put(table, item, is_new).map_err(thrown)
    }

    pub fn delete(&self, table: &str, key: &str, expecting: &str) -> Result<String, JsValue> {
        self.0.delete(table, key, expecting).map_err(thrown)
    }

    pub fn update(&self, table: &str, key: &str, update: &str) -> Result<Updating, JsValue> {
        self.0.update(table, key, update).map(Updating).map_err(thrown)
    }

    pub fn plan(&self, request: &str) -> Result<String, JsValue> {
        self.0.plan(request).map_err(thrown)
    }

    #[wasm_bindgen(js_name = readinessReads)]
    pub fn readiness_reads(&self, request: &str, control: &str) -> Result<String, JsValue> {
        self.0.readiness_reads(request, control).map_err(thrown)
    }

    pub fn question(&self, request: &str, rows: Option<String>) -> Result<Asking, JsValue> {
        self.0.question(request, rows.as_deref()).map(Asking).map_err(thrown)
    }
}

/// An update of one item.
#[wasm_bindgen]
pub struct Updating(Change);

#[wasm_bindgen]
impl Updating {
    pub fn request(&self) -> String {
        self.0.request()
    }

    #[wasm_bindgen(js_name = wasRead)]
    pub fn was_read(&mut self, item: &str) -> Result<(), JsValue> {
        self.0.was_read(item).map_err(thrown)
    }

    #[wasm_bindgen(js_name = wasRefused)]
    pub fn was_refused(&mut self, item: &str) -> Result<(), JsValue> {
        self.0.was_refused(item).map_err(thrown)
    }

    pub fn refused(&self) -> u32 {
        self.0.refused()
    }
}

/// A request while it is answered.
#[wasm_bindgen]
pub struct Asking(Question);

#[wasm_bindgen]
impl Asking {
    pub fn step(&mut self) -> Result<String, JsValue> {
        self.0.step().map_err(thrown)
    }

    pub fn arrived(&mut self, access: usize, response: &str) -> Result<(), JsValue> {
        self.0.arrived(access, response).map_err(thrown)
    }
}
