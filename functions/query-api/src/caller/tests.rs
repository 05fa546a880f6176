use lambda_http::request::from_str;
use serde_json::json;

use super::*;

fn claims(authorizer: &Value) -> Caller {
    let event = json!({
        "rawPath": "/query",
        "headers": { "x-claims": "jwt.org=acme", "authorization": "Bearer acme" },
        "requestContext": { "authorizer": authorizer, "stage": "$default", "http": { "method": "POST" } },
    });
    Claims::of(&from_str(&event.to_string()).unwrap()).caller()
}

fn paths(authorizer: &Value) -> Vec<String> {
    let Caller::Claims(claims) = claims(authorizer) else { panic!("trusted") };
    claims.iter().map(|(path, value)| format!("{path}={value}")).collect()
}

#[test]
fn every_kind_of_authorizer_has_its_paths() {
    assert_eq!(
        paths(&json!({ "jwt": { "claims": { "sub": "joe1", "org": "acme" } } })),
        ["jwt.org=acme", "jwt.sub=joe1"]
    );
    let iam = json!({ "iam": { "userArn": "arn:aws:iam::1:user/joe1", "callerId": "AIDA", "cognitoIdentity": null } });
    assert_eq!(paths(&iam), ["iam.callerId=AIDA", "iam.userArn=arn:aws:iam::1:user/joe1"]);
    let context = json!({ "lambda": { "tenant": { "id": 7 }, "admin": true, "roles": ["a"], "none": null } });
    assert_eq!(paths(&context), ["lambda.admin=true", "lambda.tenant.id=7"]);
}

#[test]
fn without_an_authorizer_there_are_no_claims_whatever_the_headers_say() {
    for authorizer in
        [json!(null), json!({}), json!({ "lambda": null }), json!({ "jwt": { "claims": null } })]
    {
        assert!(!is_known(&claims(&authorizer)), "{authorizer}");
    }
}

#[test]
fn an_empty_claim_and_one_that_is_said_twice_count_for_nothing() {
    assert!(!is_known(&claims(&json!({ "jwt": { "claims": { "org": "" } } }))));
    let twice = json!({ "lambda": { "tenant.id": "acme", "tenant": { "id": "umbrella" }, "user": "joe1" } });
    assert_eq!(paths(&twice), ["lambda.user=joe1"]);
}

#[test]
fn an_identity_outlives_a_sign_in_and_nothing_else() {
    let of = |claims_of: Value| identity(&claims(&json!({ "jwt": { "claims": claims_of } })));
    let joe = of(json!({ "sub": "joe1", "org": "acme", "iat": "1", "exp": "2", "jti": "a" }));
    assert_eq!(joe, of(json!({ "sub": "joe1", "org": "acme", "iat": "3", "exp": "4", "jti": "b" })));
    assert_ne!(joe, of(json!({ "sub": "joe1", "org": "umbrella", "iat": "1" })));
    assert_ne!(joe, of(json!({ "sub": "eve", "org": "acme", "iat": "1" })));
}
