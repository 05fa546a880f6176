//! Items whose time to live is over: DynamoDB deletes them within days, and until then they are still read.
//!
//! Which attribute says so is in the manifest; the time, and whether the tables' time to live is switched on, come from the
//! caller. Where it is off nothing is ever deleted, whatever the manifest says.

use super::CheckOptions;
use crate::model::Table;
use crate::retrofit::job::Job;
use crate::value::{AttributeValue, Item};

/// DynamoDB leaves an item alone whose time was over five years ago or more.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html>
pub const PAST_SECONDS_MAX: u64 = 5 * 365 * 24 * 60 * 60;

/// May the table's time to live delete this item any time?
pub fn is_over(table: &Table, item: &Item, now_seconds: u64) -> bool {
    let Some(AttributeValue::N(text)) = table.ttl.as_ref().and_then(|name| item.get(name)) else {
        return false;
    };
    // A fraction of a second says nothing here.
    let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
    let Ok(end) = whole.parse::<u64>() else { return false };
    end <= now_seconds && now_seconds - end < PAST_SECONDS_MAX
}

/// Does a time to live end this source item, or what is made of it in the target? What the target holds now says nothing:
/// the source's item may have been given more time, and then the target's copy must not go.
pub(super) fn goes_from_source(job: &Job, item: &Item, options: CheckOptions) -> bool {
    let Some(now) = options.now_seconds else { return false };
    let mapping = job.mapping();
    let mapped = || mapping.target_item(item).ok().flatten();
    (options.source_expires && is_over(mapping.source(), item, now))
        || (options.target_expires
            && mapping.target().ttl.is_some()
            && mapped().is_some_and(|mapped| is_over(mapping.target(), &mapped, now)))
}

/// Does a time to live end this target item, which the source has no more? The source's own time to live does not reach
/// it: without a record in the stream it would stay for ever.
pub(super) fn goes_from_target(job: &Job, item: &Item, options: CheckOptions) -> bool {
    let over = |now| is_over(job.mapping().target(), item, now);
    options.target_expires && options.now_seconds.is_some_and(over)
}
