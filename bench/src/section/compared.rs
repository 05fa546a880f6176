//! Two ways to do the same, in the same rounds: by the SDK alone, and by us.

use super::pace::Paces;
use crate::report::Table;
use crate::{Goal, figure};

/// Two ways to do the same.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) raw: Paces,
    pub(super) ours: Paces,
    /// What ours is to reach.
    pub(super) goal: Option<Goal>,
}

impl Compared {
    pub(super) fn new(name: impl Into<String>, goal: Option<Goal>) -> Compared {
        Compared { name: name.into(), raw: Paces::default(), ours: Paces::default(), goal }
    }

    /// Forgets what a round that warmed up has left.
    pub(super) fn forget(&mut self) {
        self.raw.forget();
        self.ours.forget();
    }

    /// The goal, and whether it is met.
    fn judged(&self) -> String {
        let measured = match self.goal {
            Some(Goal::RateAtLeast(_)) => self.ours.rate_beside(&self.raw),
            Some(Goal::CpuAtMost(_)) | None => self.ours.cpu_beside(&self.raw),
        };
        Goal::cell(self.goal, measured)
    }
}

/// Rates and CPU of all of them. `raw`: what the SDK alone does.
pub(super) fn table(caption: &str, raw: &str, all: &[Compared]) -> Table {
    let raw_cpu = format!("{raw}, CPU µs");
    let columns = ["", raw, "ours", "rate", &raw_cpu, "ours, CPU µs", "CPU", "goal"];
    let mut table = Table::new(caption, columns);
    for compared in all {
        let Compared { name, raw, ours, .. } = compared;
        table.row([
            name.clone(),
            figure::spread(raw.rate()),
            figure::spread(ours.rate()),
            figure::ratio(ours.rate_beside(raw)),
            figure::spread(raw.cpu()),
            figure::spread(ours.cpu()),
            figure::ratio(ours.cpu_beside(raw)),
            compared.judged(),
        ]);
    }
    table
}
