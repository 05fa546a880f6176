//! In place, only the folded keys of `fills` change: other changes must be declared, and no other key may become stale.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::{Model, Retrofit};

pub(super) fn check(model: &Model, retrofit: &Retrofit, places: &Places, findings: &mut Findings<'_>) {
    let name = &retrofit.name;
    for stale in model.table(&retrofit.to).into_iter().flat_map(|table| retrofit.stale_keys(table)) {
        let span = places.get(&format!("retrofits.{name}")).unwrap_or_default();
        let message = format!(
            "retrofit `{name}` changes `{}` of the live table `{}`: {stale}",
            stale.attribute, retrofit.to
        );
        findings.report(Code::StaleKeys, span, message).hint(match &stale.index {
            Some(index) => format!("name `{index}` in `fills` too, or leave `{}` as it is", stale.attribute),
            None => "an item's primary key cannot change in place; retrofit into another table".to_owned(),
        });
    }
    if retrofit.changes_live_attributes {
        return;
    }
    for change in retrofit.live_changes() {
        let path = format!("retrofits.{name}.{}", change.path(retrofit));
        let message = format!(
            "retrofit `{name}` would change attributes of the live table `{}`: {change}",
            retrofit.from
        );
        findings.report(Code::LiveAttributes, places.get(&path).unwrap_or_default(), message).hint(format!(
            "programs that read table `{}` meet the change at once, and `keyfold retrofit abandon` takes nothing back; if that is \
             meant, write `changes-live-attributes = true` under `[retrofits.{name}]`; otherwise retrofit into another table",
            retrofit.from
        ));
    }
}
