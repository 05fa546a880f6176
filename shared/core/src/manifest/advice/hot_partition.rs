//! A partition key with so few values that a handful of partitions take the whole load.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>

use crate::key::KeyRole;
use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::key_position::KeyPosition;
use crate::manifest::key_use::KeyUse;
use crate::manifest::keys::Keys;
use crate::manifest::parts::{choices, combinations, sharded};
use crate::manifest::table_text::TableText;
use crate::model::{IndexKind, KeyAttribute, KeySource, Table};

/// The number of partitions from which there is no warning.
const PARTITIONS_ENOUGH: u64 = 10;

pub(in crate::manifest) fn check(
    text: &TableText<'_>,
    keys: &Keys<'_>,
    table: &Table,
    findings: &mut Findings<'_>,
) {
    check_key(text, keys, KeyPosition::PARTITION, std::slice::from_ref(&table.partition), findings);
    for (at, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.kind == IndexKind::Global) {
        check_key(
            text,
            keys,
            KeyPosition { index: Some(at), role: KeyRole::Partition },
            &index.partition,
            findings,
        );
    }
}

fn check_key(
    text: &TableText<'_>,
    keys: &Keys<'_>,
    place: KeyPosition,
    partition: &[KeyAttribute],
    findings: &mut Findings<'_>,
) {
    let attributes = &text.attributes.by_name;
    if let [KeyAttribute { name, source: KeySource::Folded(_), .. }] = partition {
        // Each entity fills its own partitions, so each is counted separately.
        for (rule, template) in keys.folds.get(name).iter().flat_map(|fold| &fold.parsed) {
            let parts = rule.template.parts();
            let count = combinations(parts, attributes).filter(|_| !sharded(parts));
            let entity = rule.entity.and_then(|entity| text.entities.get(entity.0));
            let who =
                entity.map_or_else(String::new, |entity| format!(" for entity `{}`", entity.name.value));
            warn(text, place, count, &who, template.span.clone(), findings);
        }
        return;
    }
    let natural = |key: &KeyAttribute| attributes.get(&key.name).and_then(choices);
    let count = partition.iter().try_fold(1u64, |product, key| Some(product.saturating_mul(natural(key)?)));
    let span = match keys.uses(place).first() {
        Some(KeyUse::Natural(name)) => name.span.clone(),
        _ => text.id.span.clone(),
    };
    warn(text, place, count.filter(|_| !partition.is_empty()), "", span, findings);
}

fn warn(
    text: &TableText<'_>,
    place: KeyPosition,
    count: Option<u64>,
    who: &str,
    span: std::ops::Range<usize>,
    findings: &mut Findings<'_>,
) {
    let Some(count) = count.filter(|count| *count < PARTITIONS_ENOUGH) else { return };
    if text.allows(Code::HotPartition, place.index) {
        return;
    }
    let values = if count == 1 { "value" } else { "values" };
    let message = format!("{} has only {count} {values}{who}", place.what(text));
    findings.report(Code::HotPartition, span, message).hint(
        "one partition allows 1000 write units and 3000 read units per second: add an attribute, or a shard such as `{id|shard:10}`",
    );
}
