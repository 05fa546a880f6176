//! `keyfold check`: all mistakes and warnings of a manifest.

use std::process::ExitCode;

use keyfold_core::manifest::Severity;
use keyfold_core::model::{LiveChange, Retrofit};
use serde_json::json;

use crate::globals::Globals;
use crate::manifest_file::ManifestFile;
use crate::output::{Output, counted};
use crate::support::exit_code;

pub(super) fn run(globals: &Globals, strict: bool, out: &Output) -> anyhow::Result<ExitCode> {
    let file = ManifestFile::read(&globals.manifest)?;
    let (errors, warnings) = (file.count(Severity::Error), file.count(Severity::Warning));
    if out.json {
        out.value(&json!({
            "manifest": file.name,
            "errors": errors,
            "warnings": warnings,
            "diagnostics": file.parsed.diagnostics,
            "liveChanges": live_changes(&file).map(|(retrofit, change)| json!({
                "retrofit": retrofit.name, "table": retrofit.from, "attribute": change.attribute(),
                "change": change.to_string(),
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        out.styled_note(file.render(out));
        out.text(summary(&file, errors, warnings));
        for (retrofit, change) in live_changes(&file) {
            out.text(format!(
                "retrofit `{}` changes attributes of the live table `{}`: {change}\n",
                retrofit.name, retrofit.from
            ));
        }
    }
    Ok(exit_code(errors == 0 && !(strict && warnings > 0)))
}

/// The changes of live attributes that the manifest allows to retrofits in place.
fn live_changes(file: &ManifestFile) -> impl Iterator<Item = (&Retrofit, LiveChange)> {
    let retrofits = file.parsed.model.iter().flat_map(|model| &model.retrofits);
    let allowed = retrofits.filter(|retrofit| retrofit.changes_live_attributes);
    allowed.flat_map(|retrofit| retrofit.live_changes().into_iter().map(move |change| (retrofit, change)))
}

fn summary(file: &ManifestFile, errors: usize, warnings: usize) -> String {
    let counts = format!("{}: {}, {}", file.name, counted(errors, "error"), counted(warnings, "warning"));
    match &file.parsed.model {
        None => format!("{counts}\n"),
        Some(model) => {
            let indexes: usize = model.tables.iter().map(|table| table.indexes.len()).sum();
            format!(
                "{counts}; {}, {}, {}, {}\n",
                counted(model.tables.len(), "table"),
                if indexes == 1 { "1 index".to_owned() } else { format!("{indexes} indexes") },
                counted(model.questions.len(), "question"),
                counted(model.retrofits.len(), "retrofit"),
            )
        }
    }
}
