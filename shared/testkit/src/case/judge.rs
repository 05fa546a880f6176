//! The result of a case, and its violations.

use std::borrow::Cow;
use std::collections::BTreeSet;

use keyfold_core::execute::{Answer, AnswerError, RunOptions};
use keyfold_core::query::own;
use keyfold_core::query::plan::{Access, Delivery, Hydration, Operation, QueryPlan, ReadFrom};
use keyfold_core::query::{CheckedRequest, Condition, check, plan};
use keyfold_core::value::Item;

use super::Case;
use crate::generate::Random;
use crate::naive;
use crate::operation::text;
use crate::run;
use crate::table::{ModelTable, key_holds};

/// Items of one read.
const PAGE_ITEMS: u32 = 3;
/// More pages than any answer has.
const PAGES_MAX: usize = 1_000;

/// The result of a correctly handled request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseResult {
    /// The request does not fit the model: the code of the error.
    Invalid(&'static str),
    /// There is no plan: the code of the error.
    Refused(&'static str),
    /// The planner's answer is the naive one. The kind of plan, and whether the answer has items.
    Answered {
        /// Where from, and how.
        kind: String,
        /// Was there anything in it?
        any: bool,
    },
}

/// A wrong answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The violation.
    pub what: String,
    /// The plan that gave it.
    pub plan: Box<QueryPlan>,
}

/// Plans the request, carries the plan out, and compares.
pub fn judge(case: &Case) -> Result<CaseResult, Failure> {
    let request = match check(&case.model, &case.asking.request, &case.asking.caller) {
        Ok(request) => request,
        Err(error) => return Ok(CaseResult::Invalid(error.code())),
    };
    let plan = match plan(&request, &case.readiness()) {
        Ok(plan) => plan,
        Err(error) => return Ok(CaseResult::Refused(error.code())),
    };
    compare(case, &request, &plan).map_err(|what| Failure { what, plan: Box::new(plan.clone()) })?;
    let any = case.items.iter().any(|item| naive::wanted(case.table(), &case.asking, item));
    Ok(CaseResult::Answered { kind: kind(&plan), any })
}

fn compare(case: &Case, request: &CheckedRequest<'_>, plan: &QueryPlan) -> Result<(), String> {
    let mut table = ModelTable::new(case.table());
    for item in &case.items {
        table
            .put(item.stored.clone(), &Condition::always())
            .map_err(|error| format!("an item is refused: {error}"))?;
    }
    case.pending.iter().for_each(|index| table.empty_index(index));
    allowed(case, request, plan)?;
    equivalent(case, plan)?;
    answered(case, plan, &table)?;
    rechecked(case, plan)
}

/// A plan does only what the request allows.
fn allowed(case: &Case, request: &CheckedRequest<'_>, plan: &QueryPlan) -> Result<(), String> {
    let mut indexes = plan.accesses.iter().filter_map(|access| access.source.index());
    if let Some(pending) = indexes.find(|index| case.pending.iter().any(|pending| pending == index)) {
        return Err(format!("it reads the index {pending}, which a retrofit still fills"));
    }
    if plan.scans() && !request.scan {
        return Err("it scans, and the request does not allow that".to_owned());
    }
    if request.consistent && plan.accesses.iter().any(|access| matches!(access.source, ReadFrom::Global(_))) {
        return Err("it reads a global index, and the answer must be consistent".to_owned());
    }
    if matches!(plan.delivery, Delivery::SortedInMemory { .. }) && request.sort_in_memory.is_none() {
        return Err("it sorts in memory, and the request does not allow that".to_owned());
    }
    Ok(())
}

/// Key condition AND filter AND recheck equal the request for every item, in exactly one access.
fn equivalent(case: &Case, plan: &QueryPlan) -> Result<(), String> {
    let accesses: Vec<Cow<'_, Access>> =
        plan.accesses.iter().map(|access| own::without_tombstones(case.table(), access)).collect();
    for item in &case.items {
        let wanted = usize::from(naive::wanted(case.table(), &case.asking, item));
        let item = &item.stored;
        let by: Vec<usize> = (0..accesses.len()).filter(|at| gives(case, &accesses[*at], item)).collect();
        match by.len().cmp(&wanted) {
            std::cmp::Ordering::Less => return Err(format!("no access gives the item {}", text(item))),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater if wanted == 0 => {
                return Err(format!(
                    "access {} gives the item {}, which is not asked for",
                    by[0],
                    text(item)
                ));
            }
            std::cmp::Ordering::Greater => {
                return Err(format!("the accesses {by:?} all give the item {}", text(item)));
            }
        }
    }
    Ok(())
}

fn gives(case: &Case, access: &Access, item: &Item) -> bool {
    let entry = match access.source.index() {
        None => Some(item.clone()),
        Some(name) => case.table().index(name).and_then(|index| index.entry(case.table(), item).ok()),
    };
    entry.is_some_and(|entry| {
        key_holds(&access.operation, &entry)
            && access.filter.holds(&entry)
            && access.recheck.holds(&case.table().with_key_parts(item))
            && !own::is_tombstone(item)
    })
}

/// A global index lags its table. An item read by key after the index may have changed: its current state must match
/// the request.
fn rechecked(case: &Case, plan: &QueryPlan) -> Result<(), String> {
    let hydration = |access: &Access| own::without_tombstones(case.table(), access).hydration;
    let is_current = |access: &Access| {
        hydration(access) == Hydration::ByKey || !matches!(access.source, ReadFrom::Global(_))
    };
    let is_behind = plan.accesses.iter().any(|access| hydration(access) == Hydration::ByKey);
    if !is_behind || plan.count || !plan.accesses.iter().all(is_current) {
        return Ok(());
    }
    let mut table = ModelTable::new(case.table()).lagging();
    for item in &case.items {
        table.put(item.stored.clone(), &Condition::always()).map_err(|error| error.to_string())?;
    }
    table.catch_up(usize::MAX);
    for item in &case.changed {
        table.put(item.stored.clone(), &Condition::always()).map_err(|error| error.to_string())?;
    }
    let given = read(case, plan, &table)?.concat();
    match given.iter().find(|item| !naive::fulfils(case.table(), &case.asking, item)) {
        Some(item) => Err(format!("the item {} has changed and no longer matches", text(item))),
        None => Ok(()),
    }
}

/// The pages of an answer as core's execution gives them, with every attribute that was read, and with the items where only their number is
/// asked for. Reads are small, so that every boundary between pages is crossed.
fn read(case: &Case, plan: &QueryPlan, table: &ModelTable) -> Result<Vec<Vec<Item>>, String> {
    let whole = QueryPlan { select: None, count: false, ..plan.clone() };
    let options = RunOptions { page_items_max: PAGE_ITEMS, ..RunOptions::default() };
    let mut random = Random::new(case.seed);
    let pages = run::pages(&whole, table, &options, &mut random, PAGES_MAX)
        .map_err(|error| format!("a read would be refused: {error}"))?;
    let items = |page: Result<Answer, AnswerError>| match page {
        Ok(page) if page.items.len() > plan.limit as usize => {
            Err(format!("a page has {} items, and the limit is {}", page.items.len(), plan.limit))
        }
        page => page.map(|page| page.items).map_err(|error| error.to_string()),
    };
    if pages.len() == PAGES_MAX {
        return Err("the answer does not end".to_owned());
    }
    pages.into_iter().map(items).collect()
}

/// The answer: the same items, each once, in the requested order.
fn answered(case: &Case, plan: &QueryPlan, table: &ModelTable) -> Result<(), String> {
    let wanted = naive::answer(case.table(), &case.asking, &case.items);
    let given = read(case, plan, table)?.concat();
    if given.len() != wanted.len() {
        return Err(format!("{} items are asked for, and {} are given", wanted.len(), given.len()));
    }
    same_items(case, &wanted, &given)?;
    if !plan.count {
        in_order(case, &wanted, &given)?;
        shows(case, plan, &wanted, &given)?;
    }
    Ok(())
}

fn same_items(case: &Case, wanted: &[&Item], given: &[Item]) -> Result<(), String> {
    let keys = |item: &Item| case.table().key_of(item).map(|key| text(&key)).unwrap_or_default();
    let wanted: BTreeSet<String> = wanted.iter().map(|item| keys(item)).collect();
    let mut seen = BTreeSet::new();
    for item in given {
        let key = keys(item);
        if !wanted.contains(&key) {
            return Err(format!("the item {key} is not asked for"));
        }
        if !seen.insert(key.clone()) {
            return Err(format!("the item {key} is given twice"));
        }
    }
    Ok(())
}

/// The pages return the first items, for every page size: the sequence is the naive one, up to ties.
fn in_order(case: &Case, wanted: &[&Item], given: &[Item]) -> Result<(), String> {
    let order = &case.asking.request.order;
    let out =
        wanted.iter().zip(given).position(|(wanted, given)| naive::compare(order, wanted, given).is_ne());
    out.map_or(Ok(()), |at| Err(format!("item {at} of the answer is out of order: {}", text(&given[at]))))
}

/// The shown attributes are those of the item.
fn shows(case: &Case, plan: &QueryPlan, wanted: &[&Item], given: &[Item]) -> Result<(), String> {
    for item in given {
        let key = case.table().key_of(item);
        let Some(stored) = wanted.iter().find(|wanted| case.table().key_of(wanted) == key) else { continue };
        let (shown, stored) = (shown(plan, item), shown(plan, stored));
        if shown != stored {
            return Err(format!("of the item {} only this is shown: {}", text(&stored), text(&shown)));
        }
    }
    Ok(())
}

/// The attributes that the answer shows of an item.
fn shown(plan: &QueryPlan, item: &Item) -> Item {
    let mut shown = item.clone();
    let select = plan.select.as_ref();
    let is_selected = |name: &str| select.is_none_or(|names| names.iter().any(|one| one == name));
    shown.retain(|name, _| is_selected(name) && !own::is_own(name));
    shown
}

/// A plan in a few words, for the tally.
fn kind(plan: &QueryPlan) -> String {
    let Some(first) = plan.accesses.first() else { return "nothing can match".to_owned() };
    let operation = match first.operation {
        Operation::Query { .. } => "query",
        Operation::Scan => "scan",
    };
    let source = match first.source {
        ReadFrom::Table => "table",
        ReadFrom::Local(_) => "local",
        ReadFrom::Global(_) => "global",
    };
    let several = if plan.accesses.iter().any(|access| access.source != first.source) {
        ", several places"
    } else if plan.accesses.len() > 1 {
        ", fan-out"
    } else {
        ""
    };
    let hydration = match first.hydration {
        Hydration::None => "",
        Hydration::Fetched => ", fetched",
        Hydration::ByKey => ", by key",
    };
    let delivery = match plan.delivery {
        Delivery::Sequential if plan.order.is_empty() => "",
        Delivery::Sequential => ", ordered",
        Delivery::Merged => ", merged",
        Delivery::SortedInMemory { .. } => ", sorted",
    };
    format!("{operation} {source}{several}{hydration}{delivery}")
}
