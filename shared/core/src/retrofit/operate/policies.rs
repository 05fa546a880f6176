//! The policies and tags of both tables made what the row says, and the check that this can be done.

use super::context::{OperationContext, TableTag};
use super::effect::{Effect, Failure, FailureKind, Reply, TablePolicy};
use super::outcome::Outcome;
use super::parts::{Part, PartStep, Stored, one_row};
use crate::model::Table;
use crate::retrofit::control::{self, Direction, RetrofitState};
use crate::retrofit::request::TableRole;
use crate::retrofit::stop::{PolicyError, WriteAccess, lifted_policy, same_policy};
use crate::value::Item;

/// The pause before a policy is changed again: DynamoDB takes no change for 15 seconds after another one.
const CHANGE_PAUSE_MS: u64 = 500;
/// How long a policy that was taken off can still be met, before a denial counts as the caller's own lack of rights.
const LINGER_MS_MAX: u64 = 20_000;
/// A revision that no policy has: a change with it shows the rights and changes nothing.
const NO_REVISION: &str = "keyfold-probe";

pub(super) const TABLES: [TableRole; 2] = [TableRole::Source, TableRole::Target];

fn direction(role: TableRole) -> Direction {
    if role == TableRole::Target { Direction::Reverse } else { Direction::Forward }
}

pub(super) fn model(context: &OperationContext, role: TableRole) -> &Table {
    if role == TableRole::Target { context.mapping.target() } else { context.mapping.source() }
}

/// The policy of a table by this row, if it is another one than what is there.
pub(super) fn wanted(
    context: &OperationContext,
    head: &RetrofitState,
    role: TableRole,
    there: Option<&TablePolicy>,
) -> Result<Option<Option<String>>, PolicyError> {
    let text = there.map(|policy| policy.text.as_str());
    let wanted = head.policy(&context.table(role).arn, head.write_access(direction(role)), text)?;
    Ok((!same_policy(text, wanted.as_deref())).then_some(wanted))
}

/// Is this read older than the policy that this operation put a moment ago?
fn is_stale(context: &OperationContext, role: TableRole, there: Option<&TablePolicy>) -> bool {
    let put = &context.put_policies[usize::from(role == TableRole::Target)];
    put.as_ref().is_some_and(|(text, put_ms)| {
        let read = there.map(|policy| policy.text.as_str());
        context.now_ms < put_ms + LINGER_MS_MAX && !same_policy(read, text.as_deref())
    })
}

/// DynamoDB does not change the policy yet, or another caller changed it since it was read.
fn policy_busy(context: &OperationContext, role: TableRole) -> Failure {
    let table = &model(context, role).name;
    Failure {
        kind: FailureKind::Passing,
        code: "policy-busy".to_owned(),
        message: format!("DynamoDB does not change the policy of table `{table}` now"),
        hint: Some(format!("is table `{table}` being updated, or does another program change its policy?")),
    }
}

pub(super) fn policy_unusable(context: &OperationContext, role: TableRole, error: &PolicyError) -> Outcome {
    let table = &model(context, role).name;
    Outcome::refused(
        "policy-unusable",
        format!("a policy cannot stop the writers of table `{table}`: {error}"),
    )
    .hinted("shorten or correct the policy, or stop the writers yourself: `--writers attested`")
}

/// Makes both policies what the row says, then the tags.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicySync {
    /// Both policies are removed, whatever the row says and even without one.
    removes: bool,
    /// Tables whose policy is still to be made right, the next one first.
    policies: Vec<TableRole>,
    /// Tables whose tag is still to be written.
    tags: Vec<TableRole>,
    step: PolicyStep,
}

#[derive(Debug, Clone, PartialEq)]
enum PolicyStep {
    Reading,
    /// During a stop: is the row unchanged? An operator that slept must not close a table that was opened since, nor remove the policy of a
    /// stop that began since.
    Confirming {
        text: Option<String>,
        revision: Option<String>,
    },
    Changing {
        text: Option<String>,
        revision: Option<String>,
    },
    Waiting {
        until_ms: u64,
    },
    Tagging,
    Over(Stored),
}

impl PolicySync {
    /// By the row that is known.
    pub(super) fn new(context: &OperationContext) -> PolicySync {
        let head = context.head();
        let access = |role: &TableRole| head.write_access(direction(*role));
        // A table that is gone has none.
        let there = TABLES.iter().filter(|role| !context.table(**role).arn.is_empty()).copied();
        let (mut policies, mut tags): (Vec<_>, Vec<_>) = (there.clone().collect(), there.collect());
        // A stop closes before it opens. Afterwards the table that opens comes first: its writers are waiting.
        policies.sort_by_key(|role| {
            access(role) != if head.phase.is_stop() { WriteAccess::Shut } else { WriteAccess::Open }
        });
        // Tags are written after the stop: writers must not wait for them.
        if head.phase.is_stop() {
            tags.clear();
        }
        match head.exempt.is_empty() {
            true => PolicySync { removes: false, step: after_policies(&tags), policies: Vec::new(), tags },
            false => PolicySync { removes: false, policies, tags, step: PolicyStep::Reading },
        }
    }

    /// Removes the retrofit's statement from the policies of the tables that exist.
    pub(super) fn removing(context: &OperationContext) -> PolicySync {
        let there = TABLES.iter().filter(|role| !context.table(**role).arn.is_empty()).copied();
        PolicySync { removes: true, policies: there.collect(), tags: Vec::new(), step: PolicyStep::Reading }
    }

    /// The tags alone.
    pub(super) fn of_tags() -> PolicySync {
        PolicySync { removes: false, policies: Vec::new(), tags: TABLES.to_vec(), step: PolicyStep::Tagging }
    }

    /// Policies may still be other ones than the row says.
    pub(super) fn is_behind(&self) -> bool {
        !self.policies.is_empty()
    }

    /// After a failure the other table comes first: one that cannot be opened must not keep the other one closed.
    pub(super) fn try_other_table(&mut self) {
        if self.is_behind() {
            self.policies.rotate_left(1);
            self.step = PolicyStep::Reading;
        }
    }

    /// The policy of the table at hand, if it is another one than what is there.
    fn wanted(
        &self,
        context: &OperationContext,
        there: Option<&TablePolicy>,
    ) -> Result<Option<Option<String>>, PolicyError> {
        if !self.removes {
            return wanted(context, context.head(), self.table(), there);
        }
        let text = there.map(|policy| policy.text.as_str());
        let wanted = lifted_policy(context.mapping.name(), text)?;
        Ok((!same_policy(text, wanted.as_deref())).then_some(wanted))
    }

    /// Can another operator have changed the row in a way that makes this change wrong?
    fn must_confirm(&self, context: &OperationContext) -> bool {
        context.head.as_ref().is_some_and(|head| self.removes || head.phase.is_stop())
    }

    fn confirm(&mut self, context: &mut OperationContext, items: &[Option<Item>]) {
        let there = RetrofitState::read(context.mapping.name(), one_row(items)).ok();
        let is_same = there.as_ref().map(|head| head.version) == Some(context.head().version);
        self.step = match std::mem::replace(&mut self.step, PolicyStep::Reading) {
            PolicyStep::Confirming { text, revision } if is_same => PolicyStep::Changing { text, revision },
            _ => {
                // From now on the other operator's row counts: the policies follow it, and the last line names the table that it opens.
                context.head.clone_from(&there);
                PolicyStep::Over(Stored::Raced(there.map(Box::new)))
            }
        };
    }

    /// A tag that cannot be written is no reason to keep writers out. True if one was at hand.
    pub(super) fn skip_tag(&mut self, context: &mut OperationContext, failure: &Failure) -> bool {
        let tagging = self.step == PolicyStep::Tagging;
        if tagging {
            context.notes.push(format!(
                "the tag of table `{}` could not be written ({}): a control table that is restored to an earlier time is not noticed",
                model(context, self.table()).name,
                failure.code
            ));
            self.next_tag();
        }
        tagging
    }

    fn next_policy(&mut self) {
        self.policies.remove(0);
        self.step = if self.is_behind() { PolicyStep::Reading } else { after_policies(&self.tags) };
    }

    fn next_tag(&mut self) {
        self.tags.remove(0);
        self.step = after_policies(&self.tags);
    }

    /// The table at hand; after the last one, any.
    fn table(&self) -> TableRole {
        *self.policies.first().or(self.tags.first()).unwrap_or(&TableRole::Source)
    }
}

impl Part for PolicySync {
    /// `Raced` if the row was changed before a table was closed.
    type End = Stored;

    fn next(&self, context: &OperationContext) -> PartStep<Stored> {
        let table = self.table();
        match &self.step {
            PolicyStep::Reading => PartStep::Ask(Effect::Policy(table)),
            PolicyStep::Confirming { .. } => PartStep::Ask(Effect::Read {
                table: TableRole::Control,
                keys: vec![control::head_key(&context.head().retrofit)],
            }),
            PolicyStep::Changing { text, revision } => {
                PartStep::Ask(Effect::SetPolicy { table, text: text.clone(), revision: revision.clone() })
            }
            PolicyStep::Waiting { until_ms } => PartStep::Ask(Effect::Wait { until_ms: *until_ms }),
            PolicyStep::Tagging => {
                PartStep::Ask(Effect::Tag { table, write: Some(TableTag::text(context.head())) })
            }
            PolicyStep::Over(end) => PartStep::Over(end.clone()),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match reply {
            Reply::Policy(there) => {
                // Without the revision, a statement that another program adds in between would be overwritten.
                let revision = there.as_ref().map(|policy| policy.revision.clone());
                match self.wanted(context, there.as_ref()) {
                    // A stop is given back by that; what opens goes on with the other table.
                    Err(error) => {
                        let outcome = policy_unusable(context, self.table(), &error);
                        context.failure = Some(Failure {
                            kind: FailureKind::Denied,
                            code: outcome.code,
                            message: outcome.message,
                            hint: outcome.hint,
                        });
                    }
                    Ok(Some(text)) if self.must_confirm(context) => {
                        self.step = PolicyStep::Confirming { text, revision };
                    }
                    Ok(Some(text)) => self.step = PolicyStep::Changing { text, revision },
                    // Reads are eventually consistent: this one may be older than the own change.
                    Ok(None) if is_stale(context, self.table(), there.as_ref()) => {
                        self.step = PolicyStep::Waiting { until_ms: context.now_ms + CHANGE_PAUSE_MS };
                    }
                    Ok(None) => self.next_policy(),
                }
            }
            Reply::Items(items) => self.confirm(context, &items),
            Reply::Changed(true) => {
                if let PolicyStep::Changing { text, .. } = &self.step {
                    let at = usize::from(self.table() == TableRole::Target);
                    // A read can still show the policy from before the stop. Taken for the present one, it would leave the table closed.
                    context.put_policies[at] = Some((text.clone(), context.now_ms));
                }
                self.next_policy();
            }
            Reply::Changed(false) => {
                self.step = PolicyStep::Waiting { until_ms: context.now_ms + CHANGE_PAUSE_MS };
                // Counts as a failure: without this the limits of the stage would never apply.
                context.failure = Some(policy_busy(context, self.table()));
            }
            Reply::Done => self.step = PolicyStep::Reading,
            Reply::Tag(_) => self.next_tag(),
            reply => unreachable!("{reply:?} does not answer a policy"),
        }
    }
}

fn after_policies(tags: &[TableRole]) -> PolicyStep {
    if tags.is_empty() { PolicyStep::Over(Stored::Done) } else { PolicyStep::Tagging }
}

/// Can policies stop the writers of a table, and can this operator see that they have? Asked before anybody is stopped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyRightsCheck {
    /// The table whose writers are to be stopped.
    closes: TableRole,
    /// The roles that may write to it once it follows.
    exempt: Vec<String>,
    at: usize,
    step: CheckStep,
    started_ms: u64,
    /// A policy would be invalid or too large.
    refused: Option<Box<Outcome>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CheckStep {
    Probing,
    Lingering {
        until_ms: u64,
    },
    Reading,
    /// The rights to change it are asked with a revision that is not there.
    Trying {
        text: Option<String>,
    },
    /// The same for deleting it, which is how a table without another policy is opened.
    TryingDelete,
    Over,
}

impl PolicyRightsCheck {
    pub(super) fn of(
        context: &OperationContext,
        closes: TableRole,
        exempt: Vec<String>,
    ) -> PolicyRightsCheck {
        PolicyRightsCheck {
            closes,
            exempt,
            at: 0,
            step: CheckStep::Probing,
            started_ms: context.now_ms,
            refused: None,
        }
    }

    /// The rights alone: during a stop a trial write is denied.
    pub(super) fn of_rights(context: &OperationContext, closes: TableRole) -> PolicyRightsCheck {
        let exempt = context.head().exempt.clone();
        PolicyRightsCheck { step: CheckStep::Reading, ..PolicyRightsCheck::of(context, closes, exempt) }
    }
}

impl Part for PolicyRightsCheck {
    type End = Result<(), Box<Outcome>>;

    fn next(&self, context: &OperationContext) -> PartStep<Result<(), Box<Outcome>>> {
        let table = TABLES[self.at.min(1)];
        let closes = &model(context, self.closes).name;
        if context.table(self.closes).is_global {
            let message = format!("table `{closes}` is a global table: a policy cannot stop its writers");
            let refused = Outcome::refused("global-table", message);
            let refused = refused.hinted("stop its writers in all Regions yourself: `--writers attested`");
            return PartStep::Over(Err(Box::new(refused)));
        }
        if let Some(refused) = &self.refused {
            return PartStep::Over(Err(refused.clone()));
        }
        match &self.step {
            CheckStep::Probing => PartStep::Ask(Effect::Probe(self.closes)),
            CheckStep::Lingering { .. } if context.now_ms >= self.started_ms + LINGER_MS_MAX => {
                let message = format!(
                    "this operator's role may not write to table `{closes}`, so it cannot see when a policy stops the writers"
                );
                let refused = Outcome::refused("cannot-probe", message);
                PartStep::Over(Err(Box::new(refused.hinted(
                    "give it `dynamodb:DeleteItem` on the table, or stop the writers yourself: `--writers attested`",
                ))))
            }
            // A policy that was taken off is enforced for some seconds more: the first denial says nothing about this role's rights.
            CheckStep::Lingering { until_ms } => PartStep::Ask(Effect::Wait { until_ms: *until_ms }),
            CheckStep::Reading => PartStep::Ask(Effect::Policy(table)),
            CheckStep::Trying { text } => {
                let revision = Some(NO_REVISION.to_owned());
                PartStep::Ask(Effect::SetPolicy { table, text: text.clone(), revision })
            }
            CheckStep::TryingDelete => {
                PartStep::Ask(Effect::SetPolicy { table, text: None, revision: Some(NO_REVISION.to_owned()) })
            }
            CheckStep::Over => PartStep::Over(Ok(())),
        }
    }

    fn take(&mut self, context: &mut OperationContext, reply: Reply) {
        match reply {
            // A stop that was taken back a moment ago may still be enforced by some nodes.
            Reply::Denied(true) => {
                self.step = CheckStep::Lingering { until_ms: context.now_ms + CHANGE_PAUSE_MS };
            }
            Reply::Denied(false) => self.step = CheckStep::Reading,
            Reply::Done => self.step = CheckStep::Probing,
            Reply::Policy(there) => {
                // The largest policy that this retrofit puts: a document that DynamoDB would refuse is refused here.
                let role = TABLES[self.at.min(1)];
                let head = RetrofitState { exempt: self.exempt.clone(), ..context.head().clone() };
                let there = there.as_ref().map(|policy| policy.text.as_str());
                match head.policy(&context.table(role).arn, WriteAccess::Followers, there) {
                    Ok(text) => self.step = CheckStep::Trying { text },
                    Err(error) => self.refused = Some(Box::new(policy_unusable(context, role, &error))),
                }
            }
            Reply::Changed(_) if matches!(self.step, CheckStep::Trying { .. }) => {
                self.step = CheckStep::TryingDelete;
            }
            Reply::Changed(_) => {
                self.at += 1;
                self.step = if self.at == TABLES.len() { CheckStep::Over } else { CheckStep::Reading };
            }
            reply => unreachable!("{reply:?} does not answer the check of rights"),
        }
    }
}

/// The roles that may still write, as a policy's condition compares them.
pub(super) fn check_exempt(exempt: &[String]) -> Result<(), Box<Outcome>> {
    for role in exempt {
        // `aws:PrincipalArn` is the role's ARN: with a session's, the policy would deny the replicator's writes too.
        if let Some(role_arn) = role_of_session(role) {
            let message = format!("`{role}` names a session: a policy compares the ARN of its role");
            let refused = Outcome::refused("exempt-no-role", message)
                .hinted(format!("name its role, with the role's path if it has one: `{role_arn}`"));
            return Err(Box::new(refused));
        }
        let is_role = role.starts_with("arn:") && (role.contains(":role/") || role.contains(":user/"));
        if !is_role {
            let message = format!("`{role}` is not the ARN of a role or a user");
            let refused = Outcome::refused("exempt-no-arn", message);
            return Err(Box::new(refused.hinted("an ARN is like `arn:aws:iam::ACCOUNT:role/NAME`")));
        }
    }
    Ok(())
}

/// The role of `arn:aws:sts::ACCOUNT:assumed-role/NAME/SESSION`.
fn role_of_session(arn: &str) -> Option<String> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, "sts", _, account, rest] = parts[..] else { return None };
    let name = rest.strip_prefix("assumed-role/")?.split('/').next()?;
    Some(format!("arn:{partition}:iam::{account}:role/{name}"))
}
