//! `rename` of an undeclared attribute, or over the source's key.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::manifest::suggest::did_you_mean;
use crate::model::{Model, Retrofit, Table};

pub(super) fn check(model: &Model, retrofit: &Retrofit, places: &Places, findings: &mut Findings<'_>) {
    let Some(source) = model.table(&retrofit.from) else { return };
    for (old, new) in &retrofit.rename {
        let path = format!("retrofits.{}.rename.{old}", retrofit.name);
        let span = places.get(&path).unwrap_or_default();
        if !is_known(source, old) {
            let message = format!(
                "retrofit `{}` renames `{old}`, which table `{}` does not declare",
                retrofit.name, source.id
            );
            let known = source.attributes.keys().map(String::as_str);
            findings
                .report(Code::RenameUndeclared, span.clone(), message)
                .hint(format!(
                    "declare `{old}` among the attributes of table `{}`, or leave it out",
                    source.id
                ))
                .maybe_hint(did_you_mean(old, known));
        }
        // In place, a key cannot be overwritten at all: `retrofit-key`.
        let is_lost =
            source.key_attributes().any(|key| key.name == *new) && !retrofit.rename.contains_key(new);
        if is_lost && retrofit.from != retrofit.to {
            let message = format!(
                "retrofit `{}` renames `{old}` to `{new}`, a key of table `{}`, whose own value is lost",
                retrofit.name, source.id
            );
            findings.report(Code::RenameOverKey, span, message).hint(format!(
                "rename `{old}` to something else, or keep the key under another name: `rename = {{ {new} = \"...\", {old} = \"{new}\" }}`"
            ));
        }
    }
}

fn is_known(table: &Table, name: &str) -> bool {
    table.attributes.contains_key(name) || table.every_key().any(|(_, key)| key.name == name)
}
