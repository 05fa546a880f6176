//! The machine and the versions: absolute times are valid for this machine only.

use std::process::Command;

use crate::report::Table;

/// The version of the embedded DynamoDB, which the workspace's manifest pins.
const EMBEDDED_VERSION: &str = "3.2.0";

/// The machine, the versions and the date.
pub(crate) fn table() -> Table {
    let mut table = Table::new("", ["", "measured on"]);
    let kb = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<f64>();
    let rows = [
        ("date", said("date", &["-u", "+%F"])),
        ("processor", field("/proc/cpuinfo", "model name")),
        ("cores", std::thread::available_parallelism().map_or_else(|_| "-".to_owned(), |n| n.to_string())),
        ("memory", kb.map_or_else(|_| "-".to_owned(), |kb| format!("{:.0} GB", kb / 1024.0 / 1024.0))),
        ("load before", file("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()),
        ("system", said("uname", &["-sm"])),
        ("rustc", said("rustc", &["--version"])),
        ("keyfold", env!("CARGO_PKG_VERSION").to_owned()),
        ("DynamoDB", format!("embedded (dynoxide {EMBEDDED_VERSION}, SQLite in memory), on the same cores")),
    ];
    for (name, value) in rows {
        table.row([name.to_owned(), value]);
    }
    table
}

/// The peak memory of this process, in kB; 0 if unknown.
pub(crate) fn peak_kb() -> u64 {
    field("/proc/self/status", "VmHWM").trim_end_matches(" kB").parse().unwrap_or(0)
}

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn field(path: &str, name: &str) -> String {
    let text = file(path);
    let value = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
    value.map_or("-", |(_, value)| value.trim()).to_owned()
}

/// The output of a program; `-` if it cannot run.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    output.map_or_else(|| "-".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_embedded_dynamodb_is_the_one_that_is_pinned() {
        let manifest = include_str!("../../Cargo.toml");
        assert!(manifest.contains(&format!("package = \"dynoxide-rs\", version = \"={EMBEDDED_VERSION}\"")));
    }
}
