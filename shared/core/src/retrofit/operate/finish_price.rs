//! The price of an end, by the passes that it makes.

use serde_json::{Value, json};

use super::finish::needed_passes;
use crate::cost::{Prices, ReadUnits, WriteUnits};
use crate::model::Table;
use crate::retrofit::control::{Phase, RetrofitState};
use crate::retrofit::finalise;
use crate::retrofit::request::TableRole;
use crate::retrofit::segment::Pass;

/// About what an end costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishPrice {
    /// The retrofit.
    pub retrofit: String,
    /// Its phase.
    pub phase: Phase,
    /// Are the marks left on the items?
    pub leave_marks: bool,
    /// Items of the target, if it is scanned.
    pub items: u64,
    /// Read units of that scan.
    pub read_units: u64,
    /// Write units for the marks.
    pub write_units: u64,
    /// Does each row of the control table cost a write unit?
    pub rows: bool,
}

impl FinishPrice {
    /// Of a retrofit with this row, whose target has about `items` items, which a scan reads with `read_units`.
    pub fn of(
        head: &RetrofitState,
        leave_marks: bool,
        target: &Table,
        (items, read_units): (u64, u64),
    ) -> FinishPrice {
        let passes = needed_passes(leave_marks, head.protocol);
        let scans = passes.iter().any(|pass| pass.table() == TableRole::Target);
        let (items, read_units) = if scans { (items, read_units) } else { (0, 0) };
        let marks = passes.contains(&Pass::Finalise);
        FinishPrice {
            retrofit: head.retrofit.clone(),
            phase: head.phase,
            leave_marks,
            items,
            read_units,
            write_units: if marks { finalise::write_units(target, items, read_units).get() } else { 0 },
            rows: passes.contains(&Pass::EmptyLedger),
        }
    }

    /// For people, in lines.
    pub fn text(&self, prices: &Prices) -> String {
        let FinishPrice { retrofit, items, read_units, write_units, .. } = self;
        let reads = prices.dollars_for_reads(ReadUnits::from_halves(read_units.saturating_mul(2)));
        let writes = prices.dollars_for_writes(WriteUnits::new(*write_units));
        let mut text = format!(
            "finishing `{retrofit}`: {read_units} read units ({reads}), about {write_units} write units ({writes}) for the marks of {items} items\n"
        );
        if self.rows {
            text += "and 1 write unit for each row of the control table\n";
        }
        if *write_units > 0 {
            text += "with --leave-marks it costs nothing: Keyfold never shows the marks, and later retrofits do not carry them along\n";
        }
        text
    }

    /// As a document, for programs.
    pub fn document(&self) -> Value {
        json!({
            "retrofit": self.retrofit, "phase": self.phase.name(), "leaveMarks": self.leave_marks, "items": self.items,
            "readUnits": self.read_units, "writeUnits": self.write_units,
        })
    }
}
