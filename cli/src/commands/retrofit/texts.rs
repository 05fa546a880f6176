//! The texts that several commands print: a new phase, closed gates, what changes on items, items that do not fit.

use std::collections::BTreeSet;
use std::process::ExitCode;

use keyfold_core::retrofit::control::Phase;
use keyfold_core::retrofit::gates::Gate;
use keyfold_core::retrofit::misfit::MisfitCount;
use keyfold_core::retrofit::{Cause, CompletedStep, Diff, DiffLine, Mapping, Misfits, ThereAndBack};
use keyfold_core::value::Item;
use keyfold_dynamo::retrofit::{RequestSender, RetrofitState};
use serde_json::json;

use super::env::explained;
use crate::output::{Output, columns};

/// Prints the phase that a command led to.
pub(super) fn report(out: &Output, head: &RetrofitState, message: &str) -> anyhow::Result<ExitCode> {
    let (retrofit, phase) = (&head.retrofit, head.phase.name());
    let next = head.next_command(&[]);
    let value = json!({
        "retrofit": retrofit, "phase": phase, "epoch": head.epoch.number(), "said": message, "next": next,
    });
    out.show(
        &value,
        format!("retrofit `{retrofit}` is {phase} ({message})\n{}", next_line(next.as_deref())),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The row in the next phase, stored.
pub(super) async fn entered(
    sender: &RequestSender,
    head: &RetrofitState,
    phase: Phase,
) -> anyhow::Result<RetrofitState> {
    let next = head.to(phase).map_err(explained)?;
    sender.store(&next, Some(head)).await.map_err(explained)?;
    Ok(next)
}

/// Enters the next phase, and says so.
pub(super) async fn step(
    sender: &RequestSender,
    head: &RetrofitState,
    phase: Phase,
    out: &Output,
    step: CompletedStep,
) -> anyhow::Result<ExitCode> {
    let next = entered(sender, head, phase).await?;
    // On the way back, source and target of the sender have changed places.
    let mapping = sender.job().mapping();
    report(out, &next, &step.message(&next, mapping.forward()))
}

/// The line that names the next command.
pub(super) fn next_line(next: Option<&str>) -> String {
    next.map_or_else(String::new, |next| format!("next: {next}\n"))
}

/// The gates as one line.
pub(super) fn listed(gates: &[Gate]) -> String {
    if gates.is_empty() {
        return "nothing".to_owned();
    }
    gates.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The table with a line above it; nothing if all items fit.
pub(super) fn misfit_table(title: &str, misfits: &Misfits) -> String {
    if misfits.is_empty() {
        return String::new();
    }
    let head = ["attribute", "reason", "index", "items", "keys"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(misfits.counts().map(misfit_row)).collect();
    format!("{title}\n{}", columns(&rows))
}

/// What changes, and below it what may change on items that were not looked at.
pub(super) fn diff_table(title: &str, mapping: &Mapping, diff: &Diff) -> String {
    let row = |attribute: &str, rest: [String; 4]| {
        let indexes = match mapping.key_of_indexes(attribute) {
            names if names.is_empty() => "-".to_owned(),
            names => names.join(", "),
        };
        let [entity, change, items, keys] = rest;
        vec![entity, attribute.to_owned(), change, items, mapping.causes(attribute).join(", "), indexes, keys]
    };
    let found = |line: DiffLine<'_>| {
        let entity = line.entity.unwrap_or("-").to_owned();
        let keys = line.examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default());
        let keys = keys.collect::<Vec<_>>().join(" ");
        row(line.attribute, [entity, line.change.name().to_owned(), line.items.to_string(), keys])
    };
    let is_found = |attribute: &String| diff.lines().any(|line| line.attribute == attribute);
    // Marks of an earlier retrofit are on no item in most tables.
    let is_mark = |causes: &BTreeSet<Cause>| causes.iter().all(|cause| *cause == Cause::Mark);
    let others = mapping.announced().iter().filter(|(name, causes)| !is_found(name) && !is_mark(causes));
    let other = |(attribute, _): (&String, &BTreeSet<Cause>)| {
        row(attribute, ["-", "may change", "0", ""].map(str::to_owned))
    };
    let head =
        ["entity", "attribute", "change", "items", "because", "key of", "for example"].map(str::to_owned);
    let rows: Vec<Vec<String>> =
        std::iter::once(head.to_vec()).chain(diff.lines().map(found)).chain(others.map(other)).collect();
    format!("{title}\n{}", columns(&rows))
}

/// The items that do not come back as they were, if there are any.
pub(super) fn back_table(mapping: &Mapping, tried: &ThereAndBack) -> String {
    let keys = |examples: &[Item]| {
        let keys = examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default());
        keys.collect::<Vec<_>>().join(" ")
    };
    let row = |entity: Option<&str>, result: String, items: u64, examples: &[Item]| {
        vec![entity.unwrap_or("-").to_owned(), result, items.to_string(), keys(examples)]
    };
    let refused =
        tried.refused().map(|one| row(one.entity, format!("refused: {}", one.code), one.items, one.examples));
    let changed = tried.changes().lines().map(|line| {
        let result = format!("`{}` of `{}` is {}", line.attribute, mapping.source().id, line.change.name());
        row(line.entity, result, line.items, line.examples)
    });
    let rows: Vec<Vec<String>> = refused.chain(changed).collect();
    let untried: Vec<&str> = tried.untried().collect();
    let mut text = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "items that would not come back as they were, if the target's writers change them:\n{}",
            columns(&rows)
        ),
    };
    if !untried.is_empty() {
        text += &format!(
            "the way back was not tried for these entities, because no item of them was read: {}\n",
            untried.join(", ")
        );
    }
    text
}

fn misfit_row(count: MisfitCount<'_>) -> Vec<String> {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let keys: Vec<String> =
        count.examples.iter().map(|key| serde_json::to_string(key).unwrap_or_default()).collect();
    vec![
        name(&count.misfit.attribute),
        count.misfit.reason().to_owned(),
        name(&count.misfit.index),
        count.items.to_string(),
        keys.join(" "),
    ]
}
