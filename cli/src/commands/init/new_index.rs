//! `keyfold init --new-index "resourceId, action, accessedBy / timestamp"`: the index, its question, and the retrofit that fills
//! it, added to a manifest.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use keyfold_core::key::{KeyMode, Part};
use keyfold_core::manifest;
use keyfold_core::model::{Attribute, AttributeKind, Entity, IndexKind, KeySource, Model, Table};
use keyfold_core::query::Condition;
use keyfold_core::query::advise::{Advice, advise};
use keyfold_core::query::plan::{PlanError, QueryPlan};
use serde_json::json;

use super::sample::any_item;
use crate::globals::Globals;
use crate::manifest_file::{self, ManifestFile};
use crate::output::Output;

/// The separator between the parts of a folded key.
const SEPARATOR: &str = "#";
/// The maximum number of attributes of one key.
const PARTS_MAX: usize = 8;
/// Global indexes of a table, unless AWS raised the quota.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>
const GLOBAL_INDEXES_MAX: usize = 20;

/// The question that the index is for.
#[derive(Clone, Copy)]
struct Question<'q> {
    /// The entity that it is about; `None`: items of any.
    entity: Option<&'q str>,
    partition: &'q [String],
    sort: &'q [String],
}

/// How the index and its question treat attributes of the sort key that items can lack.
#[derive(Clone, Copy)]
struct Form {
    /// Are such attributes at its end an optional tail? Then items without them are in the index.
    has_tail: bool,
    /// Does the question ask only for items that have the other ones? Items without them are not in the index.
    asks_exists: bool,
    /// Does the question have an order? A text before another part of a folded key does not give one.
    has_order: bool,
}

/// The forms, the best first. The first with which the planner answers the question is taken.
const FORMS: [Form; 6] = [
    Form { has_tail: false, asks_exists: false, has_order: true },
    Form { has_tail: true, asks_exists: false, has_order: true },
    Form { has_tail: true, asks_exists: false, has_order: false },
    Form { has_tail: true, asks_exists: true, has_order: true },
    Form { has_tail: false, asks_exists: true, has_order: true },
    Form { has_tail: false, asks_exists: false, has_order: false },
];

/// The source of the index keys.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    /// The attributes themselves.
    Native,
    /// Templates for the items of the whole table.
    OfTable,
    /// Templates for the items of the question's entity. Items of others get no keys.
    OfEntity,
}

impl Question<'_> {
    /// Can items of the question lack the attribute?
    fn is_optional(&self, table: &Table, name: &str) -> bool {
        let entity =
            self.entity.and_then(|wanted| table.entities.iter().find(|entity| entity.name == wanted));
        let attributes = entity.map_or(&table.attributes, |entity| &entity.attributes);
        let is_key = table.key_attributes().any(|key| key.name == name);
        !is_key && attributes.get(name).is_none_or(|attribute| !attribute.required)
    }

    /// The attributes at the end of the sort key that items can lack. The first cannot be one: a key has a text.
    fn tail(&self, table: &Table) -> &[String] {
        let last = self.sort.iter().rposition(|name| !self.is_optional(table, name)).unwrap_or(0);
        self.sort.get(last + 1..).unwrap_or_default()
    }
}

/// The addition to the manifest.
struct Addition {
    table: String,
    index: String,
    retrofit: Option<String>,
    text: String,
    /// The question about the table as it is.
    question: String,
    why: String,
    /// Does a new table get the index?
    is_full: bool,
}

pub(super) fn run(
    globals: &Globals,
    table: Option<&str>,
    entity: Option<&str>,
    wanted: &str,
    out: &Output,
) -> anyhow::Result<ExitCode> {
    let path = &globals.manifest;
    let model = manifest_file::model(path, out)?;
    let table = match (table, model.tables.as_slice()) {
        (Some(name), _) => manifest_file::table(&model, name)?,
        (None, [only]) => only,
        (None, several) => {
            let ids: Vec<&str> = several.iter().map(|table| table.id.as_str()).collect();
            bail!("which table gets the index? Say it with --table: {}", ids.join(", "))
        }
    };
    let (partition, sort) = parts(wanted)?;
    for name in partition.iter().chain(&sort) {
        check(table, name)?;
    }
    let entity = entity_of(table, entity, (&partition, &sort))?;
    let has_items = globals.endpoint.is_some().then(|| any_item(globals, &table.name)).transpose()?;
    let file = ManifestFile::read(path)?;
    let question = Question { entity, partition: &partition, sort: &sort };
    let with = |form: Form, keys: Keys| {
        let addition = addition(&model, &file.text, table, &question, form, keys, has_items);
        let text = format!("{}\n{}", file.text.trim_end(), addition.text);
        (manifest::parse(&file.name, &text), text, addition)
    };
    let made = |form: Form| {
        let (parsed, text, addition) = with(form, Keys::OfTable);
        // No folded key where a native one would do: `check` would advise against it at once.
        let advised = format!("a native key would serve index `{}`,", addition.index);
        let is_advised = parsed
            .diagnostics
            .iter()
            .any(|found| found.code == "native-would-serve" && found.message.starts_with(&advised));
        match (is_advised, entity) {
            (true, _) => with(form, Keys::Native),
            (false, Some(_)) => with(form, Keys::OfEntity),
            (false, None) => (parsed, text, addition),
        }
    };
    let is_served = |(parsed, _, addition): &(manifest::Parsed, String, Addition)| {
        let model = parsed.model.as_ref();
        model.is_some_and(|model| plans(model, &addition.table, &addition.index).iter().all(Result::is_ok))
    };
    let served = FORMS.into_iter().map(made).find(is_served);
    let (parsed, text, addition) = served.unwrap_or_else(|| made(FORMS[0]));
    let Some(changed) = &parsed.model else {
        out.styled_note(parsed.render(&text, out.colour()));
        bail!(
            "the index does not fit into `{}`; nothing was changed\nhint: write inline tables as sections, like \
             [tables.{1}.indexes.NAME] and [tables.{1}.entities.NAME]",
            file.name,
            table.id
        );
    };
    let with_index = plans(changed, &addition.table, &addition.index);
    if let Some(error) = with_index.iter().find_map(|plan| plan.as_ref().err()) {
        bail!("an index with this key does not answer its question: {error}; nothing was changed");
    }
    let without_index = format!("{}\n{}", file.text.trim_end(), addition.question);
    let without_index = manifest::parse(&file.name, &without_index).model;
    let without_index = without_index.map(|model| plans(&model, &table.id, &addition.index));
    if let Some(paths) = without_index.and_then(|plans| as_cheap(&plans, &with_index)) {
        bail!(
            "table `{}` answers this question from {paths}, and an index would not make it cheaper; nothing was changed\nhint: add the \
             question alone:\n{}",
            table.id,
            addition.question.trim_end()
        );
    }
    manifest_file::replace(path, &text)?;
    let value = json!({
        "manifest": file.name, "table": table.id, "index": addition.index,
        "retrofit": addition.retrofit, "added": addition.text, "why": addition.why,
    });
    out.show(
        &value,
        format!("{}\n{}\n\nNext:\n{}", addition.text.trim_end(), addition.why, next(&table.id, &addition)),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The plans of a question: without its optional conditions, and with them.
fn plans(model: &Model, table: &str, question: &str) -> Vec<Result<QueryPlan, PlanError>> {
    let is_this = |one: &Advice<'_>| one.table.id == table && one.question.name == question;
    advise(model).into_iter().filter(is_this).map(|one| one.outcome).collect()
}

/// The paths that answer a question without the index, if it would not make any of the plans cheaper.
fn as_cheap(
    without_index: &[Result<QueryPlan, PlanError>],
    with_index: &[Result<QueryPlan, PlanError>],
) -> Option<String> {
    let mut paths: Vec<String> = Vec::new();
    for (without, with) in without_index.iter().zip(with_index) {
        let (without, with) = (without.as_ref().ok()?, with.as_ref().ok()?);
        // A filter reads items that it drops, however small the estimate is.
        let is_filtered = without.accesses.iter().map(|access| &access.filter).any(|filter| {
            *filter != Condition::always() && with.accesses.iter().all(|access| access.filter != *filter)
        });
        if is_filtered || without.estimated_units > with.estimated_units {
            return None;
        }
        for access in &without.accesses {
            let path = match access.source.index() {
                Some(index) => format!("index `{index}`"),
                None => "its own key".to_owned(),
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Some(paths.join(" and "))
}

/// `a, b / c`: partition attributes, and sort attributes.
fn parts(wanted: &str) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let (partition, sort) = wanted.split_once('/').unwrap_or((wanted, ""));
    let names = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let (partition, sort) = (names(partition), names(sort));
    if partition.is_empty() {
        bail!("an index needs a partition key: --new-index \"resourceId, action / timestamp\"");
    }
    if partition.len() > PARTS_MAX || sort.len() > PARTS_MAX {
        bail!("a key has at most {PARTS_MAX} attributes here");
    }
    let names: Vec<&String> = partition.iter().chain(&sort).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        bail!("`{twice}` is named twice");
    }
    Ok((partition, sort))
}

/// Can the attribute be part of a key?
fn check(table: &Table, name: &str) -> anyhow::Result<()> {
    use AttributeKind::{BinarySet, List, Map, NumberSet, StringSet};
    let Some(attribute) = table.attributes.get(name) else {
        bail!("table `{0}` does not declare `{name}`: add it under [tables.{0}.attributes]", table.id);
    };
    if matches!(attribute.kind, List | Map | StringSet | NumberSet | BinarySet) {
        bail!("`{name}` is a {}: it cannot be part of a key", attribute.kind.name());
    }
    Ok(())
}

/// The entity of the question: as `--entity` says, or the only entity whose items can have all of these attributes.
fn entity_of<'t>(
    table: &'t Table,
    named: Option<&str>,
    (partition, sort): (&[String], &[String]),
) -> anyhow::Result<Option<&'t str>> {
    let lacks = |entity: &Entity| {
        let mut names = partition.iter().chain(sort);
        names.find(|name| !entity.attributes.contains_key(*name)).cloned()
    };
    if let Some(named) = named {
        let Some(entity) = table.entities.iter().find(|entity| entity.name == named) else {
            let names: Vec<&str> = table.entities.iter().map(|entity| entity.name.as_str()).collect();
            bail!("table `{}` has no entity `{named}`; its entities: {}", table.id, names.join(", "));
        };
        if let Some(name) = lacks(entity) {
            bail!("entity `{named}` of table `{}` has no attribute `{name}`", table.id);
        }
        return Ok(Some(&entity.name));
    }
    let mut having = table.entities.iter().filter(|entity| lacks(entity).is_none());
    match (having.next(), having.next()) {
        (Some(only), None) => Ok(Some(&only.name)),
        (None, _) if !table.entities.is_empty() => {
            bail!(
                "no entity of table `{}` has all of these attributes: an index has keys of one item",
                table.id
            )
        }
        _ => Ok(None),
    }
}

fn addition(
    model: &Model,
    text_before: &str,
    table: &Table,
    question: &Question<'_>,
    form: Form,
    keys: Keys,
    has_items: Option<bool>,
) -> Addition {
    let global = table.indexes.iter().filter(|index| index.kind == IndexKind::Global).count();
    let is_full = global >= GLOBAL_INDEXES_MAX;
    let words: String = question.partition.iter().map(|name| capital(name)).collect();
    let words: String = words.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    let index = free(format!("by{words}"), |name| {
        table.index(name).is_some() || model.questions_of(table).any(|question| question.name == name)
    });
    // A table with the maximum number of indexes gets a successor with this one.
    let (id, mut text) = match is_full {
        true => successor(model, text_before, table),
        false => (table.id.clone(), String::new()),
    };
    let Sections { keys, question: of_question, folds, tail, asked } =
        sections(table, &id, &index, question, form, keys);
    let _ = write!(text, "{keys}\n[questions.{id}.{index}]\n{of_question}");
    let needs_retrofit = (folds || is_full) && has_items != Some(false);
    let retrofit = needs_retrofit.then(|| {
        let suffix = if is_full { "Copy" } else { "InPlace" };
        free(format!("{}{}{suffix}", table.id, capital(&index)), |name| {
            model.retrofits.iter().any(|retrofit| retrofit.name == name)
        })
    });
    if let Some(retrofit) = &retrofit {
        let _ = writeln!(text, "\n[retrofits.{retrofit}]\nfrom = {:?}\nto = {id:?}", table.id);
        if !is_full {
            let _ = writeln!(text, "fills = [{index:?}]");
        }
    }
    let mut why = match (folds, has_items) {
        _ if is_full => format!(
            "A new table: `{0}` has {global} global indexes, the quota of a table. `{id}` has its keys and only this index; questions \
             that need another index stay with `{0}`. You can also remove an index, or ask AWS for more, and run this again.",
            table.id
        ),
        (false, _) => {
            "No retrofit: the keys are attributes of the items, so DynamoDB itself fills the index when it is created.".to_owned()
        }
        (true, Some(false)) => "No retrofit: the table has no items.".to_owned(),
        (true, _) => "A retrofit in place: the table keeps its key and the index is global, so DynamoDB can add it to the live table. \
                      Existing items get the index's key attributes from it; only another table key or a local index needs a new table."
            .to_owned(),
    };
    let named =
        |names: &[&String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !tail.is_empty() {
        let _ = write!(
            why,
            "\nItems without {} are in the index too: an optional tail of the sort key.",
            named(&tail)
        );
    }
    if !asked.is_empty() {
        let _ = write!(
            why,
            "\nItems without {0} are not in the index, so the question is about items that have it. If all items have it, declare it \
             `required` and run this again.",
            named(&asked)
        );
    }
    let question = format!("\n[questions.{}.{index}]\n{of_question}", table.id);
    Addition { table: id, index, retrofit, text, question, why, is_full }
}

/// The sections of the index and its question.
struct Sections<'q> {
    keys: String,
    /// The lines of the question's section.
    question: String,
    /// Is one of the index's keys folded?
    folds: bool,
    /// The optional tail of the sort key.
    tail: Vec<&'q String>,
    /// The attributes that the question asks for with `exists`.
    asked: Vec<&'q String>,
}

fn sections<'q>(
    table: &Table,
    id: &str,
    index: &str,
    question: &Question<'q>,
    form: Form,
    keys: Keys,
) -> Sections<'q> {
    let Question { entity, partition, sort } = *question;
    let is_in_tail =
        |name: &String| form.has_tail && keys != Keys::Native && question.tail(table).contains(name);
    let (tail, fixed): (Vec<&String>, Vec<&String>) = sort.iter().partition(|name| is_in_tail(name));
    let asked: Vec<&String> =
        fixed.into_iter().filter(|name| form.asks_exists && question.is_optional(table, name)).collect();
    let partition_half = half(table, partition, 0, &format!("{index}_pk"), keys);
    let sort_half = (!sort.is_empty()).then(|| half(table, sort, tail.len(), &format!("{index}_sk"), keys));
    let halves: Vec<(&str, Half)> =
        std::iter::once(("partition", partition_half)).chain(sort_half.map(|half| ("sort", half))).collect();
    // With the table's own partition key it would be local by default, and a live table cannot get local indexes.
    let mut text = format!("\n[tables.{id}.indexes.{index}]\ntype = \"global\"\n");
    let mut of_entity = String::new();
    for (role, half) in &halves {
        let _ = writeln!(text, "{role} = {}", half.key);
        if let Some(template) = half.template.as_ref().filter(|_| keys == Keys::OfEntity) {
            let _ = writeln!(of_entity, "{role} = {template:?}");
        }
    }
    text += "projection = \"all\"\n";
    if let Some(entity) = entity.filter(|_| !of_entity.is_empty()) {
        let _ = write!(text, "\n[tables.{id}.entities.{entity}.indexes.{index}]\n{of_entity}");
    }
    let conditions: Vec<String> = partition
        .iter()
        .map(|name| format!("{name:?}"))
        .chain(asked.iter().map(|name| format!("\"{name} exists\"")))
        .chain(sort.iter().map(|name| format!("\"{name}{}?\"", operator(table, name))))
        .collect();
    let mut question = entity.map_or_else(String::new, |entity| format!("entity = {entity:?}\n"));
    let _ = writeln!(question, "where = [{}]", conditions.join(", "));
    if let Some(first) = sort.first().filter(|_| form.has_order || form.has_tail && tail.is_empty()) {
        let _ = writeln!(question, "order = {first:?}");
    }
    let folds = halves.iter().any(|(_, half)| half.template.is_some());
    Sections { keys: text, question, folds, tail, asked }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The name, or the name with the first number that makes it a new one.
fn free(name: String, taken: impl Fn(&str) -> bool) -> String {
    let mut numbered = (2..).map(|number: u32| format!("{name}{number}"));
    match taken(&name) {
        true => numbered.find(|name| !taken(name)).unwrap_or_default(),
        false => name,
    }
}

/// A second table: its id, and its sections, which are those of the first without indexes.
fn successor(model: &Model, text: &str, table: &Table) -> (String, String) {
    let id = free(format!("{}V", table.id), |id| id.ends_with('V') || model.table(id).is_some());
    let name = free(format!("{}-v", table.name), |name| {
        name.ends_with('v') || model.tables.iter().any(|other| other.name == name)
    });
    let own = format!("tables.{}", table.id);
    let mut copy = String::new();
    let (mut copies, mut in_attributes) = (false, false);
    for line in text.lines() {
        if let Some(section) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let below = section.strip_prefix(&own).filter(|below| below.is_empty() || below.starts_with('.'));
            let is_of_index = |below: &str| {
                below.split(".attributes").next().is_some_and(|part| format!("{part}.").contains(".indexes."))
            };
            copies = below.is_some_and(|below| !is_of_index(below));
            in_attributes = below.is_some_and(|below| below.starts_with(".attributes"));
            if let Some(below) = below.filter(|_| copies) {
                let _ = writeln!(copy, "\n[tables.{id}{below}]");
                if below.is_empty() {
                    let _ = writeln!(copy, "name = {name:?}");
                }
            }
            continue;
        }
        let field = line.split('=').next().unwrap_or_default().trim();
        let is_own_name = field == "name" && !in_attributes;
        if copies && !line.trim().is_empty() && !is_own_name && !field.starts_with("indexes.") {
            let _ = writeln!(copy, "{line}");
        }
    }
    (id, copy)
}

/// One of the index's two keys.
struct Half {
    /// As the index's section has it.
    key: String,
    /// The template, if it is folded.
    template: Option<String>,
}

/// One attribute is the key itself. The last attributes can be an optional tail.
fn half(table: &Table, names: &[String], tail: usize, attribute: &str, keys: Keys) -> Half {
    if keys == Keys::Native {
        return Half { key: format!("{names:?}"), template: None };
    }
    let is_key = |one: &Attribute| one.kind.scalar().is_some() && !one.from_key;
    if let [only] = names
        && table.attributes.get(only).is_some_and(is_key)
    {
        return Half { key: format!("{only:?}"), template: None };
    }
    let part = |name: &String| match table.attributes.get(name).map(|attribute| attribute.kind) {
        Some(AttributeKind::Number) => format!("{{{name}:number}}"),
        Some(AttributeKind::Binary) => format!("{{{name}|hex}}"),
        _ => format!("{{{name}}}"),
    };
    let (fixed, optional) = names.split_at(names.len() - tail);
    let mut template = fixed.iter().map(part).collect::<Vec<_>>().join(SEPARATOR);
    template.extend(optional.iter().map(|name| format!("[{SEPARATOR}{}", part(name))));
    template.push_str(&"]".repeat(tail));
    // The table's own keys are not escaped; a new one can take every value.
    let escapes = if is_verbatim(table) { ", verbatim = false" } else { "" };
    let key = match keys {
        Keys::OfEntity => format!("{{ attribute = {attribute:?}{escapes} }}"),
        _ if escapes.is_empty() => format!("{template:?}"),
        _ => format!("{{ attribute = {attribute:?}, fold = {template:?}{escapes} }}"),
    };
    Half { key, template: Some(template) }
}

/// Are the table's keys written without escaping? Its templates say so; without any, escaping is right.
fn is_verbatim(table: &Table) -> bool {
    let keys = table
        .key_attributes()
        .chain(table.indexes.iter().flat_map(keyfold_core::model::Index::key_attributes));
    keys.filter_map(|key| match &key.source {
        KeySource::Folded(rules) => Some(rules),
        KeySource::Natural => None,
    })
    .flatten()
    .any(|rule| {
        let parts =
            rule.template.parts().iter().filter(|part| matches!(part, Part::Attribute { .. })).count();
        rule.template.mode() == KeyMode::Verbatim && parts > 0
    })
}

fn operator(table: &Table, name: &str) -> &'static str {
    match table.attributes.get(name).map(|attribute| attribute.kind) {
        Some(AttributeKind::Timestamp(_) | AttributeKind::Date | AttributeKind::Number) => " between",
        _ => "",
    }
}

fn next(table: &str, addition: &Addition) -> String {
    let mut steps = vec!["keyfold check && keyfold plan".to_owned(), "keyfold template".to_owned()];
    if !addition.is_full {
        steps.push(format!("keyfold index add {table} --all    # if the deployment did not add it"));
    }
    if let Some(retrofit) = &addition.retrofit {
        let verbs = ["plan", "run", "switch"];
        steps.extend(verbs.map(|verb| format!("keyfold retrofit {verb} {retrofit}")));
    }
    steps.into_iter().map(|step| format!("  {step}\n")).collect()
}
