//! `keyfold local`, and a manifest that changes while it runs.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use keyfold_core::manifest;

use crate::support::keyfold_in;

const BEFORE: &str = "[tables.old]\nname = \"Old\"\npartition = \"id\"\nattributes = { id = \"string\" }\n";
const MORE: &str = "[tables.new]\nname = \"New\"\npartition = \"id\"\nattributes = { id = \"string\" }\n\
                    [retrofits.later]\nfrom = \"old\"\nto = \"new\"\n";

#[test]
fn a_new_retrofit_needs_no_restart_and_a_mistake_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyfold.toml");
    let full = format!("{BEFORE}{MORE}");
    assert!(manifest::parse("keyfold.toml", &full).model.is_some());
    std::fs::write(&path, BEFORE).unwrap();
    let mut local = keyfold_in(folder.path(), &["--json", "local", "--port", "0", "--api-port", "0"]);
    let mut local = local.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut notes = BufReader::new(local.stderr.take().unwrap()).lines().map(Result::unwrap);
    let printed = BufReader::new(local.stdout.take().unwrap()).lines().map(Result::unwrap);
    let endpoint = printed
        .filter_map(|line| Some(line.trim().strip_prefix("\"dynamodb\": \"")?.split('"').next()?.to_owned()))
        .next()
        .unwrap();

    let run = ["--endpoint", endpoint.as_str(), "retrofit", "run", "later", "--lag", "0"];
    let runs = || keyfold_in(folder.path(), &run).output().unwrap().status.success();
    std::fs::write(&path, format!("{BEFORE}[tables.new]\n")).unwrap();
    let former = notes.find(|line| line.contains("the former one stays in use"));
    assert!(former.is_some() && !runs());
    std::fs::write(&path, full).unwrap();
    assert!(notes.any(|line| line.contains("are in use now")));
    assert!(runs(), "the new table is there, and the old one has a stream");
    local.kill().unwrap();
    local.wait().unwrap();
}
