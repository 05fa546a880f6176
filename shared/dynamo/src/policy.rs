//! A table's resource-based policy, and whether it has taken effect.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use keyfold_core::model::{ScalarType, Table};

use crate::Client;
use crate::error::{Call, DynamoError};

/// The expected revision of a table without a policy.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html>
const NO_POLICY: &str = "NO_POLICY";
/// The error code for a missing policy, or for an unexpected revision.
const NOT_FOUND: &str = "PolicyNotFoundException";
/// The error code of a policy that denies.
const ACCESS_DENIED: &str = "AccessDeniedException";
/// A key value for a condition that never holds.
const PROBE: &str = "keyfold-probe";

/// A kind of write to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tried {
    Put,
    Delete,
}

/// A policy as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TablePolicy {
    /// The document.
    pub(crate) text: String,
    /// Differs after each change.
    pub(crate) revision: String,
}

/// The policy of a table; `None` if it has none. It may be a few seconds old.
pub(crate) async fn policy(client: &Client, arn: &str) -> Result<Option<TablePolicy>, DynamoError> {
    match client.get_resource_policy().resource_arn(arn).send().await {
        Ok(answer) => {
            Ok(answer.policy.zip(answer.revision_id).map(|(text, revision)| TablePolicy { text, revision }))
        }
        Err(error) => match DynamoError::of(Call::new("GetResourcePolicy", arn), error) {
            DynamoError::Other { reason, .. } if reason == NOT_FOUND => Ok(None),
            error => Err(error),
        },
    }
}

/// Replaces or removes the policy with this revision; false if the revision has changed, or if DynamoDB does not accept
/// changes yet: for some seconds after a change it refuses others.
pub(crate) async fn change_policy(
    client: &Client,
    arn: &str,
    revision: Option<&str>,
    text: Option<&str>,
) -> Result<bool, DynamoError> {
    let expected = revision.unwrap_or(NO_POLICY);
    let changed = match text {
        Some(text) => {
            let call =
                client.put_resource_policy().resource_arn(arn).policy(text).expected_revision_id(expected);
            let sent = call.send().await.map(drop);
            sent.map_err(|error| DynamoError::of(Call::new("PutResourcePolicy", arn), error))
        }
        None => {
            let call = client.delete_resource_policy().resource_arn(arn).expected_revision_id(expected);
            let sent = call.send().await.map(drop);
            sent.map_err(|error| DynamoError::of(Call::new("DeleteResourcePolicy", arn), error))
        }
    };
    match changed {
        Ok(()) => Ok(true),
        Err(DynamoError::InUse { .. } | DynamoError::Throttled { .. }) => Ok(false),
        Err(DynamoError::Other { reason, .. })
            if reason == NOT_FOUND || reason == "LimitExceededException" =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// May this client write to the table in this way? It sends a write whose condition never holds, so nothing changes.
/// DynamoDB checks permissions before conditions.
pub(crate) async fn may_write(client: &Client, table: &Table, tried: Tried) -> Result<bool, DynamoError> {
    const NEVER: &str = "attribute_exists(#key) AND attribute_not_exists(#key)";
    let value = |kind: ScalarType| match kind {
        ScalarType::S => AttributeValue::S(PROBE.to_owned()),
        ScalarType::N => AttributeValue::N("0".to_owned()),
        ScalarType::B => AttributeValue::B(PROBE.as_bytes().into()),
    };
    let key: HashMap<_, _> =
        table.key_attributes().map(|key| (key.name.clone(), value(key.scalar))).collect();
    let name = &table.partition.name;
    let sent = match tried {
        Tried::Put => {
            let call = client.put_item().table_name(&table.name).set_item(Some(key));
            let call = call.condition_expression(NEVER).expression_attribute_names("#key", name);
            let sent = call.send().await.map(drop);
            sent.map_err(|error| DynamoError::of(Call::new("PutItem", &table.name), error))
        }
        Tried::Delete => {
            let call = client.delete_item().table_name(&table.name).set_key(Some(key));
            let call = call.condition_expression(NEVER).expression_attribute_names("#key", name);
            let sent = call.send().await.map(drop);
            sent.map_err(|error| DynamoError::of(Call::new("DeleteItem", &table.name), error))
        }
    };
    match sent {
        Err(DynamoError::ConditionFailed { .. }) | Ok(()) => Ok(true),
        // Invalid credentials are denied too, and prove nothing about the policy.
        Err(DynamoError::Denied { reason, .. }) if reason == ACCESS_DENIED => Ok(false),
        Err(error) => Err(error),
    }
}
