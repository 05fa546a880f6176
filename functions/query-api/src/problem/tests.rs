use keyfold_dynamo::{Call, DynamoError, QueryError};

use super::*;

fn header_of(problem: &Problem, name: &str) -> Option<String> {
    let response = problem.response("request-1");
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
}

#[test]
fn whoever_is_throttled_is_told_when_to_come_again() {
    let call = || Call { operation: "Query", table: "ResourceAccessAudit".into(), index: None };
    for (error, status, again) in [
        (DynamoError::Throttled { call: call(), reasons: Vec::new() }, 429, true),
        (DynamoError::Unprocessed { call: call(), left: 1, attempts: 8 }, 429, true),
        (DynamoError::Unavailable { call: call() }, 503, true),
        (DynamoError::TimedOut { call: call() }, 504, false),
        (DynamoError::NotFound { call: call() }, 502, false),
    ] {
        let problem = Problem::from(QueryError::Dynamo(error));
        assert_eq!(problem.status.as_u16(), status, "{problem:?}");
        assert_eq!(header_of(&problem, "retry-after").is_some(), again, "{problem:?}");
    }
}

#[test]
fn what_dynamodb_says_of_a_request_is_not_passed_on() {
    let error = DynamoError::Invalid {
        call: Call { operation: "Query", table: "ResourceAccessAudit".into(), index: None },
        detail: keyfold_dynamo::Hidden::new("value joe1 is not valid".to_owned()),
    };
    let problem = Problem::from(QueryError::Dynamo(error));
    let response = problem.response("request-1");
    let body = response.body();
    assert!(!body.contains("joe1"));
}

#[test]
fn a_title_is_the_code_in_words() {
    assert_eq!(title("bad-page-token"), "Bad page token");
    assert_eq!(title(""), "");
}
