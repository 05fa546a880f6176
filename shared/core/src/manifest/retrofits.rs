//! `[retrofits.NAME]`: items of one table get new keys, in place or in another table.

mod remedies;

use std::collections::BTreeSet;

use super::code::Code;
use super::diagnostic::Findings;
use super::fields::Fields;
use super::grammar;
use super::key_position::KeyPosition;
use super::key_use::KeyUse;
use super::keys::Keys;
use super::name::{check_attribute_name, check_id};
use super::node::{Text, TomlEntry};
use super::questions::find_table;
use super::suggest::did_you_mean;
use super::table_text::TableText;
use super::values::{untyped_value, value_of};
use super::when::{TestableAttributes, conditions};
use crate::model::Retrofit;
use crate::value::AttributeValue;

/// The field that permits a retrofit in place to change attributes other than folded keys.
const LIVE: &str = "changes-live-attributes";
/// The field of a retrofit that never ends.
const KEEP: &str = "keep-folded";

/// A table as written, with its keys.
type TargetTable<'t, 'a> = (&'t TableText<'a>, &'t Keys<'a>);

/// All retrofits, in the manifest's order; invalid ones are reported and left out.
pub(super) fn retrofits(
    tables: &[TableText<'_>],
    keys: &[Keys<'_>],
    entries: &[TomlEntry<'_>],
    findings: &mut Findings<'_>,
) -> Vec<Retrofit> {
    entries.iter().filter_map(|entry| retrofit(tables, keys, entry, findings)).collect()
}

fn retrofit(
    tables: &[TableText<'_>],
    keys: &[Keys<'_>],
    entry: &TomlEntry<'_>,
    findings: &mut Findings<'_>,
) -> Option<Retrofit> {
    check_id(&entry.name, "a retrofit", findings);
    let owner = format!("retrofit `{}`", entry.name.value);
    let fields = Fields::read(entry, owner, grammar::RETROFIT, findings);
    let mut table = |field: &str| {
        let id = fields.required(field, findings)?.text(findings, &fields.what(field))?;
        find_table(tables, &id, findings)
    };
    let (from, to) = (table("from"), table("to"));
    let rename = rename(&fields, findings);
    let drop = fields.texts("drop", findings);
    let (from, to) = (from?, to?);
    let set = set(to, &fields, findings);
    let only = fields.node("only").map(|node| {
        let own_keys = from.own_keys();
        let testable =
            TestableAttributes { table: from.id.value, attributes: &from.attributes, own_keys: &own_keys };
        conditions(node, &fields.what("only"), testable, findings)
    });

    let changes = Changes { rename: &rename, drop: &drop, set: &set };
    let at = tables.iter().position(|table| table.id == to.id)?;
    let target = (to, keys.get(at)?);
    if from.id == to.id {
        check_in_place(target, &changes, findings);
        if !["rename", "drop", "set"].iter().any(|field| fields.node(field).is_some()) {
            check_useful(target, &entry.name, findings);
        }
    } else {
        check_own_key(target, &changes, findings);
    }
    let fills = fills(target, from.id == to.id, &changes, &fields, findings);
    let owned = |(old, new): (&Text<'_>, &Text<'_>)| (old.value.to_owned(), new.value.to_owned());
    let changes_live_attributes = fields.boolean(LIVE, findings).unwrap_or(false);
    if let Some(node) = fields.node(LIVE).filter(|_| changes_live_attributes && from.id != to.id) {
        let message =
            format!("{} is for a retrofit in place, and this one writes to another table", fields.what(LIVE));
        findings
            .report(Code::BadValue, node.span.clone(), message)
            .hint("leave it out: items of the source keep their attributes");
    }
    let changed = changes.rename.len() + changes.drop.len() + changes.set.len();
    let keep_folded = keep_folded(&fields, from.id == to.id, changed > 0, findings);
    Some(Retrofit {
        name: entry.name.value.to_owned(),
        from: from.id.value.to_owned(),
        to: to.id.value.to_owned(),
        rename: rename.iter().map(|(old, new)| owned((old, new))).collect(),
        set: set.into_iter().map(|(name, value)| (name.value.to_owned(), value)).collect(),
        drop: drop.iter().map(|name| name.value.to_owned()).collect(),
        only: only.unwrap_or_default(),
        fills,
        changes_live_attributes,
        keep_folded,
        misfits: remedies::misfits(target, &fields, findings),
    })
}

/// Does the replicator stay? It then only folds keys; writers must handle attributes that are renamed or dropped.
fn keep_folded(fields: &Fields<'_>, in_place: bool, changes: bool, findings: &mut Findings<'_>) -> bool {
    let said = fields.boolean(KEEP, findings).unwrap_or(false);
    if let Some(node) = fields.node(KEEP).filter(|_| said && (!in_place || changes)) {
        let what = fields.what(KEEP);
        let (message, hint) = match in_place {
            false => (
                format!("{what} is for a retrofit in place, and this one writes to another table"),
                "fold in the writers of the new table, or add a retrofit of that table in place",
            ),
            true => (
                format!("{what} keeps folded keys right, and this retrofit changes other attributes too"),
                "leave `rename`, `set` and `drop` to a retrofit of their own, which ends",
            ),
        };
        findings.report(Code::BadValue, node.span.clone(), message).hint(hint);
    }
    said
}

/// The indexes that the retrofit fills: the named ones, by default every index with a folded key.
///
/// A filled index is not used until the cut-over. An index that was complete before should stay usable, so a retrofit
/// that adds one index to a table with others names that one.
fn fills(
    (table, keys): TargetTable<'_, '_>,
    in_place: bool,
    changes: &Changes<'_, '_>,
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let own: Vec<&str> = [KeyPosition::PARTITION, KeyPosition::SORT]
        .iter()
        .flat_map(|place| keys.uses(*place))
        .map(KeyUse::name)
        .collect();
    let fillable = |at: usize| {
        let places =
            [KeyPosition::PARTITION, KeyPosition::SORT].map(|place| KeyPosition { index: Some(at), ..place });
        // In place, the table's own key exists already.
        places.iter().flat_map(|place| keys.uses(*place)).any(|key| {
            let added = keys.folded(key.name()) && !(in_place && own.contains(&key.name()));
            added || changes.supplies(key.name())
        })
    };
    if fields.node("fills").is_none() {
        let all = table.indexes.iter().enumerate().filter(|(at, _)| fillable(*at));
        return all.map(|(_, index)| index.name.value.to_owned()).collect();
    }
    let mut named: Vec<String> = Vec::new();
    for name in fields.texts("fills", findings) {
        match table.indexes.iter().position(|index| index.name.value == name.value) {
            None => {
                let near = did_you_mean(name.value, table.indexes.iter().map(|index| index.name.value));
                let message = format!("table `{}` has no index `{}`", table.id.value, name.value);
                findings.report(Code::UnknownIndex, name.span, message).maybe_hint(near);
            }
            Some(at) if !fillable(at) => {
                let message = format!("index `{}` has no key that this retrofit writes", name.value);
                findings
                    .report(Code::BadValue, name.span, message)
                    .hint("DynamoDB fills such an index by itself: leave it out of `fills`");
            }
            Some(_) if named.iter().any(|known| known == name.value) => {
                let message = format!("{} has `{}` twice", fields.what("fills"), name.value);
                findings.report(Code::DuplicateName, name.span, message);
            }
            Some(_) => named.push(name.value.to_owned()),
        }
    }
    if in_place {
        check_shared_keys(table, keys, &own, &named, fields, findings);
    }
    named
}

/// In place, only keys of the named indexes may change. An index that shares a folded key with one of them would change too.
fn check_shared_keys(
    table: &TableText<'_>,
    keys: &Keys<'_>,
    own: &[&str],
    named: &[String],
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) {
    let folded = |at: usize| {
        let places =
            [KeyPosition::PARTITION, KeyPosition::SORT].map(|place| KeyPosition { index: Some(at), ..place });
        let names = places.into_iter().flat_map(|place| keys.uses(place)).map(KeyUse::name);
        names.filter(|name| keys.folded(name) && !own.contains(name)).collect::<Vec<_>>()
    };
    let is_named = |at: &usize| named.iter().any(|name| name == table.indexes[*at].name.value);
    let (filled, others): (Vec<usize>, Vec<usize>) = (0..table.indexes.len()).partition(is_named);
    for other in others {
        let shares = |at: &&usize| folded(**at).iter().any(|name| folded(other).contains(name));
        if let (Some(at), Some(node)) = (filled.iter().find(shares), fields.node("fills")) {
            let (one, other) = (table.indexes[*at].name.value, table.indexes[other].name.value);
            let message = format!("index `{other}` has a folded key of `{one}`, which the retrofit changes");
            findings.report(Code::BadValue, node.span.clone(), message).hint("name both indexes in `fills`");
        }
    }
}

/// The changes of a retrofit besides keys.
struct Changes<'c, 'a> {
    rename: &'c [(Text<'a>, Text<'a>)],
    drop: &'c [Text<'a>],
    set: &'c [(Text<'a>, AttributeValue)],
}

impl<'c, 'a> Changes<'c, 'a> {
    /// The attributes that are renamed or dropped.
    fn gone(&self) -> impl Iterator<Item = &'c Text<'a>> {
        self.rename.iter().map(|(old, _)| old).chain(self.drop)
    }

    /// Does the retrofit itself supply this attribute?
    fn supplies(&self, name: &str) -> bool {
        self.rename.iter().any(|(_, new)| new.value == name)
            || self.set.iter().any(|(set, _)| set.value == name)
    }
}

fn rename<'a>(fields: &Fields<'a>, findings: &mut Findings<'_>) -> Vec<(Text<'a>, Text<'a>)> {
    let mut rename: Vec<(Text<'a>, Text<'a>)> = Vec::new();
    for entry in fields.entries("rename", findings) {
        let Some(new) = entry.node.text(findings, &fields.what("rename")) else { continue };
        if let Some((first, _)) = rename.iter().find(|(_, before)| before.value == new.value) {
            let message =
                format!("`{}` and `{}` are both renamed to `{}`", first.value, entry.name.value, new.value);
            findings
                .report(Code::DuplicateName, new.span.clone(), message)
                .related(first.span.clone(), "first");
        }
        check_attribute_name(&new, findings);
        rename.push((entry.name, new));
    }
    rename
}

fn set<'a>(
    to: &TableText<'_>,
    fields: &Fields<'a>,
    findings: &mut Findings<'_>,
) -> Vec<(Text<'a>, AttributeValue)> {
    let mut set = Vec::new();
    for entry in fields.entries("set", findings) {
        check_attribute_name(&entry.name, findings);
        let what = format!("`{}` in {}", entry.name.value, fields.what("set"));
        let value = match to.attributes.get(entry.name.value) {
            Some(_) if to.attributes.reports_mixed(entry.name.value, entry.name.span.clone(), findings) => {
                None
            }
            Some(attribute) => value_of(&entry.node, attribute.kind, &what, Code::WrongType, findings),
            None => untyped_value(&entry.node, &what, findings),
        };
        set.extend(value.map(|value| (entry.name, value)));
    }
    set
}

/// In place, no attribute in a key may be removed, the table's own key must not change, and a second pass must change
/// nothing.
fn check_in_place(
    (table, keys): TargetTable<'_, '_>,
    changes: &Changes<'_, '_>,
    findings: &mut Findings<'_>,
) {
    let (own, all) = (keys.inputs(None), all_inputs(table, keys));
    for name in changes.gone().filter(|name| all.contains(name.value)) {
        let message = format!("a key of table `{}` is made of `{}`", table.id.value, name.value);
        findings.report(Code::RetrofitKey, name.span.clone(), message).hint(
            "in place, the attributes of a key keep their names; retrofit into another table to change them",
        );
    }
    // Each change of an item applies the mapping again: the second time, the added attribute would be renamed or
    // dropped.
    for name in changes.gone().filter(|name| changes.supplies(name.value)) {
        let message =
            format!("`{}` is renamed or dropped, and the retrofit gives it a value too", name.value);
        findings.report(Code::BadValue, name.span.clone(), message).hint(
            "in place, an item is mapped each time that it changes: do one of the two in a separate retrofit, after the other",
        );
    }
    let set = changes.set.iter().map(|(name, _)| name);
    let renamed_to = changes.rename.iter().map(|(_, new)| new);
    for name in set.chain(renamed_to).filter(|name| own.contains(name.value)) {
        let message = format!("the primary key of table `{}` is made of `{}`", table.id.value, name.value);
        findings
            .report(Code::RetrofitKey, name.span.clone(), message)
            .hint("an item's primary key cannot change in place; retrofit into another table");
    }
}

/// In a new table, each item still needs the target's own key.
fn check_own_key((table, keys): TargetTable<'_, '_>, changes: &Changes<'_, '_>, findings: &mut Findings<'_>) {
    let own = keys.inputs(None);
    for name in changes.gone().filter(|name| own.contains(name.value) && !changes.supplies(name.value)) {
        let message = format!("the primary key of table `{}` is made of `{}`", table.id.value, name.value);
        findings
            .report(Code::RetrofitKey, name.span.clone(), message)
            .hint("without it, no item can be written");
    }
}

fn check_useful((table, keys): TargetTable<'_, '_>, name: &Text<'_>, findings: &mut Findings<'_>) {
    if keys.folds.is_empty() {
        let message =
            format!("table `{}` has no folded keys, so `{}` changes nothing", table.id.value, name.value);
        findings.report(Code::NothingToRetrofit, name.span.clone(), message);
    }
}

/// The inputs of all keys.
fn all_inputs(table: &TableText<'_>, keys: &Keys<'_>) -> BTreeSet<String> {
    let indexes = (0..table.indexes.len()).map(Some);
    indexes.chain([None]).flat_map(|index| keys.inputs(index)).collect()
}
