//! `keyfold shell`, with its lines from a pipe against the embedded DynamoDB.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use keyfold_core::manifest;
use keyfold_dynamo::TableOptions;
use keyfold_local::EmbeddedDynamo;

const MANIFEST: &str = r#"
[tables.visits]
partition = "id"
attributes = { id = "string", place = { type = "string", values = ["harbour", "museum"] } }
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keyfold.toml"), MANIFEST).unwrap();
    folder
}

fn shell(folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    command
        .current_dir(folder.path())
        .env_remove("KEYFOLD_MANIFEST")
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .arg("shell");
    command
}

async fn piped(arguments: &[&str], lines: &str) -> (Output, tempfile::TempDir) {
    let table = manifest::parse("keyfold.toml", MANIFEST).model.unwrap().tables.remove(0);
    let dynamo = EmbeddedDynamo::memory().unwrap();
    dynamo.create_tables([&table], TableOptions::default()).await.unwrap();
    let folder = folder();
    let mut command = shell(&folder);
    command.args(["--endpoint", dynamo.endpoint()]).args(arguments);
    // The variable of the environment leads nowhere: the shell's own argument is what counts.
    command.env("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    dynamo.shutdown();
    (output, folder)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const LINES: &str = r#"put visits '{"id":"v1","place":"harbour"}'
put visits '{"id":"v1","place":"museum"}'
nonsense
# a comment, and a line with nothing

put visits "unfinished
put visits -
demo --items 1000
keyfold query --table visits --where "place=harbour" --scan --output jsonl
exit
put visits '{"id":"v2"}'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_fails_is_named_at_the_end_and_the_others_run() {
    let (output, folder) = piped(&[], LINES).await;
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("error: these lines failed: 2, 3, 6, 7, 8\n"), "{said}");
    for reason in ["item-exists", "unrecognized subcommand 'nonsense'", "quotes", "'demo'"] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
    assert!(!said.contains("unfinished") && !said.contains("museum"), "{said}");
    let wrote = "wrote an item of table `visits` (1 capacity units)\n";
    assert_eq!(
        shown,
        format!("{wrote}{{\"id\":\"v1\",\"place\":\"harbour\"}}\n"),
        "no prompt, no other item"
    );
    assert!(!folder.path().join("state").exists(), "a script leaves no history");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_all_succeed_exit_with_0_and_json_is_for_all_of_them() {
    let lines = "put visits '{\"id\":\"v1\"}'\nhelp query\nquery --table visits --where id=v1\n";
    let (output, _folder) = piped(&["--json"], lines).await;
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), &*said), (Some(0), ""));
    assert!(shown.starts_with("{\n  \"done\": \"wrote\"") && shown.contains("\"count\": 1"), "{shown}");
}
