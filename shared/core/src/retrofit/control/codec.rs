//! A retrofit's row as the control table keeps it.

use std::collections::BTreeMap;

use super::{
    ControlError, Phase, RetrofitState, ReverseStream, check_format, head_key, number, row, text, whole,
};
use crate::retrofit::fence::Epoch;
use crate::retrofit::generation::Generation;
use crate::retrofit::mapping::MappingHash;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::request::{Action, Guard, TableRole, Write};
use crate::value::{AttributeValue, Item};

impl RetrofitState {
    /// The write that stores this row over the previous one.
    pub fn store(&self, before: Option<&RetrofitState>) -> Write {
        let guard = match before {
            None => Guard::Absent,
            Some(before) => Guard::equals("version", number(before.version)),
        };
        Write { role: TableRole::Control, action: Action::Put(self.item()), guard }
    }

    pub(super) fn item(&self) -> Item {
        let mut row = row(head_key(&self.retrofit));
        let text = |text: &str| AttributeValue::S(text.to_owned());
        row.insert("phase", text(self.phase.name()));
        row.insert("mapping", text(self.mapping.as_str()));
        row.insert("protocol", text(self.protocol.name()));
        row.insert("epoch", number(u64::from(self.epoch.number())));
        row.insert("version", number(self.version));
        row.extend(self.since.iter().map(|seconds| ("since", number(*seconds))));
        row.extend(self.stopped_at.map(|seconds| ("stoppedAt", number(seconds))));
        row.extend(self.for_good.then_some(("forGood", AttributeValue::Bool(true))));
        row.extend(self.turned_at.map(|seconds| ("turnedAt", number(seconds))));
        row.extend(self.turned_in.map(|generation| ("turnedIn", number(generation.number()))));
        row.extend(self.swept.then_some(("swept", AttributeValue::Bool(true))));
        row.extend(self.stream.iter().map(|stream| ("stream", text(stream))));
        row.extend(self.rows_since.map(|seconds| ("rowsSince", number(seconds))));
        row.extend(self.generation.map(|generation| ("generation", number(generation.number()))));
        if let Some(back) = &self.reverse_stream {
            row.insert("backStream", text(&back.stream));
            row.insert("backEpoch", number(u64::from(back.epoch.number())));
        }
        if !self.indexes.is_empty() {
            let digests = self.indexes.iter().map(|(index, keys)| (index.clone(), text(keys)));
            row.insert("indexes", AttributeValue::M(digests.collect()));
        }
        row.insert("fixed", text(&self.fixed_digest));
        if !self.exempt.is_empty() {
            let roles = self.exempt.iter().map(|role| text(role)).collect();
            row.insert("exempt", AttributeValue::L(roles));
        }
        row.extend(self.revising.then_some(("revising", AttributeValue::Bool(true))));
        row.extend(self.restreaming.then_some(("restreaming", AttributeValue::Bool(true))));
        row
    }

    /// Reads a retrofit's row.
    pub fn read(retrofit: &str, row: Option<&Item>) -> Result<RetrofitState, ControlError> {
        let not_started = || ControlError::NotStarted { retrofit: retrofit.to_owned() };
        let unreadable = || ControlError::Unreadable { retrofit: retrofit.to_owned() };
        let row = row.ok_or_else(not_started)?;
        check_format(row)?;
        RetrofitState::of_row(retrofit, row).ok_or_else(unreadable)
    }

    pub(super) fn of_row(retrofit: &str, row: &Item) -> Option<RetrofitState> {
        let protocols = [Protocol::InPlace, Protocol::Fenced, Protocol::Ledger];
        let named = text(row, "protocol")?;
        let protocol = protocols.into_iter().find(|protocol| protocol.name() == named)?;
        Some(RetrofitState {
            retrofit: retrofit.to_owned(),
            phase: Phase::named(text(row, "phase")?)?,
            mapping: MappingHash::stored(text(row, "mapping")?),
            indexes: texts(row, "indexes"),
            protocol,
            epoch: Epoch::new(u16::try_from(whole(row, "epoch")?).ok()?)?,
            stream: text(row, "stream").map(str::to_owned),
            version: whole(row, "version")?,
            since: whole(row, "since"),
            stopped_at: whole(row, "stoppedAt"),
            for_good: is_true(row, "forGood"),
            turned_at: whole(row, "turnedAt"),
            turned_in: whole(row, "turnedIn").and_then(Generation::new),
            swept: is_true(row, "swept"),
            fixed_digest: text(row, "fixed")?.to_owned(),
            revising: is_true(row, "revising"),
            restreaming: is_true(row, "restreaming"),
            rows_since: whole(row, "rowsSince"),
            exempt: list(row, "exempt")?,
            generation: match row.contains_key("generation") {
                true => Some(Generation::new(whole(row, "generation")?)?),
                false => None,
            },
            reverse_stream: match text(row, "backStream") {
                Some(stream) => Some(ReverseStream {
                    stream: stream.to_owned(),
                    epoch: Epoch::new(u16::try_from(whole(row, "backEpoch")?).ok()?)?,
                }),
                None => None,
            },
        })
    }
}

/// The texts of a map; empty if absent.
fn texts(row: &Item, name: &str) -> BTreeMap<String, String> {
    let Some(AttributeValue::M(members)) = row.get(name) else { return BTreeMap::new() };
    let text = |(name, value): (&String, &AttributeValue)| match value {
        AttributeValue::S(text) => Some((name.clone(), text.clone())),
        _ => None,
    };
    members.iter().filter_map(text).collect()
}

/// The texts of a list; empty if absent.
fn list(row: &Item, name: &str) -> Option<Vec<String>> {
    let text = |value: &AttributeValue| match value {
        AttributeValue::S(text) => Some(text.clone()),
        _ => None,
    };
    match row.get(name) {
        None => Some(Vec::new()),
        Some(AttributeValue::L(values)) => values.iter().map(text).collect(),
        Some(_) => None,
    }
}

fn is_true(row: &Item, name: &str) -> bool {
    matches!(row.get(name), Some(AttributeValue::Bool(true)))
}
