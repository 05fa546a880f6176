//! The shards of streams, and pages of their records. A position that was read last is kept with DynamoDB's own iterator, so that a page
//! costs one request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::stream::{self, StreamExt};
use keyfold_core::retrofit::operate::{Failure, Reply, Shard, ShardPage, ShardPosition};

use crate::error::DynamoError;
use crate::retrofit::RetrofitError;
use crate::stream::{NextPage, RecordPage, ShardStart, Streams};
use crate::{CONCURRENCY_DEFAULT, Settings};

/// Where a shard is read on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Iterator {
    /// The position that was asked for.
    after: Option<String>,
    text: String,
}

#[derive(Debug)]
pub(super) struct Shards {
    streams: Streams,
    /// By stream and shard.
    iterators: Mutex<BTreeMap<(String, String), Iterator>>,
}

impl Shards {
    pub(super) async fn open(settings: &Settings) -> Shards {
        Shards { streams: Streams::open(settings).await, iterators: Mutex::default() }
    }

    /// A page of a stream's shards.
    pub(super) async fn page(
        &self,
        table: &str,
        stream: &str,
        after: Option<String>,
    ) -> Result<Reply, DynamoError> {
        let (found, last) = self.streams.shards(table, stream, after).await?;
        let shards = found.into_iter().map(|(name, parent)| Shard { name, parent }).collect();
        Ok(Reply::Shards { shards, last })
    }

    /// One page of each shard, several at once, in their order.
    pub(super) async fn records(
        &self,
        table: &str,
        stream: &str,
        from: &[ShardPosition],
    ) -> Vec<Result<ShardPage, Failure>> {
        stream::iter(from.to_vec())
            .map(|position| async move {
                self.one(table, stream, position).await.map_err(|error| RetrofitError::from(error).into())
            })
            .buffered(CONCURRENCY_DEFAULT)
            .collect()
            .await
    }

    async fn one(
        &self,
        table: &str,
        stream: &str,
        position: ShardPosition,
    ) -> Result<ShardPage, DynamoError> {
        let key = (stream.to_owned(), position.shard.clone());
        let known = self.iterators.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let known = known.filter(|known| known.after == position.after).map(|known| known.text);
        let start = ShardStart { shard: &position.shard, after: position.after.as_deref(), iterator: known };
        let RecordPage { changes, last, next } = self.streams.page(table, stream, start).await?;
        let ended = matches!(next, NextPage::Ended);
        if let NextPage::At(text) = next {
            let after = last.clone().or(position.after);
            let mut iterators = self.iterators.lock().unwrap_or_else(PoisonError::into_inner);
            iterators.insert(key, Iterator { after, text });
        }
        Ok(ShardPage { changes, last, ended })
    }
}
