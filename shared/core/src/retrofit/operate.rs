//! The operator: what moves a retrofit from phase to phase, as one state machine.
//!
//! An [`Operation`] is one command at work: run, tidy, switch, finish. [`next`](Operation::next) asks for one effect,
//! [`answer`](Operation::answer) takes the reply or the failure, with the time. Nothing here sends, waits or reads a clock. A driver
//! (the command line, the Lambda function `operator`, the simulator) only performs effects:
//!
//! ```text
//! let mut operation = Operation::new(mapping, Command::Switch(options), nonce, now_ms());
//! loop {
//!     match operation.next() {
//!         Step::Ask(effect) => {
//!             let reply = perform(&effect).await;      // Result<Reply, Failure>
//!             operation.answer(now_ms(), reply);
//!         }
//!         Step::Over(outcome) => return outcome,       // its text says which table is open, and what goes on
//!     }
//! }
//! ```
//!
//! - **Retries are decided here.** A driver performs an effect once (the retries inside one SDK call are its own) and reports a
//!   [`Failure`] with its kind. Any failure while writers are stopped is tried again until the limit of the stop; then the stop is
//!   taken back.
//! - **A killed driver loses nothing.** Everything needed is in the retrofit's row: a new operation of the same command goes on.
//! - **Effects may be performed twice.** Every write is conditional, and may come late. A policy that comes late is made right by the next
//!   command, whichever it is.
//! - **Progress**: [`status`](Operation::status) says what the operation waits for, [`interrupt`](Operation::interrupt) ends it in
//!   order: writers that were stopped are let in again.
//!
//! `effect` has effects and replies, `outcome` how an operation ends, `context` what a command knows. `streams`, `arrivals`, `sides`,
//! `examine`, `policies`, `gate_check`, `proof`, `comparison` are parts that several commands have; `run`, `tidy`, `switch`, `readers`, `finish`,
//! `revise`, `abandon` and `lift` are the commands.

mod abandon;
mod arrivals;
mod comparison;
mod context;
mod effect;
mod examine;
mod finish;
mod finish_price;
mod gate_check;
mod lift;
mod operation;
mod outcome;
mod parts;
mod policies;
mod proof;
mod readers;
mod revise;
mod run;
mod sides;
mod streams;
mod switch;
mod tidy;
mod trial;

pub use context::Limits;
pub use effect::{
    Effect, Failure, FailureKind, PageSource, Reply, Shard, ShardPage, ShardPosition, StreamedChange,
    TableFacts, TablePolicy,
};
pub use finish::Finish;
pub use finish_price::FinishPrice;
pub use operation::{Command, Operation, OperationStatus, Step, takes_back};
pub use outcome::{BacklogReport, End, OpenTable, Outcome};
pub use readers::Readers;
pub use revise::Revise;
pub use run::{Run, RunStage};
pub use switch::{Switch, Writers};
pub use tidy::Tidy;

#[cfg(test)]
mod tests;
