//! A request against the model: unknown names, wrong types and impossible bounds are found before anything is planned.

mod conditions;
mod error;
mod values;

use std::collections::BTreeMap;

use crate::condition::{Comparison, Condition, Path};
use crate::model::{EntityId, Model, OrderBy, Table};
use crate::query::limits::{ORDER_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, SORT_ITEMS_MAX};
use crate::query::request::QueryRequest;
use crate::text::closest;
use crate::value::AttributeValue;
pub use error::RequestError;
use values::{check_name, find_attribute, find_entity};
pub use values::{typed_text, typed_value};

/// The caller.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    /// A caller who may read every item: the operator at the command line.
    Trusted,
    /// A caller whose claims limit the items: claim path (`jwt.org`) -> value.
    Claims(BTreeMap<String, String>),
}

/// A request whose every name and value fits the model.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRequest<'m> {
    /// The table.
    pub table: &'m Table,
    /// The entities wanted, ascending; empty for every item of the table.
    pub entities: Vec<EntityId>,
    /// The condition, including the caller's scope.
    pub condition: Condition,
    /// The attributes fixed by the caller's claims, with their values; empty if the caller may read every item.
    /// Otherwise only items with these values are read: the cost of other reads would reveal other items.
    pub scope: BTreeMap<String, AttributeValue>,
    /// The order of the answer.
    pub order: Vec<OrderBy>,
    /// Maximum items in this answer.
    pub limit: u32,
    /// Did the request set a limit? Then the answer ends there; otherwise it is a page of a longer one.
    pub limited: bool,
    /// The attributes wanted.
    pub select: Option<Vec<String>>,
    /// Only the number of items.
    pub count: bool,
    /// Strongly consistent reads.
    pub consistent: bool,
    /// May a scan answer it?
    pub scan: bool,
    /// Maximum items to sort in memory.
    pub sort_in_memory: Option<u32>,
}

/// Compares a request with the model.
pub fn check<'m>(
    model: &'m Model,
    request: &QueryRequest,
    caller: &Caller,
) -> Result<CheckedRequest<'m>, RequestError> {
    let table = find_table(model, &request.table)?;
    let entities = find_entities(table, &request.entity)?;
    let asked = conditions::read(table, &entities, &request.conditions)?;
    let scope = find_scope(table, &asked, caller)?;
    Ok(CheckedRequest {
        table,
        condition: in_scope(&scope, asked),
        scope,
        order: find_order(table, &entities, &request.order)?,
        entities,
        limit: check_limit(request.limit)?,
        limited: request.limit.is_some(),
        select: find_select(table, request.select.as_deref())?,
        count: request.count,
        consistent: request.consistent,
        scan: request.scan,
        sort_in_memory: check_sort(request.sort_in_memory)?,
    })
}

/// The table of this name.
pub fn find_table<'m>(model: &'m Model, name: &str) -> Result<&'m Table, RequestError> {
    model.table(name).ok_or_else(|| RequestError::UnknownTable {
        table: name.to_owned(),
        closest: closest(name, model.tables.iter().map(|table| table.id.as_str())),
    })
}

fn find_entities(table: &Table, names: &[String]) -> Result<Vec<EntityId>, RequestError> {
    let ids = names.iter().map(|name| find_entity(table, name).map(|(id, _)| id));
    let mut found = ids.collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn find_order(table: &Table, entities: &[EntityId], texts: &[String]) -> Result<Vec<OrderBy>, RequestError> {
    if texts.len() > ORDER_MAX {
        return Err(RequestError::TooMany { what: "attributes in `order`", most: ORDER_MAX });
    }
    texts
        .iter()
        .map(|text| {
            let (name, descending) = match text.strip_prefix('-') {
                Some(name) => (name, true),
                None => (text.as_str(), false),
            };
            let attribute = find_attribute(table, entities, name)?;
            if attribute.kind.scalar().is_none() {
                return Err(RequestError::OrderByType {
                    table: table.id.clone(),
                    attribute: name.to_owned(),
                    kind: attribute.kind.name(),
                });
            }
            Ok(OrderBy { attribute: name.to_owned(), descending })
        })
        .collect()
}

fn find_select(table: &Table, names: Option<&[String]>) -> Result<Option<Vec<String>>, RequestError> {
    match names {
        None => Ok(None),
        Some([]) => Err(RequestError::EmptySelect),
        // Undeclared attributes can be selected too.
        Some(names) if names.len() > 1000 => {
            Err(RequestError::TooMany { what: "attributes in `select`", most: 1000 })
        }
        Some(names) => match names.iter().find(|name| name.is_empty()) {
            Some(_) => Err(RequestError::UnknownAttribute {
                table: table.id.clone(),
                attribute: String::new(),
                closest: None,
            }),
            None => {
                names.iter().try_for_each(|name| check_name(name))?;
                Ok(Some(names.to_vec()))
            }
        },
    }
}

fn check_limit(limit: Option<u32>) -> Result<u32, RequestError> {
    match limit {
        None => Ok(PAGE_ITEMS_DEFAULT),
        Some(limit @ 1..=PAGE_ITEMS_MAX) => Ok(limit),
        Some(_) => Err(RequestError::Limit { what: "limit", most: PAGE_ITEMS_MAX }),
    }
}

fn check_sort(most: Option<u32>) -> Result<Option<u32>, RequestError> {
    match most {
        None => Ok(None),
        Some(most @ 1..=SORT_ITEMS_MAX) => Ok(Some(most)),
        Some(_) => Err(RequestError::Limit { what: "sortInMemory", most: SORT_ITEMS_MAX }),
    }
}

/// The values that the caller's claims fix: attribute -> value. Empty for a caller who may read every item.
pub fn caller_scope(
    table: &Table,
    caller: &Caller,
) -> Result<BTreeMap<String, AttributeValue>, RequestError> {
    let mut scope = BTreeMap::new();
    let Caller::Claims(claims) = caller else { return Ok(scope) };
    for (name, claim) in &table.scope {
        let attribute = find_attribute(table, &[], name)?;
        let value = claims.get(claim).ok_or_else(|| RequestError::ClaimMissing { claim: claim.clone() })?;
        // A claim that no item can match grants nothing; the request itself is valid.
        let mismatch = |_| RequestError::ClaimMismatch {
            table: table.id.clone(),
            attribute: name.clone(),
            claim: claim.clone(),
        };
        let value = typed_text(table, attribute, value).map_err(mismatch)?;
        scope.insert(name.clone(), values::exact_value(table, attribute, value).map_err(mismatch)?);
    }
    Ok(scope)
}

/// The values fixed by the caller's claims. A request for items outside the scope is refused.
fn find_scope(
    table: &Table,
    asked: &Condition,
    caller: &Caller,
) -> Result<BTreeMap<String, AttributeValue>, RequestError> {
    let scope = caller_scope(table, caller)?;
    match scope.iter().find(|(name, value)| asks_for_another(asked, name, value)) {
        Some((name, _)) => Err(RequestError::OutOfScope { table: table.id.clone(), attribute: name.clone() }),
        None => Ok(scope),
    }
}

/// The condition, limited to the scope.
pub(super) fn in_scope(scope: &BTreeMap<String, AttributeValue>, asked: Condition) -> Condition {
    if scope.is_empty() {
        return asked;
    }
    let own = |(name, value): (&String, &AttributeValue)| {
        Condition::Is(Path::attribute(name), Comparison::Equal(value.clone()))
    };
    Condition::all(scope.iter().map(own).chain([asked]))
}

/// Does the condition require a value of this attribute that the scope excludes?
fn asks_for_another(asked: &Condition, name: &str, own: &AttributeValue) -> bool {
    match asked {
        Condition::All(parts) => parts.iter().any(|part| asks_for_another(part, name, own)),
        Condition::Is(path, comparison) => path.as_attribute() == Some(name) && !comparison.holds(Some(own)),
        Condition::Any(_) | Condition::Not(_) => false,
    }
}
