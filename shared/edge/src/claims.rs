//! The caller of an HTTP request: the claims that the API's authorizer has checked, by their paths.
//!
//! `jwt.org` is the claim `org` of a JWT authorizer, `iam.userArn` an IAM caller's ARN, `lambda.tenant.id` a value of a
//! Lambda authorizer's context. Headers are never used: a caller can write any of them.

use std::collections::BTreeMap;

use serde_json::Value;

/// How deep an authorizer's context is read.
const CONTEXT_DEPTH_MAX: usize = 4;

/// Claim path -> value. Without an authorizer it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims(BTreeMap<String, String>);

impl Claims {
    /// The claims in `requestContext.authorizer` of an HTTP API or a function URL. An empty claim counts as absent, and so
    /// does a path that two values claim.
    pub fn of_authorizer(authorizer: &Value) -> Claims {
        let mut found = BTreeMap::new();
        for (prefix, place) in [("jwt", "/jwt/claims"), ("iam", "/iam"), ("lambda", "/lambda")] {
            if let Some(value) = authorizer.pointer(place) {
                add(&mut found, prefix.to_owned(), value, 0);
            }
        }
        Claims(found.into_iter().filter_map(|(path, value)| Some((path, value?))).collect())
    }

    /// Has no authorizer checked the caller?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by path.
    pub fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }

    /// The claim at a path.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

fn add(found: &mut BTreeMap<String, Option<String>>, path: String, value: &Value, depth: usize) {
    let text = match value {
        Value::Object(members) if depth < CONTEXT_DEPTH_MAX => {
            for (name, value) in members {
                add(found, format!("{path}.{name}"), value, depth + 1);
            }
            return;
        }
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Object(_) | Value::Array(_) | Value::Null => return,
    };
    if !text.is_empty() {
        let value = if found.contains_key(&path) { None } else { Some(text) };
        found.insert(path, value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_have_the_paths_of_their_authorizer() {
        let claims = Claims::of_authorizer(&json!({
            "jwt": { "claims": { "org": "acme", "empty": "" }, "scopes": ["a"] },
            "iam": { "userArn": "arn:x", "cognitoIdentity": { "identityId": "c" } },
            "lambda": { "tenant": { "id": 7 }, "list": [1] },
        }));
        assert_eq!(claims.get("jwt.org"), Some("acme"));
        assert_eq!(claims.get("iam.cognitoIdentity.identityId"), Some("c"));
        assert_eq!(claims.get("lambda.tenant.id"), Some("7"));
        assert_eq!(
            (claims.get("jwt.empty"), claims.get("jwt.scopes"), claims.get("lambda.list")),
            (None, None, None)
        );
        assert!(Claims::of_authorizer(&Value::Null).is_empty());
    }

    #[test]
    fn a_path_that_two_values_claim_counts_for_nothing() {
        let authorizer = json!({ "lambda": { "tenant.id": "acme", "tenant": { "id": "umbrella" } } });
        assert_eq!(Claims::of_authorizer(&authorizer).get("lambda.tenant.id"), None);
    }
}
