//! `keyfold advise`: what it prints, what it writes, and what it leaves alone.

use serde_json::Value;

use crate::support::{assert_words, json_of, keyfold_in, refusal_of, stderr, stdout};

const ORDERS: &str = r#"# Our orders.
[tables.orders]
partition = "id"                # a comment that stays
expect = { items = 5_000_000, item-bytes = 300, writes = "20/s" }

[tables.orders.attributes]
id = "string"
customer = "string"
state = { type = "string", values = ["open", "sent", "paid"], required = true }
at = { type = "timestamp", required = true }

[questions.orders.latestOfCustomer]
where = ["customer"]
order = "-at"
limit = 20
rate = "40/s"

[questions.orders.latestInState]
where = ["state"]
order = "-at"
limit = 20
"#;

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keyfold.toml"), text).unwrap();
    folder
}

#[test]
fn advice_is_shown_explained_and_written_and_then_there_is_nothing_to_add() {
    let folder = folder(ORDERS);
    let run = |words: &[&str]| keyfold_in(folder.path(), words).output().unwrap();
    let text = || std::fs::read_to_string(folder.path().join("keyfold.toml")).unwrap();

    let shown = run(&["advise", "orders"]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert_words(
        &stdout(&shown),
        &["byCustomerAt", "byStateAt", "No other set", "Assumed: ", "keyfold advise orders --write"],
    );
    assert_eq!(text(), ORDERS, "without --write nothing changes");

    let explained = run(&["advise", "--explain", "latestOfCustomer"]);
    assert_words(&stdout(&explained), &["byCustomerAt", "next best: ", "asked 105120000 times a month"]);

    let written = json_of(&run(&["--json", "advise", "--write"]));
    assert_eq!(written["written"], Value::Bool(true));
    let table = &written["tables"][0];
    assert_eq!(
        table["next"],
        serde_json::json!([
            "keyfold check && keyfold plan",
            "keyfold index add orders byCustomerAt byStateAt",
            "keyfold retrofit plan ordersAdvised",
            "keyfold retrofit run ordersAdvised",
            "keyfold retrofit switch ordersAdvised",
        ])
    );
    assert!(text().starts_with(ORDERS.trim_end()), "comments and sections stay: {}", text());
    assert_words(&text(), &["fills = [\"byStateAt\"]", "{state}#{id|shard:4}"]);
    let checked = run(&["check", "--strict"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let again = json_of(&run(&["--json", "advise", "--write"]));
    assert_eq!((&again["written"], &again["tables"][0]["addition"]), (&false.into(), &"".into()));
}

#[test]
fn a_budget_and_unanswered_questions_fail_and_write_nothing() {
    let folder = folder(ORDERS);
    let run = |words: &[&str]| keyfold_in(folder.path(), words).output().unwrap();
    let over = run(&["advise", "--budget", "1.5", "--write"]);
    assert_eq!(over.status.code(), Some(1));
    assert_words(&stdout(&over), &["Over the budget", "$1.50"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("keyfold.toml")).unwrap(), ORDERS);
    let narrow = run(&["advise", "--global-max", "1"]);
    assert_eq!(narrow.status.code(), Some(1));
    assert_words(&stdout(&narrow), &["1 not answered", "latestOfCustomer: no index answers it"]);
}

#[test]
fn refusals_have_codes_and_hints() {
    let folder = folder("[tables.orders]\npartition = \"id\"\nattributes = { id = \"string\" }\n");
    let run = |words: &[&str]| refusal_of(&keyfold_in(folder.path(), words).output().unwrap());
    assert_words(&run(&["advise"]), &["no-questions", "[questions.orders.NAME]"]);
    assert_words(&run(&["advise", "--explain", "x"]), &["unknown-question"]);
    assert_words(&run(&["advise", "nothing"]), &["`nothing`", "orders"]);
}
