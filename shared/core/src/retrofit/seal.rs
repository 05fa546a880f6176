//! Seals: what ends all writes of a generation at once, wherever their requests are.
//!
//! Which way a retrofit carries items over can be turned round. A request that was sent before may be carried out long after, and
//! it cannot be recalled. So each write of a tidied retrofit is a transaction that asks that one row of the control table be
//! absent: the seal of its generation. When all seals of a generation are there, all its writes are refused.
//!
//! There are many seals, and an item's key says which is its own: transactions on one row get in each other's way. A seal is
//! written once, never changed and never taken away.

use sha2::{Digest, Sha256};

use super::control::{self, SORT};
use super::generation::Generation;
use super::job::Job;
use super::request::{Action, Guard, TableRole, Write, is};
use super::source_key::SourceKey;
use crate::condition::Comparison;

/// How many seals a generation has.
pub const SEALS: u16 = 1_024;

/// The writes that end this generation of the retrofit, from this one on. Each may be repeated.
pub fn seals(retrofit: &str, generation: Generation, from: u16) -> impl Iterator<Item = Write> + '_ {
    let sort = sort(generation);
    (from..SEALS).map(move |number| Write {
        role: TableRole::Control,
        action: Action::Put(control::key(&partition(retrofit, number), &sort)),
        // A row of keys alone: every write of it is the same.
        guard: Guard::AbsentOr(is(SORT, Comparison::Exists(true))),
    })
}

/// The part of an item's transaction that holds only while its generation is not sealed. It deletes what is not there.
pub(super) fn unsealed(job: &Job, source: &SourceKey) -> Option<Write> {
    Some(unsealed_in(job, source, job.generation()?))
}

/// The same for a repair, which also asks before the tidying: its process can stand still for longer than the tidying waits.
pub(super) fn unsealed_repair(job: &Job, source: &SourceKey) -> Write {
    unsealed_in(job, source, job.generation().unwrap_or(Generation::UNTIDIED))
}

/// Was it this part that was refused? It comes last in each transaction that has it.
pub(super) fn is_over(job: &Job, held: &[bool]) -> bool {
    job.generation().is_some() && held.last() == Some(&false)
}

fn unsealed_in(job: &Job, source: &SourceKey, generation: Generation) -> Write {
    let digest = Sha256::digest(source.row_key());
    let number = u16::from_be_bytes([digest[0], digest[1]]) % SEALS;
    let key = control::key(&partition(job.mapping().name(), number), &sort(generation));
    Write { role: TableRole::Control, action: Action::Delete(key), guard: Guard::Absent }
}

fn partition(retrofit: &str, number: u16) -> String {
    format!("seal#{retrofit}#{number:04}")
}

fn sort(generation: Generation) -> String {
    format!("{:012}", generation.number())
}
