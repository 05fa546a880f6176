//! In place, only folded keys change: anything else must be said.

use crate::manifest::code::Code;
use crate::manifest::diagnostic::Findings;
use crate::manifest::places::Places;
use crate::model::Retrofit;

pub(super) fn check(retrofit: &Retrofit, places: &Places, findings: &mut Findings<'_>) {
    if retrofit.changes_live_attributes {
        return;
    }
    let name = &retrofit.name;
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
