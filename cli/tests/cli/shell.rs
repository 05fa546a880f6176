//! `keyfold shell`, with its lines from a pipe.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::support::{Site, assert_words, stderr, stdout};

const MANIFEST: &str = r#"
[tables.visits]
partition = "id"
attributes = { id = "string", place = { type = "string", values = ["harbour", "museum"] } }
"#;

async fn piped(arguments: &[&str], lines: &str) -> (Output, Site) {
    let site = Site::new(MANIFEST);
    site.create(site.table("visits"), false).await;
    let mut command = crate::support::keyfold_in(site.folder.path(), &["shell"]);
    command.env("XDG_STATE_HOME", site.folder.path().join("state")).env("TERM", "xterm");
    command.args(["--endpoint", site.dynamo().endpoint()]).args(arguments);
    // The variable of the environment leads nowhere: the shell's own argument counts.
    command.env("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    (child.wait_with_output().unwrap(), site)
}

const LINES: &str = r#"put visits '{"id":"v1","place":"harbour"}'
put visits '{"id":"v1","place":"museum"}'
nonsense
# a comment, and an empty line

put visits "unfinished
put visits -
demo --items 1000
keyfold query --table visits --where "place=harbour" --scan --output jsonl
exit
put visits '{"id":"v2"}'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_fails_is_named_at_the_end_and_the_others_run() {
    let (output, site) = piped(&[], LINES).await;
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.ends_with("error: these lines failed: 2, 3, 6, 7, 8\n"), "{said}");
    assert_words(&said, &["item-exists", "unrecognized subcommand 'nonsense'", "quotes", "'demo'"]);
    assert!(!said.contains("unfinished") && !said.contains("museum"), "{said}");
    let wrote = "wrote an item of table `visits` (1 capacity units)\n";
    let wanted = format!("{wrote}{{\"id\":\"v1\",\"place\":\"harbour\"}}\n");
    assert_eq!(stdout(&output), wanted, "no prompt, no other item");
    assert!(!site.folder.path().join("state").exists(), "a script leaves no history");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_all_succeed_exit_with_0_and_json_is_for_all_of_them() {
    let lines = "put visits '{\"id\":\"v1\"}'\nhelp query\nquery --table visits --where id=v1\n";
    let (output, _site) = piped(&["--json"], lines).await;
    let (shown, said) = (stdout(&output), stderr(&output));
    assert_eq!((output.status.code(), &*said), (Some(0), ""));
    assert!(shown.starts_with("{\n  \"done\": \"wrote\"") && shown.contains("\"count\": 1"), "{shown}");
}
