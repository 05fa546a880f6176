use keyfold_dynamo::{Call, DynamoError, Hidden, QueryError};

use super::*;

fn call() -> Call {
    Call { operation: "Query", table: "ResourceAccessAudit".into(), index: None }
}

#[test]
fn a_throttled_caller_may_try_again() {
    for (error, status, write_again, read_again) in [
        (DynamoError::Throttled { call: call(), reasons: Vec::new() }, 429, true, true),
        (DynamoError::Unprocessed { call: call(), left: 1, attempts: 8 }, 429, true, true),
        (DynamoError::Unavailable { call: call() }, 503, true, true),
        (DynamoError::TimedOut { call: call() }, 504, true, false),
        (DynamoError::NotFound { call: call() }, 502, false, false),
        (DynamoError::CollectionFull { call: call() }, 507, false, false),
    ] {
        let write = Problem::from(&error);
        let read = Problem::from(QueryError::Dynamo(error));
        assert_eq!((write.status, read.status), (status, status), "{write:?}");
        assert_eq!((write.again, read.again), (write_again, read_again), "{write:?}");
        assert_eq!(read.response_header().is_some(), read_again, "{read:?}");
    }
}

#[test]
fn what_dynamodb_says_of_a_request_is_not_passed_on() {
    let error =
        DynamoError::Invalid { call: call(), detail: Hidden::new("value joe1 is not valid".to_owned()) };
    let document = Problem::from(error).document(Some("request-1"));
    assert_eq!((&document["title"], &document["instance"]), (&json!("Invalid request"), &json!("request-1")));
    assert!(!document.to_string().contains("joe1"));
}

#[test]
fn a_title_is_the_code_in_words() {
    assert_eq!(title("bad-page-token"), "Bad page token");
    assert_eq!(title(""), "");
}
