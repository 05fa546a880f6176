//! A tag of a table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Tag;

use crate::error::{Call, DynamoError};

/// The value of a table's tag; `None` without it.
pub(crate) async fn tag(client: &Client, arn: &str, key: &str) -> Result<Option<String>, DynamoError> {
    let mut next = None;
    loop {
        let page = client.list_tags_of_resource().resource_arn(arn).set_next_token(next).send().await;
        let page = page.map_err(|error| DynamoError::of(Call::new("ListTagsOfResource", arn), error))?;
        if let Some(found) = page.tags().iter().find(|tag| tag.key() == key) {
            return Ok(Some(found.value().to_owned()));
        }
        next = page.next_token;
        if next.is_none() {
            return Ok(None);
        }
    }
}

/// Gives a table's tag this value.
pub(crate) async fn set_tag(client: &Client, arn: &str, key: &str, value: &str) -> Result<(), DynamoError> {
    let call = || Call::new("TagResource", arn);
    let tag = Tag::builder().key(key).value(value).build();
    let tag = tag.map_err(|error| DynamoError::of_build(call(), &error))?;
    let sent = client.tag_resource().resource_arn(arn).tags(tag).send().await;
    sent.map(drop).map_err(|error| DynamoError::of(call(), error))
}
