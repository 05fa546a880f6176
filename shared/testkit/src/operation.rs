//! Operations on a table and their results, in a form common to the model table and a real endpoint: any implementation
//! that can apply an [`Operation`] can be compared with the model table.

use keyfold_core::query::Condition;
use keyfold_core::query::plan;
use keyfold_core::value::{AttributeValue, Item, Number};

use crate::table::{Change, ModelTable, Page, Read, Shown, TableError, WriteConsumed};

/// Maximum pages of one read.
pub const PAGES_MAX: usize = 300;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// PutItem
    Put {
        /// The stored item.
        item: Item,
        /// On this condition.
        condition: Condition,
    },
    /// UpdateItem
    Update {
        /// The primary key.
        key: Item,
        /// The changes.
        changes: Vec<Change>,
        /// On this condition.
        condition: Condition,
    },
    /// DeleteItem
    Delete {
        /// The primary key.
        key: Item,
        /// On this condition.
        condition: Condition,
    },
    /// GetItem, strongly consistent
    Get {
        /// The primary key.
        key: Item,
    },
    /// Query or Scan, all pages of it
    Read(Reading),
}

/// A query or scan, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The index; `None` for the table.
    pub index: Option<String>,
    /// Query or scan.
    pub operation: plan::Operation,
    /// The filter.
    pub filter: Condition,
    /// The returned attributes.
    pub shown: Shown,
    /// Strongly consistent?
    pub consistent: bool,
    /// Largest sort keys first?
    pub descending: bool,
    /// Maximum items of a page.
    pub limit: u32,
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum OperationResult {
    /// The write succeeded: the former item, and the consumption.
    Written(Option<Item>, WriteConsumed),
    /// The condition failed; with the stored item.
    ConditionFailed(Option<Item>),
    /// The request was refused (ValidationException).
    Refused,
    /// The item.
    Item(Option<Item>),
    /// The pages.
    Pages(Vec<Page>),
}

impl ModelTable {
    /// Does it.
    pub fn apply(&mut self, operation: &Operation) -> OperationResult {
        let done = match operation {
            Operation::Put { item, condition } => self.put(item.clone(), condition).map(written),
            Operation::Update { key, changes, condition } => {
                self.update(key, changes, condition).map(written)
            }
            Operation::Delete { key, condition } => self.delete(key, condition).map(written),
            Operation::Get { key } => self.get(key).map(|item| OperationResult::Item(item.cloned())),
            Operation::Read(reading) => self.pages(reading).map(OperationResult::Pages),
        };
        match done {
            Ok(outcome) => outcome.normalised(),
            Err(TableError::ConditionFailed { old }) => {
                OperationResult::ConditionFailed(old.map(|old| *old)).normalised()
            }
            Err(_) => OperationResult::Refused,
        }
    }

    fn pages(&self, reading: &Reading) -> Result<Vec<Page>, TableError> {
        let mut pages: Vec<Page> = Vec::new();
        while pages.len() < PAGES_MAX && pages.last().is_none_or(|page| page.last_key.is_some()) {
            let page = self.read(&Read {
                index: reading.index.as_deref(),
                operation: &reading.operation,
                filter: &reading.filter,
                shown: reading.shown,
                consistent: reading.consistent,
                descending: reading.descending,
                limit: Some(reading.limit),
                start: pages.last().and_then(|page| page.last_key.as_ref()),
            })?;
            pages.push(page);
        }
        Ok(pages)
    }
}

fn written(written: crate::table::Written) -> OperationResult {
    OperationResult::Written(written.old, written.consumed)
}

impl OperationResult {
    /// With numbers in canonical form and sets in order, which DynamoDB may change.
    #[must_use]
    pub fn normalised(self) -> OperationResult {
        let item = |item: Option<Item>| item.map(|item| normalised(&item));
        match self {
            OperationResult::Written(old, consumed) => OperationResult::Written(item(old), consumed),
            OperationResult::ConditionFailed(old) => OperationResult::ConditionFailed(item(old)),
            OperationResult::Refused => OperationResult::Refused,
            OperationResult::Item(found) => OperationResult::Item(item(found)),
            OperationResult::Pages(pages) => OperationResult::Pages(
                pages
                    .into_iter()
                    .map(|page| Page {
                        items: page.items.iter().map(normalised).collect(),
                        last_key: item(page.last_key),
                        ..page
                    })
                    .collect(),
            ),
        }
    }
}

/// An item as one text: equal items have equal texts.
pub fn text(item: &Item) -> String {
    // Through a value: that has its members in order, at every depth.
    serde_json::to_value(normalised(item)).map(|value| value.to_string()).unwrap_or_default()
}

/// The item with numbers in their one form and sets in order.
pub fn normalised(item: &Item) -> Item {
    item.iter().map(|(name, value)| (name.clone(), normalised_value(value))).collect()
}

fn normalised_value(value: &AttributeValue) -> AttributeValue {
    let number =
        |text: &String| text.parse::<Number>().map_or_else(|_| text.clone(), |number| number.to_string());
    match value {
        AttributeValue::N(text) => AttributeValue::N(number(text)),
        AttributeValue::Ns(texts) => {
            let mut texts: Vec<String> = texts.iter().map(number).collect();
            texts.sort();
            AttributeValue::Ns(texts)
        }
        AttributeValue::Ss(texts) => {
            let mut texts = texts.clone();
            texts.sort();
            AttributeValue::Ss(texts)
        }
        AttributeValue::Bs(all) => {
            let mut all = all.clone();
            all.sort();
            AttributeValue::Bs(all)
        }
        AttributeValue::L(values) => AttributeValue::L(values.iter().map(normalised_value).collect()),
        AttributeValue::M(members) => AttributeValue::M(
            members.iter().map(|(name, value)| (name.clone(), normalised_value(value))).collect(),
        ),
        other => other.clone(),
    }
}
