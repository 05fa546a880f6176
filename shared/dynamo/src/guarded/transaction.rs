//! A write as a part of a transaction.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use keyfold_core::model::Table;
use keyfold_core::write::{Action, Guard, WriteExpressions};

use super::builder::guarded;
use crate::values::copy_to_sdk;

/// The write with its guard. The transaction happens only if every guard holds.
pub(crate) fn part_of_transaction(
    table: &Table,
    action: &Action,
    guard: &Guard,
) -> Result<TransactWriteItem, BuildError> {
    let mut expressions = WriteExpressions::of(table, action, Some(guard));
    let part = TransactWriteItem::builder();
    Ok(match action {
        Action::Put(item) => {
            let put = guarded!(Put::builder(), table, expressions).set_item(Some(copy_to_sdk(item)));
            part.put(put.build()?)
        }
        Action::Update { key, .. } => {
            let update = expressions.update.take();
            let update = guarded!(Update::builder(), table, expressions)
                .set_key(Some(copy_to_sdk(key)))
                .set_update_expression(update);
            part.update(update.build()?)
        }
        Action::Delete(key) => {
            let delete = guarded!(Delete::builder(), table, expressions).set_key(Some(copy_to_sdk(key)));
            part.delete(delete.build()?)
        }
    }
    .build())
}
