//! `keyfold retrofit switch`: the target is tidied and compared; then the writers of one table are stopped, all that they wrote arrives
//! at the other one, what was begun before is sealed, and the writers of the other table may write. Until that moment everything can be
//! taken back. `--back` does the same in the other direction. In place nobody moves, and the indexes are opened.

mod readers;
mod reverse;
mod state;
mod streams;
mod taken_back;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyfold_core::retrofit::control::{Direction, Phase};
use keyfold_core::retrofit::gates::{Gate, closed};
use keyfold_core::retrofit::{CompletedStep, Protocol, TableRole, seal};
use keyfold_dynamo::retrofit::{Backlog, Drain, RetrofitState};
use keyfold_dynamo::{DynamoError, StreamReader};
use serde_json::json;

pub(super) use self::state::RetrofitSwitchArgs;
use self::state::{FOR_GOOD, FORWARD, LOOK, REVERSE, Switch, Way, Writers};
use super::env::{Env, explained};
use super::line::Line;
use super::passes::{CompareOptions, RetrofitWork, compare, interrupted};
use super::policies;
use super::texts::listed;
use super::tidy::{self, is_tidy};
use crate::output::Output;
use crate::refusal::refuse;
use crate::support::{now_seconds, stop_flag};
use streams::streams;
use taken_back::{TakenBack, take_back};

/// What is older than this and has not arrived is carried over by the command itself, before the stop.
const USUAL_LAG_SECONDS: u64 = 60;

/// How many differences are listed.
const DIFFERENCES_SHOWN: usize = 20;

/// Read units for each item that the streams name: both sides and its row, before the seals and after them, of items up to 4 KB.
const READS_OF_ITEM: u64 = 6;
/// Write units to carry an item over: the item, its row and the look at its seal, each twice in a transaction, of items up to 1 KB.
const WRITES_OF_ITEM: u64 = 6;

pub(super) async fn run(env: &Env<'_>, args: &RetrofitSwitchArgs) -> anyhow::Result<ExitCode> {
    if args.lift {
        return policies::lift(env, &env.unstarted(&args.retrofit).await?).await;
    }
    let (sender, head) = env.started(&args.retrofit).await?;
    if head.protocol == Protocol::InPlace
        || args.writers == Some(Writers::Stay)
        || head.phase == Phase::CutOver
    {
        return readers::run(env, args).await;
    }
    let forward = if args.for_good { &FOR_GOOD } else { &FORWARD };
    if let (Err(why), false) = (env.mapping(&args.retrofit)?.reverse(), args.for_good) {
        // Before anything is tidied for hours.
        refuse!("no-way-back", "retrofit `{}` has no way back: {why}\nhint: {}", head.retrofit, why.hint());
    }
    match (head.phase, args.back) {
        (Phase::Closing, true) if !args.check => take_back(&sender, &head, &FORWARD, env.out).await,
        (Phase::Returning, false) if !args.check => take_back(&sender, &head, &REVERSE, env.out).await,
        (_, true) => moved(env, &REVERSE, args).await,
        (Phase::Running | Phase::Tidying | Phase::Tidy, false) => match prepared(env, args).await? {
            Some(code) => Ok(code),
            None => moved(env, forward, args).await,
        },
        (_, false) => moved(env, forward, args).await,
    }
}

/// The stages before the move: the target is tidied, and both sides are compared if they were not since. A code if the command ends here.
pub(super) async fn prepared(env: &Env<'_>, args: &RetrofitSwitchArgs) -> anyhow::Result<Option<ExitCode>> {
    let waits = env.waits(&args.waits)?;
    let (sender, head) = env.started(&args.retrofit).await?;
    if args.check {
        if is_tidy(&head) {
            return Ok(None);
        }
        let price = tidy::price(env, &sender, &head, waits.in_flight).await?;
        env.out.show(&price.value, price.text)?;
        return Ok(Some(ExitCode::SUCCESS));
    }
    let stop = stop_flag(env.out);
    if !tidy::tidy(env, &args.retrofit, waits.in_flight, &stop).await? {
        return interrupted(env.out).map(Some);
    }
    let (sender, head) = env.started(&args.retrofit).await?;
    let evidence = sender.evidence().await.map_err(explained)?;
    if closed(&head, &evidence).iter().any(|gate| matches!(gate, Gate::NotVerified | Gate::Stale { .. })) {
        let options = CompareOptions { repair: false, lag: waits.lag, show: DIFFERENCES_SHOWN };
        let sender = sender.paced(None);
        let compared = compare(&sender, &RetrofitWork::default(), &options, &stop, env.out).await?;
        env.out.note(&compared.text);
        if !compared.done {
            return interrupted(env.out).map(Some);
        }
    }
    Ok(None)
}

/// Moves the writers.
async fn moved(env: &Env<'_>, way: &'static Way, args: &RetrofitSwitchArgs) -> anyhow::Result<ExitCode> {
    let out = env.out;
    let (sender, head) = env.started(&args.retrofit).await?;
    // Who was killed after the last step comes again.
    if head.phase == way.to && (head.was_reversed() || way.to == Phase::Settled) {
        sender.enforce(&head).await.map_err(explained)?;
        return already(&head, out);
    }
    let mut switch = Switch::open(env, way, args).await?;
    let stopped_before = switch.head.phase == way.stop;
    if !stopped_before {
        switch.check_gates().await?;
        switch.check_door().await?;
    }
    // What the streams have from before takes no time from the pause.
    let (line, reading) = (Line::new(out), Instant::now());
    let said =
        || format!("reading what the streams have, for {} s; writers may go on", reading.elapsed().as_secs());
    line.during(switch.read(), said).await?;
    if !args.check && switch.writers().is_some() {
        line.during(switch.carry(now_seconds().saturating_sub(USUAL_LAG_SECONDS)), said).await?;
    }
    if args.check {
        return switch.checked().await;
    }
    if switch.writers().is_none() {
        refuse!("writers-not-stopped", "{}", switch.stop_first());
    }
    if !stopped_before {
        line.during(switch.proven(), || {
            "asking the replicator about the way back; writers may go on".to_owned()
        })
        .await?;
    }
    let stop = stop_flag(out);
    let begun = Instant::now();
    switch.stop().await?;
    let (line, most) = (Line::new(out), args.stop_max);
    let paused = || stopped_for(begun.elapsed(), most);
    match line.during(switch.drained(&stop), paused).await? {
        Ok(backlog) => switch.turned(&backlog, begun.elapsed()),
        Err(why) => switch.taken_back(why, begun.elapsed()).await,
    }
}

/// The pause so far.
fn stopped_for(elapsed: Duration, most: u64) -> String {
    format!("the writers are stopped: for {} s, {most} s at most", elapsed.as_secs())
}

/// The write units of a move: the seals, and what has not arrived by itself.
fn writes(backlog: &Backlog) -> u64 {
    u64::from(seal::SEALS) + backlog.waiting * WRITES_OF_ITEM
}

fn already(head: &RetrofitState, out: &Output) -> anyhow::Result<ExitCode> {
    if out.json {
        out.value(&json!({ "retrofit": head.retrofit, "phase": head.phase.name() }))?;
    } else {
        out.text(format!("retrofit `{}` is {} already\n", head.retrofit, head.phase.name()));
    }
    Ok(ExitCode::SUCCESS)
}

impl<'a> Switch<'a> {
    async fn open(
        env: &Env<'a>,
        way: &'static Way,
        args: &'a RetrofitSwitchArgs,
    ) -> anyhow::Result<Switch<'a>> {
        let (sender, head) = env.started(&args.retrofit).await?;
        let mapping = env.mapping(&args.retrofit)?;
        if head.phase != way.from && head.phase != way.stop {
            head.to(way.stop).map_err(explained)?;
        }
        let (stream, back_stream) = streams(&sender, &head, way).await?;
        let settings = env.globals.settings()?;
        let sides = ((mapping.source(), &stream), (mapping.target(), &back_stream));
        let (open, closed) = match way.lead {
            Direction::Forward => sides,
            Direction::Reverse => (sides.1, sides.0),
        };
        let reader = StreamReader::open(&settings, &open.0.id, open.1).await;
        let other = match head.was_reversed() {
            true => Some(StreamReader::open(&settings, &closed.0.id, closed.1).await),
            false => None,
        };
        let reverse_stream = closed.1.clone();
        let drain = Drain::new(mapping, reader, other);
        Ok(Switch {
            way,
            sender,
            head,
            drain,
            reverse_stream,
            args,
            waits: env.waits(&args.waits)?,
            out: env.out,
            quiet_since: Instant::now(),
            denied_since: None,
        })
    }

    /// Must everything be in order before writers are stopped? On the way there, as for a cut-over; on the way back, nothing may be
    /// in quarantine.
    async fn check_gates(&self) -> anyhow::Result<()> {
        let gates = match self.way.lead {
            Direction::Forward => {
                let evidence = self.sender.evidence().await.map_err(explained)?;
                listed_if_any(&closed(&self.head, &evidence))
            }
            Direction::Reverse => {
                let entries = self.sender.quarantine().await.map_err(explained)?.len()
                    + self.sender.other_quarantine().await.map_err(explained)?.len();
                (entries > 0).then(|| format!("{entries} items are in quarantine"))
            }
        };
        match gates {
            None => Ok(()),
            Some(gates) => {
                refuse!("gates-closed", "retrofit `{}` cannot {}: {gates}", self.head.retrofit, self.way.verb)
            }
        }
    }

    /// How writers are stopped. Whoever goes on with a stop goes on as it was begun.
    fn writers(&self) -> Option<Writers> {
        if self.head.phase == self.way.stop {
            return Some(if self.head.exempt.is_empty() { Writers::Attested } else { Writers::Policy });
        }
        self.args.writers
    }

    /// The roles that may write to a table that follows the other one: those given, or those of the last move.
    fn exempt(&self) -> &[String] {
        match self.writers() {
            Some(Writers::Policy) if !self.args.exempt.is_empty() => &self.args.exempt,
            Some(Writers::Policy) => &self.head.exempt,
            _ => &[],
        }
    }

    /// If a policy is to stop the writers, can it?
    async fn check_door(&self) -> anyhow::Result<()> {
        if self.writers() == Some(Writers::Attested) && !self.head.exempt.is_empty() {
            // Nobody would know of them any more, and the writers of the table that opens would stay denied.
            refuse!(
                "policies-in-force",
                "policies of retrofit `{0}` still close a table\n\
                 hint: say `--writers policy`, or take them off first: `keyfold retrofit switch {0} --lift`",
                self.head.retrofit
            );
        }
        if self.writers() != Some(Writers::Policy) {
            return Ok(());
        }
        if self.exempt().is_empty() {
            refuse!(
                "exempt-missing",
                "who may write to the table that follows?\n\
                 hint: give the ARNs of the replicator's role (an output of the stack) and of your own with --exempt or KEYFOLD_EXEMPT"
            );
        }
        if let Some(role) = self.exempt().iter().find(|role| !role.starts_with("arn:")) {
            refuse!("exempt-no-arn", "`{role}` is no ARN of a role");
        }
        self.sender.check_door(self.sender.table(TableRole::Source)).await.map_err(explained)
    }

    fn stop_first(&self) -> String {
        let (closes, opens) = self.tables();
        format!(
            "the writers of table `{closes}` have to be stopped first, until this command has ended\n\
             hint: stop them, run `{} --writers attested`, then let the writers of table `{opens}` begin; or say \
             `--writers policy`, and a policy on the table stops them; `--check` shows what is still to arrive, and changes nothing",
            self.command()
        )
    }

    /// The row of the stop.
    fn stopping(&self) -> anyhow::Result<RetrofitState> {
        let next = match self.way.stop {
            Phase::Closing => self.head.closing(&self.reverse_stream),
            stop => self.head.to(stop),
        };
        let next = next.map_err(explained)?;
        Ok(RetrofitState { exempt: self.exempt().to_vec(), ..next })
    }

    async fn read(&mut self) -> anyhow::Result<u64> {
        let came = match self.drain.read(&self.sender, &self.head).await {
            Err(gone @ DynamoError::NotFound { .. }) => {
                streams(&self.sender, &self.head, self.way).await?;
                return Err(gone.into());
            }
            came => came?,
        };
        if came > 0 {
            self.quiet_since = Instant::now();
        }
        Ok(came)
    }

    /// Says what there is still to arrive. Changes nothing.
    async fn checked(&mut self) -> anyhow::Result<ExitCode> {
        let backlog = self.drain.backlog(&self.sender, &self.head).await.map_err(explained)?;
        let policies = match self.writers() {
            Some(Writers::Policy) if self.head.phase != self.way.stop => {
                self.sender.policy_changes(&self.stopping()?).await.map_err(explained)?
            }
            _ => Vec::new(),
        };
        let (reverse, reverse_text) = self.last_answer().await?;
        let (closes, opens) = self.tables();
        if self.out.json {
            self.out.value(&json!({
                "retrofit": self.head.retrofit, "phase": self.head.phase.name(), "closes": closes, "opens": opens,
                "reverse": reverse, "items": backlog.items, "waiting": backlog.waiting, "differing": backlog.differing, "unseen": backlog.unseen,
                "readUnits": backlog.items * READS_OF_ITEM, "writeUnits": writes(&backlog),
                "policies": policies.iter().map(policies::document).collect::<Vec<_>>(),
            }))?;
        } else {
            self.out.text(format!(
                "retrofit `{}` can {}: nothing blocks it\n{}\n{reverse_text}it takes about {} read units and {} write units\n",
                self.head.retrofit,
                self.way.verb,
                self.arrived(&backlog),
                backlog.items * READS_OF_ITEM,
                writes(&backlog)
            ));
            policies.iter().for_each(|change| self.out.text(policies::line(change, "would become")));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// From here on nobody may write, and the retrofit says so.
    async fn stop(&mut self) -> anyhow::Result<()> {
        if self.head.phase != self.way.stop {
            self.store(self.stopping()?).await?;
        }
        // The row first: by it anybody can apply the policies again, or take them off.
        self.sender.enforce(&self.head).await.map_err(explained)?;
        let stopped = CompletedStep::Stopped { seconds: self.args.stop_max };
        self.out.note(format!("{}\n", stopped.message(&self.head, self.mapping())));
        self.quiet_since = Instant::now();
        Ok(())
    }

    /// Ends all writes of the generation at hand.
    async fn seal(&self) -> anyhow::Result<()> {
        let Some(generation) = self.head.generation else { unreachable!("looked at before") };
        self.sender.seal(generation).await.map_err(explained)
    }

    async fn carry(&self, before_seconds: u64) -> anyhow::Result<()> {
        self.drain.carry(&self.sender, &self.head, before_seconds).await.map_err(explained)
    }

    async fn store(&mut self, next: RetrofitState) -> anyhow::Result<()> {
        self.sender.store(&next, Some(&self.head)).await.map_err(explained)?;
        self.head = next;
        Ok(())
    }

    /// Where a policy stops the writers: have all writes been denied for long enough that were tried? What passed before has to come
    /// in the stream after that.
    async fn is_denied(&mut self) -> anyhow::Result<bool> {
        if self.head.exempt.is_empty() {
            return Ok(true);
        }
        let denied = self.sender.is_denied(self.sender.table(TableRole::Source)).await.map_err(explained)?;
        if !denied {
            self.denied_since = None;
            self.quiet_since = Instant::now();
            return Ok(false);
        }
        let since = *self.denied_since.get_or_insert_with(Instant::now);
        Ok(since.elapsed() >= Duration::from_secs(self.waits.denied))
    }

    /// Waits until all has arrived, seals, looks once more, and turns the direction.
    async fn drained(&mut self, stop: &AtomicBool) -> anyhow::Result<Result<Backlog, TakenBack>> {
        let begun = Instant::now();
        let (most, quiet) = (Duration::from_secs(self.args.stop_max), Duration::from_secs(self.waits.quiet));
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(Err(TakenBack::Interrupted));
            }
            let came = self.read().await?;
            let examined = self.drain.examine(&self.sender, &self.head).await.map_err(explained)?;
            let denied = self.is_denied().await?;
            let is_quiet = came == 0 && examined && denied && self.quiet_since.elapsed() >= quiet;
            let late = begun.elapsed() >= most;
            if is_quiet || late {
                if is_quiet {
                    self.carry(u64::MAX).await?;
                }
                let backlog = self.drain.backlog(&self.sender, &self.head).await.map_err(explained)?;
                if is_quiet && backlog.is_empty() {
                    break;
                }
                if late && !denied {
                    return Ok(Err(TakenBack::NotDenied));
                }
                if late {
                    return Ok(Err(TakenBack::TooLong(backlog)));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        self.seal().await?;
        // Nothing of the former direction can be written any more: what is right now stays right.
        let came = self.read().await?;
        let examined = self.drain.examine(&self.sender, &self.head).await.map_err(explained)?;
        let backlog = self.drain.backlog(&self.sender, &self.head).await.map_err(explained)?;
        let open = self.sender.quarantine().await.map_err(explained)?;
        let open = open.iter().any(|entry| entry.accepted.is_none());
        if came > 0 || !examined || !backlog.is_empty() || open {
            return Ok(Err(TakenBack::Moved(backlog)));
        }
        // A stream that is gone may have taken changes with it.
        self.check_reverse_stream(&streams(&self.sender, &self.head, self.way).await?)?;
        let next = match self.way.to {
            Phase::Reversed => {
                self.head.with_reverse_stream(&self.reverse_stream).and_then(|head| head.to(self.way.to))
            }
            Phase::Settled => self.head.switched_for_good(),
            to => self.head.to(to),
        };
        self.store(next.map_err(explained)?).await?;
        self.sender.enforce(&self.head).await.map_err(explained)?;
        Ok(Ok(backlog))
    }

    fn turned(&self, backlog: &Backlog, paused: Duration) -> anyhow::Result<ExitCode> {
        let (closes, opens) = self.tables();
        let retrofit = &self.head.retrofit;
        if self.out.json {
            self.out.value(&json!({
                "retrofit": retrofit, "phase": self.head.phase.name(), "closed": closes, "open": opens,
                "items": backlog.items, "seconds": paused.as_secs_f64(),
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let milliseconds = u64::try_from(paused.as_millis()).unwrap_or(u64::MAX);
        let items = backlog.items;
        let turned = match self.way.to {
            Phase::Settled => CompletedStep::MovedForGood { items, milliseconds },
            _ => CompletedStep::Turned { items, milliseconds },
        };
        self.out.text(format!(
            "retrofit `{retrofit}` is {}: {}\n",
            self.head.phase.name(),
            turned.message(&self.head, self.mapping())
        ));
        Ok(ExitCode::SUCCESS)
    }
}

fn listed_if_any(gates: &[Gate]) -> Option<String> {
    (!gates.is_empty()).then(|| listed(gates))
}
