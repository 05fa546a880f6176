//! The identity of a caller, from its claims.

use std::collections::BTreeMap;

use keyfold_core::query::check::Caller;

/// Claims that change with every sign-in and do not identify a caller. A page token stays valid when they change.
const PASSING: [&str; 10] = [
    "jwt.exp",
    "jwt.iat",
    "jwt.nbf",
    "jwt.jti",
    "jwt.auth_time",
    "jwt.at_hash",
    "jwt.event_id",
    "jwt.origin_jti",
    "jwt.nonce",
    "iam.accessKey",
];

/// Has the caller claims, or is it trusted without any?
pub(crate) fn is_known(caller: &Caller) -> bool {
    match caller {
        Caller::Trusted => true,
        Caller::Claims(claims) => !claims.is_empty(),
    }
}

/// The caller that a page token is bound to: every claim but the passing ones.
pub(crate) fn identity(caller: &Caller) -> String {
    let Caller::Claims(claims) = caller else { return "trusted".to_owned() };
    let lasting = claims.iter().filter(|(path, _)| !PASSING.contains(&path.as_str()));
    serde_json::json!(lasting.collect::<BTreeMap<_, _>>()).to_string()
}

#[cfg(test)]
mod tests {
    use keyfold_edge::Claims;
    use serde_json::{Value, json};

    use super::*;

    fn caller(authorizer: &Value) -> Caller {
        Caller::Claims(Claims::of_authorizer(authorizer).into_map())
    }

    #[test]
    fn a_caller_without_claims_is_not_known() {
        for authorizer in [json!(null), json!({}), json!({ "jwt": { "claims": { "org": "" } } })] {
            assert!(!is_known(&caller(&authorizer)), "{authorizer}");
        }
        assert!(is_known(&Caller::Trusted) && is_known(&caller(&json!({ "lambda": { "tenant": 7 } }))));
    }

    #[test]
    fn an_identity_outlives_a_sign_in_and_nothing_else() {
        let of = |claims: Value| identity(&caller(&json!({ "jwt": { "claims": claims } })));
        let joe = of(json!({ "sub": "joe1", "org": "acme", "iat": "1", "exp": "2", "jti": "a" }));
        assert_eq!(joe, of(json!({ "sub": "joe1", "org": "acme", "iat": "3", "exp": "4", "jti": "b" })));
        assert_ne!(joe, of(json!({ "sub": "joe1", "org": "umbrella", "iat": "1" })));
        assert_ne!(joe, of(json!({ "sub": "eve", "org": "acme", "iat": "1" })));
    }
}
