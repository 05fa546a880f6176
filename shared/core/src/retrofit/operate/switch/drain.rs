//! Both streams and what they say is still to arrive. A round reads one page of each shard and looks up its items. It says what it
//! brought, and decides nothing about the stop.

use std::sync::Arc;

use crate::retrofit::control::RetrofitState;
use crate::retrofit::job::Job;
use crate::retrofit::operate::arrivals::Arrivals;
use crate::retrofit::operate::context::OperationContext;
use crate::retrofit::operate::effect::{Effect, Reply};
use crate::retrofit::operate::examine::Examining;
use crate::retrofit::operate::parts::PartStep;
use crate::retrofit::operate::streams::StreamReading;
use crate::retrofit::request::TableRole;

/// A round of reading, and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Round {
    pub(super) purpose: RoundPurpose,
    step: RoundStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundPurpose {
    BeforeStop,
    /// During the stop.
    Drain,
    /// The same, and everything that is pending is looked up again: nothing has come for long enough. Items that have arrived stay so, and
    /// need no other look before the seals.
    CheckEmpty,
    /// After the seals: everything is looked up again, because writers that were not stopped may have written since.
    AfterSeals,
}

#[derive(Debug, Clone, PartialEq)]
enum RoundStep {
    Open,
    Closed,
    Examining(Examining),
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundEnd {
    /// No record came, and no shard is missing.
    pub(super) is_idle: bool,
    pub(super) records: u64,
    /// Every record of the closed table was examined.
    pub(super) is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drain {
    open: StreamReading,
    closed: Option<StreamReading>,
    pub(super) arrivals: Arrivals,
    /// When the streams were opened.
    pub(super) reading_since_ms: u64,
    /// The stream by which items are carried the other way afterwards.
    pub(super) reverse_stream: String,
}

impl Drain {
    /// Opens the streams. Returns the table whose stream the retrofit has not followed all the time, if there is one.
    pub(super) fn open(
        context: &OperationContext,
        job: Arc<Job>,
        is_for_good: bool,
        is_resumed: bool,
    ) -> Result<Drain, TableRole> {
        let head = context.head();
        let arrivals = Arrivals::of(head, job);
        let [open, closed] = arrivals.roles();
        let of = |role: TableRole| context.table(role).stream.clone().ok_or(role);
        let open_stream = of(open)?;
        if !is_followed(head, open, &open_stream) {
            return Err(open);
        }
        // Without a way back the target's stream is not read, unless the target was open before: its records still show what was
        // written there since.
        let closed_stream = match is_for_good && !head.was_reversed() {
            true => None,
            false => Some(of(closed)?),
        };
        // During a stop the row has the stream of the table that opens.
        let is_known = open == TableRole::Target || (is_resumed && head.was_reversed());
        if is_known && closed_stream.as_deref().is_none_or(|stream| !is_followed(head, closed, stream)) {
            return Err(closed);
        }
        let seconds = context.seconds();
        let other = closed_stream.clone().filter(|_| head.was_reversed());
        Ok(Drain {
            open: StreamReading::of(open, &open_stream, seconds),
            // Until the other table was open only the retrofit wrote it: nothing in its stream can be late, and a day of it would be
            // read.
            closed: other.map(|stream| StreamReading::of(closed, &stream, seconds)),
            arrivals,
            reading_since_ms: context.now_ms,
            reverse_stream: closed_stream.unwrap_or_default(),
        })
    }

    pub(super) fn begin_round(&mut self, purpose: RoundPurpose) -> Round {
        self.open.begin_round();
        if let Some(closed) = &mut self.closed {
            if self.arrivals.needs_writes_again() && closed.is_idle() {
                // Digests are missing: items whose write was shown before would wait for it until the limit of the stop.
                closed.rewind();
            }
            closed.begin_round();
        }
        self.arrivals.forget();
        match purpose {
            RoundPurpose::AfterSeals => {
                self.arrivals.look_at_all();
                self.open.list_again();
                self.closed.iter_mut().for_each(StreamReading::list_again);
            }
            RoundPurpose::CheckEmpty => self.arrivals.look_again(),
            RoundPurpose::BeforeStop | RoundPurpose::Drain => {}
        }
        Round { purpose, step: RoundStep::Open }
    }

    /// The next effect of a round's step; `None` when it is over.
    pub(super) fn next(&self, context: &OperationContext, round: &Round) -> Option<Effect> {
        // The records of the last page are looked up before the next page is read.
        if let Some(effect) = self.arrivals.next() {
            return Some(effect);
        }
        match &round.step {
            RoundStep::Open => self.open.next(context).effect(),
            RoundStep::Closed => self.closed.as_ref()?.next(context).effect(),
            RoundStep::Examining(examining) => examining.next(context, &self.arrivals).effect(),
        }
    }

    /// `Err` if another operator changed the row.
    pub(super) fn take(
        &mut self,
        context: &mut OperationContext,
        round: &mut Round,
        reply: Reply,
    ) -> Result<(), Option<Box<RetrofitState>>> {
        let arrivals = &mut self.arrivals;
        if arrivals.next().is_some() {
            arrivals.take(context, reply);
            return Ok(());
        }
        let head = context.head().clone();
        match &mut round.step {
            RoundStep::Open => {
                self.open.take(context, reply, &mut |change| arrivals.add_open_record(&head, change));
                arrivals.begin_look(false);
            }
            RoundStep::Closed => {
                let Some(closed) = &mut self.closed else { unreachable!("it was asked") };
                closed.take(context, reply, &mut |change| arrivals.add_closed_record(&head, change));
                if arrivals.drops_writes() {
                    closed.rewind();
                }
            }
            RoundStep::Examining(examining) => examining.take(context, arrivals, reply)?,
        }
        Ok(())
    }

    /// Goes on to the step that asks for something; the end if none does.
    pub(super) fn advance(
        &mut self,
        context: &OperationContext,
        round: &mut Round,
        is_check: bool,
    ) -> Option<RoundEnd> {
        while self.next(context, round).is_none() {
            // Items that were read are looked up first.
            // Not before the closed stream was read in this round: an item whose own write is in it would count as unseen.
            if !matches!(round.step, RoundStep::Open) && self.arrivals.begin_look(true) {
                continue;
            }
            round.step = match &round.step {
                RoundStep::Open => RoundStep::Closed,
                RoundStep::Closed => {
                    // Before the stop too: the closed table can have a whole day of records, too many for a stop.
                    if is_check {
                        self.arrivals.unexamined.clear();
                    }
                    RoundStep::Examining(Examining::of(context, &mut self.arrivals, &self.reverse_stream))
                }
                RoundStep::Examining(examining) => {
                    let PartStep::Over(is_complete) = examining.next(context, &self.arrivals) else {
                        unreachable!("it asks for nothing")
                    };
                    return Some(self.end(is_complete));
                }
            };
        }
        None
    }

    fn end(&self, is_complete: bool) -> RoundEnd {
        let closed = self.closed.as_ref();
        RoundEnd {
            is_idle: self.open.is_idle() && closed.is_none_or(StreamReading::is_idle),
            records: self.open.records_read() + closed.map_or(0, StreamReading::records_read),
            is_complete,
        }
    }

    pub(super) fn is_caught_up(&self) -> bool {
        self.open.is_caught_up() && self.closed.as_ref().is_none_or(StreamReading::is_caught_up)
    }

    /// The table whose stream is another one by now.
    pub(super) fn replaced(&self, context: &OperationContext) -> Option<TableRole> {
        let read = std::iter::once(&self.open).chain(&self.closed);
        let is_other = |reading: &&StreamReading| {
            context.table(reading.table()).stream.as_deref() != Some(reading.stream())
        };
        read.filter(is_other).map(StreamReading::table).next()
    }
}

fn is_followed(head: &RetrofitState, role: TableRole, stream: &str) -> bool {
    match role {
        TableRole::Target => head.check_reverse_stream(stream).is_ok(),
        _ => head.check_stream(stream).is_ok(),
    }
}
