//! The extension module of the wheel: `keyfold-bindings` for Python. Users import `python/keyfold/__init__.py`.
//!
//! A refusal is raised as `Refused` with the JSON text of its code, message and hint. So is a panic, as `internal`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use keyfold_bindings::{AttributeValue, Change, Failure, Keyfold, Question, value};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

create_exception!(_core, Refused, PyException);

/// Calls the core. It touches no Python objects, so a panic leaves none in an invalid state.
fn called<T>(call: impl FnOnce() -> Result<T, Failure>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|failure| Refused::new_err(failure.json())),
        Err(_) => Err(Refused::new_err(r#"{"code":"internal","message":"a mistake of Keyfold itself"}"#)),
    }
}

/// The tables of a manifest.
#[pyclass(frozen)]
struct Tables(Keyfold);

#[pymethods]
impl Tables {
    #[new]
    fn new(manifest: &str) -> PyResult<Tables> {
        called(|| Keyfold::load(manifest)).map(Tables)
    }

    fn fold(&self, table: &str, item: &str) -> PyResult<String> {
        called(|| self.0.fold(table, item))
    }

    #[pyo3(signature = (table, key, index=None))]
    fn unfold(&self, table: &str, key: &str, index: Option<&str>) -> PyResult<String> {
        called(|| self.0.unfold(table, key, index))
    }

    fn key_of(&self, table: &str, attributes: &str) -> PyResult<String> {
        called(|| self.0.key_of(table, attributes))
    }

    fn entries_of(&self, table: &str, item: &str) -> PyResult<String> {
        called(|| self.0.entries_of(table, item))
    }

    fn put_if(&self, table: &str, item: &str, asked: &str) -> PyResult<String> {
        called(|| self.0.put_if(table, item, asked))
    }

    fn repair(&self, table: &str, image: &str) -> PyResult<String> {
        called(|| self.0.repair(table, image))
    }

    fn entity_of(&self, table: &str, item: &str) -> PyResult<String> {
        called(|| self.0.entity_of(table, item))
    }

    fn key_parts(&self, table: &str, item: &str) -> PyResult<String> {
        called(|| self.0.key_parts(table, item))
    }

    fn asked(&self, table: &str, question: &str, values: &str) -> PyResult<String> {
        called(|| self.0.asked(table, question, values))
    }

    fn tables(&self) -> PyResult<String> {
        called(|| self.0.tables())
    }

    fn delete(&self, table: &str, key: &str, expecting: &str) -> PyResult<String> {
        called(|| self.0.delete(table, key, expecting))
    }

    fn update(&self, table: &str, key: &str, update: &str) -> PyResult<Updating> {
        called(|| self.0.update(table, key, update)).map(Updating)
    }

    fn plan(&self, request: &str) -> PyResult<String> {
        called(|| self.0.plan(request))
    }

    fn explain(&self, request: &str) -> PyResult<String> {
        called(|| self.0.explain(request))
    }

    fn readiness_reads(&self, request: &str, control: &str) -> PyResult<String> {
        called(|| self.0.readiness_reads(request, control))
    }

    #[pyo3(signature = (request, rows=None))]
    fn question(&self, request: &str, rows: Option<&str>) -> PyResult<Asking> {
        called(|| self.0.question(request, rows)).map(Asking)
    }
}

/// An update of one item.
#[pyclass]
struct Updating(Change);

#[pymethods]
impl Updating {
    fn request(&self) -> PyResult<String> {
        called(|| Ok(self.0.request()))
    }

    fn was_read(&mut self, item: &str) -> PyResult<()> {
        called(|| self.0.was_read(item))
    }

    fn was_refused(&mut self, item: &str) -> PyResult<()> {
        called(|| self.0.was_refused(item))
    }

    fn refused(&self) -> u32 {
        self.0.refused()
    }
}

/// A request being answered.
#[pyclass]
struct Asking(Question);

#[pymethods]
impl Asking {
    fn step(&mut self) -> PyResult<String> {
        called(|| self.0.step())
    }

    fn arrived(&mut self, access: usize, response: &str) -> PyResult<()> {
        called(|| self.0.arrived(access, response))
    }

    /// The same with items as a client gave them, which the package keeps. `text` makes the text of a value that is neither text nor number.
    fn arrived_kept(
        &mut self,
        access: usize,
        response: &str,
        items: &Bound<'_, PyList>,
        text: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let names: Vec<_> = self.0.looks_at(access).map(|name| PyString::new(items.py(), name)).collect();
        let mut kept = Vec::with_capacity(items.len());
        for item in items {
            let item = item.cast::<PyDict>()?;
            let values =
                names.iter().map(|name| item.get_item(name)?.map(|value| read(&value, text)).transpose());
            kept.push(values.collect::<PyResult<_>>()?);
        }
        called(|| self.0.arrived_kept(access, response, kept))
    }
}

/// A value as a client has it.
fn read(typed: &Bound<'_, PyAny>, text: &Bound<'_, PyAny>) -> PyResult<AttributeValue> {
    if let Some((kind, content)) = typed.cast::<PyDict>()?.iter().next()
        && let Ok(content) = content.cast::<PyString>()
    {
        match kind.cast::<PyString>()?.to_str()? {
            "S" => return Ok(AttributeValue::S(content.to_str()?.to_owned())),
            "N" => return Ok(AttributeValue::N(content.to_str()?.to_owned())),
            _ => {}
        }
    }
    let text: String = text.call1((typed,))?.extract()?;
    called(|| value(&text))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Refused", module.py().get_type::<Refused>())?;
    module.add_class::<Tables>()?;
    module.add_class::<Updating>()?;
    module.add_class::<Asking>()
}
