//! Begins a retrofit, backfills and compares, as far as that is still to be done.

use super::effect::{Effect, PageSource, Reply};
use super::gate_check::GateCheck;
use super::known::{Known, Limits, raced};
use super::outcome::{End, Outcome};
use super::parts::{Part, Passes, Store, Stored, Turn, ask};
use crate::retrofit::attributes::OWN_ATTRIBUTES;
use crate::retrofit::control::{self, ControlError, Phase, RetrofitState};
use crate::retrofit::gates::Gate;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::progress;
use crate::retrofit::protocol_choice::Protocol;
use crate::retrofit::request::TableRole;
use crate::retrofit::segment::Pass;

/// Items of the target that are looked at for marks of a retrofit that has lost its row.
const TRACE_ITEMS: u32 = 100;

/// A run, as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// In place only: follows no stream, because every writer folds keys itself.
    pub no_stream: bool,
    /// Repairs what the comparison finds.
    pub repair: bool,
    /// The other retrofits of the manifest.
    pub others: Vec<Mapping>,
    /// Its times.
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// The rows of the other retrofits.
    Others,
    /// What shows that a retrofit without a row was at work: rows, then items.
    Traces {
        at: usize,
    },
    /// An abandoned retrofit begins anew: its segments must not count.
    Forgetting(Box<RetrofitState>),
    Storing(Store),
    Gates {
        check: GateCheck,
        compared: bool,
    },
    Passing {
        passes: Passes,
        compares: bool,
        repairs: bool,
    },
    Over(Box<Outcome>),
}

/// A run at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Running {
    options: Run,
    stage: Stage,
    ended: Vec<RetrofitState>,
    counts: std::collections::BTreeMap<String, u64>,
}

impl Running {
    pub(super) fn new(options: Run, known: &Known) -> Running {
        let mut running =
            Running { options, stage: Stage::Others, ended: Vec::new(), counts: Default::default() };
        running.stage = running.begin(known);
        running
    }

    pub(super) fn doing(&self, _known: &Known) -> String {
        match &self.stage {
            Stage::Passing { passes, .. } => passes.doing(),
            _ => "checking how far the retrofit is".to_owned(),
        }
    }

    fn begin(&mut self, known: &Known) -> Stage {
        let (mapping, retrofit) = (&known.mapping, known.mapping.name());
        if self.options.no_stream && mapping.protocol() != Protocol::InPlace {
            let message = format!(
                "retrofit `{retrofit}` writes to another table: without a stream, changes during the retrofit would be lost"
            );
            return over(Outcome::refused("stream-required", message));
        }
        if !self.options.no_stream && known.tables[0].stream.is_none() {
            let message = format!("table `{}` has no stream with both images", mapping.source().name);
            return over(Outcome::refused("source-without-stream", message).hinted(
                "enable the source's stream with NEW_AND_OLD_IMAGES; in place, you can use --no-stream instead",
            ));
        }
        match &known.head {
            // Only a retrofit that begins can meet another one.
            Some(head) if head.phase != Phase::Abandoned => self.restart(known, head),
            _ if self.options.others.is_empty() => self.others_known(known),
            _ => Stage::Others,
        }
    }

    fn stream<'k>(&self, known: &'k Known) -> Option<&'k str> {
        if self.options.no_stream { None } else { known.tables[0].stream.as_deref() }
    }

    fn restart(&self, known: &Known, head: &RetrofitState) -> Stage {
        if !head.phase.is_filling() && head.phase != Phase::CutOver {
            return over(self.gone_on(known, head));
        }
        if head.phase == Phase::CutOver {
            // Between tables the target has writers of its own by now: nothing may be filled or repaired from the source.
            return match head.check_filling(&known.mapping) {
                Ok(()) => Stage::Gates { check: GateCheck::of(known), compared: false },
                Err(error) => over(known.control_error(&error)),
            };
        }
        match head.restarted(&known.mapping, self.stream(known)) {
            Ok(next) if next == *head => Stage::Gates { check: GateCheck::of(known), compared: false },
            Ok(next) => Stage::Storing(Store::of(known, next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    /// The retrofit is past its run.
    fn gone_on(&self, known: &Known, head: &RetrofitState) -> Outcome {
        match head.restarted(&known.mapping, self.stream(known)) {
            Err(error) => known.control_error(&error),
            Ok(_) => unreachable!("only a retrofit that is filling starts again"),
        }
    }

    fn others_read(&mut self, known: &Known, rows: &[Option<crate::value::Item>]) -> Stage {
        for (other, row) in self.options.others.iter().zip(rows) {
            let head = match RetrofitState::read(other.name(), row.as_ref()) {
                Ok(head) => head,
                Err(ControlError::NotStarted { .. }) => continue,
                Err(error) => return over(known.control_error(&error)),
            };
            if let Err(error) = head.check_apart(other, &known.mapping) {
                return over(known.control_error(&error));
            }
            let same = other.target().name == known.mapping.target().name;
            let is_over = matches!(head.phase, Phase::Abandoned | Phase::Finalised);
            self.ended.extend((same && is_over).then_some(head));
        }
        self.others_known(known)
    }

    fn others_known(&self, known: &Known) -> Stage {
        if let Err(error) = RetrofitState::check_begin(&known.mapping) {
            return over(known.control_error(&error));
        }
        let Some(head) = &known.head else { return Stage::Traces { at: 0 } };
        match head.restarted(&known.mapping, self.stream(known)) {
            // In the same epoch they would count as backfilled. Before the row is written: a killed run then does it again.
            Ok(next) => Stage::Forgetting(Box::new(next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    fn trace_source(&self, known: &Known, at: usize) -> Option<PageSource> {
        let name = known.mapping.name();
        match at {
            0 => Some(PageSource::Partition(control::segments_partition(name))),
            1 => Some(PageSource::Partition(control::quarantine_partition(name))),
            2 if known.mapping.protocol() != Protocol::InPlace => Some(PageSource::Scan(TableRole::Target)),
            _ => None,
        }
    }

    fn traced(&self, known: &Known, at: usize, items: &[crate::value::Item]) -> Stage {
        let marked = |item: &crate::value::Item| OWN_ATTRIBUTES.iter().any(|name| item.contains_key(*name));
        let found = match self.trace_source(known, at) {
            Some(PageSource::Partition(partition)) if !items.is_empty() => {
                Some(format!("rows under `{partition}`"))
            }
            Some(PageSource::Scan(_)) if items.iter().any(marked) => {
                Some(format!("items of table `{}` carry its marks", known.mapping.target().id))
            }
            _ => None,
        };
        if found.is_none() && self.trace_source(known, at + 1).is_some() {
            return Stage::Traces { at: at + 1 };
        }
        match RetrofitState::begun(&known.mapping, self.stream(known)).after(&self.ended, found) {
            Ok(next) => Stage::Storing(Store::of(known, next)),
            Err(error) => over(known.control_error(&error)),
        }
    }

    pub(super) fn next(&self, known: &Known) -> Turn<Outcome> {
        if let Stage::Over(outcome) = &self.stage {
            return Turn::Over((**outcome).clone());
        }
        if known.interrupted {
            return Turn::Over(Outcome::new(
                End::Interrupted,
                "interrupted",
                "interrupted; the same command goes on",
            ));
        }
        let effect = match &self.stage {
            Stage::Others => {
                let keys = self.options.others.iter().map(|other| control::head_key(other.name())).collect();
                Some(Effect::Read { table: TableRole::Control, keys })
            }
            Stage::Traces { at } => {
                self.trace_source(known, *at).map(|of| Effect::Page { of, after: None, limit: TRACE_ITEMS })
            }
            Stage::Forgetting(_) => Some(Effect::ForgetSegments(Pass::Backfill)),
            Stage::Storing(store) => ask(store.next(known)),
            Stage::Gates { check, .. } => ask(check.next(known)),
            Stage::Passing { passes, .. } => ask(passes.next(known)),
            Stage::Over(_) => unreachable!("returned above"),
        };
        match effect {
            Some(effect) => Turn::Ask(effect),
            None => unreachable!("a stage that asks for nothing is left at once"),
        }
    }

    pub(super) fn take(&mut self, known: &mut Known, reply: Reply) {
        let stage = std::mem::replace(&mut self.stage, Stage::Others);
        self.stage = match (stage, reply) {
            (Stage::Others, Reply::Items(rows)) => self.others_read(known, &rows),
            (Stage::Traces { at }, Reply::Page { items, .. }) => self.traced(known, at, &items),
            (Stage::Forgetting(next), Reply::Done) => Stage::Storing(Store::of(known, *next)),
            (Stage::Storing(mut store), reply) => {
                store.take(known, reply);
                match store.next(known) {
                    Turn::Ask(_) => Stage::Storing(store),
                    Turn::Over(Stored::Raced(there)) => over(raced(known, there.as_ref())),
                    Turn::Over(Stored::Done) => Stage::Gates { check: GateCheck::of(known), compared: false },
                }
            }
            (Stage::Gates { mut check, compared }, reply) => {
                check.take(known, reply);
                match check.next(known) {
                    Turn::Ask(_) => Stage::Gates { check, compared },
                    Turn::Over(Err(error)) => over(known.control_error(&error)),
                    Turn::Over(Ok(report)) => self.gates_known(known, report.gates, compared),
                }
            }
            (Stage::Passing { mut passes, compares, repairs }, reply) => {
                passes.take(known, reply);
                match passes.next(known) {
                    Turn::Ask(_) => Stage::Passing { passes, compares, repairs },
                    Turn::Over(counts) => {
                        counts
                            .into_iter()
                            .for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
                        match (compares, repairs) {
                            // What was repaired is compared once more: a pass that repairs proves nothing.
                            (true, true) => compare(known, false),
                            (true, false) => Stage::Gates { check: GateCheck::of(known), compared: true },
                            (false, _) => compare(known, self.options.repair),
                        }
                    }
                }
            }
            (stage, reply) => unreachable!("{reply:?} does not answer {stage:?}"),
        };
    }

    fn gates_known(&mut self, known: &Known, gates: Vec<Gate>, compared: bool) -> Stage {
        if !compared {
            return match gates.iter().any(|gate| matches!(gate, Gate::Backfill { .. })) {
                true => {
                    let passes = Passes::of(&[Pass::Backfill], false);
                    Stage::Passing { passes, compares: false, repairs: false }
                }
                false => compare(known, self.options.repair),
            };
        }
        // What a switch does itself is no gate of a run.
        let gates: Vec<Gate> =
            gates.into_iter().filter(|gate| !matches!(gate, Gate::Tombstones | Gate::Tidying)).collect();
        let (retrofit, phase) = (known.mapping.name(), known.head().phase.name());
        let listed: Vec<String> = gates.iter().map(ToString::to_string).collect();
        let outcome = match gates.is_empty() {
            true => Outcome::new(
                End::Done,
                phase,
                format!("retrofit `{retrofit}` is filled and compared: both sides agree"),
            ),
            false => {
                let next = Some(format!("keyfold retrofit run {retrofit}"));
                let message = format!("retrofit `{retrofit}` is not ready to switch: {}", listed.join("; "));
                Outcome { next, ..Outcome::new(End::Failed, "gates-closed", message) }
            }
        };
        over(Outcome { gates, counts: std::mem::take(&mut self.counts), ..outcome })
    }
}

fn compare(known: &Known, repairs: bool) -> Stage {
    let passes = Passes::of(progress::comparison(known.mapping.protocol()), repairs);
    Stage::Passing { passes, compares: true, repairs }
}

fn over(outcome: Outcome) -> Stage {
    Stage::Over(Box::new(outcome))
}
