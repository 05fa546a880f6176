//! Two tables copied into one: items of both can claim the same key.
//!
//! Retrofits of one source may share a target: the second starts after the first was abandoned. In place there are no
//! claims.

use std::collections::BTreeSet;

use crate::key::{Codec, Part};
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::{FoldRule, KeySource, Model, Retrofit, Table};
use crate::value::equal;

pub(super) fn check(model: &Model, places: &Places, findings: &mut Findings<'_>) {
    let moving: Vec<&Retrofit> =
        model.retrofits.iter().filter(|retrofit| retrofit.from != retrofit.to).collect();
    for (at, retrofit) in moving.iter().enumerate() {
        let Some(target) = model.table(&retrofit.to) else { continue };
        let other = moving[..at].iter().find(|other| {
            other.to == retrofit.to && other.from != retrofit.from && !apart(target, other, retrofit)
        });
        let Some(other) = other else { continue };
        let message = format!(
            "retrofits `{}` and `{}` carry tables `{}` and `{}` into table `{}`, where items of both can have one primary key",
            other.name, retrofit.name, other.from, retrofit.from, target.id
        );
        let inputs: Vec<String> = constants(target).iter().map(|name| format!("`{name}`")).collect();
        let span = places.get(&format!("retrofits.{}", retrofit.name)).unwrap_or_default();
        findings
            .report(Code::SharedTarget, span, message)
            .related(
                places.get(&format!("retrofits.{}", other.name)).unwrap_or_default(),
                "the first one",
            )
            .hint(format!(
                "keep them apart: let each `set` its own constant in an attribute that the primary key is made of ({}), or carry them \
                 into two tables",
                inputs.join(", ")
            ));
    }
}

/// Does each set a different constant in one attribute that every primary key of the target contains unchanged?
fn apart(target: &Table, one: &Retrofit, other: &Retrofit) -> bool {
    constants(target).iter().any(|name| match (one.set.get(*name), other.set.get(*name)) {
        (Some(a), Some(b)) => !equal(a, b),
        _ => false,
    })
}

/// The attributes that every primary key of the table contains unchanged.
fn constants(table: &Table) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for key in table.key_attributes() {
        match &key.source {
            KeySource::Natural => {
                names.insert(key.name.as_str());
            }
            KeySource::Folded(rules) => {
                if let [FoldRule { entity: None, template }] = rules.as_slice() {
                    names.extend(template.parts().iter().filter_map(|part| match part {
                        Part::Attribute { name, codec: Codec::Text | Codec::Enumerated, .. } => {
                            Some(name.as_str())
                        }
                        _ => None,
                    }));
                }
            }
        }
    }
    names
}
