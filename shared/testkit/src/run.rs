//! Executes a plan with core's own [`Execution`] over the model table: the pages, caps and positions that a caller
//! sees, and the reported units.

use keyfold_core::cost::{Consistency, ReadUnits, get_read_units};
use keyfold_core::execute::{
    Answer, AnswerError, BatchGet, BatchItems, Consumed, Execution, Fetch, Next, Page, PageSource, Position,
    ReadRequest, ReadResponse, RunOptions,
};
use keyfold_core::index::item_bytes;
use keyfold_core::query::QueryPlan;
use keyfold_core::query::own;

use crate::generate::Random;
use crate::table::{ModelTable, Read, Shown, TableError};

/// The result of one run.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The caller's answer.
    pub answer: Result<Answer, AnswerError>,
    /// The read units that it really took.
    pub units: f64,
}

/// One page of an answer. Responses arrive in a random order.
pub fn run(
    plan: &QueryPlan,
    table: &ModelTable,
    from: Option<&Position>,
    options: &RunOptions,
    random: &mut Random,
) -> Result<Ran, TableError> {
    let mut units = 0.0;
    let mut execution = match Execution::new(table.model(), plan, from, options) {
        Ok(execution) => execution,
        Err(error) => return Ok(Ran { answer: Err(error), units }),
    };
    let mut under_way: Vec<ReadRequest> = Vec::new();
    loop {
        match execution.step() {
            Ok(Next::Answer(answer)) => return Ok(Ran { answer: Ok(answer), units }),
            Ok(Next::Send(requests)) => under_way.extend(requests),
            Err(error) => return Ok(Ran { answer: Err(error), units }),
        }
        let request = under_way.swap_remove(random.below(under_way.len()));
        let brought = read(plan, table, &request)?;
        units += match &brought {
            ReadResponse::Page { page, .. } => page.consumed.units,
            ReadResponse::Items(got) => got.consumed.units,
        };
        if let Err(error) = execution.arrived(request.access, brought) {
            return Ok(Ran { answer: Err(error), units });
        }
    }
}

/// The pages of an answer, at most `most` of them, and the error that ended it.
pub fn pages(
    plan: &QueryPlan,
    table: &ModelTable,
    options: &RunOptions,
    random: &mut Random,
    most: usize,
) -> Result<Vec<Result<Answer, AnswerError>>, TableError> {
    let mut pages: Vec<Result<Answer, AnswerError>> = Vec::new();
    let mut from: Option<Position> = None;
    while pages.len() < most {
        let page = run(plan, table, from.as_ref(), options, random)?.answer;
        from = page.as_ref().ok().and_then(|page| page.next.clone());
        pages.push(page);
        if from.is_none() {
            break;
        }
    }
    Ok(pages)
}

fn read(plan: &QueryPlan, table: &ModelTable, request: &ReadRequest) -> Result<ReadResponse, TableError> {
    let (source, start, items) = match &request.read {
        keyfold_core::execute::Read::Page { source, start, items } => (source, start, *items),
        keyfold_core::execute::Read::Items(batch) => {
            return Ok(ReadResponse::Items(batch_get(table, batch)?));
        }
    };
    let (PageSource::Query(keyfold_core::execute::QueryPage { page: asked, .. })
    | PageSource::Scan(keyfold_core::execute::ScanPage { page: asked, .. })) = &**source;
    let access = own::without_tombstones(table.model(), &plan.accesses[request.access]);
    let page = table.read(&Read {
        index: access.source.index(),
        operation: &access.operation,
        filter: &access.filter,
        shown: match asked.fetch {
            Fetch::Count => Shown::Count,
            Fetch::All => Shown::All,
            Fetch::Projected | Fetch::Expression(_) => Shown::Held,
        },
        consistent: plan.consistent,
        descending: access.descending,
        limit: Some(items),
        start: start.as_ref(),
    })?;
    let page = Page {
        items: page.items,
        count: page.count as u64,
        scanned: page.scanned as u64,
        last_key: page.last_key,
        consumed: consumed(page.consumed.total()),
    };
    Ok(ReadResponse::Page { page, calls: 1 })
}

fn batch_get(table: &ModelTable, batch: &BatchGet) -> Result<BatchItems, TableError> {
    let consistency = if batch.consistent { Consistency::Strong } else { Consistency::Eventual };
    let (mut items, mut units) = (Vec::new(), ReadUnits::ZERO);
    for key in &batch.keys {
        let found = table.get(key)?;
        units += get_read_units(found.map(item_bytes), consistency);
        items.extend(found.cloned());
    }
    Ok(BatchItems { items, consumed: consumed(units) })
}

fn consumed(units: ReadUnits) -> Consumed {
    Consumed { units: units.as_f64(), ..Consumed::default() }
}
