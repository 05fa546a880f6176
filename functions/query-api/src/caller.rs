//! Who asks: the claims that the API's authorizer vouches for, by their paths.
//!
//! `jwt.org` is the claim `org` of a JWT authorizer, `iam.userArn` an IAM caller's ARN, `lambda.tenant.id` a value of a
//! Lambda authorizer's context. Headers are never looked at: whoever sends them can write them.

use std::collections::BTreeMap;

use keyfold_core::query::check::Caller;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayRequestAuthorizer, ApiGatewayRequestAuthorizerIamDescription,
};
use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt};
use serde_json::Value;

/// The deepest place of a Lambda authorizer's context that is looked at.
const CONTEXT_DEPTH_MAX: usize = 4;

/// Claims that are new with every sign-in, and say nothing of who asks. A page token survives their change.
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

/// Claim path -> value. Empty: the request has no claims of an authorizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims(BTreeMap<String, String>);

impl Claims {
    /// The claims of a request.
    pub(crate) fn of(request: &Request) -> Claims {
        match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => {
                context.authorizer.as_ref().map(Claims::of_authorizer).unwrap_or_default()
            }
            _ => Claims::default(),
        }
    }

    fn of_authorizer(authorizer: &ApiGatewayRequestAuthorizer) -> Claims {
        let mut found = Found::default();
        if let Some(jwt) = &authorizer.jwt {
            jwt.claims.iter().for_each(|(name, value)| found.add(format!("jwt.{name}"), value.clone()));
        }
        if let Some(iam) = &authorizer.iam {
            found.add_iam(iam);
        }
        for (name, value) in &authorizer.fields {
            found.add_context(format!("lambda.{name}"), value, 1);
        }
        found.claims()
    }

    /// For core's check. Nobody who comes by Lambda is trusted.
    pub(crate) fn caller(self) -> Caller {
        Caller::Claims(self.0)
    }
}

/// Does anybody vouch for the caller?
pub(crate) fn is_known(caller: &Caller) -> bool {
    match caller {
        Caller::Trusted => true,
        Caller::Claims(claims) => !claims.is_empty(),
    }
}

/// Who asks, for the binding of page tokens: every claim but the passing ones.
pub(crate) fn identity(caller: &Caller) -> String {
    let Caller::Claims(claims) = caller else { return "trusted".to_owned() };
    let lasting = claims.iter().filter(|(path, _)| !PASSING.contains(&path.as_str()));
    serde_json::json!(lasting.collect::<BTreeMap<_, _>>()).to_string()
}

/// Claims on the way; a path that two values claim counts for nothing.
#[derive(Default)]
struct Found(BTreeMap<String, Option<String>>);

impl Found {
    fn add(&mut self, path: String, value: String) {
        if value.is_empty() {
            return;
        }
        let value = if self.0.contains_key(&path) { None } else { Some(value) };
        self.0.insert(path, value);
    }

    fn add_iam(&mut self, iam: &ApiGatewayRequestAuthorizerIamDescription) {
        let known = [
            ("iam.accessKey", &iam.access_key),
            ("iam.accountId", &iam.account_id),
            ("iam.callerId", &iam.caller_id),
            ("iam.principalOrgId", &iam.principal_org_id),
            ("iam.userArn", &iam.user_arn),
            ("iam.userId", &iam.user_id),
        ];
        for (path, value) in known {
            if let Some(value) = value {
                self.add(path.to_owned(), value.clone());
            }
        }
        if let Some(id) = iam.cognito_identity.as_ref().and_then(|cognito| cognito.identity_id.clone()) {
            self.add("iam.cognitoIdentity.identityId".to_owned(), id);
        }
    }

    fn add_context(&mut self, path: String, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.add(path, text.clone()),
            Value::Number(number) => self.add(path, number.to_string()),
            Value::Bool(flag) => self.add(path, flag.to_string()),
            Value::Object(members) if depth < CONTEXT_DEPTH_MAX => {
                members
                    .iter()
                    .for_each(|(name, value)| self.add_context(format!("{path}.{name}"), value, depth + 1));
            }
            Value::Object(_) | Value::Array(_) | Value::Null => {}
        }
    }

    fn claims(self) -> Claims {
        Claims(self.0.into_iter().filter_map(|(path, value)| Some((path, value?))).collect())
    }
}

#[cfg(test)]
mod tests;
