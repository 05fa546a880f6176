//! Tables on an embedded DynamoDB, the operator's commands, and functions with the template's permissions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyfold_core::manifest;
use keyfold_core::model::{Model, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_dynamo::{TableOptions, enable_stream};
use keyfold_harness::{Between, Proxy};
use keyfold_local::runtime_api::InvocationResult;
use keyfold_local::{EmbeddedDynamo, FunctionOptions, LocalFunction};
use serde_json::Value;
use tokio::process::Command;

use crate::programs::program;
use crate::role::{Names, Role, names};

pub(crate) struct Stage {
    pub(crate) dynamo: EmbeddedDynamo,
    pub(crate) model: Model,
    folder: tempfile::TempDir,
    rights: Value,
    names: Names,
}

/// A function, and the role that it calls DynamoDB with.
#[derive(Clone)]
pub(crate) struct Guarded {
    pub(crate) function: Arc<LocalFunction>,
    pub(crate) role: Arc<Role>,
}

impl Stage {
    /// The manifest's tables, with a stream where a retrofit begins or ends, and the rights that its template gives.
    pub(crate) async fn of(manifest_text: &str) -> Stage {
        let model = manifest::parse("keyfold.toml", manifest_text).model.unwrap();
        let dynamo = EmbeddedDynamo::memory().unwrap();
        dynamo.create_tables(&model.tables, TableOptions::default()).await.unwrap();
        for retrofit in &model.retrofits {
            for id in [&retrofit.from, &retrofit.to] {
                enable_stream(&dynamo.client(), model.table(id).unwrap()).await.unwrap();
            }
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keyfold.toml"), manifest_text).unwrap();
        let names = names(model.tables.iter().map(|table| (&*table.id, &*table.name)));
        let mut stage = Stage { dynamo, model, folder, rights: Value::Null, names };
        stage.rights = stage.keyfold(&["template", "--only", "rights"]).await;
        stage
    }

    /// The output of a command, which has all permissions.
    pub(crate) async fn keyfold(&self, words: &[&str]) -> Value {
        let mut command = Command::new(program("keyfold"));
        command.current_dir(self.folder.path()).env_remove("KEYFOLD_MANIFEST").env("NO_COLOR", "1");
        command.env("AWS_ENDPOINT_URL_DYNAMODB", self.dynamo.endpoint()).arg("--json").args(words);
        let output = command.env("KEYFOLD_WAITS", "in-flight=0,quiet=1,lag=0").output().await.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The function with this name in the template, with its role and its environment.
    pub(crate) fn function(&self, name: &str, more: &[(&str, &str)]) -> Guarded {
        self.function_with(name, more, |role| role)
    }

    /// The same with another role.
    pub(crate) fn function_with(
        &self,
        name: &str,
        more: &[(&str, &str)],
        change: impl FnOnce(Role) -> Role,
    ) -> Guarded {
        let settings = &self.rights[name];
        assert!(settings.is_object(), "the template has no `{name}`");
        let role = Arc::new(change(Role::of(settings, &self.names)));
        let proxy = Proxy::start(self.dynamo.endpoint(), Arc::clone(&role) as Arc<dyn Between>);
        let manifest = self.folder.path().join("keyfold.toml");
        // A literal in the template is used as it is; computed values come from here.
        let mut variables: BTreeMap<&str, &str> = BTreeMap::new();
        let environment = settings["environment"].as_object().unwrap();
        variables
            .extend(environment.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))));
        variables.remove("KEYFOLD_TABLES");
        variables.insert("KEYFOLD_MANIFEST", manifest.to_str().unwrap());
        variables.insert("KEYFOLD_ENDPOINT", proxy.endpoint());
        variables.extend(more.iter().copied());
        let log = Some(self.folder.path().join(format!("{name}.log")));
        let options = FunctionOptions::of(program(settings["binary"].as_str().unwrap()));
        let options = variables.into_iter().fold(options, |options, (name, value)| options.env(name, value));
        let time_max = Duration::from_secs(settings["timeout"].as_u64().unwrap());
        Guarded { function: Arc::new(LocalFunction::new(FunctionOptions { log, time_max, ..options })), role }
    }

    /// The stream of a table.
    pub(crate) async fn stream_arn(&self, id: &str) -> String {
        let name = &self.model.table(id).unwrap().name;
        let found = self.dynamo.client().describe_table().table_name(name).send().await.unwrap();
        found.table().and_then(|table| table.latest_stream_arn()).unwrap().to_owned()
    }

    /// A table as a program without folded keys declares it.
    pub(crate) fn unaware(&self, id: &str) -> Table {
        Table { indexes: Vec::new(), ..self.model.table(id).unwrap().clone() }
    }
}

impl Guarded {
    /// The answer to an event.
    pub(crate) async fn answer(&self, event: &Value) -> Value {
        match self.function.invoke(event.to_string()).await {
            InvocationResult::Response(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{event}: {other:?}; denied: {:?}", self.role.denied()),
        }
    }

    /// Slice after slice until a segment is done; the last answer.
    pub(crate) async fn to_its_end(&self, mut event: Value) -> Value {
        loop {
            let answer = self.answer(&event).await;
            if answer["done"] == true {
                return answer;
            }
            event["checkpoint"] = answer["checkpoint"].clone();
        }
    }
}

/// An item with these texts.
pub(crate) fn item(texts: &[(&str, &str)]) -> Item {
    let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), AttributeValue::S((*text).to_owned())));
    texts.collect::<std::collections::HashMap<_, _>>().into()
}
