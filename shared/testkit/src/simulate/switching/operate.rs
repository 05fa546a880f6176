//! Operators: drivers of the core's [`Operation`]. Each effect is performed on the tables in memory. A driver can die before
//! an effect, after it, or in the middle of one. Replies can be late, throttled or lost, as with DynamoDB.

use keyfold_core::retrofit::control::{self, Direction, Phase};
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::operate::{
    Command, Effect, End, Failure, FailureKind, Finish, Limits, OpenTable, Operation, Outcome, Readers,
    Reply, Run, Step, Switch, TableFacts, TablePolicy, Tidy, Writers,
};
use keyfold_core::retrofit::{Request, Response, TableRole, TaskResult, Write};
use keyfold_core::value::Item;

use super::super::mutant::Mutant;
use super::super::store::control_partition;
use super::super::work::TaskOrigin;
use super::filling::IN_FLIGHT_MS;
use super::scene::{Jobs, index, is_asked};
use super::world::{Operator, SwitchFaults, World, failure};

/// The limit of a stop, in turns. A turn is a second.
const STOP_TURNS_MAX: u64 = 240;
/// The largest number of effects of an operator in one turn.
const EFFECTS_MAX: usize = 64;
/// The largest delay until a policy applies to all requests, in turns.
const POLICY_TURNS_MAX: usize = 8;
/// Operators that die before an effect, of a thousand; the same number dies after it.
const DEATHS: usize = 3;
/// The largest error of an operator's clock.
const SKEW_SECONDS: usize = 20;
/// The turns for which an operator or a request stands still, and in how many of its turns an operator does so before it carries items.
const SLEEP_TURNS: (u64, u64) = (30, 370);
const SLEEPS_EVERY: u64 = 3;
/// The turns for which a request is in flight while a target is filled.
const FLIGHT_TURNS: u64 = 160;
/// In every turn with a multiple of this number, an operator that begins lifts the policies.
const LIFT_TURNS: u64 = 41;
/// The role that carries changes.
const ROLE: &str = "arn:aws:iam::1:role/replicator";

impl World {
    /// Performs some effects of this operator.
    pub(super) fn operate(&mut self, at: usize) {
        self.refresh_open();
        if self.head.phase == Phase::Closing && self.has(Mutant::SettledFromClosing) && self.random.chance(5)
        {
            return self.settle_from_closing(at);
        }
        if self.head.phase.is_stop() && self.has(Mutant::LiftedInStop) && self.random.chance(5) {
            return self.lift_in_stop(at);
        }
        if self.operators[at].sleeps_until > self.turns && !self.ending {
            return;
        }
        if self.operators[at].operation.is_none() && !self.begin_operation(at) {
            return;
        }
        self.check_stop(at);
        let is_seen = self.fill.as_ref().is_some_and(|fill| !fill.is_quiet || !self.works.is_empty());
        let effects = if self.random.chance(30) { 1 } else { self.random.between(1, EFFECTS_MAX) };
        for _ in 0..effects {
            if self.faults.operators && self.random.below(1_000) < DEATHS {
                return self.operator_dies(at);
            }
            // Between the read of an item and the write that cleans it, others have their turns.
            if !self.operate_once(at)
                || self.operators[at].pass.as_ref().is_some_and(|run| is_seen || !run.cleaning.is_empty())
            {
                break;
            }
        }
        self.refresh_open();
    }

    /// A command that the row must refuse.
    fn settle_from_closing(&mut self, at: usize) {
        self.bites += 1;
        let before = self.head.clone();
        if let Ok(next) = before.switched_for_good() {
            self.head = next;
            self.turned(at, &before);
        }
    }

    /// The same: the policies of a stop are removed, and its writers go on.
    fn lift_in_stop(&mut self, at: usize) {
        if self.head.exempt.is_empty() {
            return;
        }
        self.bites += 1;
        self.note(|| format!("operator {at} lifts the policies of a stop"));
        self.head = self.head.exempting(&[]);
        for role in [TableRole::Source, TableRole::Target] {
            let revision =
                self.doors.policies[index(self.side(role))].as_ref().map(|(_, there)| there.to_string());
            self.set_policy(role, None, revision.as_ref());
        }
    }

    /// A stop ends within its limit.
    fn check_stop(&mut self, at: usize) {
        let operator = &self.operators[at];
        let own = operator.switches && self.stop_begun >= operator.started && self.head.phase.is_stop();
        if own && !self.ending && self.turns > self.stop_begun + 4 * STOP_TURNS_MAX {
            self.fail("a stop lasts longer than its limit");
        }
    }

    fn operator_dies(&mut self, at: usize) {
        self.note(|| format!("operator {at} dies"));
        if let Some(run) = self.operators[at].pass.take().filter(|_| self.is_filling()) {
            self.forget_runs(&run.segments);
        }
        self.operators[at] = Operator::default();
    }

    /// False if it waits, or is over.
    fn operate_once(&mut self, at: usize) -> bool {
        let Some(mut operation) = self.operators[at].operation.take() else { return false };
        let effect = match operation.next() {
            Step::Over(outcome) => {
                self.ended(at, &outcome);
                return false;
            }
            Step::Ask(effect) => effect,
        };
        let waits = matches!(&effect, Effect::Wait { until_ms } if !self.has_waited(at, *until_ms));
        if waits || self.falls_asleep(at, &effect) {
            self.operators[at].operation = Some(operation);
            return false;
        }
        self.operators[at].gives_back = operation.status().text.starts_with("taking the stop back");
        let reply = self.perform(at, &effect);
        if self.faults.operators && self.random.below(1_000) < DEATHS {
            self.operator_dies(at);
            return false;
        }
        let now_ms = self.now_ms(at);
        operation.answer(now_ms, reply);
        if self.doubts > 0 && self.head.phase.is_stop() && self.operators[at].switches {
            // The user presses ctrl-C.
            let doubts = self.random.below(10_000) < self.doubts;
            if doubts {
                operation.interrupt();
            }
        }
        self.operators[at].operation = Some(operation);
        true
    }

    /// Its process stands still between a read and what it writes by that. By the turn, not by chance: another draw would change every
    /// history in which processes sleep.
    fn falls_asleep(&mut self, at: usize, effect: &Effect) -> bool {
        let operator = &self.operators[at];
        let falls_asleep = self.faults.sleeps
            && !self.ending
            && !operator.switches
            && operator.sleeps_until == 0
            && matches!(effect, Effect::Carry { .. })
            && self.turns.is_multiple_of(SLEEPS_EVERY);
        if falls_asleep {
            self.note(|| format!("operator {at} stands still"));
            self.operators[at].sleeps_until = self.turns + self.stands_still();
        }
        falls_asleep
    }

    /// The turns for which a process stands still, or a request is under way.
    pub(super) fn stands_still(&self) -> u64 {
        if self.is_filling() {
            return self.turns % FLIGHT_TURNS;
        }
        SLEEP_TURNS.0 + self.turns % SLEEP_TURNS.1
    }

    pub(super) fn now_ms(&self, at: usize) -> u64 {
        let operator = &self.operators[at];
        operator.frozen_ms.unwrap_or((self.seconds() + operator.skew_seconds) * 1_000)
    }

    /// Is this wait over? The wait for requests of an earlier phase lasts until none is in flight.
    fn has_waited(&mut self, at: usize, until_ms: u64) -> bool {
        if self.is_filling() {
            return self.has_waited_filling(at, until_ms);
        }
        let tidies = matches!(self.head.phase, Phase::Tidying | Phase::Tidy) && !self.head.swept;
        let (is_under_way, without) = match self.head.phase {
            Phase::Finalising => (self.is_anything_under_way(), Mutant::FinaliseEarly),
            _ => (tidies && self.is_unsealed_under_way(), Mutant::NoWaitForRows),
        };
        let is_wait = self.head.since.is_some() && (tidies || self.head.phase == Phase::Finalising);
        // An operator with a pass waits for a retry.
        if is_wait && self.operators[at].pass.is_none() {
            let weakness = if is_under_way { without } else { Mutant::NoFloor };
            if (is_under_way || self.is_former_row_used()) && !self.bites(weakness) {
                return false;
            }
        }
        if is_wait {
            // The clock moves to the end of the wait: no request of an earlier phase is in flight.
            self.waited_seconds += until_ms.saturating_sub(self.now_ms(at)) / 1_000;
        }
        self.now_ms(at) >= until_ms || self.operators[at].frozen_ms.is_some()
    }

    /// A wait for former requests lasts until none is in flight, and ends then.
    fn has_waited_filling(&mut self, at: usize, until_ms: u64) -> bool {
        let is_wait = self.head.revising || self.head.restreaming;
        if is_wait && self.is_former_under_way() {
            return false;
        }
        if is_wait {
            self.waited_seconds += until_ms.saturating_sub(self.now_ms(at)).div_ceil(1_000);
        }
        self.now_ms(at) >= until_ms
    }

    fn begin_operation(&mut self, at: usize) -> bool {
        if self.is_filling() {
            return self.begin_filling(at);
        }
        let stopped = self.head.phase.is_stop() || self.open.is_none();
        // Another operator seldom gets in the way.
        let is_busy = self.operators.iter().any(|other| other.switches && other.operation.is_some());
        if is_busy && !self.random.chance(10) {
            return false;
        }
        let idles = self.moves_left() == 0 || !self.random.chance(25);
        // In `cut-over` nothing is repaired, and no new stream followed.
        let must_follow =
            self.must_fill() || self.head.phase == Phase::CutOver || !self.is_followed(Direction::Reverse);
        let must_go_on = stopped || self.is_ending_for_good() || (self.ending && must_follow);
        if idles && !must_go_on {
            return false;
        }
        if !stopped && self.faults.streams && self.head.phase.is_filling() && self.random.chance(5) {
            self.replace_stream(Direction::Forward);
        }
        let command = self.command(stopped);
        let switches = matches!(command, Command::Switch(_));
        let skew_seconds = if self.faults.clocks { self.random.below(SKEW_SECONDS) as u64 } else { 0 };
        self.operators[at] = Operator { switches, started: self.turns, skew_seconds, ..Operator::default() };
        if switches && !self.by_policy && self.open.is_some() {
            self.note(|| "the writers stop by themselves".to_owned());
            self.stopped_at = [0, 1].map(|at| self.streams[at].len());
            self.open = None;
        }
        self.note(|| format!("operator {at} begins {command:?}"));
        let nonce = format!("n{}", self.turns);
        let operation = Operation::new(self.scene.mapping.clone(), command, nonce, self.now_ms(at));
        self.operators[at].operation = Some(Box::new(operation));
        true
    }

    /// Were changes lost with a stream of the source? The next run finds them.
    pub(super) fn must_fill(&self) -> bool {
        self.lost_at.is_some() && self.head.phase.is_filling()
    }

    /// Has the way back ended, and is the retrofit not finished?
    fn is_ending_for_good(&self) -> bool {
        matches!(self.head.phase, Phase::Settled | Phase::Finalising)
    }

    fn command(&mut self, stopped: bool) -> Command {
        let limits = self.limits();
        // By the turn, not by chance: another draw would change every history with policies.
        if !self.ending && !self.head.exempt.is_empty() && self.turns.is_multiple_of(LIFT_TURNS) {
            return Command::Lift;
        }
        // Only readers have moved: they move back, or the writers follow them.
        if self.head.phase == Phase::CutOver && self.random.chance(50) {
            return Command::Readers(Readers { back: true, limits });
        }
        if self.is_ending_for_good()
            || (!stopped && self.head.phase == Phase::Reversed && self.random.chance(8))
        {
            let leave_marks = self.random.chance(20);
            self.keeps_marks |= leave_marks;
            return Command::Finish(Finish { leave_marks, limits });
        }
        if self.head.phase.is_stop() && self.random.chance(3) {
            return Command::Finish(Finish { leave_marks: false, limits });
        }
        if self.head.phase.is_filling() && !stopped && (self.random.chance(50) || self.must_fill()) {
            let repair = self.ending || self.must_fill() || self.random.chance(50);
            return match self.random.below(10) {
                0 if !self.must_fill() => Command::Tidy(Tidy { limits }),
                1 if !self.must_fill() && !self.ending => Command::Readers(Readers { back: false, limits }),
                _ => Command::Run(Run { repair, limits, ..Run::default() }),
            };
        }
        self.replace_stream_before(stopped);
        Command::Switch(self.switch(stopped))
    }

    /// The target gets another stream while an operator may have read the former one.
    fn replace_stream_before(&mut self, stopped: bool) {
        let is_before = !stopped && self.head.phase == Phase::Tidy && self.head.was_reversed();
        if is_before && self.faults.streams && self.random.chance(50) {
            self.replace_stream(Direction::Reverse);
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            stop_max_ms: STOP_TURNS_MAX * 1_000,
            quiet_ms: 2_000,
            denied_ms: 1_000,
            proof_max_ms: 60_000,
            read_max_ms: 600_000,
            // Longer than the error of a clock, as in AWS.
            in_flight_ms: if self.is_filling() { IN_FLIGHT_MS } else { 400_000 },
            clock_skew_ms: if self.faults.clocks { SKEW_SECONDS as u64 * 1_000 } else { 0 },
        }
    }

    fn switch(&mut self, stopped: bool) -> Switch {
        let phase = self.head.phase;
        let is_stop = phase.is_stop();
        let mut back = matches!(phase, Phase::Reversed | Phase::Returning);
        let mut take_back = is_stop && self.random.chance(if self.ending { 50 } else { 10 });
        if stopped && !is_stop {
            // An operator died after it wrote the row: the same command again, or a second rollback.
            let is_told = self.apps_at == self.truth_of;
            back = if is_told { phase == Phase::Reversed } else { self.truth_of == Direction::Forward };
            take_back = is_told;
        }
        let writers = if self.by_policy { Writers::Policy(vec![ROLE.to_owned()]) } else { Writers::Attested };
        Switch {
            back,
            for_good: false,
            writers: Some(writers),
            unproven: true,
            check: false,
            take_back,
            limits: self.limits(),
        }
    }

    /// Restores the control table to an earlier time: an operator must notice that and write nothing.
    pub(super) fn restore(&mut self) {
        let Some((control, head)) = self.backup.take() else {
            self.backup = Some((self.control.clone(), self.head.clone()));
            return;
        };
        let marks = self.doors.tags.iter().flatten();
        let marks = marks.filter_map(|tag| tag.split(' ').next()?.parse::<u64>().ok());
        if marks.max().is_none_or(|mark| mark <= head.version) {
            return;
        }
        let mut world = self.clone();
        (world.control, world.head) = (control.clone(), head.clone());
        world.faults = SwitchFaults::default();
        if self.has(Mutant::RestoreUnseen) {
            self.bites += 1;
            world.doors.tags = [None, None];
        }
        let command = Command::Run(Run { repair: true, limits: self.limits(), ..Run::default() });
        let operation = Operation::new(self.scene.mapping.clone(), command, "restored", self.now_ms(0));
        world.operators = vec![Operator { operation: Some(Box::new(operation)), ..Operator::default() }];
        let mut steps = 0;
        while steps < 200 && world.operate_once(0) {
            steps += 1;
        }
        if world.control != control || world.head != head {
            self.fail("an operator wrote by a control table of an earlier time");
        }
    }

    fn ended(&mut self, at: usize, outcome: &Outcome) {
        self.note(|| format!("operator {at}: {:?}, {}", outcome.end, outcome.text()));
        if outcome.text().trim().is_empty() || outcome.open_text.is_empty() {
            self.fail("an operation ends without saying which table is open");
        }
        if self.is_filling() {
            return self.ended_filling(at, outcome);
        }
        let operator = std::mem::take(&mut self.operators[at]);
        let by_quarantine = |gate: &Gate| matches!(gate, Gate::Quarantine { .. });
        let is_compared = outcome.counts.contains_key("same") && outcome.gates.iter().all(by_quarantine);
        // An entry of the quarantine does not keep a comparison from its end.
        if is_compared && (outcome.end == End::Done || !outcome.gates.is_empty()) {
            self.lost_at.take_if(|lost_at| *lost_at <= operator.started);
        }
        let is_blocked = !outcome.gates.is_empty() && outcome.gates.iter().all(by_quarantine);
        // Nothing else happened since the operation began.
        if operator.switches && is_blocked && operator.started == self.turns && self.can_release() {
            self.fail("a switch is refused for an entry of the quarantine that it could have released");
        }
        let others = self.operators.iter().any(|other| other.switches && other.operation.is_some());
        let side = match outcome.open {
            OpenTable::Source => Direction::Forward,
            OpenTable::Target => Direction::Reverse,
            OpenTable::Neither | OpenTable::Unknown => return,
        };
        // Writers start when the last operator has ended.
        if !others && !self.head.phase.is_stop() && side == self.truth_of {
            self.apps_at = side;
            if !self.by_policy {
                self.open = Some(side);
            }
        }
    }

    /// Does a release of all entries empty the quarantine?
    fn can_release(&self) -> bool {
        let mut world = self.clone();
        let lead = world.head.phase.direction();
        let Some(job) = lead.and_then(|lead| Jobs::of(&world.head).leading(lead)) else { return false };
        let names = [world.scene.mapping.rows_name().to_owned(), world.scene.mapping.other_rows_name()];
        for entry in world.quarantine(job.mapping().rows_name()) {
            if let Some(task) = job.release(&entry) {
                world.carry_to_the_end(task, &job, lead.unwrap_or(Direction::Forward));
            }
        }
        names.iter().all(|name| world.quarantine(name).is_empty())
    }

    /// With policies, writers write whenever the policy allows it.
    pub(super) fn refresh_open(&mut self) {
        if self.by_policy {
            let side = self.apps_at;
            let open = !self.doors.is_closed(side, self.turns) && side == self.truth_of;
            // A weakened operator goes by the second of the row.
            if !open && self.open.is_some() && !self.has(Mutant::EarlyLook) {
                self.stopped_at = [0, 1].map(|at| self.streams[at].len());
            }
            self.open = open.then_some(side);
        }
    }

    fn perform(&mut self, at: usize, effect: &Effect) -> Result<Reply, Failure> {
        let throttled = self.faults.throttles && self.random.chance(3);
        if throttled && !matches!(effect, Effect::Wait { .. }) {
            // The writes can be done although the answer is lost, all or some of them.
            match effect {
                Effect::Send(writes) => {
                    let sent = self.random.below(writes.len() + 1);
                    self.send(at, &writes[..sent]);
                }
                Effect::SetPolicy { .. } if self.random.chance(50) => drop(self.perform_now(at, effect)),
                _ => {}
            }
            return Err(failure(FailureKind::Passing, "throttled"));
        }
        if self.faults.rights
            && matches!(effect, Effect::SetPolicy { .. } | Effect::Tag { .. })
            && self.random.chance(5)
        {
            return Err(failure(FailureKind::Denied, "access-denied"));
        }
        self.perform_now(at, effect)
    }

    fn perform_now(&mut self, at: usize, effect: &Effect) -> Result<Reply, Failure> {
        Ok(match effect {
            Effect::Read { table, keys } => Reply::Items(self.read(at, *table, keys)),
            Effect::Page { of, after, .. } => self.page(of, after.as_ref()),
            Effect::Send(writes) => Reply::Responses(self.send(at, writes)),
            Effect::Carry { job, tasks } => {
                // As its sender does: the operation may have read the row long ago.
                if self.head.outdates(job) && !self.bites(Mutant::SleeperWrites) {
                    return Ok(Reply::Results(vec![TaskResult::Busy; tasks.len()]));
                }
                // A run releases what is in quarantine.
                if self.is_filling() && self.bites(Mutant::NoRelease) {
                    return Ok(Reply::Results(vec![TaskResult::Unchanged; tasks.len()]));
                }
                let lead = if job.mapping().is_reverse() { Direction::Reverse } else { Direction::Forward };
                let carried = tasks.iter().map(|task| {
                    let is_unseen =
                        self.has(Mutant::ClosedUnseen) && format!("{task:?}").contains("Late(Late");
                    match is_unseen && self.bites(Mutant::ClosedUnseen) {
                        true => TaskResult::Superseded,
                        false => self.carry_to_the_end(task.clone(), job, lead),
                    }
                });
                Reply::Results(carried.collect())
            }
            Effect::Describe(role) => {
                self.described |= self.head.phase.is_stop();
                Reply::Table(self.facts(*role))
            }
            Effect::Policy(role) => {
                let policy = self.doors.policies[index(self.side(*role))].clone();
                Reply::Policy(
                    policy.map(|(text, revision)| TablePolicy { text, revision: revision.to_string() }),
                )
            }
            Effect::SetPolicy { table, text, revision } => {
                self.set_policy(*table, text.as_ref(), revision.as_ref())
            }
            Effect::Probe(role) => Reply::Denied(self.doors.is_closed(self.side(*role), self.turns)),
            Effect::Tag { table, write } => {
                let tag = &mut self.doors.tags[index(self.side(*table))];
                if write.is_some() {
                    tag.clone_from(write);
                }
                Reply::Tag(tag.clone())
            }
            Effect::Shards { table, stream, after } => {
                return self.list_shards(self.side(*table), stream, after.as_deref());
            }
            Effect::Records { table, from, .. } => {
                let side = self.side(*table);
                Reply::Records(from.iter().map(|position| self.read_shard(at, side, position)).collect())
            }
            Effect::Pass { pass, repair } => return self.go_on_with(at, *pass, *repair),
            Effect::ForgetSegments(pass) => {
                self.forget_segments(*pass);
                Reply::Done
            }
            Effect::Wait { .. } => Reply::Done,
        })
    }

    fn facts(&mut self, role: TableRole) -> TableFacts {
        let arn = format!("arn:{:?}", self.side(role));
        let stream = match self.side(role) {
            Direction::Reverse if self.head.phase.is_stop() && self.has(Mutant::StreamUnchecked) => {
                let followed = self.head.reverse_stream.as_ref().map(|back| back.stream.clone());
                let stream = self
                    .stopping_stream
                    .clone()
                    .or(followed)
                    .unwrap_or_else(|| self.stream_name(self.side(role)));
                self.bites += u64::from(stream != self.stream_name(self.side(role)));
                stream
            }
            side => self.stream_name(side),
        };
        // A stream that is being enabled again is there once an operator comes.
        TableFacts { arn, stream: Some(stream), ..TableFacts::default() }
    }

    fn set_policy(&mut self, role: TableRole, text: Option<&String>, revision: Option<&String>) -> Reply {
        let at = index(self.side(role));
        let there = self.doors.policies[at].as_ref().map(|(_, revision)| revision.to_string());
        if there.as_ref() != revision {
            return Reply::Changed(false);
        }
        let delay = self.random.below(POLICY_TURNS_MAX) as u64;
        self.doors.before[at] = self.doors.is_closed(self.side(role), self.turns);
        self.doors.revision += 1;
        self.doors.policies[at] = text.map(|text| (text.clone(), self.doors.revision));
        self.doors.closed[at] = (text.is_some(), self.turns + delay);
        let side = self.side(role);
        self.note(|| format!("the policy of {side:?} is {}", if text.is_some() { "deny" } else { "none" }));
        Reply::Changed(true)
    }

    fn read(&mut self, at: usize, role: TableRole, keys: &[Item]) -> Vec<Option<Item>> {
        if let Some(stale) = &self.operators[at].stale {
            let there = stale.lookup(role, keys);
            let now = self.lookup(role, keys);
            self.bites += u64::from(there != now);
            return there;
        }
        let mut there = self.lookup(role, keys);
        if role == TableRole::Control && self.mutant.is_some() && self.operators[at].switches {
            for (key, item) in keys.iter().zip(&mut there) {
                self.weaken_row(key, item);
            }
        }
        there
    }

    /// Items of a table as they are.
    pub(super) fn lookup(&self, role: TableRole, keys: &[Item]) -> Vec<Option<Item>> {
        let read = |key: &Item| match role {
            TableRole::Control if *key == control::head_key(&self.head.retrofit) => Some(self.head_row()),
            TableRole::Control => self.row(key).cloned(),
            _ => self.at(self.side(role), key).cloned(),
        };
        keys.iter().map(read).collect()
    }

    fn send(&mut self, at: usize, writes: &[Write]) -> Vec<Response> {
        self.origin = TaskOrigin::Verify;
        let trace = self.trace.take();
        let head_key = control::head_key(&self.head.retrofit);
        let mut responses = Vec::with_capacity(writes.len());
        let mut notes = Vec::new();
        for write in writes {
            let key = write.action.key();
            let is_head =
                [control::PARTITION, control::SORT].iter().all(|name| key.get(*name) == head_key.get(*name));
            responses.push(match is_head {
                true => self.store_head(at, write, &mut notes),
                false if self.is_forgotten_seal(at, key) || self.is_idle_seal(key) => Response::Written,
                false => self.carry_out(Direction::Forward, &Request::Write(write.clone())),
            });
        }
        self.trace = trace;
        notes.into_iter().for_each(|note| self.note(|| note));
        responses
    }

    /// A seal that no write in this world checks.
    fn is_idle_seal(&self, key: &Item) -> bool {
        let partition = control_partition(key);
        partition.starts_with("seal#") && !is_asked(self.scene, partition)
    }
}
