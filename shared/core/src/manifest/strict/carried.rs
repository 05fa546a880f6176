//! The folded keys of the source's indexes: in another table nothing maintains these attributes. The source's primary
//! key is allowed, because it identifies the source item.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::{Index, KeySource, Model, Retrofit};

pub(super) fn check(model: &Model, retrofit: &Retrofit, places: &Places, findings: &mut Findings<'_>) {
    let (Some(source), Some(target)) = (model.table(&retrofit.from), model.table(&retrofit.to)) else {
        return;
    };
    if retrofit.from == retrofit.to {
        return;
    }
    let keys = source.indexes.iter().flat_map(Index::key_attributes);
    let folded = keys.filter(|key| matches!(key.source, KeySource::Folded(_)));
    let mut carried: Vec<&str> = folded.map(|key| key.name.as_str()).collect();
    carried.retain(|name| {
        let used =
            target.attributes.contains_key(*name) || target.every_key().any(|(_, key)| key.name == *name);
        let changed =
            retrofit.rename.contains_key(*name) || retrofit.drop.iter().any(|dropped| dropped == name);
        !used && !changed && source.key_attributes().all(|key| key.name != *name)
    });
    carried.sort_unstable();
    carried.dedup();
    if carried.is_empty() {
        return;
    }
    let message = format!(
        "retrofit `{}` carries folded keys of table `{}` along as data: `{}`",
        retrofit.name,
        source.id,
        carried.join("`, `")
    );
    let span = places.get(&format!("retrofits.{}", retrofit.name)).unwrap_or_default();
    findings.report(Code::CarriedKey, span, message).hint(format!(
        "they are not kept right there: add `drop = [\"{}\"]`, which has a way back",
        carried.join("\", \"")
    ));
}
