//! A batch of records that Lambda gave up, as it lies in the failure bucket.
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>

use keyfold_core::retrofit::control::Direction;
use keyfold_core::retrofit::{ChangeKind, ChangeRecord, Mapping, SequenceNumber};
use keyfold_core::value::Item;
use serde::Deserialize;
use serde_json::Value;

/// The members of the object that are needed; `payload` can be a text.
#[derive(Deserialize)]
struct SetAside {
    payload: Value,
}

#[derive(Deserialize)]
struct Batch {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    /// The stream's ARN.
    #[serde(rename = "eventSourceARN", default)]
    stream: String,
    #[serde(rename = "userIdentity", default)]
    who: Option<Identity>,
    dynamodb: Change,
}

#[derive(Deserialize)]
struct Identity {
    #[serde(rename = "principalId", default)]
    principal: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    keys: Item,
    sequence_number: String,
    old_image: Option<Item>,
    new_image: Option<Item>,
}

/// Why a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetAsideError {
    /// It is no batch of stream records.
    #[error("it is not a batch of stream records: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Its records are of another table.
    #[error("a record has another key than table `{table}`")]
    OtherKey {
        /// The table.
        table: String,
    },
    /// A record has no sequence number of a stream.
    #[error("`{text}` is not a sequence number")]
    NoSequence {
        /// Its text.
        text: String,
    },
}

/// The changes of a batch, and which table they are of: the source, from which items are carried there, or the target.
pub fn set_aside_changes(
    object: &[u8],
    mapping: &Mapping,
) -> Result<(Direction, Vec<ChangeRecord>), SetAsideError> {
    let SetAside { payload } = serde_json::from_slice(object)?;
    let batch: Batch = match payload {
        Value::String(text) => serde_json::from_str(&text)?,
        payload => serde_json::from_value(payload)?,
    };
    let of_target = format!(":table/{}/", mapping.target().name);
    // In place there is one table.
    let apart = mapping.source().name != mapping.target().name;
    let (lead, table) =
        match batch.records.first().is_some_and(|record| record.stream.contains(&of_target)) && apart {
            true => (Direction::Reverse, mapping.target()),
            false => (Direction::Forward, mapping.source()),
        };
    let change = |record: Record| -> Result<ChangeRecord, SetAsideError> {
        let Change { keys, sequence_number, old_image: old, new_image: new } = record.dynamodb;
        let key = table.key_of(&keys).ok_or_else(|| SetAsideError::OtherKey { table: table.id.clone() })?;
        let sequence = SequenceNumber::parse(&sequence_number)
            .map_err(|_| SetAsideError::NoSequence { text: sequence_number.clone() })?;
        let expired = record.who.is_some_and(|who| who.principal == "dynamodb.amazonaws.com");
        let kind = match (&old, &new) {
            (None, Some(_)) => ChangeKind::Insert,
            (Some(_), None) => ChangeKind::Remove { expired },
            _ => ChangeKind::Modify,
        };
        Ok(ChangeRecord { sequence, key, kind, old, new })
    };
    Ok((lead, batch.records.into_iter().map(change).collect::<Result<_, _>>()?))
}
