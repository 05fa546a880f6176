//! The npm package beside ElectroDB: the same Node, the same table, the same index.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;

use crate::peers::{Missing, Node};
use crate::report::{Bars, Plot, Table};
use crate::{Report, Setting, Spread, data, figure};

/// The package, as `.ci/bindings` leaves it below `target`.
const PACKAGE: &str = "bindings/keyfold-0.1.0.tgz";

/// A row: its name in the script's answer and on the page, how many microseconds its unit has, and the unit.
const ROWS: [(&str, &str, f64, &str); 6] = [
    ("keys", "the keys of an item", 1.0, "µs"),
    ("put", "the input of a put, keys included", 1.0, "µs"),
    ("plan", "a plan", 1.0, "µs"),
    ("page", "a page of 20", 1.0, "µs"),
    ("load", "load in a new process, manifest compiled", 1000.0, "ms"),
    ("loadText", "load in a new process, manifest as text", 1000.0, "ms"),
];

/// Why ElectroDB is ahead where it is.
const WHY: &str = "Keyfold checks every value, compares the table with every index, and says why each of the others was not taken.";

/// The times of both in every round, in microseconds.
type Times = BTreeMap<String, [Vec<f64>; 2]>;

/// Measures the section.
pub(super) fn run(setting: &Setting) -> anyhow::Result<Report> {
    let mut report = Report::new(
        "9. The npm package",
        "What a writer and a reader in Node pay: CPU time of the process, for one call. Keyfold's core runs as WebAssembly. ElectroDB has the same table and index, and is told which index to ask; Keyfold finds it. Load is what a new process does before its first call.",
    );
    match prepared(setting) {
        Ok(node) => {
            let times = measure(setting, &node)?;
            report.tables.push(table(&times));
            report.plots.push(Plot::Bars(bars(&times)));
            report.notes = verdicts(&times);
            let bytes = std::fs::metadata(setting.target.join(PACKAGE))?.len();
            report
                .notes
                .push(format!("The package has {} MB, compressed.", figure::number(bytes as f64 / 1e6)));
            report.notes.push(node.versions());
        }
        Err(missing) => report.absent.push(format!("the npm package: {missing}")),
    }
    Ok(report)
}

fn prepared(setting: &Setting) -> Result<Node, Missing> {
    let package = setting.target.join(PACKAGE);
    if !package.is_file() {
        return Err(Missing(format!("`.ci/bindings` has not built `target/{PACKAGE}`")));
    }
    let node = Node::prepare(setting)?;
    node.install("keyfold", &package)?;
    Ok(node)
}

fn measure(setting: &Setting, node: &Node) -> anyhow::Result<Times> {
    let (rounds, calls) = setting.scale.of((1, 100), (15, 3000));
    let manifest = setting.peer("node/packages.toml");
    let model = data::model(&std::fs::read_to_string(&manifest)?)?;
    super::one_thread()?.block_on(async {
        let dynamo = EmbeddedDynamo::memory()?;
        dynamo.create_tables([data::table(&model, "audit")?], TableOptions::default()).await?;
        let printed = printed(node, &manifest, dynamo.endpoint(), [rounds, calls]).await?;
        let times: Times = serde_json::from_str(&printed).context("`packages.mjs`")?;
        ensure!(ROWS.iter().all(|(name, ..)| times.contains_key(*name)), "`packages.mjs` left something out");
        Ok(times)
    })
}

async fn printed(node: &Node, manifest: &Path, endpoint: &str, counts: [u32; 2]) -> anyhow::Result<String> {
    let output = tokio::process::Command::new(node.program())
        .arg("packages.mjs")
        .arg(manifest)
        .arg(endpoint)
        .args(counts.map(|count| count.to_string()))
        .current_dir(node.folder())
        .output()
        .await?;
    ensure!(output.status.success(), "`packages.mjs` failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn table(times: &Times) -> Table {
    let columns = ["", "Keyfold", "ElectroDB", "ratio"];
    let mut table =
        Table::new("CPU time of one call. A ratio below 1 means that Keyfold costs less.", columns);
    for (name, title, micros, unit) in ROWS {
        let [ours, theirs] = &times[name];
        let shown = |times: &[f64]| figure::spread(Spread::of(times).times(1.0 / micros));
        let ratio = figure::ratio(Spread::of_ratios(ours, theirs));
        table.row([format!("{title}, {unit}"), shown(ours), shown(theirs), ratio]);
    }
    table
}

fn bars(times: &Times) -> Bars {
    let mut bars = Bars::new("packages", "The npm package beside ElectroDB", "µs of CPU time");
    bars.is_log = true;
    for (name, title, ..) in ROWS {
        let [ours, theirs] = &times[name];
        bars.ours(format!("{title}: Keyfold"), Spread::of(ours));
        bars.peer(format!("{title}: ElectroDB"), Spread::of(theirs));
    }
    bars
}

fn verdicts(times: &Times) -> Vec<String> {
    let verdict = |(name, title, ..): &(&str, &str, f64, &str)| {
        let [ours, theirs] = &times[*name];
        figure::verdict(title, "ElectroDB", Spread::of_ratios(ours, theirs), WHY)
    };
    ROWS.iter().map(verdict).collect()
}
