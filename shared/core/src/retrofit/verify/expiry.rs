//! Items whose time to live is over: DynamoDB deletes them within days, and until then they are still read.
//!
//! Which attribute says so is in the manifest; the time, and whether the tables' time to live is switched on, come from the
//! caller. Where it is off nothing is ever deleted, whatever the manifest says.

use crate::model::Table;
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
