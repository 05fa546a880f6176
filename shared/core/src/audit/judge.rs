//! Compares the journal's records of one event id with the stored items with this id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Hash;
use super::finding::{Finding, FindingKind};
use super::row::{Key, OutcomeLetter};

/// How long before its row an event may have been received: the lifetime of an invocation.
const RECEIVED_BEFORE_MS_MAX: i64 = 15 * 60 * 1000;
/// How long after it, because a clock may be adjusted.
const RECEIVED_AFTER_MS_MAX: i64 = 60 * 1000;

/// The significance of a missing item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weight {
    /// The item was written before the table was read.
    Settled,
    /// It may have been written while the table was read.
    Late,
    /// It is of a day outside the requested range.
    Outside,
}

/// An event to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Its id.
    pub id: String,
    /// Its digest.
    pub digest: Hash,
    /// The outcome.
    pub outcome: OutcomeLetter,
    /// When its row was made.
    pub at_ms: i64,
    /// The significance of a missing item.
    pub weight: Weight,
    /// When DynamoDB may delete it.
    pub expires: Option<u64>,
    /// The primary key of the event.
    pub key: Key,
}

/// An existing item, found when an event arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its digest.
    pub digest: Hash,
    /// The significance of a missing item.
    pub weight: Weight,
    /// When DynamoDB may delete it.
    pub expires: Option<u64>,
    /// The primary key of the event.
    pub key: Key,
}

/// An item of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Its digest; for an item changed by a retrofit, also the digest before the change.
    pub digests: Vec<Hash>,
    /// When the audit writer received it, according to the item.
    pub received_ms: Option<i64>,
    /// Is its day in the requested range?
    pub in_range: bool,
    /// The primary key of the event.
    pub key: Key,
}

/// All records and items of one event id.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The intended writes.
    pub intents: Vec<Intent>,
    /// The existing items found by the writer.
    pub seen: Vec<Seen>,
    /// The stored items.
    pub stored: Vec<Stored>,
}

/// The number of events by category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// As they were written.
    pub proved: u64,
    /// Stored as intended, by an invocation that recorded no outcome.
    pub unconfirmed: u64,
    /// Intended by such an invocation and not stored: never written, or removed. No caller received a confirmation.
    pub never_confirmed: u64,
    /// Deleted by DynamoDB after their time to live.
    pub expired: u64,
    /// Received before the journal existed, so unverifiable.
    pub before_journal: u64,
    /// Written while the table was read.
    pub recent: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, more: &Counts) {
        self.proved += more.proved;
        self.unconfirmed += more.unconfirmed;
        self.never_confirmed += more.never_confirmed;
        self.expired += more.expired;
        self.before_journal += more.before_journal;
        self.recent += more.recent;
    }
}

/// The result for one event id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// The counts.
    pub counts: Counts,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// The records of one digest.
#[derive(Debug, Default)]
struct DigestHistory<'g> {
    intents: Vec<&'g Intent>,
    seen: Vec<&'g Seen>,
    there: Option<&'g Stored>,
}

/// Judges one event id. The journal began at `since_ms`; now is `now_ms`.
///
/// An item counts as written only if an intent has its digest and was not refused, and no other event with its key was
/// confirmed: a refused event stored in place of the confirmed one is a change.
pub fn judge(group: &Group, since_ms: i64, now_ms: i64) -> Verdict {
    let mut known: BTreeMap<Hash, DigestHistory<'_>> = BTreeMap::new();
    group.intents.iter().for_each(|intent| known.entry(intent.digest).or_default().intents.push(intent));
    group.seen.iter().for_each(|seen| known.entry(seen.digest).or_default().seen.push(seen));
    let some_confirmed = known.values().any(|known| known.is_confirmed() && !known.intents.is_empty());
    let mut strangers: Vec<&Stored> = Vec::new();
    for stored in &group.stored {
        let may_be = |known: &DigestHistory<'_>| {
            known.there.is_none()
                && !known.intents.is_empty()
                && (known.is_confirmed() || !some_confirmed && !known.is_refused())
        };
        let found = stored.digests.iter().find(|digest| known.get(digest).is_some_and(may_be));
        match found.and_then(|digest| known.get_mut(digest)) {
            Some(known) => known.there = Some(stored),
            None => strangers.push(stored),
        }
    }
    let mut verdict = Verdict::default();
    let mut missing: Vec<&Key> = Vec::new();
    for (digest, known) in &known {
        let seen_again =
            known.intents.is_empty() && strangers.iter().any(|item| item.digests.contains(digest));
        if !seen_again {
            missing.extend(known.judge(now_ms, &mut verdict));
        }
    }
    let mut strangers = strangers.into_iter();
    for key in missing {
        // Another item has its id: it was replaced.
        let kind = if strangers.next().is_some() { FindingKind::Changed } else { FindingKind::Removed };
        verdict.findings.push(Finding::of_event(kind, key));
    }
    for stored in strangers {
        match stored.received_ms {
            _ if !stored.in_range => {}
            None => verdict.findings.push(Finding::of_event(FindingKind::Unstamped, &stored.key)),
            Some(at) if at < since_ms => verdict.counts.before_journal += 1,
            Some(_) => verdict.findings.push(Finding::of_event(FindingKind::Inserted, &stored.key)),
        }
    }
    verdict
}

impl<'g> DigestHistory<'g> {
    fn is_confirmed(&self) -> bool {
        !self.seen.is_empty() || self.intents.iter().any(|intent| intent.outcome == OutcomeLetter::Written)
    }

    fn is_refused(&self) -> bool {
        self.intents.iter().all(|intent| intent.outcome == OutcomeLetter::Refused)
    }

    /// Counts it. Returns its key, if it should be stored and is not.
    fn judge(&self, now_ms: i64, verdict: &mut Verdict) -> Option<&'g Key> {
        let counts = &mut verdict.counts;
        if let Some(stored) = self.there {
            if self.weight() != Some(Weight::Outside) {
                *(if self.is_confirmed() { &mut counts.proved } else { &mut counts.unconfirmed }) += 1;
            }
            let fits = |intent: &Intent| {
                let after = stored.received_ms.map(|received| intent.at_ms - received);
                after.is_some_and(|after| (-RECEIVED_AFTER_MS_MAX..=RECEIVED_BEFORE_MS_MAX).contains(&after))
            };
            if !self.intents.iter().any(|intent| fits(intent)) {
                verdict.findings.push(Finding::of_event(FindingKind::BackDated, &stored.key));
            }
            return None;
        }
        let (weight, key) = (self.weight()?, self.key()?);
        match weight {
            Weight::Outside => {}
            _ if !self.is_confirmed() => {
                counts.never_confirmed += u64::from(!self.is_refused());
            }
            _ if self.is_expired(now_ms) => counts.expired += 1,
            Weight::Late => counts.recent += 1,
            Weight::Settled => return Some(key),
        }
        None
    }

    /// The strongest evidence that it was stored.
    fn weight(&self) -> Option<Weight> {
        let written = |intent: &&&Intent| !self.is_confirmed() || intent.outcome == OutcomeLetter::Written;
        let intents = self.intents.iter().filter(written).map(|intent| intent.weight);
        intents.chain(self.seen.iter().map(|seen| seen.weight)).min()
    }

    fn key(&self) -> Option<&'g Key> {
        let intents = self.intents.iter().map(|intent| &intent.key);
        intents.chain(self.seen.iter().map(|seen| &seen.key)).next()
    }

    fn is_expired(&self, now_ms: i64) -> bool {
        let intents = self.intents.iter().map(|intent| intent.expires);
        let all = intents.chain(self.seen.iter().map(|seen| seen.expires));
        let now = u64::try_from(now_ms / 1000).unwrap_or_default();
        all.flatten().any(|expires| expires <= now)
    }
}
