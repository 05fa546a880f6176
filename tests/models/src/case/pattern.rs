//! An access pattern: its meaning, its answer, and the request published for it.

use std::cmp::Ordering;

use keyfold_core::value::{AttributeValue, Item};

use super::condition::Asked;
use super::published::{PublishedTable, scans};
use super::value::{canonical, find, order};
use crate::json::{CaseJson, Json};

/// An item by its natural attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct Natural {
    /// Its entity; empty if the file names none.
    pub entity: String,
    /// Its attributes.
    pub attributes: Item,
}

/// An access pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Its id.
    pub id: String,
    /// The meaning, over natural attributes. Without one only a refusal can be expected.
    pub meaning: Option<Meaning>,
    /// Is the published request a scan, or is one of its parts?
    pub is_published_scan: bool,
    /// Was the published request one that DynamoDB must refuse?
    pub expect_error: bool,
    /// The answer that the file gives.
    pub expected: Option<Expected>,
}

/// The meaning of a pattern.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meaning {
    /// The entities; empty for all.
    pub entities: Vec<String>,
    /// The conditions, all of which must hold.
    pub conditions: Vec<Asked>,
    /// The order, outermost first.
    pub order: Vec<Sorted>,
    /// Maximum items.
    pub limit: Option<usize>,
}

/// One attribute of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorted {
    /// The attribute.
    pub attribute: String,
    /// Largest first?
    pub descending: bool,
}

/// The answer, as the file gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The items, by their places in the file.
    pub items: Vec<usize>,
    /// Items that are equally correct where a limit cuts through equal ones.
    pub stand_ins: Vec<usize>,
}

impl Pattern {
    pub(super) fn of(
        json: &Json,
        at: usize,
        items: &[Item],
        table: &PublishedTable,
    ) -> Result<Pattern, String> {
        let id = json.text("id").map_or_else(|| format!("#{at}"), str::to_owned);
        let wrong = |what: String| format!("pattern `{id}`: {what}");
        let meaning = json.get("meaning").map(Meaning::of).transpose().map_err(wrong)?;
        let is_published_scan = json.get("published").is_some_and(scans);
        let expect_error = json.get("expect_error").is_some_and(|error| *error != Json::Bool(false));
        let expected = Expected::of(json, items, table);
        Ok(Pattern { id, meaning, is_published_scan, expect_error, expected })
    }
}

impl Meaning {
    fn of(json: &Json) -> Result<Meaning, String> {
        let entities = match json.get("entity").or_else(|| json.get("entities")) {
            Some(Json::Text(one)) => vec![one.clone()],
            Some(Json::List(several)) => {
                several.iter().filter_map(|one| one.as_text().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let conditions = match json.get("where") {
            Some(Json::List(several)) => several.iter().map(Asked::of).collect::<Result<_, _>>()?,
            Some(one) => vec![Asked::of(one)?],
            None => Vec::new(),
        };
        let order = match json.get("order") {
            Some(Json::List(several)) => several.iter().filter_map(Sorted::of).collect(),
            Some(one) => Sorted::of(one).into_iter().collect(),
            None => Vec::new(),
        };
        let limit = json.get("limit").and_then(Json::as_whole);
        Ok(Meaning { entities, conditions, order, limit })
    }

    /// Does an item match, ignoring the limit?
    pub fn matches(&self, natural: &Natural) -> bool {
        (self.entities.is_empty() || self.entities.contains(&natural.entity))
            && self.conditions.iter().all(|condition| condition.holds(&natural.attributes))
    }

    /// The positions of all matching items, in order, ignoring the limit.
    pub fn all_matches(&self, natural: &[Natural]) -> Vec<usize> {
        let mut found: Vec<usize> = (0..natural.len()).filter(|at| self.matches(&natural[*at])).collect();
        found.sort_by(|a, b| self.compare(&natural[*a].attributes, &natural[*b].attributes));
        found
    }

    fn compare(&self, a: &Item, b: &Item) -> Ordering {
        let by = |by: &Sorted| {
            let ascending = match (find(a, &by.attribute), find(b, &by.attribute)) {
                (Some(a), Some(b)) => order(a, b).unwrap_or(Ordering::Equal),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            if by.descending { ascending.reverse() } else { ascending }
        };
        self.order.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The values that an item is ordered by.
    pub fn order_values(&self, item: &Item) -> Vec<Option<String>> {
        self.order.iter().map(|by| find(item, &by.attribute).map(canonical)).collect()
    }
}

impl Sorted {
    /// `["a", "desc"]`, `"a"` or `"-a"`.
    fn of(json: &Json) -> Option<Sorted> {
        match json {
            Json::List(parts) => {
                let descending =
                    parts.get(1).and_then(Json::as_text).is_some_and(|way| way.starts_with("desc"));
                Some(Sorted { attribute: parts.first()?.as_text()?.to_owned(), descending })
            }
            Json::Text(text) => {
                let attribute = text.strip_prefix('-').unwrap_or(text).to_owned();
                Some(Sorted { attribute, descending: text.starts_with('-') })
            }
            _ => None,
        }
    }
}

impl Expected {
    fn of(json: &Json, items: &[Item], table: &PublishedTable) -> Option<Expected> {
        let listed = json
            .get("expected_item_indexes")?
            .as_list()?
            .iter()
            .map(Json::as_whole)
            .collect::<Option<_>>()?;
        let stand_in = |key: &Json| {
            let wanted = key.as_object()?.iter().map(|(name, value)| Some((name, value.dynamodb().ok()?)));
            let wanted = wanted.collect::<Option<Vec<(&String, AttributeValue)>>>()?;
            items.iter().position(|item| {
                table.key.iter().all(|key| wanted.iter().any(|(name, _)| *name == key))
                    && wanted.iter().all(|(name, value)| {
                        item.get(name.as_str()).is_some_and(|have| canonical(have) == canonical(value))
                    })
            })
        };
        let stand_ins = json.list("expected_tie_candidates").iter().filter_map(stand_in).collect();
        Some(Expected { items: listed, stand_ins })
    }
}
