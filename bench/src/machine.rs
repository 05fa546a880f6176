//! On what was measured: absolute times are valid for this machine only.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::report::Table;

/// The version of the embedded DynamoDB, which the workspace's manifest pins.
const EMBEDDED_VERSION: &str = "3.2.0";

/// The machine, the versions and the date, as a table.
pub fn table() -> Table {
    let mut table = Table::new("", ["", "measured on"]);
    let system = format!("{} {}, {}", std::env::consts::OS, kernel(), std::env::consts::ARCH);
    let rows = [
        ("date", date(SystemTime::now())),
        ("processor", processor(&file("/proc/cpuinfo"))),
        ("cores", std::thread::available_parallelism().map_or_else(|_| "-".to_owned(), |n| n.to_string())),
        ("memory", memory(&file("/proc/meminfo"))),
        ("load before", load(&file("/proc/loadavg"))),
        ("system", system),
        ("rustc", first_line("rustc", &["--version"])),
        ("keyfold", env!("CARGO_PKG_VERSION").to_owned()),
        ("DynamoDB", format!("embedded (dynoxide {EMBEDDED_VERSION}, SQLite in memory), on the same cores")),
    ];
    for (name, value) in rows {
        table.row([name.to_owned(), value]);
    }
    table
}

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The day, in UTC.
fn date(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let at = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    at.map_or_else(|| "-".to_owned(), |at| at.to_string().chars().take(10).collect())
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn processor(cpuinfo: &str) -> String {
    field(cpuinfo, "model name").unwrap_or("-").to_owned()
}

fn memory(meminfo: &str) -> String {
    let kb = field(meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    kb.map_or_else(|| "-".to_owned(), |kb| format!("{:.0} GB", kb / 1024.0 / 1024.0))
}

/// How many processes wanted a core in the last minute.
fn load(loadavg: &str) -> String {
    loadavg.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("-").to_owned()
}

fn kernel() -> String {
    let release = file("/proc/sys/kernel/osrelease");
    release.trim().split(['-', '+']).next().unwrap_or_default().to_owned()
}

/// The most memory that a process ever had, in kB, from its `/proc/PID/status`.
pub fn peak_kb(status: &str) -> Option<u64> {
    field(status, "VmHWM")?.trim_end_matches("kB").trim().parse().ok()
}

/// The first line of what a program says; `-` if there is no such program.
pub fn first_line(program: &str, arguments: &[&str]) -> String {
    let said = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    let text = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Fast CPU @ 2 GHz\n"), "Fast CPU @ 2 GHz");
        assert_eq!(memory("MemTotal:       16777216 kB\nMemFree: 1 kB\n"), "16 GB");
        assert_eq!(peak_kb("VmPeak:\t 9999 kB\nVmHWM:\t    2048 kB\n"), Some(2048));
        assert_eq!(load("0.52 0.58 0.59 1/999 12345\n"), "0.52");
        assert_eq!(date(UNIX_EPOCH + std::time::Duration::from_secs(86_400)), "1970-01-02");
    }

    #[test]
    fn the_version_of_the_embedded_dynamodb_is_the_one_that_is_pinned() {
        let manifest = include_str!("../../Cargo.toml");
        assert!(manifest.contains(&format!("package = \"dynoxide-rs\", version = \"={EMBEDDED_VERSION}\"")));
    }

    #[test]
    fn what_it_does_not_tell_is_a_dash() {
        assert_eq!([processor(""), memory(""), load("")], ["-", "-", "-"]);
        assert_eq!(peak_kb("Name: x\n"), None);
        assert_eq!(first_line("no-such-program-anywhere", &[]), "-");
    }
}
