//! A plan as text for people, and as JSON.

use std::fmt::{self, Write};

use serde::Serialize;

use crate::query::expression::{expressions, readable_condition, readable_key_condition};
use crate::query::limits::READS_EXPLAINED_MAX;
use crate::query::plan::{Access, Delivery, Hydration, Operation, QueryPlan, RejectedPath};

/// A plan, explained.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The table's id in the manifest.
    pub table: String,
    /// The reads, up to [`READS_EXPLAINED_MAX`].
    pub reads: Vec<ExplainedRead>,
    /// The number of further reads: those of a fan-out are similar.
    #[serde(skip_serializing_if = "is_none")]
    pub further_reads: usize,
    /// How the answers of the reads are combined.
    pub delivery: String,
    /// The read units expected.
    pub estimated_read_units: f64,
    /// The rejected candidates.
    pub rejected: Vec<ExplainedRejection>,
}

/// One read, explained.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRead {
    /// `table`, or the index's name.
    pub source: String,
    /// `query` or `scan`.
    pub operation: &'static str,
    /// The key condition, spelled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_condition: Option<String>,
    /// The key condition, as DynamoDB gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_condition_expression: Option<String>,
    /// The filter, spelled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The filter, as DynamoDB gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_expression: Option<String>,
    /// The condition checked on each item after it arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck: Option<String>,
    /// The source of attributes that the index lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_attributes: Option<&'static str>,
    /// Largest sort keys first?
    pub descending: bool,
}

/// A table or index that was rejected.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRejection {
    /// `table`, or the index's name, with `scan of` before it where it would have been scanned.
    pub source: String,
    /// Why.
    pub reason: String,
}

/// Explains a plan.
pub fn explain(plan: &QueryPlan) -> Explanation {
    Explanation {
        table: plan.table.to_string(),
        reads: plan.accesses.iter().take(READS_EXPLAINED_MAX).map(read).collect(),
        further_reads: plan.accesses.len().saturating_sub(READS_EXPLAINED_MAX),
        delivery: delivery(plan),
        estimated_read_units: plan.estimated_units,
        rejected: rejected(&plan.rejected),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Explains why tables and indexes were rejected.
pub fn rejected(all: &[RejectedPath]) -> Vec<ExplainedRejection> {
    all.iter()
        .map(|rejected| {
            let path = source(rejected.index.as_deref());
            let source = if rejected.scan { ["scan of ", &path].concat() } else { path };
            ExplainedRejection { source, reason: rejected.reason.to_string() }
        })
        .collect()
}

fn source(index: Option<&str>) -> String {
    index.map_or_else(|| "table".to_owned(), |name| ["index ", name].concat())
}

fn read(access: &Access) -> ExplainedRead {
    let sent = expressions(access, None);
    ExplainedRead {
        source: source(access.source.index()),
        operation: match access.operation {
            Operation::Query { .. } => "query",
            Operation::Scan => "scan",
        },
        key_condition: readable_key_condition(&access.operation),
        key_condition_expression: sent.key_condition,
        filter: readable_condition(&access.filter),
        filter_expression: sent.filter,
        recheck: readable_condition(&access.recheck),
        missing_attributes: match access.hydration {
            Hydration::None => None,
            Hydration::Fetched => Some("fetched by DynamoDB, each item priced"),
            Hydration::ByKey => Some("read by primary key, each item priced"),
        },
        descending: access.descending,
    }
}

fn delivery(plan: &QueryPlan) -> String {
    let mut order = String::new();
    for (at, by) in plan.order.iter().enumerate() {
        order.push_str(if at > 0 { ", " } else { "" });
        order.push_str(&by.attribute);
        order.push_str(if by.descending { " descending" } else { "" });
    }
    match (plan.delivery, order.is_empty()) {
        (_, _) if plan.accesses.is_empty() => "no item can match, so nothing is read".to_owned(),
        (Delivery::Sequential, true) => "in the order of the keys".to_owned(),
        (Delivery::Sequential, false) => ["by ", &order, ", as the key gives it"].concat(),
        (Delivery::Merged, _) => format!("by {order}, merged"),
        (Delivery::SortedInMemory { items_max }, _) => {
            format!("by {order}, sorted in memory (at most {items_max} items)")
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for read in &self.reads {
            writeln!(f, "{} {}", read.operation, read.source)?;
            let mut lines = String::new();
            let mut line = |name: &str, text: &str| writeln!(lines, "  {name:<9}{text}");
            if let Some(text) = &read.key_condition {
                line("key", text)?;
            }
            if let Some(text) = &read.filter {
                line("filter", text)?;
            }
            if let Some(text) = &read.recheck {
                line("recheck", text)?;
            }
            if let Some(text) = read.missing_attributes {
                line("missing", text)?;
            }
            f.write_str(&lines)?;
        }
        if self.further_reads > 0 {
            writeln!(f, "and {} more reads", self.further_reads)?;
        }
        writeln!(f, "answer     {}", self.delivery)?;
        writeln!(f, "estimate   {} read units", self.estimated_read_units)?;
        if !self.rejected.is_empty() {
            writeln!(f, "not taken")?;
        }
        for rejected in &self.rejected {
            writeln!(f, "  {}: {}", rejected.source, rejected.reason)?;
        }
        Ok(())
    }
}
