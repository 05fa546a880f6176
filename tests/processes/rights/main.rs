//! The permissions of the deployment, exercised: the functions' real binaries run whole retrofits and every sample
//! event, each with the permissions from `keyfold template --only rights`. All others are denied, by action and
//! resource, as in AWS.
//!
//! A denied call fails the test, because a permission is missing. An unused permission fails it too, because it is
//! superfluous. [`role`] lists those that no run on one machine can use, with the reasons.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
#[path = "../programs.rs"]
mod programs;
mod role;
mod services;
mod stage;
mod whole;

use keyfold_harness::arn;
use role::Role;
use stage::Stage;
use whole::{Retrofit, Workers};

/// The manifest of the other tests, with a time to live in two tables, and a ledger that leaves items out. One retrofit is deployed: a stream has
/// two readers at most.
fn manifest(retrofit: &str) -> String {
    let deploy = format!("[deploy]\nretrofits = [\"{retrofit}\"]\n\n");
    let mut text = deploy + include_str!("../keyfold.toml");
    for (from, to) in [
        ("name = \"old-events\"\n", "name = \"old-events\"\nttl = \"expires\"\n"),
        ("[tables.old.attributes]\n", "[tables.old.attributes]\nexpires = \"number\"\n"),
        ("name = \"new-events\"\n", "name = \"new-events\"\nttl = \"expires\"\n"),
        ("[tables.new.attributes]\n", "[tables.new.attributes]\nexpires = \"number\"\n"),
        ("name = \"switched-events\"\n", "name = \"switched-events\"\nttl = \"expires\"\n"),
        ("[tables.switched.attributes]\n", "[tables.switched.attributes]\nexpires = \"number\"\n"),
        ("to = \"keyed\"\n", "to = \"keyed\"\nonly = { place = { exists = true } }\n"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    text
}

const MOVED: Retrofit = Retrofit {
    name: "moved",
    source: "old",
    target: "new",
    tidies: true,
    tidies_late: false,
    switches: false,
};
const SWITCHED: Retrofit = Retrofit { name: "switched", target: "switched", switches: true, ..MOVED };
const KEYED: Retrofit =
    Retrofit { name: "keyed", target: "keyed", tidies: false, tidies_late: true, switches: true, ..MOVED };
const IN_PLACE: Retrofit =
    Retrofit { name: "inPlace", source: "same", target: "same", tidies: false, ..MOVED };

async fn played(retrofit: Retrofit) {
    let stage = Stage::of(&manifest(retrofit.name)).await;
    let name = retrofit.name[..1].to_ascii_uppercase() + &retrofit.name[1..];
    let function = |worker: &str| stage.function(&format!("{name}{worker}Function"), &[]);
    let workers = Workers {
        replicator: function("Replicator"),
        backfiller: function("Backfiller"),
        verifier: function("Verifier"),
        operator: function("Operator"),
    };
    let workers = retrofit.play(&stage, workers).await;
    let wrong: Vec<String> = workers
        .all()
        .into_iter()
        .flat_map(|(worker, role)| wrong(worker, role))
        .filter(|told: &String| !told.starts_with("operator never needs"))
        .collect();
    assert!(wrong.is_empty(), "{}: {wrong:#?}", retrofit.name);
}

/// The rights that a function lacks, and those that it never needed.
fn wrong(function: &str, role: &Role) -> Vec<String> {
    let lacks = role.denied().into_iter().map(|needed| format!("{function} lacks {needed:?}"));
    lacks
        .chain(role.unused().into_iter().map(|needed| format!("{function} never needs {needed:?}")))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retrofit_with_fences_needs_its_rights_and_no_others() {
    played(MOVED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retrofit_with_a_way_back_needs_its_rights_and_no_others() {
    played(SWITCHED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retrofit_with_a_ledger_needs_its_rights_and_no_others() {
    played(KEYED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retrofit_in_place_needs_its_rights_and_no_others() {
    played(IN_PLACE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_writer_needs_its_rights_and_no_others() {
    let function = services::audit_writer(|role| role).await;
    assert_eq!(wrong("audit writer", &function.role), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_api_needs_its_rights_and_no_others() {
    let function = services::query_api().await;
    assert_eq!(wrong("query API", &function.role), [""; 0]);
    assert_eq!(services::query_api_events().await.role.denied(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_write_the_query_api_needs_its_rights_and_no_others() {
    const WRITES: [&str; 4] = ["DeleteItem", "GetItem", "PutItem", "UpdateItem"];
    let notes = arn("notes");
    let unused = |role: &Role| role.unused().into_iter().filter(|needed| needed.resource == notes).count();
    let function = services::query_api_writes(|role| role).await;
    // Another test covers the reads for questions: only `Query` is not needed here.
    assert_eq!((function.role.denied(), unused(&function.role)), (Vec::new(), 1));
    for operation in WRITES {
        let action = format!("dynamodb:{operation}");
        let function = services::query_api_writes(|role| role.without(&action, &notes)).await;
        assert!(function.role.denied().iter().any(|needed| needed.action == action), "{action}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_sample_event_of_a_retrofit_is_denied() {
    let functions = [events::replicators().await, events::slices().await].concat();
    assert_eq!(functions.len(), 7);
    for function in functions {
        assert_eq!(function.role.denied(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_and_one_too_much_are_told() {
    let table = arn("ResourceAccessAuditV2");
    for action in ["dynamodb:BatchGetItem", "dynamodb:PartiQLInsert", "dynamodb:PutItem"] {
        let function = services::audit_writer(|role| role.without(action, &table)).await;
        let told = wrong("audit writer", &function.role);
        assert!(
            told.iter().any(|line| line.contains("lacks") && line.contains(action)),
            "{action}: {told:?}"
        );
    }
    let other = arn("ResourceAccessAudit");
    for (action, resource) in [("dynamodb:DeleteItem", &table), ("dynamodb:PutItem", &other)] {
        let function = services::audit_writer(|role| role.with(action, resource)).await;
        let told = wrong("audit writer", &function.role);
        assert!(
            matches!(&told[..], [line] if line.contains("never needs") && line.contains(action)),
            "{told:?}"
        );
    }
}
