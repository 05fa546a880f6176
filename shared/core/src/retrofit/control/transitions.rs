//! From one row to the next.

use super::{ControlError, Phase, RetrofitState, ReverseStream};
use crate::retrofit::fence::Epoch;
use crate::retrofit::generation::Generation;
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol_choice::Protocol;

impl RetrofitState {
    /// The row of a retrofit that begins.
    pub fn started(mapping: &Mapping, stream: Option<&str>) -> RetrofitState {
        RetrofitState {
            retrofit: mapping.name().to_owned(),
            phase: Phase::Running,
            mapping: mapping.hash().clone(),
            indexes: mapping.filled(),
            protocol: mapping.protocol(),
            epoch: Epoch::FIRST,
            stream: stream.map(str::to_owned),
            version: 1,
            since: None,
            swept: false,
            rows_since: None,
            generation: None,
            reverse_stream: None,
            fixed_digest: mapping.fixed_digest(),
            revising: false,
            restreaming: false,
            exempt: Vec::new(),
            stopped_at: None,
            for_good: false,
            turned_at: None,
            turned_in: None,
        }
    }

    /// The row that begins a retrofit where `traces` of an earlier one were found, and these retrofits into the same target are
    /// over. Their fences stay behind. Where the source's key fixes the target's, the epoch after theirs is newer than all
    /// of them; a ledger knows nothing of items that another ledger placed.
    pub fn after(
        self,
        ended: &[RetrofitState],
        traces: Option<String>,
    ) -> Result<RetrofitState, ControlError> {
        let Some(found) = traces else { return Ok(self) };
        let newest = ended.iter().map(|head| head.epoch).max();
        match newest.filter(|_| self.protocol == Protocol::Fenced) {
            Some(newest) => {
                let retrofit = || self.retrofit.clone();
                let epoch =
                    newest.next().ok_or_else(|| ControlError::EpochsUsedUp { retrofit: retrofit() })?;
                Ok(RetrofitState { epoch, ..self })
            }
            None => Err(ControlError::StateLost {
                retrofit: self.retrofit,
                found,
                in_place: self.protocol == Protocol::InPlace,
            }),
        }
    }

    /// The row after starting again: the same one, or with the next epoch if the source has another stream by now; after a return,
    /// likewise for the target's stream, which shows late writes there. An abandoned retrofit starts from its beginning.
    pub fn restarted(
        &self,
        mapping: &Mapping,
        stream: Option<&str>,
        target_stream: Option<&str>,
    ) -> Result<RetrofitState, ControlError> {
        if self.phase == Phase::Abandoned {
            return self.started_again(mapping, stream);
        }
        self.check(mapping)?;
        if !self.phase.is_filling() {
            return Err(self.wrong_phase(Phase::Running));
        }
        let mut next = match target_stream.filter(|_| self.was_reversed()) {
            Some(target_stream) => self.with_reverse_stream(target_stream)?,
            None => self.clone(),
        };
        if self.stream.as_deref() != stream {
            (next.epoch, next.stream) = (self.next_epoch()?, stream.map(str::to_owned));
            next.restreaming = self.protocol != Protocol::InPlace;
        }
        next.version += u64::from(next != *self);
        Ok(next)
    }

    fn next_epoch(&self) -> Result<Epoch, ControlError> {
        self.epoch.next().ok_or_else(|| ControlError::EpochsUsedUp { retrofit: self.retrofit.clone() })
    }

    /// The row of an abandoned retrofit that starts again. Its writes stayed. With another stream, the next epoch is newer than
    /// all of it. Records of the same stream can come again, though, and must stay older than what was written after them: there the
    /// epoch stays too, and what was not carried over meanwhile is found by a comparison.
    fn started_again(&self, mapping: &Mapping, stream: Option<&str>) -> Result<RetrofitState, ControlError> {
        if self.keeps_rows() {
            return Err(self.cannot_revise("its target was tidied, and what was deleted since may be in it"));
        }
        self.check_fixed(mapping)?;
        let same = self.stream.as_deref() == stream;
        let epoch = if same { self.epoch } else { self.next_epoch()? };
        // A wait that `abandon` cut short goes on: requests that work by the former stream or manifest can still be in flight.
        let (restreaming, revising) = (!same || self.restreaming, self.revising);
        let restreaming = restreaming && self.protocol != Protocol::InPlace;
        let version = self.version + 1;
        Ok(RetrofitState { epoch, version, restreaming, revising, ..RetrofitState::started(mapping, stream) })
    }

    /// The row once the manifest is mended: from now on, items are written by this mapping. A worker that read the earlier row may still write
    /// by the other one, until the row is [`revision_done`](Self::revision_done).
    pub fn revised(&self, mapping: &Mapping) -> Result<RetrofitState, ControlError> {
        // In place, what is written follows from the item alone.
        let in_place = self.phase == Phase::CutOver && self.protocol == Protocol::InPlace;
        if self.keeps_rows() {
            return Err(self.cannot_revise("its target is tidied"));
        }
        if self.phase != Phase::Running && !in_place {
            return Err(self.wrong_phase(Phase::Running));
        }
        self.check_fixed(mapping)?;
        Ok(RetrofitState {
            mapping: mapping.hash().clone(),
            // Queries use an index that was filled as long as its keys are the same.
            indexes: if in_place { self.indexes.clone() } else { mapping.filled() },
            revising: true,
            version: self.version + 1,
            ..self.clone()
        })
    }

    /// The row once no worker writes by the earlier manifest.
    #[must_use]
    pub fn revision_done(&self) -> RetrofitState {
        RetrofitState { revising: false, version: self.version + 1, ..self.clone() }
    }

    /// The row once no worker writes by records of the stream before. Earlier comparisons do not count: their version is older.
    #[must_use]
    pub fn restreamed(&self) -> RetrofitState {
        RetrofitState { restreaming: false, version: self.version + 1, ..self.clone() }
    }

    /// The row of a retrofit in place that is cut over once more: every index of its mapping is filled.
    #[must_use]
    pub fn filled_again(&self, mapping: &Mapping) -> RetrofitState {
        RetrofitState { indexes: mapping.filled(), version: self.version + 1, ..self.clone() }
    }

    /// The row in the next phase.
    pub fn to(&self, phase: Phase) -> Result<RetrofitState, ControlError> {
        if phase == Phase::Closing && self.generation.is_none() {
            return Err(self.wrong_phase(phase));
        }
        let tidies = self.phase == Phase::Running && matches!(phase, Phase::Tidying | Phase::Tidy);
        if tidies && phase != self.tidied_first()? {
            return Err(self.wrong_phase(phase));
        }
        if !tidies && !self.phase.followers(self.protocol == Protocol::InPlace).contains(&phase) {
            return Err(self.wrong_phase(phase));
        }
        Ok(self.moved(phase, tidies.then_some(Generation::FIRST)))
    }

    /// The row at the end of a switch without a way back. `settle` must not do this: until the switch has seen every change arrive,
    /// closing the source for good loses those in flight.
    pub fn switched_for_good(&self) -> Result<RetrofitState, ControlError> {
        match self.phase {
            Phase::Closing => Ok(self.moved(Phase::Settled, None)),
            _ => Err(self.wrong_phase(Phase::Settled)),
        }
    }

    fn moved(&self, phase: Phase, first: Option<Generation>) -> RetrofitState {
        // Seals are permanent, so ending a stop starts the next generation.
        let turned = phase.direction() != self.phase.direction();
        let generation = match self.generation {
            // The end of `tidying` too: a repair of it leaves tombstones.
            Some(generation) if self.phase.is_stop() || turned || self.phase == Phase::Tidying => {
                Some(generation.next())
            }
            None => first,
            generation => generation,
        };
        RetrofitState {
            phase,
            generation,
            since: None,
            stopped_at: None,
            for_good: false,
            turned_in: if turned { generation } else { self.turned_in },
            version: self.version + 1,
            ..self.clone()
        }
    }

    /// The phase in which it begins to be tidied. A ledger has its rows already, and leaves no tombstones.
    pub fn tidied_first(&self) -> Result<Phase, ControlError> {
        match self.protocol {
            Protocol::InPlace => Err(ControlError::NothingToTidy { retrofit: self.retrofit.clone() }),
            Protocol::Fenced => Ok(Phase::Tidying),
            Protocol::Ledger => Ok(Phase::Tidy),
        }
    }

    /// The row that gives the source back, or closes it, with the target's stream of now.
    pub fn with_reverse_stream(&self, stream: &str) -> Result<RetrofitState, ControlError> {
        let used_up = || ControlError::EpochsUsedUp { retrofit: self.retrofit.clone() };
        let epoch = match &self.reverse_stream {
            None => Epoch::FIRST,
            Some(back) if back.stream == stream => back.epoch,
            Some(back) => back.epoch.next().ok_or_else(used_up)?,
        };
        Ok(RetrofitState {
            reverse_stream: Some(ReverseStream { stream: stream.to_owned(), epoch }),
            ..self.clone()
        })
    }

    /// The row of a stop of the source's writers. Late changes of the target, closed since a return, are judged by the stream that it
    /// has now: if that is another one than the way back followed, the next epoch begins.
    pub fn closing(&self, target_stream: &str) -> Result<RetrofitState, ControlError> {
        let head = if self.was_reversed() { self.with_reverse_stream(target_stream)? } else { self.clone() };
        head.to(Phase::Closing)
    }

    /// The row from which on policies on the tables stop writers, but for these roles; without any, writers stop by themselves.
    #[must_use]
    pub fn exempting(&self, exempt: &[String]) -> RetrofitState {
        RetrofitState { exempt: exempt.to_vec(), version: self.version + 1, ..self.clone() }
    }

    /// The row once no worker starts to write as in the earlier phase.
    #[must_use]
    pub fn effective_since(&self, seconds: u64) -> RetrofitState {
        let rows_since = match self.phase {
            Phase::Tidy => self.rows_since.or(Some(seconds)),
            _ => self.rows_since,
        };
        RetrofitState { since: Some(seconds), rows_since, version: self.version + 1, ..self.clone() }
    }

    /// The row once the target was swept.
    #[must_use]
    pub fn swept(&self) -> RetrofitState {
        RetrofitState { swept: true, version: self.version + 1, ..self.clone() }
    }
}
