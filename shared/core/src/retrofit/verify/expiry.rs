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

/// Does the source's time to live end this source item? That of the target may end what is made of it, which is for
/// [`goes_from_target`] to say. What the target holds now says nothing: the source's item may have been given more time, and then
/// the target's copy must not go.
pub(super) fn goes_from_source(job: &Job, item: &Item, options: CheckOptions) -> bool {
    let over = |now| is_over(job.mapping().source(), item, now);
    options.source_expires && options.now_seconds.is_some_and(over)
}

/// Does a time to live end this item of the target? One that the source has no more is reached by the target's alone: without a
/// record in the stream it would stay for ever.
pub(super) fn goes_from_target(job: &Job, item: &Item, options: CheckOptions) -> bool {
    let over = |now| is_over(job.mapping().target(), item, now);
    options.target_expires && options.now_seconds.is_some_and(over)
}

/// Does the table's time to live end this item, as it is or as it will be? In place there is one table.
pub(super) fn goes_in_place(job: &Job, item: &Item, options: CheckOptions) -> bool {
    let mapped = || job.mapping().target_item(item).ok().flatten();
    goes_from_source(job, item, options)
        || mapped().is_some_and(|mapped| goes_from_target(job, &mapped, options))
}
