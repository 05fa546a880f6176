//! Writes random operations on the tables of random models with Rust's outcome of each and the items at the end, one JSON
//! line for each model, for comparison with the packages in other languages:
//! `cargo run -p keyfold-testkit --bin operations -- FROM..TO`.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use keyfold_core::model::Table;
use keyfold_core::value::{AttributeValue, Item, Name};
use keyfold_core::write::{Update, UpdateRefusal, UpdateRequest, UpdateTask};
use keyfold_testkit::case::{Case, seeds};
use keyfold_testkit::generate::Random;
use serde_json::{Value, json};

/// Operations on one table.
const OPERATIONS: usize = 24;
/// The most writes of a batch or transaction.
const WRITES_MAX: usize = 5;

fn main() -> ExitCode {
    let Some(seeds) = std::env::args().nth(1).and_then(|text| seeds(&text)) else {
        println!("give a range of seeds, `FROM..TO`");
        return ExitCode::from(2);
    };
    for seed in seeds {
        let case = Case::new(seed);
        let items: Vec<Item> = case.items.iter().filter_map(|item| item.seen.clone()).collect();
        if !items.is_empty() {
            println!("{}", history(&case, items));
        }
    }
    ExitCode::SUCCESS
}

fn history(case: &Case, items: Vec<Item>) -> Value {
    let table = case.table();
    let mut world = World { table, items, stored: BTreeMap::new(), random: Random::new(case.seed) };
    let operations: Vec<Value> = (0..OPERATIONS).map(|_| world.operation()).collect();
    let keys = table.key_attributes().map(|key| key.name.as_str()).collect::<Vec<_>>();
    json!({
        "seed": case.seed,
        "manifest": case.manifest,
        "table": table.id,
        "key": keys,
        "operations": operations,
        "after": world.stored.values().collect::<Vec<_>>(),
    })
}

/// A table's items by their keys, as Rust writes them.
struct World<'a> {
    table: &'a Table,
    /// The items that are put.
    items: Vec<Item>,
    stored: BTreeMap<String, Item>,
    random: Random,
}

/// A write as a package gets it, and the item at its key afterwards; or the code of the refusal.
type Write = (Value, Result<(String, Option<Item>), &'static str>);

impl World<'_> {
    fn operation(&mut self) -> Value {
        let (kind, most) = match self.random.below(10) {
            0..4 => ("write", 1),
            4..7 => ("batch", WRITES_MAX),
            _ => ("transact", WRITES_MAX),
        };
        let mut writes: Vec<Value> = Vec::new();
        let mut after: BTreeMap<String, Option<Item>> = BTreeMap::new();
        let mut outcome = "done";
        for _ in 0..self.random.between(1, most) {
            let (write, result) = if kind == "batch" { self.put_or_delete() } else { self.any_write() };
            match result {
                // One request has one write of a key.
                Ok((key, _)) if after.contains_key(&key) => continue,
                Ok((key, item)) => drop(after.insert(key, item)),
                Err(code) => outcome = code,
            }
            writes.push(write);
            if outcome != "done" {
                break;
            }
        }
        if kind == "transact" && outcome == "done" && self.random.chance(20) {
            outcome = self.failing_check(&mut writes, &after).unwrap_or(outcome);
        }
        if outcome == "done" {
            for (key, item) in after {
                match item {
                    Some(item) => drop(self.stored.insert(key, item)),
                    None => drop(self.stored.remove(&key)),
                }
            }
        }
        json!({ "operation": kind, "writes": writes, "outcome": outcome })
    }

    fn any_write(&mut self) -> Write {
        let present: Vec<Item> = self.stored.values().cloned().collect();
        match self.random.any(&present).cloned() {
            Some(stored) if self.random.chance(60) => self.update(&stored),
            _ => self.put_or_delete(),
        }
    }

    fn put_or_delete(&mut self) -> Write {
        let item = self.random.pick(&self.items).clone();
        let written = self.table.written(item.clone());
        match written {
            Ok(written) => {
                let key = self.table.key_of(&written).expect("a written item has a key");
                let place = json!(key).to_string();
                if self.random.chance(20) {
                    (json!({ "delete": key }), Ok((place, None)))
                } else {
                    (json!({ "put": item }), Ok((place, Some(written))))
                }
            }
            Err(error) => (json!({ "put": item }), Err(error.code())),
        }
    }

    /// An update of one attribute, which the item gets as if it was put as a whole.
    fn update(&mut self, stored: &Item) -> Write {
        let key = self.table.key_of(stored).expect("a stored item has a key");
        let values: Vec<(Name, AttributeValue)> = self.random.pick(&self.items).clone().into_iter().collect();
        let (name, value) = self.random.pick(&values).clone();
        let write = json!({ "update": { "key": key, "set": { name.as_str(): value }, "stored": stored } });
        if let Err(refusal) = updated(self.table, &key, stored, name.as_str(), &value) {
            return (write, Err(refusal.code()));
        }
        let mut whole = stored.clone();
        whole.insert(name, value);
        match self.table.written(whole) {
            Ok(item) => (write, Ok((json!(key).to_string(), Some(item)))),
            // An update that needs no read does not see what the item's entity promises about its other attributes.
            Err(_) => self.put_or_delete(),
        }
    }

    /// Adds a put of an item that exists, on condition that it does not.
    fn failing_check(
        &mut self,
        writes: &mut Vec<Value>,
        after: &BTreeMap<String, Option<Item>>,
    ) -> Option<&'static str> {
        let free: Vec<Item> = self
            .stored
            .iter()
            .filter(|(key, _)| !after.contains_key(*key))
            .map(|(_, item)| item.clone())
            .collect();
        let item = self.random.any(&free)?;
        writes.push(json!({ "create": item }));
        Some("cancelled")
    }
}

/// Whether the core accepts an update of a stored item.
fn updated(
    table: &Table,
    key: &Item,
    stored: &Item,
    name: &str,
    value: &AttributeValue,
) -> Result<(), UpdateRefusal> {
    let mut task = UpdateTask::new(table, key, Update::new().set(name, value.clone()).reading())?;
    if matches!(task.request(), UpdateRequest::Read(_)) {
        task.was_read(Some(stored.clone()))?;
    }
    Ok(())
}
