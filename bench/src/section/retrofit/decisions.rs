//! What deciding about one item takes, without any request.

use keyfold_core::model::Model;
use keyfold_core::retrofit::{Epoch, Job, Mapping, Response};

use crate::micro::{self, Case};
use crate::report::Table;
use crate::{Scale, data, figure};

/// A copy of the item, and the two decisions, which are given a copy each.
pub(super) fn table(model: &Model, scale: Scale) -> anyhow::Result<Table> {
    let item = data::event(7);
    let mut cases = vec![Case::new("a copy of the item", || item.clone())];
    for (name, retrofit) in [("into a new table", "newTable"), ("in place", "inPlace")] {
        let (job, item) = (Job::new(Mapping::of(model, retrofit)?, Epoch::FIRST), &item);
        cases.push(Case::new(format!("a copy, and a decision {name}"), move || {
            let mut task = job.backfill(item.clone(), false);
            (task.start(&job), task.respond(&job, Response::Written), task)
        }));
    }
    let caption = "One item of a backfill, from the scan to its end, with all checks. The item is used up, so it is copied first.";
    let mut table = Table::new(caption, ["", "ns", "allocations", "bytes allocated"]);
    for case in micro::measure(cases, micro::rounds(scale)) {
        table.row([
            case.name.clone(),
            figure::spread(case.nanoseconds()),
            figure::count(case.allocations.count),
            figure::count(case.allocations.bytes),
        ]);
    }
    Ok(table)
}
