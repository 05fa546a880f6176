//! Resource-based policies of tables, which the embedded DynamoDB lacks: each caller uses a separate proxy, which
//! denies as the policies say, after a delay.
//!
//! A request arrives at one of many doors, and each learns of a change at a different time, as DynamoDB's documentation
//! warns. After a change, no other is accepted for a while.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::proxy::{Between, Request};
use crate::rights::needs;

/// The number of doors for requests.
const DOORS: usize = 8;

/// The policies of all tables.
pub struct Policies {
    tables: Mutex<HashMap<String, Vec<Change>>>,
    random: AtomicU64,
    /// Maximum delay until a door knows of a change.
    delay: Duration,
    /// How long further changes are refused after one.
    blocked: Duration,
}

/// One change of a table's policy.
struct Change {
    policy: Option<String>,
    at: Instant,
    known_at: [Instant; DOORS],
}

/// A caller.
pub struct Principal {
    policies: Arc<Policies>,
    role: String,
    /// Does this caller always use a door that never learns of changes?
    leaks: AtomicBool,
}

impl Policies {
    /// Without policies.
    pub fn new(delay: Duration, blocked: Duration) -> Arc<Policies> {
        Arc::new(Policies { tables: Mutex::default(), random: AtomicU64::new(1), delay, blocked })
    }

    /// A caller with this role.
    pub fn principal(self: &Arc<Self>, role: &str) -> Arc<Principal> {
        Arc::new(Principal {
            policies: Arc::clone(self),
            role: format!("arn:aws:iam::123456789012:role/{role}"),
            leaks: AtomicBool::new(false),
        })
    }

    /// The policy of a table, by its name.
    pub fn of(&self, table: &str) -> Option<Value> {
        let tables = self.tables.lock().unwrap();
        let text = tables.get(table)?.last()?.policy.as_deref()?;
        Some(serde_json::from_str(text).unwrap())
    }

    /// Overwrites a table's policy, as another program would.
    pub fn overwrite(&self, table: &str, policy: Option<&str>) {
        self.change(table, policy.map(str::to_owned));
    }

    fn change(&self, table: &str, policy: Option<String>) {
        let now = Instant::now();
        let known_at = std::array::from_fn(|_| now + self.delay.mul_f64(self.random(1000) as f64 / 1000.0));
        let change = Change { policy, at: now, known_at };
        self.tables.lock().unwrap().entry(table.to_owned()).or_default().push(change);
    }

    /// Below this.
    fn random(&self, below: u64) -> u64 {
        // A step of the generator that Java's library has.
        let step = |seed: u64| Some(seed.wrapping_mul(0x5_DEEC_E66D).wrapping_add(11) & ((1 << 48) - 1));
        let seed = self.random.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap();
        (seed >> 17) % below
    }

    /// Does the policy at a random door deny this?
    fn denies(&self, table: &str, action: &str, role: &str) -> bool {
        let door = self.random(DOORS as u64) as usize;
        let tables = self.tables.lock().unwrap();
        let known = tables
            .get(table)
            .into_iter()
            .flatten()
            .rev()
            .find(|change| change.known_at[door] <= Instant::now());
        let Some(text) = known.and_then(|change| change.policy.as_deref()) else { return false };
        let policy: Value = serde_json::from_str(text).unwrap();
        let statements = policy["Statement"].as_array().cloned().unwrap_or_default();
        statements.iter().any(|statement| {
            let exempt = &statement["Condition"]["ArnNotEquals"]["aws:PrincipalArn"];
            let list = |value: &Value, text: &str| {
                value.as_array().is_some_and(|all| all.iter().any(|one| one == text))
            };
            statement["Effect"] == "Deny" && list(&statement["Action"], action) && !list(exempt, role)
        })
    }

    /// Answers a call about policies; `None` for other calls.
    fn answer(&self, request: &Request) -> Option<(u16, Value)> {
        let error = |name: &str| {
            (400, json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{name}"), "message": "" }))
        };
        let operation = request.operation.as_str();
        if !["GetResourcePolicy", "PutResourcePolicy", "DeleteResourcePolicy"].contains(&operation) {
            return None;
        }
        let arn = request.body["ResourceArn"].as_str().unwrap();
        let table = arn.split_once("table/").unwrap().1;
        let (revision, policy, last) = {
            let tables = self.tables.lock().unwrap();
            let changes = tables.get(table).map_or(&[][..], Vec::as_slice);
            let last = changes.last();
            (changes.len().to_string(), last.and_then(|last| last.policy.clone()), last.map(|last| last.at))
        };
        if operation == "GetResourcePolicy" {
            return Some(match policy {
                Some(policy) => (200, json!({ "Policy": policy, "RevisionId": revision })),
                None => error("PolicyNotFoundException"),
            });
        }
        let expected = request.body["ExpectedRevisionId"].as_str().unwrap();
        if expected != if policy.is_some() { &revision } else { "NO_POLICY" } {
            return Some(error("PolicyNotFoundException"));
        }
        if last.is_some_and(|last| last.elapsed() < self.blocked) {
            return Some(error("ResourceInUseException"));
        }
        self.change(table, request.body["Policy"].as_str().map(str::to_owned));
        Some((200, json!({ "RevisionId": (revision.parse::<usize>().unwrap() + 1).to_string() })))
    }
}

impl Principal {
    /// Its role's ARN.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Makes it use a door that never learns of changes, or stops that.
    pub fn leaks(&self, leaks: bool) {
        self.leaks.store(leaks, Ordering::Relaxed);
    }
}

impl Between for Principal {
    fn before(&self, request: &Request) -> Option<(u16, Value)> {
        if let Some(answer) = self.policies.answer(request) {
            return Some(answer);
        }
        let denied = |action: &str, resource: &str| {
            let table = resource.split_once("table/").map_or("", |(_, table)| table);
            !self.leaks.load(Ordering::Relaxed) && self.policies.denies(table, action, &self.role)
        };
        let needed = needs(request).into_iter().find(|needed| denied(&needed.action, &needed.resource))?;
        let message = format!(
            "User: {} is not authorized to perform: {} on resource: {} with an explicit deny in a resource-based policy",
            self.role, needed.action, needed.resource
        );
        Some((400, json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "message": message })))
    }
}
