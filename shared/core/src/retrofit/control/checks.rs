//! Checks of a row: mapping, stream, other retrofits.

use super::{ControlError, OTHER_KEYS, OTHER_TABLE, Phase, RetrofitState};
use crate::retrofit::mapping::Mapping;
use crate::retrofit::protocol_choice::Protocol;

impl RetrofitState {
    /// Does this retrofit, of this mapping, still keep fences and tombstones in a table that another one reads or writes? That
    /// one would take them for the items' own or for its own, or in place take them off.
    pub fn check_apart(&self, own: &Mapping, other: &Mapping) -> Result<(), ControlError> {
        let in_place = |mapping: &Mapping| mapping.protocol() == Protocol::InPlace;
        let over = matches!(self.phase, Phase::Finalised | Phase::Abandoned);
        // Two retrofits in place write the same keys.
        if own.name() == other.name() || over || (in_place(own) && in_place(other)) {
            return Ok(());
        }
        let (retrofit, by, phase) = (other.name().to_owned(), self.retrofit.clone(), self.phase);
        if own.target().name == other.source().name && !in_place(own) {
            let table = other.source().id.clone();
            return Err(ControlError::SourceUnfinished { retrofit, table, other: by, phase });
        }
        if own.target().name == other.target().name {
            let table = other.target().id.clone();
            return Err(ControlError::TargetShared { retrofit, table, other: by, phase });
        }
        Ok(())
    }

    /// May a retrofit of this mapping begin? One that changes attributes of a live table must say so in the manifest, and write every
    /// key that is folded from them.
    pub fn check_begin(mapping: &Mapping) -> Result<(), ControlError> {
        let (retrofit, table) = (mapping.name().to_owned(), mapping.source().id.clone());
        if let Some(stale) = mapping.stale_keys().into_iter().next() {
            return Err(ControlError::StaleKeys { retrofit, table, stale });
        }
        match mapping.live_changes().into_iter().next() {
            Some(change) if !mapping.may_change_live() => {
                Err(ControlError::LiveAttributes { retrofit, table, change })
            }
            _ => Ok(()),
        }
    }

    /// Is this mapping of the same two tables, by the same protocol and the same keys?
    pub(in crate::retrofit) fn check_fixed(&self, mapping: &Mapping) -> Result<(), ControlError> {
        if self.fixed_digest == mapping.fixed_digest() {
            return Ok(());
        }
        let in_place = self.protocol == Protocol::InPlace;
        Err(self.cannot_revise(if in_place { OTHER_TABLE } else { OTHER_KEYS }))
    }

    pub(super) fn cannot_revise(&self, why: &'static str) -> ControlError {
        ControlError::CannotRevise { retrofit: self.retrofit.clone(), why }
    }

    /// Is this the mapping that the retrofit was started with?
    pub fn check(&self, mapping: &Mapping) -> Result<(), ControlError> {
        if self.mapping == *mapping.hash() {
            return Ok(());
        }
        Err(ControlError::MappingChanged {
            retrofit: self.retrofit.clone(),
            started: self.mapping.to_string(),
            given: mapping.hash().to_string(),
        })
    }

    /// May items be carried over, with this mapping?
    pub fn check_open(&self, mapping: &Mapping) -> Result<(), ControlError> {
        self.check(mapping)?;
        if self.phase.carries_over() {
            return Ok(());
        }
        Err(self.closed())
    }

    /// Nothing is carried over in this phase.
    pub fn closed(&self) -> ControlError {
        ControlError::Closed { retrofit: self.retrofit.clone(), phase: self.phase }
    }

    /// May a backfill or a repair write, with this mapping? Not once applications write the target. In place there is one
    /// table, and what is written follows from the item itself.
    pub fn check_filling(&self, mapping: &Mapping) -> Result<(), ControlError> {
        self.check_open(mapping)?;
        if self.phase.is_filling() || self.protocol == Protocol::InPlace {
            return Ok(());
        }
        Err(ControlError::CutOver { retrofit: self.retrofit.clone() })
    }

    /// Are these records of the stream that is followed?
    pub fn check_stream(&self, stream: &str) -> Result<(), ControlError> {
        if self.stream.as_deref() == Some(stream) {
            return Ok(());
        }
        Err(ControlError::OtherStream { retrofit: self.retrofit.clone() })
    }

    /// Are these records of the target's stream that the way back follows?
    pub fn check_reverse_stream(&self, stream: &str) -> Result<(), ControlError> {
        if self.reverse_stream.as_ref().is_some_and(|back| back.stream == stream) {
            return Ok(());
        }
        Err(ControlError::OtherStream { retrofit: self.retrofit.clone() })
    }

    pub(in crate::retrofit) fn wrong_phase(&self, wanted: Phase) -> ControlError {
        ControlError::WrongPhase { retrofit: self.retrofit.clone(), phase: self.phase, wanted }
    }
}
