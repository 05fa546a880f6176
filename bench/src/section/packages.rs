//! The npm package, ElectroDB and the SDK alone: the same Node, the same table, the same index.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;

use crate::report::{Report, Table};
use crate::setting::Setting;
use crate::spread::{Spread, number};
use crate::turns::one_thread;
use crate::{data, machine, peers};

const ABOUT: &str = "CPU time of a Node process, for one call. Keyfold's core runs as WebAssembly. \
The table has four entities and one index. ElectroDB has the same, and the caller names the index; Keyfold compares the table with every \
index, finds it, and checks every value. Load is what a new process does before its first call.";

/// The package, as `.ci/bindings` leaves it below `target`.
const PACKAGE: &str = "bindings/keyfold-0.1.0.tgz";

/// A row: its name in the script's answer and on the page, and how many microseconds its unit has.
const ROWS: [(&str, &str, f64); 7] = [
    ("keys", "the keys of an item, µs", 1.0),
    ("put", "the input of a put, keys included, µs", 1.0),
    ("plan", "a plan, µs", 1.0),
    ("page", "a page of 20, µs", 1.0),
    ("load", "load in a new process, manifest compiled, ms", 1e3),
    ("firstPlan", "load and first plan in a new process, manifest compiled, ms", 1e3),
    ("loadText", "load in a new process, manifest as text, ms", 1e3),
];

/// The times of both in every round, in microseconds.
type Times = BTreeMap<String, [Vec<f64>; 2]>;

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new("7. The npm package", ABOUT);
    let package = setting.target().join(PACKAGE);
    let folder = match peers::node(setting.target(), &package) {
        Ok(folder) => folder,
        Err(error) => {
            report.absent("the npm package", &error);
            return Ok(report);
        }
    };
    let manifest = peers::file("packages.toml");
    let model = data::model(&std::fs::read_to_string(&manifest)?)?;
    let dynamo = EmbeddedDynamo::memory()?;
    let created = dynamo.create_tables([data::table(&model, "audit")?], TableOptions::default());
    one_thread()?.block_on(created)?;
    let mut script = Command::new("node");
    script
        .arg("packages.mjs")
        .arg(&manifest)
        .arg(dynamo.endpoint())
        .args(setting.scale.of(["1", "100"], ["15", "3000"]));
    let times: Times =
        serde_json::from_str(&peers::run(script.current_dir(&folder))?).context("`packages.mjs`")?;
    let mut table = Table::new("CPU time of one call.", ["", "Keyfold", "ElectroDB", "ratio"]);
    for (name, title, microseconds) in ROWS {
        let [ours, theirs] = times.get(name).with_context(|| format!("`packages.mjs` left out `{name}`"))?;
        let [shown, shown_theirs] =
            [ours, theirs].map(|times| Spread::of(times).times(1.0 / microseconds).figure());
        table.row([title.to_owned(), shown, shown_theirs, Spread::of_ratios(ours, theirs).ratio()]);
    }
    report.add(table);
    let [ours, alone] = times.get("pageOfSdk").context("`packages.mjs` left out `pageOfSdk`")?;
    report.add(format!(
        "A page of 20 by the document client alone, with a key joined by hand: {} µs. Keyfold's: {} of that.",
        Spread::of(alone).figure(),
        Spread::of_ratios(ours, alone).ratio()
    ));
    let megabytes = std::fs::metadata(&package)?.len() as f64 / 1e6;
    report.add(format!(
        "The package has {} MB, compressed. ElectroDB 3.9.3 on Node {}.",
        number(megabytes),
        machine::said("node", &["--version"])
    ));
    Ok(report)
}
