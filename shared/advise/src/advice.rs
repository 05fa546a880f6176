//! The advice: what to build, what each question costs then, and what stays open.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use keyfold_core::manifest::{self, toml_key, toml_string, toml_strings};
use keyfold_core::model::{Index, IndexKind, Model, Table};
use keyfold_core::query::Readiness;
use keyfold_core::query::advise::plan_question;
use keyfold_core::query::explain::explain;
use keyfold_core::query::plan::{PlanError, QueryPlan};
use serde::Serialize;

use crate::design::Design;
use crate::missing::missing_attribute;
use crate::price::{self, Cost};
use crate::search::Search;

/// An answer of more read units than this is called costly: it reads most of a MB.
const COSTLY_UNITS: f64 = 100.0;

/// The advice for one table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// The table's id in the manifest.
    pub table: String,
    /// The indexes, those that exist first.
    pub indexes: Vec<AdvisedIndex>,
    /// The questions in the manifest's order, each in its ways.
    pub questions: Vec<AdvisedQuestion>,
    /// The table as it is.
    pub now: Total,
    /// The table with the new indexes.
    pub advised: Total,
    /// No set of these candidates costs less in total.
    pub lower_bound: f64,
    /// Is it proven that no set of these candidates costs less?
    pub is_optimal: bool,
    /// How many indexes were compared.
    pub candidates: usize,
    /// The figures that the manifest does not give, each as a sentence.
    pub assumed: Vec<String>,
    /// The region and the day of the prices.
    pub prices: String,
    /// The sections to add to the manifest. Empty: nothing is to be added.
    pub addition: String,
    /// The commands that come next.
    pub next: Vec<String>,
    /// The explanation that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// Dollars a month for a table, and what they buy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// Writes, storage and reads.
    #[serde(flatten)]
    pub cost: Cost,
    /// The sum.
    pub total: f64,
    /// Local and global indexes.
    pub indexes: usize,
    /// Questions, in one of their ways, that are answered without a scan.
    pub served: usize,
    /// Questions, in one of their ways, that are not.
    pub unserved: usize,
}

/// One index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedIndex {
    /// Its name.
    pub name: String,
    /// New, kept or unused.
    pub state: IndexState,
    /// The sections of a new index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Does a retrofit fill it?
    pub needs_retrofit: bool,
    /// The questions that it answers.
    pub questions: Vec<String>,
    /// Dollars a month: what it adds to writes and storage, and the reads of its questions.
    pub cost: Cost,
}

/// What becomes of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IndexState {
    /// It is added.
    New,
    /// It exists and answers questions.
    Kept,
    /// It exists, and no question of the manifest uses it.
    Unused,
}

/// One question in one of its ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedQuestion {
    /// Its name.
    pub question: String,
    /// Asked with its optional conditions? Absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_optional: Option<bool>,
    /// Where it is read: `table`, or indexes. Empty if nothing serves it.
    pub read_from: Vec<String>,
    /// Read units of one answer.
    pub read_units: Option<f64>,
    /// Dollars a month for its reads.
    pub dollars: Option<f64>,
    /// The same without the new indexes.
    pub dollars_now: Option<f64>,
    /// Why nothing serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unserved: Option<String>,
    /// The attribute that would have to exist, where the question is not served or costly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// A new index with its name.
struct Named<'s> {
    name: String,
    design: &'s Design,
    text: String,
}

/// The advice that a search leads to. `is_new_table`: the table does not exist yet, so nothing has to be filled. `None`: the manifest
/// does not accept what was found.
pub(crate) fn advice(
    search: &Search<'_>,
    model: &Model,
    text: &str,
    is_new_table: bool,
    explained: Option<&str>,
) -> Option<Advice> {
    let new = named(search);
    let (addition, retrofit) = addition(search.table, model, &new, is_new_table);
    let with = manifest::parse("", &format!("{}\n{addition}", text.trim_end()));
    let advised_model = with.model?;
    let table = advised_model.table(&search.table.id)?;
    let prices = &model.prices;
    let questions: Vec<AdvisedQuestion> =
        (0..search.workload.asked.len()).map(|at| question(search, table, at, model)).collect();
    let gap = (search.solved.dollars - search.solved.lower_bound).max(0.0);
    let now_reads = questions.iter().filter_map(|one| one.dollars_now).sum();
    let reads = questions.iter().filter_map(|one| one.dollars).sum();
    let total = |table: &Table, reads: f64, served: usize| {
        let cost = Cost { reads, ..price::of(table, &search.workload.kinds, prices)? };
        let unserved = questions.len() - served;
        Some(Total { total: cost.total(), cost, indexes: table.indexes.len(), served, unserved })
    };
    let count = |dollars: fn(&AdvisedQuestion) -> Option<f64>| {
        questions.iter().filter(|one| dollars(one).is_some()).count()
    };
    let advised = total(table, reads, count(|one| one.dollars))?;
    Some(Advice {
        table: search.table.id.clone(),
        indexes: indexes(search, table, &new, &questions, model),
        now: total(search.table, now_reads, count(|one| one.dollars_now))?,
        advised,
        lower_bound: advised.total - gap,
        is_optimal: gap <= f64::EPSILON * advised.total.max(1.0),
        candidates: search.candidates.len(),
        assumed: search.workload.assumed.clone(),
        prices: format!("{} of {}", prices.region, prices.as_of),
        next: next(search.table, &new, retrofit.as_deref(), is_new_table),
        addition,
        explanation: explained.map(|name| explanation(search, table, &new, model, name)),
        questions,
    })
}

/// The indexes that are built, those first that answer the most.
fn named<'s>(search: &'s Search<'_>) -> Vec<Named<'s>> {
    let uses = |at: usize| {
        let chosen = search.choices.iter().zip(&search.solved.chosen);
        let used = chosen.filter(|(choices, choice)| match (choices, choice) {
            (Ok(choices), Some(choice)) => choices[*choice].needs.contains(&at),
            _ => false,
        });
        used.count()
    };
    let mut built = search.solved.built.clone();
    built.sort_by_key(|at| std::cmp::Reverse(uses(*at)));
    let mut new: Vec<Named<'_>> = Vec::new();
    for at in built {
        let design = &search.candidates[at].design;
        let is_taken =
            |name: &str| search.table.index(name).is_some() || new.iter().any(|known| known.name == name);
        let name = design.name(search.table, &is_taken);
        let text = design.text(search.table, &name);
        new.push(Named { name, design, text });
    }
    new
}

/// The sections to add, and the name of the retrofit among them.
fn addition(table: &Table, model: &Model, new: &[Named<'_>], is_new_table: bool) -> (String, Option<String>) {
    let mut text: String = new.iter().map(|index| index.text.as_str()).collect();
    let folded: Vec<&str> =
        new.iter().filter(|index| index.design.is_folded(table)).map(|index| index.name.as_str()).collect();
    if folded.is_empty() || is_new_table {
        return (text, None);
    }
    let first = format!("{}Advised", table.id);
    let mut names = std::iter::once(first.clone()).chain((2..).map(|number: u32| format!("{first}{number}")));
    let is_free = |name: &String| model.retrofits.iter().all(|retrofit| retrofit.name != *name);
    let name = names.find(is_free).unwrap_or_default();
    let (section, id, fills) = (toml_key(&name), toml_string(&table.id), toml_strings(folded));
    let _ = write!(text, "\n[retrofits.{section}]\nfrom = {id}\nto = {id}\nfills = {fills}\n");
    (text, Some(name))
}

fn next(table: &Table, new: &[Named<'_>], retrofit: Option<&str>, is_new_table: bool) -> Vec<String> {
    let mut steps = Vec::new();
    if new.is_empty() {
        return steps;
    }
    steps.push("keyfold check && keyfold plan".to_owned());
    if is_new_table {
        steps.push("keyfold tables apply".to_owned());
        return steps;
    }
    // DynamoDB adds one index to a live table at a time; the command waits for each.
    let names: Vec<&str> = new.iter().map(|index| index.name.as_str()).collect();
    steps.push(format!("keyfold index add {} {}", table.id, names.join(" ")));
    if let Some(name) = retrofit {
        steps.extend(["plan", "run", "switch"].map(|verb| format!("keyfold retrofit {verb} {name}")));
    }
    steps
}

fn question(search: &Search<'_>, table: &Table, at: usize, model: &Model) -> AdvisedQuestion {
    let (before, asked) = (search.table, search.workload.asked[at]);
    let could_be_served = search.choices[at].as_ref().is_ok_and(|choices| !choices.is_empty());
    let planned =
        |table: &Table| plan_question(table, asked.question, asked.with_optional, &Readiness::complete());
    let dollars =
        |plan: &QueryPlan| price::of_reads(plan.estimated_units, asked.times_a_month, &model.prices);
    let outcome = planned(table);
    let is_costly = |plan: &QueryPlan| plan.estimated_units > COSTLY_UNITS || plan.scans();
    let needs = outcome.as_ref().map_or(true, is_costly);
    AdvisedQuestion {
        question: asked.question.name.clone(),
        with_optional: asked.with_optional,
        read_from: outcome.as_ref().map(read_from).unwrap_or_default(),
        read_units: outcome.as_ref().ok().map(|plan| plan.estimated_units),
        dollars: outcome.as_ref().ok().map(dollars),
        dollars_now: planned(before).as_ref().ok().map(dollars),
        unserved: outcome.as_ref().err().map(PlanError::to_string),
        needs: needs.then(|| match &outcome {
            Err(_) if could_be_served => "the limit of indexes leaves none for it: allow one more".to_owned(),
            _ => missing_attribute(table, asked.question),
        }),
    }
}

fn read_from(plan: &QueryPlan) -> Vec<String> {
    let names = plan.accesses.iter().map(|access| access.source.index().unwrap_or("table"));
    names.collect::<BTreeSet<&str>>().into_iter().map(str::to_owned).collect()
}

fn indexes(
    search: &Search<'_>,
    table: &Table,
    new: &[Named<'_>],
    questions: &[AdvisedQuestion],
    model: &Model,
) -> Vec<AdvisedIndex> {
    let whole = price::of(table, &search.workload.kinds, &model.prices).unwrap_or_default();
    let one = |index: &Index| {
        let mut without = table.clone();
        without.indexes.retain(|known| known.name != index.name);
        let rest = price::of(&without, &search.workload.kinds, &model.prices).unwrap_or_default();
        let own = questions.iter().filter(|question| question.read_from.contains(&index.name));
        let names: BTreeSet<&str> = own.clone().map(|question| question.question.as_str()).collect();
        let named = new.iter().find(|known| known.name == index.name);
        AdvisedIndex {
            name: index.name.clone(),
            state: match named {
                Some(_) => IndexState::New,
                None if names.is_empty() => IndexState::Unused,
                None => IndexState::Kept,
            },
            text: named.map(|named| named.text.clone()).unwrap_or_default(),
            needs_retrofit: named.is_some_and(|named| named.design.is_folded(search.table)),
            questions: names.into_iter().map(str::to_owned).collect(),
            cost: Cost { reads: own.filter_map(|question| question.dollars).sum(), ..whole.without(rest) },
        }
    };
    table.indexes.iter().map(one).collect()
}

/// Why a question is served so, and what the next best would cost.
fn explanation(search: &Search<'_>, table: &Table, new: &[Named<'_>], model: &Model, name: &str) -> String {
    let mut text = String::new();
    let asked = search.workload.asked.iter().enumerate().filter(|(_, asked)| asked.question.name == name);
    for (at, asked) in asked {
        let way = match asked.with_optional {
            None => "",
            Some(true) => ", with its optional conditions",
            Some(false) => ", without its optional conditions",
        };
        let _ = writeln!(text, "{name}{way}:");
        match plan_question(table, asked.question, asked.with_optional, &Readiness::complete()) {
            Ok(plan) => drop(writeln!(text, "{}", explain(&plan).to_string().trim_end())),
            Err(error) => drop(writeln!(text, "{error}\n{}", error.hint())),
        }
        if let (Ok(choices), Some(chosen)) = (&search.choices[at], search.solved.chosen[at]) {
            let needs = &choices[chosen].needs;
            let mut program = search.program.clone();
            let mut others = choices.iter();
            program.questions[at].retain(|_| others.next().is_some_and(|other| other.needs != *needs));
            let next = program.solve(search.time);
            let more = program.objective(&next) - search.program.objective(&search.solved);
            match next.chosen[at] {
                Some(choice) => {
                    let names = designs_of(search, new, &program.questions[at][choice].needs);
                    let _ = writeln!(text, "  next best: {names}, for ${more:.2} a month more in total");
                }
                None => text += "  next best: none; nothing else answers it\n",
            }
            let reads = price::of_reads(choices[chosen].units, asked.times_a_month, &model.prices);
            let _ = writeln!(text, "  asked {:.0} times a month, reads for ${reads:.2}", asked.times_a_month);
        }
    }
    text
}

/// The indexes of a choice, in words.
fn designs_of(search: &Search<'_>, new: &[Named<'_>], needs: &[usize]) -> String {
    if needs.is_empty() {
        return "what the table has today".to_owned();
    }
    let one = |at: &usize| {
        let design = &search.candidates[*at].design;
        let known = new.iter().find(|named| named.design == design).map(|named| named.name.clone());
        let kind = if design.kind == IndexKind::Local { "local " } else { "" };
        known.unwrap_or_else(|| {
            format!("another {kind}index like `{}`", design.name(search.table, &|_| false))
        })
    };
    needs.iter().map(one).collect::<Vec<_>>().join(" and ")
}
