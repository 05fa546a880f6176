//! A manifest, loaded: keys, writes and plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyfold_core::execute::page_sources;
use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::query::check::Caller;
use keyfold_core::query::explain::explain;
use keyfold_core::query::question::{find, request_of_values};
use keyfold_core::query::{QueryPlan, QueryRequest, Readiness, check, plan};
use keyfold_core::value::{AttributeValue, Item, equal};
use keyfold_core::write::{Action, Guard, delete, primary_key, repair};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::asked::Asked;
use crate::change::Change;
use crate::failure::{Failure, text};
use crate::keys;
use crate::question::Question;
use crate::readiness::{self, Rows};
use crate::requests::{self, Sent, WriteInput, read};
use crate::table_of::TableOf;

/// The tables of a manifest.
#[derive(Debug)]
pub struct Keyfold {
    model: Arc<Model>,
}

impl Keyfold {
    /// Loads a manifest. If it is invalid, the failure's message shows all mistakes.
    pub fn load(manifest_text: &str) -> Result<Keyfold, Failure> {
        match manifest::model("keyfold.toml", manifest_text) {
            Ok(model) => {
                model.tables.iter().for_each(Table::compute_facts);
                Ok(Keyfold { model: Arc::new(model) })
            }
            Err(report) => Err(Failure::manifest(&report)),
        }
    }

    fn table(&self, name: &str) -> Result<TableOf, Failure> {
        TableOf::find(&self.model, name)
    }

    /// The changes of an item by folding: the attributes that it sets and removes.
    pub fn fold(&self, table: &str, item: &str) -> Result<String, Failure> {
        let (of, item): (_, Item) = (self.table(table)?, read("the item", item)?);
        let before = Made::of(of.table(), &item);
        let stored = of.table().with_keys(item)?;
        Ok(text(&before.patch(&stored)))
    }

    /// The parts of a folded key.
    pub fn unfold(&self, table: &str, key: &str, index: Option<&str>) -> Result<String, Failure> {
        Ok(text(&keys::unfold(self.table(table)?.table(), key, index)?))
    }

    /// The primary key folded from these attributes.
    pub fn key_of(&self, table: &str, attributes: &str) -> Result<String, Failure> {
        let key = primary_key(self.table(table)?.table(), &read("the key", attributes)?)?;
        Ok(text(&key))
    }

    /// The entry of an item in each index.
    pub fn entries_of(&self, table: &str, item: &str) -> Result<String, Failure> {
        let of = self.table(table)?;
        let stored = of.table().with_keys(read("the item", item)?)?;
        let entries = of.table().indexes.iter().map(|index| match index.entry(of.table(), &stored) {
            Ok(entry) => json!({ "index": index.name, "entry": entry }),
            Err(why) => json!({ "index": index.name, "absent": why.to_string() }),
        });
        Ok(text(&entries.collect::<Vec<_>>()))
    }

    /// The changes of an item by a put, and the rest of the input of PutItem. `is_new`: only if its key is free.
    pub fn put(&self, table: &str, item: &str, is_new: bool) -> Result<String, Failure> {
        self.put_guarded(
            &self.table(table)?,
            read("the item", item)?,
            is_new.then_some(Guard::Absent).as_ref(),
        )
    }

    /// [`put`](Self::put) with conditions: `{"ifAbsent", "expecting", "absent", "condition"}`.
    pub fn put_if(&self, table: &str, item: &str, asked: &str) -> Result<String, Failure> {
        let (of, asked): (_, Asked) = (self.table(table)?, read("the condition", asked)?);
        let guard = asked.guard(&self.model, of.table())?;
        self.put_guarded(&of, read("the item", item)?, guard.as_ref())
    }

    fn put_guarded(&self, of: &TableOf, item: Item, guard: Option<&Guard>) -> Result<String, Failure> {
        let before = Made::of(of.table(), &item);
        let put = Action::Put(of.table().written(item)?);
        let input = requests::write(of.table(), &put, guard);
        let Action::Put(stored) = &put else { unreachable!("it was made above") };
        Ok(text(&Put { patch: before.patch(stored), input }))
    }

    /// The input of DeleteItem.
    pub fn delete(&self, table: &str, key: &str, expecting: &str) -> Result<String, Failure> {
        let of = self.table(table)?;
        let asked: Asked = read("what is expected", expecting)?;
        let (action, guard) =
            delete(of.table(), &read("the key", key)?, &asked.expected(&self.model, of.table())?)?;
        Ok(text(&requests::write(of.table(), &action, guard.as_ref())))
    }

    /// Starts an update.
    pub fn update(&self, table: &str, key: &str, update: &str) -> Result<Change, Failure> {
        let (of, asked): (_, Asked) = (self.table(table)?, read("the update", update)?);
        let (update, operations) = asked.update(&self.model, of.table())?;
        Change::new(of, &read("the key", key)?, update, operations)
    }

    /// The input of GetItem or BatchGetItem: the table's name and the key, `{"TableName", "Key"}`.
    pub fn get(&self, table: &str, key: &str) -> Result<String, Failure> {
        let of = self.table(table)?;
        let key = primary_key(of.table(), &read("the key", key)?)?;
        Ok(text(&json!({ "TableName": of.table().name, "Key": key })))
    }

    /// The input of UpdateItem that corrects the folded keys of a stored item; `null` if they are right.
    pub fn repair(&self, table: &str, image: &str) -> Result<String, Failure> {
        let of = self.table(table)?;
        let repair = repair(of.table(), &read("the item", image)?)?;
        Ok(text(&repair.as_ref().map(|(action, guard)| requests::write(of.table(), action, Some(guard)))))
    }

    /// The entity of an item, as a JSON text; `null` if it has none.
    pub fn entity_of(&self, table: &str, item: &str) -> Result<String, Failure> {
        let of = self.table(table)?;
        let entity = of.table().entity_of(&read("the item", item)?)?;
        Ok(text(&entity.map(|entity| &of.table().entities[entity.0].name)))
    }

    /// The attributes of a stored item that only its keys contain.
    pub fn key_parts(&self, table: &str, item: &str) -> Result<String, Failure> {
        let (of, item): (_, Item) = (self.table(table)?, read("the item", item)?);
        let whole = of.table().with_key_parts(&item);
        let parts: BTreeMap<_, _> = whole.iter().filter(|(name, _)| !item.contains_key(*name)).collect();
        Ok(text(&parts))
    }

    /// The tables: ids, names, time-to-live attributes, key attributes, and the attributes that folding makes, that keys
    /// depend on, and that identify entities.
    pub fn tables(&self) -> Result<String, Failure> {
        let described = self.model.tables.iter().map(|table| {
            let whens = table.entities.iter().flat_map(|entity| &entity.when);
            json!({
                "id": table.id,
                "name": table.name,
                "ttl": table.ttl,
                "key": table.key_attributes().map(|key| &key.name).collect::<Vec<_>>(),
                "folded": table.folded_names().collect::<BTreeSet<_>>(),
                "inputs": table.key_inputs(),
                "hasKeyParts": table.has_key_parts(),
                "entities": table.entities.iter().map(|entity| &entity.name).collect::<Vec<_>>(),
                "entityInputs": whens.map(|when| &when.attribute).collect::<BTreeSet<_>>(),
            })
        });
        Ok(text(&described.collect::<Vec<_>>()))
    }

    /// The request that a named question and its parameters make. Without a table, the question's name must be unique.
    pub fn asked(&self, table: &str, question: &str, parameters: &str) -> Result<String, Failure> {
        let values = read("the parameters", parameters)?;
        let mut named = self.model.questions.iter().filter(|known| known.name == question);
        let table = match (table, named.next(), named.next()) {
            ("", Some(only), None) => only.table.as_str(),
            ("", Some(_), Some(_)) => {
                let message =
                    format_args!("several tables have a question `{question}`: write `TABLE.{question}`");
                return Err(Failure::call(message));
            }
            ("", None, _) => return Err(Failure::call(format_args!("there is no question `{question}`"))),
            (table, ..) => table,
        };
        let (table, question) = find(&self.model, table, question)?;
        Ok(text(&request_of_values(table, question, values)?))
    }

    /// The reads of the control table that show which indexes of a table a retrofit still fills.
    pub fn readiness_reads(&self, table: &str, control_table: &str) -> Result<String, Failure> {
        Ok(text(&readiness::reads(&self.model, self.table(table)?.table(), control_table)))
    }

    fn planned(&self, request: &QueryRequest, readiness: &Readiness) -> Result<QueryPlan, Failure> {
        let checked = check(&self.model, request, &Caller::Trusted)?;
        Ok(plan(&checked, readiness)?)
    }

    fn readiness(&self, table: &Table, rows: Option<&str>) -> Result<Readiness, Failure> {
        let Some(rows) = rows else { return Ok(Readiness::complete()) };
        let rows: Vec<Rows> = read("the rows of the control table", rows)?;
        readiness::of_rows(&self.model, table, rows)
    }

    /// The input of each read of a request, and their price. Nothing is read; every index counts as complete.
    pub fn plan(&self, request: &str) -> Result<String, Failure> {
        let request: QueryRequest = read("the request", request)?;
        let plan = self.planned(&request, &Readiness::complete())?;
        let of = self.table(&plan.table)?;
        let sources = page_sources(of.table(), &plan)?;
        let requests = sources.iter().map(|source| Sent::page(source, None)).collect();
        Ok(text(&Planned { table: &plan.table, estimated_read_units: plan.estimated_units, requests }))
    }

    /// The same plan in words: its reads, and why no other table or index is used.
    pub fn explain(&self, request: &str) -> Result<String, Failure> {
        let request: QueryRequest = read("the request", request)?;
        Ok(text(&explain(&self.planned(&request, &Readiness::complete())?)))
    }

    /// Starts to answer a request. `rows`: the results of [`readiness_reads`](Self::readiness_reads); without them,
    /// every index counts as complete.
    pub fn question(&self, request: &str, rows: Option<&str>) -> Result<Question, Failure> {
        let request: QueryRequest = read("the request", request)?;
        let of = self.table(&request.table)?;
        let readiness = self.readiness(of.table(), rows)?;
        let plan = self.planned(&request, &readiness)?;
        Question::new(of, plan, &request)
    }
}

/// A plan.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned<'a> {
    table: &'a str,
    estimated_read_units: f64,
    requests: Vec<Sent<'a>>,
}

/// The input of a put without its item, and the changes of the item.
#[derive(Serialize)]
struct Put<'a> {
    patch: Patch<'a>,
    input: WriteInput<'a>,
}

/// The folded attributes of an item before it is folded, in the order of their names.
struct Made<'t>(Vec<(&'t String, Option<AttributeValue>)>);

/// The changes from one item to another. Folded keys are texts.
#[derive(Serialize)]
struct Patch<'a> {
    #[serde(serialize_with = "as_map")]
    set: Vec<(&'a String, &'a str)>,
    remove: Vec<&'a String>,
}

fn as_map<S: Serializer>(pairs: &[(&String, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

impl<'t> Made<'t> {
    fn of(table: &'t Table, item: &Item) -> Made<'t> {
        let mut names: Vec<&String> = table.folded_names().collect();
        names.sort_unstable();
        names.dedup();
        Made(names.into_iter().map(|name| (name, item.get(name).cloned())).collect())
    }

    /// The changes that yield the stored item.
    fn patch<'a>(&'a self, stored: &'a Item) -> Patch<'a> {
        let mut patch = Patch { set: Vec::with_capacity(self.0.len()), remove: Vec::new() };
        for (name, before) in &self.0 {
            match (before, stored.get(*name)) {
                (Some(before), Some(value)) if equal(before, value) => {}
                (_, Some(AttributeValue::S(text))) => patch.set.push((name, text)),
                (_, Some(_)) => unreachable!("folding has set it to a text"),
                (Some(_), None) => patch.remove.push(name),
                (None, None) => {}
            }
        }
        patch
    }
}
