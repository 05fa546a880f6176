//! Shared helpers: the command, a manifest with its own DynamoDB, items.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{BatchGet, Client, TableOptions, batch_get, load, put};
use keyfold_local::EmbeddedDynamo;
use serde_json::Value;

/// A rate without delays.
pub(crate) const FAST: &str = "1000000";

/// The root of the repository, with the sample manifest.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// `keyfold`, in this folder.
pub(crate) fn keyfold_in(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyfold"));
    command.current_dir(folder).env_remove("KEYFOLD_MANIFEST").env("NO_COLOR", "1").args(words);
    command
}

/// `keyfold`, with the sample manifest.
pub(crate) fn keyfold(words: &[&str]) -> Output {
    keyfold_in(root(), words).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON that a command prints which succeeds.
#[track_caller]
pub(crate) fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// The message of a refused command.
#[track_caller]
pub(crate) fn refusal_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", stdout(output));
    stderr(output)
}

/// Are all of these words in the text?
#[track_caller]
pub(crate) fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// An item of texts.
pub(crate) fn item_of<const N: usize>(attributes: [(&str, String); N]) -> Item {
    HashMap::from(attributes.map(|(name, text)| (name.to_owned(), AttributeValue::S(text)))).into()
}

/// An event of the sample.
pub(crate) fn event(number: usize) -> Item {
    item_of([
        ("id", format!("event-{number:05}")),
        ("resourceId", format!("r{}", number % 7)),
        ("action", "viewed".to_owned()),
        ("accessedBy", format!("u{}", number % 11)),
        ("timestamp", format!("2017-03-01T08:{:02}:{:02}.000Z", number / 60 % 60, number % 60)),
    ])
}

/// The table as a program without indexes and types declares it.
pub(crate) fn unaware(table: &Table) -> Table {
    Table { indexes: Vec::new(), attributes: Default::default(), ..table.clone() }
}

/// A manifest in a folder, and a DynamoDB.
pub(crate) struct Site {
    dynamo: Option<EmbeddedDynamo>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) model: Model,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.dynamo.take().unwrap().shutdown();
    }
}

impl Site {
    pub(crate) fn new(manifest: &str) -> Site {
        let parsed = manifest::parse("keyfold.toml", manifest);
        let model = parsed.model.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
        let folder = tempfile::tempdir().unwrap();
        let site = Site { dynamo: Some(EmbeddedDynamo::memory().unwrap()), folder, model };
        site.rewrite(manifest);
        site
    }

    /// The manifest of the repository's root.
    pub(crate) fn sample() -> Site {
        Site::new(&std::fs::read_to_string(root().join("keyfold.toml")).unwrap())
    }

    /// Changes the manifest's file.
    pub(crate) fn rewrite(&self, manifest: &str) {
        std::fs::write(self.folder.path().join("keyfold.toml"), manifest).unwrap();
    }

    pub(crate) fn dynamo(&self) -> &EmbeddedDynamo {
        self.dynamo.as_ref().unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        self.dynamo().client()
    }

    pub(crate) fn table(&self, id: &str) -> &Table {
        self.model.table(id).unwrap()
    }

    pub(crate) async fn create(&self, table: &Table, stream: bool) {
        self.dynamo().create_tables([table], TableOptions { stream }).await.unwrap();
    }

    /// Writes items as a program without folded keys.
    pub(crate) async fn load(&self, table: &Table, items: impl IntoIterator<Item = Item>) {
        let items = futures_util::stream::iter(items.into_iter().collect::<Vec<_>>());
        load(&self.client(), &unaware(table), items).await.unwrap();
    }

    pub(crate) async fn put(&self, table: &Table, item: Item) {
        put(&self.client(), &unaware(table), item).await.unwrap();
    }

    /// The items of a table that have these keys.
    pub(crate) async fn items(&self, table: &str, keys: &[Item]) -> Vec<Item> {
        let get = BatchGet {
            table: table.to_owned(),
            keys: keys.to_vec(),
            consistent: true,
            ..BatchGet::default()
        };
        batch_get(&self.client(), &get).await.unwrap().items
    }

    /// `keyfold --json ...`, at this endpoint.
    pub(crate) fn command_at(&self, endpoint: &str, words: &[&str]) -> Command {
        let mut command = keyfold_in(self.folder.path(), &["--json", "--endpoint", endpoint]);
        // Nothing is in flight between two commands of a test.
        command.env("KEYFOLD_WAITS", "in-flight=0,quiet=0,proof=10,lag=0").args(words);
        command
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_at(self.dynamo().endpoint(), words)
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn done(&self, words: &[&str]) -> Value {
        json_of(&self.run(words))
    }

    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        refusal_of(&self.run(words))
    }
}

/// Sends a signal to a process.
pub(crate) fn kill(signal: &str, id: u32) {
    assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
}
