//! What keeps the writers of a table out while a retrofit moves them: a statement in the table's resource-based policy.
//!
//! The retrofit's row says who is exempt, and its phase says which table is closed. So the policies follow from the row alone, and
//! the next operator can apply them again after a crash. The statement has its own id; the policy's other statements stay.
//!
//! DynamoDB applies a policy after a while, and says no limit. So a policy alone proves nothing: writes are tried until they
//! are denied everywhere, and the drain and the look for late changes are needed all the same.
//!
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-considerations.html>

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::control::{Direction, Phase, RetrofitState};
use crate::value::Hex;

/// All that changes items. A transaction is judged by the actions that it is made of.
pub const DENIED_ACTIONS: [&str; 7] = [
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PartiQLDelete",
];

/// The largest policy that a table can have, white space included.
pub const POLICY_BYTES_MAX: usize = 20 * 1024;

/// The statement's own member.
const STATEMENT: &str = "Statement";

/// Who may write to a table, as far as the retrofit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAccess {
    /// The same principals as before.
    Open,
    /// Only the roles that carry changes to it: it follows the other table.
    Followers,
    /// No principal, until its last changes have arrived.
    Shut,
}

impl WriteAccess {
    /// The principals whose writes a policy denies; `None` without a policy.
    pub fn denied(self) -> Option<&'static str> {
        match self {
            WriteAccess::Open => None,
            WriteAccess::Followers => Some("all but those who carry changes to it"),
            WriteAccess::Shut => Some("everybody"),
        }
    }
}

/// Why a policy cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum PolicyError {
    /// It is no policy.
    #[error("the resource policy of the table cannot be read")]
    Unreadable,
    /// It would be too large.
    #[error(
        "the resource policy of the table would have {bytes} bytes; at most {POLICY_BYTES_MAX} are allowed"
    )]
    TooLarge { bytes: usize },
}

impl RetrofitState {
    /// Who may write to this table now: the source, from which changes lead there, or the target. `Open` where writers stop by
    /// themselves.
    pub fn write_access(&self, table: Direction) -> WriteAccess {
        if self.exempt.is_empty() {
            return WriteAccess::Open;
        }
        match (self.phase, table) {
            (Phase::Closing, Direction::Forward) | (Phase::Returning, Direction::Reverse) => {
                WriteAccess::Shut
            }
            // A settled retrofit does not follow the source: a write there would be lost.
            (
                Phase::Reversed | Phase::Returning | Phase::Settled | Phase::Finalising | Phase::Finalised,
                Direction::Forward,
            ) => WriteAccess::Followers,
            // Once its writers were let in, they can come back too early.
            (Phase::Tidy | Phase::Closing, Direction::Reverse) if self.was_reversed() => {
                WriteAccess::Followers
            }
            _ => WriteAccess::Open,
        }
    }

    /// The policy of a table that has `policy` now, with this access to it; `None` for no policy at all.
    pub fn policy(
        &self,
        table_arn: &str,
        access: WriteAccess,
        policy: Option<&str>,
    ) -> Result<Option<String>, PolicyError> {
        let name = statement_name(&self.retrofit);
        with_statement(&name, self.statement(&name, table_arn, access), policy)
    }

    fn statement(&self, name: &str, table_arn: &str, access: WriteAccess) -> Option<Value> {
        let mut statement = json!({
            "Sid": name, "Effect": "Deny", "Principal": "*", "Action": DENIED_ACTIONS, "Resource": table_arn,
        });
        match access {
            WriteAccess::Open => return None,
            WriteAccess::Shut => {}
            // A role's own ARN, whatever the name of its session. `NotPrincipal` would hit roles with a permissions boundary.
            WriteAccess::Followers => {
                statement["Condition"] = json!({ "ArnNotEquals": { "aws:PrincipalArn": self.exempt } });
            }
        }
        Some(statement)
    }
}

/// The policy of a table that has `policy` now, without what a retrofit put there: its row is not needed for that.
pub fn lifted_policy(retrofit: &str, policy: Option<&str>) -> Result<Option<String>, PolicyError> {
    with_statement(&statement_name(retrofit), None, policy)
}

/// The policy with this statement in place of the statement of this name, or without it.
fn with_statement(
    name: &str,
    statement: Option<Value>,
    policy: Option<&str>,
) -> Result<Option<String>, PolicyError> {
    let mut document: Map<String, Value> = match policy {
        Some(text) => serde_json::from_str(text).map_err(|_| PolicyError::Unreadable)?,
        None => Map::new(),
    };
    let mut statements = match document.remove(STATEMENT) {
        None => Vec::new(),
        Some(Value::Array(statements)) => statements,
        Some(statement @ Value::Object(_)) => vec![statement],
        Some(_) => return Err(PolicyError::Unreadable),
    };
    statements.retain(|statement| statement["Sid"] != name);
    statements.extend(statement);
    if statements.is_empty() {
        return Ok(None);
    }
    document.entry("Version").or_insert_with(|| json!("2012-10-17"));
    document.insert(STATEMENT.to_owned(), Value::Array(statements));
    let text = Value::Object(document).to_string();
    if text.len() > POLICY_BYTES_MAX {
        return Err(PolicyError::TooLarge { bytes: text.len() });
    }
    Ok(Some(text))
}

/// Do two policies say the same? DynamoDB may give a policy back with its members in another order.
pub fn same_policy(a: Option<&str>, b: Option<&str>) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a == b || read(a).is_some_and(|a| Some(a) == read(b)),
        _ => false,
    }
}

/// A table's new policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyChange {
    /// The table's name in DynamoDB.
    pub table: String,
    /// The policy afterwards; `None` for none.
    pub policy: Option<String>,
}

impl PolicyChange {
    /// As a document.
    pub fn json(&self) -> Value {
        let policy = self.policy.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        json!({ "table": self.table, "policy": policy })
    }
}

/// The name of the retrofit's statement: letters and digits alone, and another one for each retrofit.
fn statement_name(retrofit: &str) -> String {
    let plain: String = retrofit.chars().filter(char::is_ascii_alphanumeric).collect();
    let digest = Sha256::digest(retrofit);
    format!("KeyfoldStops{plain}{}", Hex(&digest[..4]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::tests::job;

    const ARN: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/old";

    fn head() -> RetrofitState {
        RetrofitState {
            exempt: vec!["arn:aws:iam::1:role/replicator".to_owned()],
            ..RetrofitState::started(job("moved").mapping(), None)
        }
    }

    #[test]
    fn each_phase_says_which_table_is_closed() {
        use {Phase::*, WriteAccess::*};
        let doors = |phase, was_reversed: bool| {
            let mut head = RetrofitState { phase, ..head() };
            if was_reversed {
                head = head.with_reverse_stream("t").unwrap();
            }
            (head.write_access(Direction::Forward), head.write_access(Direction::Reverse))
        };
        for phase in [Running, Tidying, Tidy, CutOver, Abandoned] {
            assert_eq!(doors(phase, false), (Open, Open), "{phase:?}");
        }
        assert_eq!(doors(Closing, false), (Shut, Open));
        assert_eq!(doors(Reversed, true), (Followers, Open));
        assert_eq!(doors(Returning, true), (Followers, Shut));
        assert_eq!(doors(Tidy, true), (Open, Followers));
        assert_eq!(doors(Closing, true), (Shut, Followers));
        for phase in [Settled, Finalising, Finalised] {
            assert_eq!(doors(phase, true), (Followers, Open), "{phase:?}");
        }
        let attested = RetrofitState { exempt: Vec::new(), phase: Closing, ..head() };
        assert_eq!(attested.write_access(Direction::Forward), Open);
    }

    #[test]
    fn what_a_policy_said_before_stays_and_the_own_statement_comes_and_goes() {
        let head = head();
        let before =
            r#"{"Version":"2012-10-17","Id":"theirs","Statement":{"Sid":"Theirs","Effect":"Allow"}}"#;
        let shut = head.policy(ARN, WriteAccess::Shut, Some(before)).unwrap().unwrap();
        let read: Value = serde_json::from_str(&shut).unwrap();
        assert_eq!(read["Id"], "theirs");
        assert_eq!(read["Statement"][0]["Sid"], "Theirs");
        assert_eq!(read["Statement"][1]["Effect"], "Deny");
        assert_eq!(read["Statement"][1]["Resource"], ARN);
        assert_eq!(read["Statement"][1].get("Condition"), None);
        // Again changes nothing; another access takes the statement's place.
        assert_eq!(head.policy(ARN, WriteAccess::Shut, Some(&shut)).unwrap().unwrap(), shut);
        let followers = head.policy(ARN, WriteAccess::Followers, Some(&shut)).unwrap().unwrap();
        let read: Value = serde_json::from_str(&followers).unwrap();
        assert_eq!(read["Statement"].as_array().unwrap().len(), 2);
        assert_eq!(
            read["Statement"][1]["Condition"]["ArnNotEquals"]["aws:PrincipalArn"][0],
            "arn:aws:iam::1:role/replicator"
        );
        let open = head.policy(ARN, WriteAccess::Open, Some(&followers)).unwrap().unwrap();
        assert!(
            same_policy(Some(&open), Some(&before.replace("{\"Sid", "[{\"Sid").replace("}}", "}]}"))),
            "{open}"
        );
        // Where there was none, none is left.
        let alone = head.policy(ARN, WriteAccess::Shut, None).unwrap();
        assert_eq!(head.policy(ARN, WriteAccess::Open, alone.as_deref()).unwrap(), None);
        assert_eq!(head.policy(ARN, WriteAccess::Open, None).unwrap(), None);
        assert_eq!(lifted_policy(&head.retrofit, Some(&shut)).unwrap().unwrap(), open);
        assert_eq!(lifted_policy("another", Some(&shut)).unwrap().unwrap(), shut);
    }

    #[test]
    fn two_retrofits_of_one_table_have_statements_of_their_own() {
        let (one, two) = (
            RetrofitState { retrofit: "a-b".to_owned(), ..head() },
            RetrofitState { retrofit: "ab".to_owned(), ..head() },
        );
        let first = one.policy(ARN, WriteAccess::Shut, None).unwrap();
        let both = two.policy(ARN, WriteAccess::Shut, first.as_deref()).unwrap();
        let left = one.policy(ARN, WriteAccess::Open, both.as_deref()).unwrap();
        assert!(same_policy(left.as_deref(), two.policy(ARN, WriteAccess::Shut, None).unwrap().as_deref()));
    }

    #[test]
    fn a_policy_that_cannot_be_is_refused() {
        for text in ["", "[]", r#"{"Statement":"x"}"#] {
            assert_eq!(
                head().policy(ARN, WriteAccess::Shut, Some(text)),
                Err(PolicyError::Unreadable),
                "{text}"
            );
        }
        let large = json!({ "Statement": [{ "Sid": "x".repeat(POLICY_BYTES_MAX) }] }).to_string();
        let refused = head().policy(ARN, WriteAccess::Shut, Some(&large));
        assert!(matches!(refused, Err(PolicyError::TooLarge { bytes }) if bytes > POLICY_BYTES_MAX));
    }
}
