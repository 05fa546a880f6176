//! Which indexes hold all their items, as the rows of the control table say.
//!
//! An index that a retrofit fills lacks items until the retrofit is cut over: a reader would get a part of them and could not
//! tell. So it is pending, unless a retrofit that fills it is known to be done. No row is no proof: it is pending too.

use std::collections::BTreeMap;

use super::control::{Phase, RetrofitState};
use super::mapping::Mapping;
use super::progress;
use super::protocol_choice::Protocol;
use super::segment::{Checkpoint, CheckpointError, Pass};
use crate::model::Model;
use crate::query::readiness::{Pending, Readiness};
use crate::value::Item;

/// The most segments of a backfill that are worth a read to say how far it is.
pub const SEGMENTS_READ_MAX: u32 = 500;

/// The retrofits into a table: their rows say which of its indexes hold all their items.
pub fn retrofits_into<'m>(model: &'m Model, table: &'m str) -> impl Iterator<Item = Mapping> + 'm {
    let into = model.retrofits.iter().filter(move |retrofit| retrofit.to == table);
    into.filter_map(|retrofit| Mapping::of(model, &retrofit.name).ok())
}

/// The known state of a retrofit into the queried table.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// The retrofit, by the manifest at hand.
    pub mapping: Mapping,
    /// Its row; `None` if it was never started.
    pub head: Option<RetrofitState>,
    /// The segments of its backfill, as far as they were read.
    pub segments: Vec<Checkpoint>,
    /// Are there segments that were not read?
    pub more: bool,
}

impl Filling {
    /// Of a retrofit that has no row, or whose row was not read.
    pub fn unknown(mapping: Mapping) -> Filling {
        Filling { mapping, head: None, segments: Vec::new(), more: false }
    }

    /// By the retrofit's row and the rows of its segments; `more` if there are some that were not read.
    pub fn of_rows(
        mapping: Mapping,
        head: RetrofitState,
        rows: &[Item],
        more: bool,
    ) -> Result<Filling, CheckpointError> {
        // The job is the row's own: progress needs no check of the mapping.
        let job = head.job(mapping.clone());
        let rows = if head.phase.is_filling() { rows } else { &[] };
        let segments = progress::read_checkpoints(&job, Pass::Backfill, rows)?;
        Ok(Filling { segments, mapping, head: Some(head), more })
    }

    /// Does the index hold all that this retrofit gives it? A retrofit that was cut over before the index got the key that
    /// it has now did not fill it.
    fn completes(&self, index: &str) -> bool {
        self.head.as_ref().is_some_and(|head| is_done(head) && head.filled(&self.mapping, index))
    }

    fn is_done(&self) -> bool {
        self.head.as_ref().is_some_and(is_done)
    }

    fn is_running(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.phase.is_filling())
    }

    fn pending(&self) -> Pending {
        Pending::Retrofit { retrofit: self.mapping.name().to_owned(), progress: self.progress() }
    }

    /// How far it is, in words that end "index `x` is being filled by retrofit `y`: ".
    fn progress(&self) -> String {
        let Some(head) = &self.head else { return "not started".to_owned() };
        match head.phase {
            Phase::Abandoned => "abandoned".to_owned(),
            phase if phase.is_filled() => format!("{}, before the index had this key", phase.name()),
            _ => self.segments_done(),
        }
    }

    fn segments_done(&self) -> String {
        let Some(total) = self.segments.iter().map(|one| one.segment().total()).max() else {
            return "backfill not started".to_owned();
        };
        let done = self.segments.iter().filter(|one| one.segment().total() == total && one.is_done()).count();
        match () {
            () if self.more => format!("at least {done} of {total} segments"),
            () if done == total as usize => format!("{done} of {total} segments, not switched"),
            () => format!("{done} of {total} segments"),
        }
    }
}

/// Do readers use the target?
fn is_done(head: &RetrofitState) -> bool {
    head.phase.is_filled()
}

/// The readiness of one table, by all retrofits into it.
pub fn readiness(fillings: &[Filling]) -> Readiness {
    let mut readiness = Readiness::complete();
    let mut by_index: BTreeMap<&str, Vec<&Filling>> = BTreeMap::new();
    for filling in fillings {
        for index in filling.mapping.fills() {
            by_index.entry(index).or_default().push(filling);
        }
    }
    for (index, fillings) in by_index {
        // One that is done has completed the index: a later one does not make it unusable.
        if fillings.iter().any(|filling| filling.completes(index)) {
            continue;
        }
        // The one at work says most.
        let shown = fillings.iter().find(|filling| filling.is_running()).or(fillings.first());
        if let Some(filling) = shown {
            readiness.add_index(&filling.mapping.target().id, index, filling.pending());
        }
    }
    // Into another table, the table itself lacks items as long as the retrofit runs.
    let moves = |filling: &&Filling| filling.mapping.protocol() != Protocol::InPlace;
    let running = fillings.iter().filter(moves).find(|filling| filling.is_running());
    if let Some(filling) = running.filter(|_| !fillings.iter().filter(moves).any(Filling::is_done)) {
        readiness.add_table(&filling.mapping.target().id, filling.pending());
    }
    readiness
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrofit::tests::job;
    use crate::retrofit::{Pass, SegmentId, Slice};

    fn filling(name: &str, phase: Option<Phase>) -> Filling {
        let mapping = job(name).mapping().clone();
        let head =
            phase.map(|phase| RetrofitState { phase, ..RetrofitState::started(&mapping, Some("stream-1")) });
        Filling { mapping, head, segments: Vec::new(), more: false }
    }

    /// Why the index and the table are pending, in the words that a reader sees.
    fn why(fillings: &[Filling]) -> [Option<String>; 2] {
        let readiness = readiness(fillings);
        let table = fillings[0].mapping.target().id.clone();
        let progress = |pending: &Pending| match pending {
            Pending::Retrofit { progress, .. } => progress.clone(),
            Pending::Missing | Pending::Withheld => {
                unreachable!("only queries learn that an index is missing, and only servers withhold one")
            }
        };
        [Some("byWho"), None].map(|index| readiness.pending(&table, index).map(progress))
    }

    #[test]
    fn an_index_is_pending_until_its_retrofit_is_cut_over() {
        let text = |text: &str| Some(text.to_owned());
        for (phase, expected) in [
            (None, text("not started")),
            (Some(Phase::Running), text("backfill not started")),
            (Some(Phase::Tidying), text("backfill not started")),
            (Some(Phase::Tidy), text("backfill not started")),
            (Some(Phase::CutOver), None),
            (Some(Phase::Finalising), None),
            (Some(Phase::Finalised), None),
            (Some(Phase::Abandoned), text("abandoned")),
        ] {
            let into_another = if phase.is_some_and(Phase::is_filling) { expected.clone() } else { None };
            assert_eq!(why(&[filling("inPlace", phase)]), [expected.clone(), None], "{phase:?}");
            assert_eq!(why(&[filling("moved", phase)]), [expected, into_another], "{phase:?}");
        }
    }

    #[test]
    fn its_progress_is_told_in_segments() {
        let job = job("inPlace");
        let segment = |number, done: bool| {
            let mut slice =
                Slice::from(Checkpoint::start(&job, Pass::Backfill, SegmentId::new(number, 8).unwrap()));
            slice.page(
                0,
                (!done).then(|| {
                    job.mapping()
                        .target()
                        .key_of(&crate::index::fixture::item(r#"{"id":{"S":"1"}}"#))
                        .unwrap()
                }),
            );
            slice.checkpoint().clone()
        };
        let segments: Vec<_> = (0..8).map(|number| segment(number, number < 3)).collect();
        let running = Filling { segments, ..filling("inPlace", Some(Phase::Running)) };
        assert_eq!(why(std::slice::from_ref(&running))[0].as_deref(), Some("3 of 8 segments"));
        assert_eq!(why(&[Filling { more: true, ..running }])[0].as_deref(), Some("at least 3 of 8 segments"));
        let all = (0..8).map(|number| segment(number, true)).collect();
        let all = Filling { segments: all, ..filling("inPlace", Some(Phase::Running)) };
        assert_eq!(why(&[all])[0].as_deref(), Some("8 of 8 segments, not switched"));
    }

    #[test]
    fn a_later_retrofit_does_not_make_a_complete_index_unusable() {
        let done = filling("inPlace", Some(Phase::Finalised));
        for later in [None, Some(Phase::Running), Some(Phase::Abandoned)] {
            assert_eq!(why(&[filling("inPlace", later), done.clone()]), [None, None], "{later:?}");
        }
    }

    #[test]
    fn an_index_that_got_its_key_after_the_cut_over_was_not_filled() {
        let changed = |change: fn(&mut RetrofitState)| {
            let mut filling = filling("inPlace", Some(Phase::CutOver));
            filling.head.as_mut().into_iter().for_each(change);
            why(&[filling])[0].clone()
        };
        let before = Some("cut-over, before the index had this key".to_owned());
        assert_eq!(changed(|head| head.indexes = [("byWho".to_owned(), "other".to_owned())].into()), before);
        assert_eq!(changed(|head| head.indexes = [("byOther".to_owned(), "x".to_owned())].into()), before);
    }
}
