//! A role of the deployment between a function and DynamoDB: calls without permission are refused, and used permissions
//! are recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use keyfold_harness::{Between, Needed, Request, arn, needs};
use serde_json::{Value, json};

/// Something that happens once, when an operation of this name has been answered: the answer may change, too.
type Meanwhile = (&'static str, Box<dyn FnOnce(&mut Value) + Send>);

/// The rights of one function.
#[derive(Default)]
pub(crate) struct Role {
    allowed: BTreeSet<Needed>,
    used: Mutex<BTreeSet<Needed>>,
    denied: Mutex<BTreeSet<Needed>>,
    meanwhile: Mutex<Option<Meanwhile>>,
}

/// The values of the stack's names: `AuditTable.Arn`, `VisitsTableName`, ...
pub(crate) type Names = BTreeMap<String, String>;

impl Role {
    /// The role of a function, from its part of `keyfold template --only rights`. Only DynamoDB's own operations are
    /// kept; `left_out` lists the others.
    pub(crate) fn of(settings: &Value, names: &Names) -> Role {
        let mut role = Role::default();
        for statement in settings["rights"].as_array().unwrap() {
            // On a condition of the template: as if it were met.
            let statement = statement.get("Fn::If").map_or(statement, |parts| &parts[1]);
            assert_eq!(statement["Effect"], "Allow");
            for action in all(&statement["Action"]).filter_map(Value::as_str) {
                if cannot_be_used_here(action).is_none() {
                    assert_eq!(statement.get("Condition"), None, "conditions of statements are not played");
                    let on =
                        |resource| Needed { action: action.to_owned(), resource: plain(resource, names) };
                    role.allowed.extend(all(&statement["Resource"]).map(on));
                }
            }
        }
        assert!(!role.allowed.is_empty());
        role
    }

    /// The same without a right.
    pub(crate) fn without(mut self, action: &str, resource: &str) -> Role {
        let there = self.allowed.remove(&Needed { action: action.to_owned(), resource: resource.to_owned() });
        assert!(there, "{action} on {resource}");
        self
    }

    /// The same with one right more.
    pub(crate) fn with(mut self, action: &str, resource: &str) -> Role {
        self.allowed.insert(Needed { action: action.to_owned(), resource: resource.to_owned() });
        self
    }

    /// Runs `happens` between the next call of this operation and the function's next step: another program writes, or
    /// DynamoDB responds differently.
    pub(crate) fn meanwhile(
        &self,
        operation: &'static str,
        happens: impl FnOnce(&mut Value) + Send + 'static,
    ) {
        *self.meanwhile.lock().unwrap() = Some((operation, Box::new(happens)));
    }

    /// Calls that the role does not allow.
    pub(crate) fn denied(&self) -> Vec<Needed> {
        self.denied.lock().unwrap().iter().cloned().collect()
    }

    /// Rights that no call has needed.
    pub(crate) fn unused(&self) -> Vec<Needed> {
        let used = self.used.lock().unwrap();
        self.allowed.difference(&used).cloned().collect()
    }
}

/// Why no run on one machine uses a right; `None` if one has to.
pub(crate) fn cannot_be_used_here(action: &str) -> Option<&'static str> {
    let (service, operation) = action.split_once(':').unwrap();
    match (service, operation) {
        ("dynamodb", "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams") => Some(
            "Lambda reads the stream by itself, with the function's role; here the poller does. The operator's reads are not looked at",
        ),
        ("dynamodb", "GetResourcePolicy" | "PutResourcePolicy" | "DeleteResourcePolicy") => {
            Some("the embedded DynamoDB has no policies: writers are stopped by others here")
        }
        ("dynamodb", _) => None,
        ("kms", _) => Some("DynamoDB and SQS use the key on the function's behalf"),
        ("s3", _) => Some("Lambda writes what it gives up to the bucket, with the function's role"),
        ("sqs", _) => {
            Some("Lambda polls the queue, and writes failed calls to another, with the function's role")
        }
        ("secretsmanager", "GetSecretValue") => {
            Some("here the keys of page tokens are given by the environment")
        }
        ("logs" | "xray", _) => Some("Lambda writes logs and traces"),
        ("ec2", _) => Some("Lambda attaches the function to its subnets"),
        _ => None,
    }
}

impl Between for Role {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        let (allowed, denied): (Vec<_>, Vec<_>) =
            needs(request).into_iter().partition(|needed| self.allowed.contains(needed));
        self.used.lock().unwrap().extend(allowed);
        if denied.is_empty() {
            return None;
        }
        let message =
            format!("not authorized to perform: {} on resource: {}", denied[0].action, denied[0].resource);
        self.denied.lock().unwrap().extend(denied);
        Some((400, json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "message": message })))
    }

    fn after(&self, request: &Request, answer: &mut Value) {
        let happens =
            self.meanwhile.lock().unwrap().take_if(|(operation, _)| request.operation == *operation);
        if let Some((_, happens)) = happens {
            happens(answer);
        }
    }
}

/// One or many.
fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter()
}

/// A resource as AWS sees it.
fn plain(resource: &Value, names: &Names) -> String {
    let known = |name: &str| names.get(name).unwrap_or_else(|| panic!("what is `{name}`?")).clone();
    if let Some(parts) = resource["Fn::GetAtt"].as_array() {
        return known(&parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("."));
    }
    let text = resource["Fn::Sub"].as_str().unwrap_or_else(|| panic!("{resource}"));
    let mut pieces = text.split("${");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').unwrap();
        plain.push_str(&known(name));
        plain.push_str(rest);
    }
    plain
}

/// The names of a stack with these tables, by their ids.
pub(crate) fn names<'t>(tables: impl Iterator<Item = (&'t str, &'t str)>) -> Names {
    let own = [("control", "keyfold-control"), ("caller", CALLERS)];
    let mut names: Names =
        [("AWS::Partition", "aws"), ("AWS::Region", "us-east-1"), ("AWS::AccountId", "123456789012")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    for (id, name) in tables.chain(own) {
        let words = id.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
        let id: String = words.collect();
        names.insert(format!("{id}Table.Arn"), arn(name));
        names.insert(format!("{id}TableName"), name.to_owned());
    }
    names
}

/// The table of callers' budgets.
pub(crate) const CALLERS: &str = "callers";
