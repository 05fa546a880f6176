//! The estimate and what was found on items, for people: rows of a name and a value, and tables.

use std::collections::BTreeSet;
use std::fmt;

use super::RetrofitEstimate;
use crate::cost::{Prices, WriteUnits};
use crate::retrofit::diff::{Diff, DiffLine};
use crate::retrofit::mapping::{Cause, Mapping, NoWayBack};
use crate::retrofit::misfit::keys;
use crate::retrofit::there_and_back::{NotCarriedBack, ThereAndBack};
use crate::value::Item;

impl RetrofitEstimate {
    /// Rows of a name and a value. `all_read` says that no sample stands for the other items.
    pub fn rows(&self, mapping: &Mapping, prices: &Prices, all_read: bool) -> Vec<Vec<String>> {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let dollars = self.dollars(prices);
        let from = match all_read {
            true => "all were read".to_owned(),
            false => format!("estimated from a sample of {}", self.sampled),
        };
        let mut rows = vec![
            row("protocol", format!("{}: {}", mapping.protocol().name(), mapping.reason())),
            row("items", format!("{} ({from})", self.items)),
            row("written", self.items_written.to_string()),
            row("refused", format!("{} (they would go into quarantine)", self.items_refused)),
            row("read units", format!("{} ({})", self.scan_read.as_f64(), dollars.reads)),
            row("write units", format!("{} ({})", self.write_units().get(), dollars.writes)),
            row("finish", self.finish(mapping, prices)),
            row("way back", self.way_back(mapping)),
            row("storage", format!("{} more bytes ({} a month)", self.storage_bytes, dollars.storage_month)),
        ];
        rows.extend(self.mended.iter().map(|((attribute, remedy), items)| {
            let effect = match *remedy {
                "absent" => "its keys are made as if it were absent".to_owned(),
                remedy => format!("it is changed by `{remedy}`"),
            };
            row("does not fit", format!("`{attribute}` on {items} items: {effect}"))
        }));
        rows.extend(
            mapping
                .live_changes()
                .iter()
                .map(|change| row("live attribute", format!("{change}; `abandon` takes nothing back"))),
        );
        rows
    }

    /// The price of `finish`.
    fn finish(&self, mapping: &Mapping, prices: &Prices) -> String {
        match self.finalise_units(mapping) {
            WriteUnits::ZERO => "nothing".to_owned(),
            units => format!(
                "{} write units ({}), or nothing with --leave-marks",
                units.get(),
                prices.dollars_for_writes(units)
            ),
        }
    }

    /// Can writers be moved back once they have moved?
    fn way_back(&self, mapping: &Mapping) -> String {
        let tried = self.there_and_back.as_ref();
        let fails = tried.is_some_and(|tried| tried.refused().next().is_some());
        let is_lost = tried.is_some_and(|tried| tried.lost().next().is_some());
        match mapping.reverse() {
            Ok(_) if is_lost => {
                "not for every entity: see below; `switch` is refused without `--for-good`".to_owned()
            }
            Ok(_) if fails => {
                "not for every item: see below; `switch --back` is refused while such an item changes"
                    .to_owned()
            }
            Ok(_) => "after a `switch`, `switch --back` moves the writers back".to_owned(),
            Err(NoWayBack::SameTable) => "not needed: readers and writers stay".to_owned(),
            Err(why) => format!("none: {why}"),
        }
    }
}

impl Diff {
    /// The changes that were found, and below them the attributes that the retrofit can change but did not on any item that was read.
    pub fn table(&self, mapping: &Mapping) -> Vec<Vec<String>> {
        let row = |attribute: &str, [entity, change, items, keys]: [String; 4]| {
            let indexes = match mapping.key_of_indexes(attribute) {
                names if names.is_empty() => "-".to_owned(),
                names => names.join(", "),
            };
            vec![
                entity,
                attribute.to_owned(),
                change,
                items,
                mapping.causes(attribute).join(", "),
                indexes,
                keys,
            ]
        };
        let found = |line: DiffLine<'_>| {
            let entity = line.entity.unwrap_or("-").to_owned();
            let cells = [entity, line.change.name().to_owned(), line.items.to_string(), keys(line.examples)];
            row(line.attribute, cells)
        };
        let is_found = |attribute: &String| self.lines().any(|line| line.attribute == attribute);
        // Marks of an earlier retrofit are on no item in most tables.
        let is_mark = |causes: &BTreeSet<Cause>| causes.iter().all(|cause| *cause == Cause::Mark);
        let others = mapping.announced().iter().filter(|(name, causes)| !is_found(name) && !is_mark(causes));
        let other = |(attribute, _): (&String, &BTreeSet<Cause>)| {
            row(attribute, ["-", "none found", "0", ""].map(str::to_owned))
        };
        let head = ["entity", "attribute", "change", "items", "because", "key of", "for example"];
        let head = std::iter::once(head.map(str::to_owned).to_vec());
        head.chain(self.lines().map(found)).chain(others.map(other)).collect()
    }
}

impl fmt::Display for NotCarriedBack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = self.entity.map_or("no entity".to_owned(), |name| format!("entity `{name}`"));
        write!(f, "{} of {entity} (`{}`), for example {}", self.items, self.code, keys(self.examples))
    }
}

impl ThereAndBack {
    /// The items that do not come back as they were; empty if there are none.
    pub fn table(&self, mapping: &Mapping) -> Vec<Vec<String>> {
        let row = |entity: Option<&str>, result: String, items: u64, examples: &[Item]| {
            vec![entity.unwrap_or("-").to_owned(), result, items.to_string(), keys(examples)]
        };
        let refused = self
            .refused()
            .map(|one| row(one.entity, format!("refused: {}", one.code), one.items, one.examples));
        let changed = self.changes().lines().map(|line| {
            let result =
                format!("`{}` of `{}` is {}", line.attribute, mapping.source().id, line.change.name());
            row(line.entity, result, line.items, line.examples)
        });
        refused.chain(changed).collect()
    }
}
