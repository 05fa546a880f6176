//! The caller of an HTTP request: claims checked by the API's authorizer, by their paths.
//!
//! `jwt.org` is the claim `org` of a JWT authorizer, `iam.userArn` an IAM caller's ARN, `lambda.tenant.id` a value of a
//! Lambda authorizer's context. Headers are never used, because a caller can forge them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Maximum depth at which an authorizer's context is read.
const CONTEXT_DEPTH_MAX: usize = 4;

/// Claim path -> value. Without an authorizer it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims(BTreeMap<String, String>);

impl Claims {
    /// The claims in `requestContext.authorizer` of an HTTP API or a function URL. An empty claim counts as absent, and
    /// so does a path with two values.
    pub fn of_authorizer(authorizer: &Value) -> Claims {
        let mut found = BTreeMap::new();
        for (prefix, place) in [("jwt", "/jwt/claims"), ("iam", "/iam"), ("lambda", "/lambda")] {
            if let Some(value) = authorizer.pointer(place) {
                add(&mut found, prefix.to_owned(), value, 0);
            }
        }
        Claims(found.into_iter().filter_map(|(path, value)| Some((path, value?))).collect())
    }

    /// Are there no claims, because no authorizer checked the caller?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All claims by path.
    pub fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }

    /// The authenticated caller: the subject of a token, an IAM ARN, or a Lambda authorizer's principal.
    pub fn principal(&self) -> Option<&str> {
        principal(&self.0)
    }

    /// Does the caller's token grant this OAuth scope? Tokens list theirs in `scope`, some issuers in `scp`.
    pub fn grants(&self, scope: &str) -> bool {
        grants(&self.0, scope)
    }

    /// The claim at a path.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

/// The authenticated caller with these claims: see [`Claims::principal`].
pub fn principal(claims: &BTreeMap<String, String>) -> Option<&str> {
    let paths = ["jwt.sub", "iam.userArn", "lambda.principalId"];
    paths.into_iter().find_map(|path| claims.get(path)).map(String::as_str)
}

/// Do these claims grant an OAuth scope? See [`Claims::grants`].
pub fn grants(claims: &BTreeMap<String, String>, scope: &str) -> bool {
    let granted = ["jwt.scope", "jwt.scp"].into_iter().filter_map(|path| claims.get(path));
    granted.flat_map(|text| text.split_whitespace()).any(|granted| granted == scope)
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
    fn a_principal_and_its_scopes_come_from_the_authorizer_alone() {
        let of = |authorizer: Value| Claims::of_authorizer(&authorizer);
        let token = of(json!({ "jwt": { "claims": { "sub": "joe1", "scope": "audit:read audit:write" } } }));
        assert_eq!(token.principal(), Some("joe1"));
        assert!(token.grants("audit:write") && token.grants("audit:read"));
        assert!(!token.grants("audit") && !token.grants("") && !token.grants("audit:read audit:write"));
        let role = of(json!({ "iam": { "userArn": "arn:aws:iam::1:role/writer" } }));
        assert_eq!(role.principal(), Some("arn:aws:iam::1:role/writer"));
        assert_eq!((of(Value::Null).principal(), role.grants("audit:write")), (None, false));
    }

    #[test]
    fn a_path_that_two_values_claim_counts_for_nothing() {
        let authorizer = json!({ "lambda": { "tenant.id": "acme", "tenant": { "id": "umbrella" } } });
        assert_eq!(Claims::of_authorizer(&authorizer).get("lambda.tenant.id"), None);
    }
}
