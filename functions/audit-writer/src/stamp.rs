//! Timestamps and dates in canonical form, so that the order of texts is the order of times.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use keyfold_core::key::{KeyMode, KeyRole, Template};
use keyfold_core::model::{AttributeKind, Precision, Table};
use keyfold_core::value::{AttributeValue, Item};
use keyfold_edge::Problem;

/// A template for each timestamp and date of a table: folding yields the canonical form.
#[derive(Debug)]
pub(crate) struct Stamps(BTreeMap<String, Template>);

impl Stamps {
    pub(crate) fn of(table: &Table) -> Stamps {
        let timed = table
            .attributes
            .values()
            .filter(|attribute| matches!(attribute.kind, AttributeKind::Timestamp(_) | AttributeKind::Date));
        let template = |name: &str| {
            Template::parse(&format!("{{{name}}}"), &table.attributes, KeyRole::Sort, KeyMode::Escaped)
        };
        Stamps(
            timed
                .filter_map(|attribute| Some((attribute.name.clone(), template(&attribute.name).ok()?)))
                .collect(),
        )
    }

    /// Writes every timestamp and date of an item in its canonical form: UTC, the declared places, `Z`.
    pub(crate) fn normalise(&self, item: &mut Item) -> Result<(), Problem> {
        for (name, template) in &self.0 {
            if !matches!(item.get(name), Some(AttributeValue::S(_))) {
                // Absent, or of another type, which is reported elsewhere.
                continue;
            }
            match template.fold(item) {
                Ok(Some(text)) => drop(item.insert(name, AttributeValue::S(text))),
                Ok(None) => {}
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    let detail = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                    return Err(Problem::new(400, "bad-timestamp", detail));
                }
            }
        }
        Ok(())
    }
}

/// A time of the server as text, cut to the precision of the attribute.
pub(crate) fn text(time: Timestamp, kind: Option<AttributeKind>) -> String {
    let cut = match kind {
        Some(AttributeKind::Timestamp(Precision::Nanoseconds)) => Ok(time),
        Some(AttributeKind::Timestamp(Precision::Microseconds)) => {
            Timestamp::from_microsecond(time.as_microsecond())
        }
        Some(AttributeKind::Timestamp(Precision::Milliseconds)) => {
            Timestamp::from_millisecond(time.as_millisecond())
        }
        _ => Timestamp::from_second(time.as_second()),
    };
    cut.unwrap_or(time).to_string()
}

/// The server's time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos())
        .ok()
        .and_then(|time| Timestamp::from_nanosecond(time).ok())
        .unwrap_or_default()
}

/// Milliseconds since 1970 as a time.
pub(crate) fn of_milliseconds(milliseconds: i64) -> Option<Timestamp> {
    Timestamp::from_millisecond(milliseconds).ok()
}
