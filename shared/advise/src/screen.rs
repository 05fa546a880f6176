//! Designs become candidates: each is written as text and read with the manifest, which checks it by all of its rules.
//!
//! A design that the manifest refuses or warns about is dropped, so advice adds no warning.

use keyfold_core::manifest::{self, Severity};
use keyfold_core::model::{Index, IndexKind, Projection, Table};

use crate::design::Design;

/// The most indexes in one reading: all that the default quota leaves, and attributes by name far below the limit of 100.
const BATCH_MAX: usize = 15;
const BATCH_INCLUDED_MAX: usize = 60;
const GLOBAL_INDEXES_QUOTA: usize = 20;
const LOCAL_INDEXES_MAX: usize = 5;

/// A design that the manifest accepts, as an index of the model under a temporary name.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) design: Design,
    pub(crate) index: Index,
}

/// The manifest to which designs are added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen<'t> {
    pub(crate) text: &'t str,
    pub(crate) table: &'t Table,
}

impl Screen<'_> {
    /// The designs that the manifest accepts. `first`: the number in the first temporary name. `Err`: sections cannot be added to
    /// the manifest at all.
    pub(crate) fn candidates(
        self,
        designs: Vec<Design>,
        first: usize,
    ) -> Result<Vec<Candidate>, NotExtensible> {
        let named = designs
            .into_iter()
            .enumerate()
            .map(|(at, design)| Named { name: format!("advised{}", first + at), design });
        let (local, global): (Vec<Named>, Vec<Named>) =
            named.partition(|named| named.design.kind == IndexKind::Local);
        let count = |kind| self.table.indexes.iter().filter(|index| index.kind == kind).count();
        let mut found = Vec::new();
        let mut is_extensible = local.is_empty() && global.is_empty();
        for (all, quota, kind) in
            [(local, LOCAL_INDEXES_MAX, IndexKind::Local), (global, GLOBAL_INDEXES_QUOTA, IndexKind::Global)]
        {
            let size = quota.saturating_sub(count(kind)).clamp(1, BATCH_MAX);
            for batch in batches(all, size) {
                self.read(batch, &mut found, &mut is_extensible);
            }
        }
        if is_extensible { Ok(found) } else { Err(NotExtensible) }
    }

    fn read(self, batch: Vec<Named>, found: &mut Vec<Candidate>, is_extensible: &mut bool) {
        let mut batch = batch;
        while !batch.is_empty() {
            let mut text = self.text.trim_end().to_owned() + "\n";
            let mut starts = Vec::new();
            for Named { name, design } in &batch {
                starts.push(text.len());
                text += &design.text(self.table, name);
            }
            let parsed = manifest::parse("", &text);
            let is_syntax = |code: &str| code == "toml-syntax" || code == "duplicate-name";
            *is_extensible |= !parsed.diagnostics.iter().any(|found| is_syntax(found.code));
            // The table allows a raised quota; that warning is about all indexes together.
            let counts = |found: &&manifest::Diagnostic| {
                !(found.code == "many-indexes" && found.severity == Severity::Warning)
            };
            let mut is_refused = vec![false; batch.len()];
            for place in parsed.diagnostics.iter().filter(counts).map(|found| found.span.start) {
                let at = starts.partition_point(|start| *start <= place);
                if let Some(at) = at.checked_sub(1) {
                    is_refused[at] = true;
                }
            }
            let mut refused = is_refused.iter();
            let before = batch.len();
            batch.retain(|_| refused.next() == Some(&false));
            match parsed.model {
                Some(model) => {
                    let table = model.table(&self.table.id);
                    for Named { name, design } in batch {
                        let index = table.and_then(|table| table.index(&name)).cloned();
                        found.extend(index.map(|index| Candidate { design, index }));
                    }
                    return;
                }
                None if batch.len() == before && before > 1 => {
                    // The error points at another place: read each half alone.
                    let rest = batch.split_off(before / 2);
                    self.read(rest, found, is_extensible);
                }
                None if batch.len() == before => return,
                None => {}
            }
        }
    }
}

/// The manifest writes its tables inline, and no section can be added to those.
#[derive(Debug)]
pub(crate) struct NotExtensible;

struct Named {
    name: String,
    design: Design,
}

fn batches(all: Vec<Named>, size: usize) -> Vec<Vec<Named>> {
    let mut batches: Vec<Vec<Named>> = Vec::new();
    let mut included = 0;
    for named in all {
        let more = match &named.design.projection {
            Projection::Include(names) => names.len(),
            _ => 0,
        };
        let is_full = |batch: &Vec<Named>| batch.len() >= size || included + more > BATCH_INCLUDED_MAX;
        match batches.last_mut().filter(|batch| !is_full(batch)) {
            Some(batch) => {
                included += more;
                batch.push(named);
            }
            None => {
                included = more;
                batches.push(vec![named]);
            }
        }
    }
    batches
}
