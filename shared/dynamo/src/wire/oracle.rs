//! Compares our decoder with the SDK's.

use aws_sdk_dynamodb::operation::batch_execute_statement::BatchExecuteStatementOutput;
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemOutput;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemOutput;
use aws_sdk_dynamodb::operation::put_item::PutItemOutput;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
use aws_smithy_runtime_api::client::interceptors::context::Output;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::ser_de::DeserializeResponse;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use keyfold_core::execute::Page;

use super::answer::{self, BatchAnswer, StatementAnswer, StatementsAnswer};
use super::exchange::{BATCH_GET, DELETE, PUT, QUERY, STATEMENTS, UPDATE, Wire};
use crate::consumed::{self, Consumed};
use crate::error::Call;
use crate::guarded::{StatementResult, sdk_results};
use crate::read::{SdkPage, sdk_batch};

/// Panics if our decoder accepts a body that the SDK's refuses, or reads it differently. Returns whether ours accepts
/// it as a page, a batch, the results of statements, and the answer to a single write.
pub(crate) fn agrees_with_the_sdk(body: &[u8]) -> [bool; 4] {
    let page = answer::page(body);
    if let Some(ours) = &page {
        assert_eq!(sdk_page(body).as_ref(), Some(ours), "{}", String::from_utf8_lossy(body));
    }
    let batch = answer::batch(body);
    if let Some(ours) = &batch {
        assert_eq!(sdk_batch_answer(body).as_ref(), Some(ours), "{}", String::from_utf8_lossy(body));
    }
    let statements = answer::statements(body);
    if let Some(ours) = &statements {
        assert_eq!(sdk_statements_answer(body).as_ref(), Some(ours), "{}", String::from_utf8_lossy(body));
    }
    let written = answer::written(body);
    if let Some(ours) = &written {
        for sdk in [sdk_put(body), sdk_update(body), sdk_delete(body)] {
            assert_eq!(sdk.as_ref(), Some(ours), "{}", String::from_utf8_lossy(body));
        }
    }
    [page.is_some(), batch.is_some(), statements.is_some(), written.is_some()]
}

/// The SDK's result for a body with this status.
fn output<T>(wire: &Wire<T>, body: &[u8]) -> Option<Output> {
    let response = HttpResponse::new(200.try_into().ok()?, SdkBody::from(body.to_vec()));
    (wire.sdk)()?.deserialize_nonstreaming_with_config(&response, &ConfigBag::base()).ok()
}

pub(super) fn sdk_page(body: &[u8]) -> Option<Page> {
    let answer = output(&QUERY, body)?.downcast::<QueryOutput>().ok()?;
    let answer = SdkPage {
        items: answer.items,
        count: answer.count,
        scanned: answer.scanned_count,
        last_key: answer.last_evaluated_key,
        consumed: answer.consumed_capacity,
    };
    answer.page(|| Call::new("Query", "t")).ok()
}

fn sdk_batch_answer(body: &[u8]) -> Option<BatchAnswer> {
    let answer = output(&BATCH_GET, body)?.downcast::<BatchGetItemOutput>().ok()?;
    sdk_batch(answer, || Call::new("BatchGetItem", "t")).ok()
}

fn sdk_put(body: &[u8]) -> Option<Consumed> {
    let answer = output(&PUT, body)?.downcast::<PutItemOutput>().ok()?;
    Some(consumed::of(answer.consumed_capacity()))
}

fn sdk_update(body: &[u8]) -> Option<Consumed> {
    let answer = output(&UPDATE, body)?.downcast::<UpdateItemOutput>().ok()?;
    Some(consumed::of(answer.consumed_capacity()))
}

fn sdk_delete(body: &[u8]) -> Option<Consumed> {
    let answer = output(&DELETE, body)?.downcast::<DeleteItemOutput>().ok()?;
    Some(consumed::of(answer.consumed_capacity()))
}

fn sdk_statements_answer(body: &[u8]) -> Option<StatementsAnswer> {
    let answer = output(&STATEMENTS, body)?.downcast::<BatchExecuteStatementOutput>().ok()?;
    let (results, consumed) = sdk_results(&answer, &Call::new("BatchExecuteStatement", "t"));
    let known = |result: &StatementResult| match result {
        StatementResult::Written => Some(StatementAnswer::Written),
        StatementResult::Refused => Some(StatementAnswer::Refused),
        StatementResult::Failed(_) => None,
    };
    Some(StatementsAnswer { answers: results.iter().map(known).collect::<Option<_>>()?, consumed })
}
