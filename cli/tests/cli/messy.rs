//! Items that do not fit, through a whole retrofit: accepted, converted, and with a manifest that changes during the
//! retrofit.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use keyfold_core::value::{AttributeValue, Item};
use serde_json::{Value, json};

use crate::support::{Site, assert_words, item_of, json_of, refusal_of, stderr};

const ITEMS: usize = 10;
/// The number of items with a value that the manifest does not list.
const MISFITS: usize = 3;

/// A live table, with these lines for its retrofit, and for its other index.
fn text(index: &str, retrofit: &str) -> String {
    format!(
        "[tables.live]\nname = \"LiveEvents\"\npartition = \"id\"\n\
         [tables.live.indexes.byUser]\npartition = \"u:{{user}}\"\nsort = \"n-{{number:04}}\"\n\
         [tables.live.indexes.byTime]\npartition = \"{index}\"\n\
         [tables.live.attributes]\nid = \"string\"\nuser = \"string\"\nnumber = {{ type = \"number\", required = true }}\n\
         at = {{ type = \"string\", values = [\"am\", \"pm\"] }}\n\
         [retrofits.fill]\nfrom = \"live\"\nto = \"live\"\n{retrofit}\n"
    )
}

const BY_TIME: &str = "t:{at}-{user}";

struct Live {
    site: Site,
}

impl Live {
    async fn begin(retrofit: &str) -> Live {
        let site = Site::new(&text(BY_TIME, retrofit));
        site.create(site.table("live"), true).await;
        let items = (0..ITEMS).map(|number| item(number, if number < MISFITS { "night" } else { "pm" }));
        site.load(site.table("live"), items).await;
        Live { site }
    }

    async fn write(&self, item: Item) {
        self.site.put(self.site.table("live"), item).await;
    }

    fn mend(&self, index: &str, retrofit: &str) {
        self.site.rewrite(&text(index, retrofit));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.site.command(&["retrofit"]);
        command.env("USER", "ann").args(arguments);
        command
    }

    /// Starts a step, and waits until the gate with this code shows that it is at work.
    fn started(&self, arguments: &[&str], gate: &str) -> Child {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !self.gates().iter().any(|code| code == gate) {
            assert_eq!(child.try_wait().unwrap(), None, "it is over already");
            std::thread::sleep(Duration::from_millis(50));
        }
        child
    }

    /// The codes of the gates that are closed.
    fn gates(&self) -> Vec<Value> {
        let status = self.done(&["status", "fill"]);
        status["gates"].as_array().unwrap().iter().map(|gate| gate["code"].clone()).collect()
    }

    fn retrofit(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> Value {
        json_of(&self.retrofit(arguments))
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        assert_words(&refusal_of(&self.retrofit(arguments)), words);
    }

    /// How many items are in quarantine and count, and how many stay out.
    fn quarantine(&self) -> (Value, Value) {
        let status = self.done(&["status", "fill"]);
        (status["quarantined"].clone(), status["accepted"].clone())
    }

    /// How many items the planner finds by these conditions.
    fn count(&self, conditions: &[&str]) -> usize {
        let conditions = conditions.iter().flat_map(|one| ["--where", one]);
        let words: Vec<&str> = ["query", "--table", "live"].into_iter().chain(conditions).collect();
        self.site.done(&words)["items"].as_array().unwrap().len()
    }
}

fn item(number: usize, at: &str) -> Item {
    let texts = [("id", format!("live-{number:02}")), ("user", "ann".to_owned()), ("at", at.to_owned())];
    let mut item = item_of(texts);
    item.insert("number".to_owned(), AttributeValue::N(number.to_string()));
    item
}

// No replicator runs here: its gate would stay closed.
const START: [&str; 5] = ["run", "fill", "--until", "start", "--no-stream"];
const BACKFILL: [&str; 4] = ["run", "fill", "--until", "backfill"];
const AGAIN: [&str; 5] = ["run", "fill", "--until", "backfill", "--again"];
const REPAIR: [&str; 3] = ["run", "fill", "--repair"];
const COMPARE: [&str; 2] = ["run", "fill"];

#[tokio::test]
async fn items_that_are_known_not_to_fit_stay_out_and_close_no_gate() {
    let live = Live::begin("").await;
    live.done(&START);
    live.done(&BACKFILL);
    assert_eq!(live.quarantine(), (json!(3), json!(0)));
    let unselected = live.retrofit(&["quarantine", "fill", "--accept", "old clients"]);
    assert_eq!(unselected.status.code(), Some(2), "wrong usage");
    assert_words(&stderr(&unselected), &["--key <JSON>", "--attribute", "--all"]);
    live.refused(&["quarantine", "fill", "--accept", " ", "--all"], &["why"]);
    let unknown = ["quarantine", "fill", "--accept", "x", "--key", r#"{"id":{"S":"live-09"}}"#];
    live.refused(&unknown, &["no entry of this key"]);
    let none = live.done(&["quarantine", "fill", "--accept", "old clients", "--attribute", "user"]);
    assert_eq!(none["noted"], 0);
    let noted = live.done(&["quarantine", "fill", "--accept", "old clients", "--attribute", "at"]);
    assert_eq!(noted["noted"], MISFITS);
    assert_eq!(live.quarantine(), (json!(0), json!(3)));
    let entry = live.done(&["quarantine", "fill"])["entries"][0]["accepted"].clone();
    assert_eq!((&entry["because"], &entry["by"]), (&json!("old clients"), &json!("ann")));
    assert_eq!(live.done(&COMPARE)["comparison"]["counts"]["accepted"], MISFITS);

    // The same misfit changes nothing; a different one is reported.
    live.write(item(0, "midnight")).await;
    live.done(&AGAIN);
    assert_eq!(live.quarantine(), (json!(0), json!(3)));
    let mut other = item(1, "pm");
    other.insert("number".to_owned(), AttributeValue::S("one".to_owned()));
    live.write(other).await;
    live.done(&AGAIN);
    assert_eq!(live.quarantine(), (json!(1), json!(2)));
    assert_eq!(live.retrofit(&COMPARE).status.code(), Some(1), "an item that only the target has");
    live.write(item(1, "pm")).await;
    live.done(&REPAIR);
    live.done(&COMPARE);
    assert_eq!(live.done(&["switch", "fill"])["phase"], "cut-over");
    live.done(&["quarantine", "fill", "--reopen", "--all"]);
    assert_eq!(live.quarantine(), (json!(2), json!(0)));
}

#[tokio::test]
async fn a_manifest_is_mended_while_the_retrofit_runs() {
    let live = Live::begin("").await;
    live.done(&START);
    live.done(&BACKFILL);
    assert_eq!(live.quarantine().0, MISFITS);
    live.mend(BY_TIME, "[retrofits.fill.misfits]\nat = \"absent\"");
    let plan = live.done(&["plan", "fill", "--sample", "100", "--items", "10"]);
    assert_eq!((&plan["refused"], &plan["mended"][0]["items"]), (&json!(0), &json!(3)), "{plan}");
    live.refused(&REPAIR, &["mapping-changed", "keyfold retrofit revise"]);
    let revised = live.done(&["revise", "fill"]);
    assert!(revised["said"].as_str().unwrap().contains("and no others"), "{revised}");
    // Finished segments still count; only the changes of the corrected manifest are applied.
    assert_eq!(live.done(&["status", "fill"])["segmentsDone"], 4);
    let repaired = live.done(&REPAIR);
    assert_eq!(
        repaired["repair"]["counts"]["same"], ITEMS,
        "three of them came out of the quarantine: {repaired}"
    );
    assert_eq!(live.quarantine(), (json!(0), json!(0)));
    live.done(&COMPARE);
    live.done(&["switch", "fill"]);
    assert_eq!(live.count(&["user=ann"]), ITEMS, "items that do not fit one index are in the other");
    assert_eq!(live.count(&["user=ann", "at=pm"]), ITEMS - MISFITS);
    live.done(&["revise", "fill"]);

    // After the cut-over: the index with changed keys is not used until it is cut over again; the other one is.
    live.mend("time:{at}-{user}", "[retrofits.fill.misfits]\nat = \"absent\"");
    live.done(&["revise", "fill"]);
    assert_eq!(live.count(&["user=ann", "at=pm"]), ITEMS - MISFITS, "answered by the other index");
    let repaired = live.done(&REPAIR);
    assert_eq!(repaired["repair"]["counts"]["repaired"], ITEMS - MISFITS, "{repaired}");
    live.done(&COMPARE);
    live.done(&["switch", "fill"]);
    assert_eq!(live.count(&["user=ann", "at=pm"]), ITEMS - MISFITS);
}

#[tokio::test]
async fn a_mended_manifest_waits_for_whoever_is_at_work_and_is_taken_up_again_after_a_kill() {
    let live = Live::begin("").await;
    live.done(&START);
    let mut at_work = live.started(
        &[&BACKFILL[..], &["--rate", "1", "--concurrency", "1", "--worker", "w"]].concat(),
        "still-at-work",
    );
    live.mend(BY_TIME, "[retrofits.fill.misfits]\nat = { default = \"am\" }");
    live.refused(&["revise", "fill"], &["live-attributes"]);
    live.mend(BY_TIME, "[retrofits.fill.misfits]\nat = \"absent\"");
    live.refused(&["revise", "fill"], &["is at work on", "keyfold retrofit revise fill"]);
    at_work.kill().unwrap();
    at_work.wait().unwrap();
    live.mend(BY_TIME, "");
    live.done(&[&BACKFILL[..], &["--worker", "w"]].concat());

    live.mend(BY_TIME, "[retrofits.fill.misfits]\nat = \"absent\"");
    let revise = ["revise", "fill", "--waits", "in-flight=600"];
    let mut command = live.command(&revise);
    let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Two seconds more than the option: a replicator may use its cached row for a moment longer.
    let mut lines = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let said = lines.find_map(|line| line.ok().filter(|line| line.contains("waiting"))).unwrap();
    assert!(said.contains("waiting 602 s"), "{said}");
    // Until the row is written, the mended manifest is refused.
    while !live.retrofit(&["status", "fill"]).status.success() {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(live.gates().contains(&json!("revision-incomplete")));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    live.refused(&["switch", "fill"], &["`revise` is not complete"]);
    live.done(&["revise", "fill"]);
    assert!(!live.gates().contains(&json!("revision-incomplete")));
    live.site.rewrite(
        &text(BY_TIME, "[retrofits.fill.misfits]\nat = \"absent\"").replace("LiveEvents", "OtherEvents"),
    );
    live.refused(&["revise", "fill"], &["cannot-revise"]);
}

#[tokio::test]
async fn a_retrofit_that_was_given_up_begins_again_under_its_name() {
    let live = Live::begin("").await;
    live.done(&START);
    live.done(&BACKFILL);
    live.done(&["abandon", "fill"]);
    // Even with the same manifest and stream, earlier segments are backfilled again.
    live.done(&START);
    assert!(live.gates().contains(&json!("backfill-incomplete")));
    live.done(&["abandon", "fill"]);
    live.mend("time:{at}-{user}", "[retrofits.fill.misfits]\nat = { default = \"am\" }");
    live.refused(&START, &["live-attributes"]);
    live.mend("time:{at}-{user}", "[retrofits.fill.misfits]\nat = \"absent\"");
    let started = live.done(&START);
    // The stream is the same, so its numbers keep their meaning; the comparison finds the writes of the former mapping.
    assert_eq!((&started["phase"], &started["epoch"]), (&json!("running"), &json!(1)));
    live.done(&BACKFILL);
    live.done(&REPAIR);
    live.done(&COMPARE);
    live.done(&["switch", "fill"]);
}

#[tokio::test]
async fn folded_keys_are_kept_for_good_where_the_manifest_says_so() {
    let live = Live::begin("keep-folded = true\n[retrofits.fill.misfits]\nat = \"absent\"").await;
    live.done(&START);
    live.done(&BACKFILL);
    live.done(&COMPARE);
    let said = live.done(&["switch", "fill"])["said"].clone();
    assert!(said.as_str().unwrap().contains("for good: leave it deployed"), "{said}");
    live.refused(&["finish", "fill"], &["keeps-folded", "`keep-folded`"]);
    // A writer that does not fold, and a replicator that was not there: a repair is right also now.
    live.write(item(5, "am")).await;
    assert_eq!(live.retrofit(&COMPARE).status.code(), Some(1));
    live.done(&REPAIR);
    live.done(&COMPARE);
    live.mend(BY_TIME, "[retrofits.fill.misfits]\nat = \"absent\"");
    assert_eq!(live.done(&["finish", "fill"])["phase"], "finalised");
}
