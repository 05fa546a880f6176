//! `keyfold advise`: the cheapest set of indexes that answers the manifest's questions, and `--write` to add it.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use keyfold_advise::{
    Advice, AdviseError, AdvisedIndex, AdvisedQuestion, IndexState, Options, Total, advise,
};
use keyfold_core::cost::Dollars;
use keyfold_core::manifest::Severity;
use keyfold_core::model::Model;
use serde_json::json;

use crate::globals::Globals;
use crate::manifest_file::{self, ManifestFile};
use crate::output::{Output, columns};
use crate::refusal::coded;
use crate::support::exit_code;

/// What to advise, and within which limits.
#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Only this table; all tables with questions by default.
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// Add the new indexes, and the retrofit that fills them, to the manifest.
    #[arg(long)]
    write: bool,
    /// Explain the choice for this question, and what the next best would cost.
    #[arg(long, value_name = "QUESTION")]
    explain: Option<String>,
    /// The maximum price, in dollars per month. Above it, the command fails and writes nothing.
    #[arg(long, value_name = "DOLLARS")]
    budget: Option<f64>,
    /// The maximum number of global indexes of a table, existing ones included.
    #[arg(long, default_value_t = keyfold_advise::GLOBAL_INDEXES_MAX, value_name = "N")]
    global_max: usize,
    /// The tables do not exist yet: they may get local indexes, and nothing has to be filled.
    #[arg(long)]
    local_allowed: bool,
    /// Stop the search of a table after this time, with the best set so far.
    #[arg(long, default_value_t = 1.5, value_name = "SECONDS")]
    time_limit: f64,
}

pub(super) fn run(globals: &Globals, args: &AdviseArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let path = &globals.manifest;
    let model = manifest_file::declared(path, out)?;
    let ManifestFile { name: file, text: before, .. } = ManifestFile::read(path)?;
    let tables = tables(&model, args)?;
    let options = Options {
        global_max: args.global_max,
        local_allowed: args.local_allowed,
        time_limit: Duration::try_from_secs_f64(args.time_limit)?,
        explain: args.explain.clone(),
    };
    let mut text = before.clone();
    let mut all = Vec::new();
    for table in tables {
        let advice = advise(&text, table, &options).map_err(|error| refused(&error))?;
        if !advice.addition.is_empty() {
            text = format!("{}\n{}", text.trim_end(), advice.addition);
        }
        all.push(advice);
    }
    let total: f64 = all.iter().map(|advice| advice.advised.total).sum();
    let is_over = args.budget.is_some_and(|budget| total > budget);
    let is_written = args.write && !is_over && text != before;
    if is_written {
        let parsed = keyfold_core::manifest::parse(&file, &text);
        if parsed.diagnostics.iter().any(|found| found.severity == Severity::Error) {
            out.styled_note(parsed.render(&text, out.colour()));
            bail!("the indexes do not fit into `{file}`; nothing was changed");
        }
        manifest_file::replace(path, &text)?;
    }
    let value = json!({
        "manifest": file, "written": is_written, "total": total, "budget": args.budget, "tables": all,
    });
    let mut shown: String = all.iter().map(|advice| of_table(advice, is_written)).collect();
    if let Some(budget) = args.budget.filter(|_| is_over) {
        let _ = writeln!(
            shown,
            "Over the budget: no set of indexes costs less than {} a month, and the budget is {}.",
            Dollars(all.iter().map(|advice| advice.lower_bound).sum()),
            Dollars(budget)
        );
    }
    out.show(&value, shown)?;
    Ok(exit_code(!is_over && all.iter().all(|advice| advice.advised.unserved == 0)))
}

/// The tables to advise on.
fn tables<'m>(model: &'m Model, args: &AdviseArgs) -> anyhow::Result<Vec<&'m str>> {
    if let Some(name) = &args.table {
        return Ok(vec![manifest_file::table(model, name)?.id.as_str()]);
    }
    let is_asked = |question: &&keyfold_core::model::Question| match &args.explain {
        Some(name) => question.name == *name,
        None => true,
    };
    let asked = |table: &&keyfold_core::model::Table| model.questions_of(table).any(|one| is_asked(&one));
    let found: Vec<&str> = model.tables.iter().filter(asked).map(|table| table.id.as_str()).collect();
    match (found.as_slice(), model.tables.as_slice(), &args.explain) {
        ([], [first, ..], None) => Err(refused(&AdviseError::NoQuestions { table: first.id.clone() })),
        ([], [first, ..], Some(question)) => Err(refused(&AdviseError::UnknownQuestion {
            table: first.id.clone(),
            question: question.clone(),
        })),
        _ => Ok(found),
    }
}

fn refused(error: &AdviseError) -> anyhow::Error {
    let hint = error.hint().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    coded(error.code(), &format!("{error}{hint}"))
}

fn of_table(advice: &Advice, is_written: bool) -> String {
    let mut text = format!("Table {}\n\n", advice.table);
    if let Some(explanation) = &advice.explanation {
        text += explanation;
        return text;
    }
    if !advice.indexes.is_empty() {
        text += &indexes(&advice.indexes);
        text.push('\n');
    }
    text += &questions(&advice.questions);
    let needs = advice.questions.iter().filter_map(|question| Some((question, question.needs.as_ref()?)));
    for (question, needs) in needs {
        let what = match question.unserved {
            Some(_) => "no index answers it",
            None => "it reads much",
        };
        let _ = writeln!(text, "\n{}: {what}; {needs}.", name_of(question));
    }
    let _ = write!(text, "\n{}", columns(&[total("now", &advice.now), total("advised", &advice.advised)]));
    text += &match advice.is_optimal {
        true => format!("No other set of the {} indexes compared costs less.\n", advice.candidates),
        false => format!(
            "The search stopped at its time limit. No set costs less than {} a month.\n",
            Dollars(advice.lower_bound)
        ),
    };
    let _ = writeln!(text, "Prices: {}. Each write is counted as the put of a whole item.", advice.prices);
    for assumed in &advice.assumed {
        let _ = writeln!(text, "Assumed: {assumed}.");
    }
    if advice.addition.is_empty() {
        text += "\nNothing to add.\n\n";
        return text;
    }
    let _ = write!(text, "\n{}:\n{}", if is_written { "Added" } else { "To add" }, advice.addition);
    text += "\nNext:\n";
    let write = (!is_written).then(|| format!("keyfold advise {} --write", advice.table));
    for step in write.iter().chain(&advice.next) {
        let _ = writeln!(text, "  {step}");
    }
    text.push('\n');
    text
}

fn indexes(all: &[AdvisedIndex]) -> String {
    let header = ["index", "", "writes", "storage", "reads", "questions"].map(str::to_owned).to_vec();
    let row = |index: &AdvisedIndex| {
        let state = match index.state {
            IndexState::New => "new",
            IndexState::Kept => "kept",
            IndexState::Unused => "unused",
        };
        let dollars = |amount: f64| Dollars(amount).to_string();
        vec![
            index.name.clone(),
            state.to_owned(),
            dollars(index.cost.writes),
            dollars(index.cost.storage),
            dollars(index.cost.reads),
            index.questions.join(", "),
        ]
    };
    columns(&std::iter::once(header).chain(all.iter().map(row)).collect::<Vec<_>>())
}

fn questions(all: &[AdvisedQuestion]) -> String {
    let header = ["question", "read from", "read units", "a month", "now"].map(str::to_owned).to_vec();
    let row = |question: &AdvisedQuestion| {
        let dollars =
            |amount: Option<f64>| amount.map_or_else(|| "-".to_owned(), |one| Dollars(one).to_string());
        vec![
            name_of(question),
            if question.read_from.is_empty() { "-".to_owned() } else { question.read_from.join(", ") },
            question.read_units.map_or_else(|| "-".to_owned(), |units| units.to_string()),
            dollars(question.dollars),
            dollars(question.dollars_now),
        ]
    };
    columns(&std::iter::once(header).chain(all.iter().map(row)).collect::<Vec<_>>())
}

fn name_of(question: &AdvisedQuestion) -> String {
    let way = match question.with_optional {
        Some(true) => " (all conditions)",
        Some(false) => " (no optional ones)",
        None => "",
    };
    format!("{}{way}", question.question)
}

fn total(name: &str, total: &Total) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{} a month", Dollars(total.total)),
        format!("writes {}", Dollars(total.cost.writes)),
        format!("storage {}", Dollars(total.cost.storage)),
        format!("reads {}", Dollars(total.cost.reads)),
        format!("indexes: {}", total.indexes),
        match total.unserved {
            0 => "every question answered".to_owned(),
            unserved => format!("{unserved} not answered"),
        },
    ]
}
