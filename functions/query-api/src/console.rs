//! The console: one page that shows the model, what each index holds, the questions and how far retrofits are.
//!
//! It is there only where `KEYFOLD_CONSOLE=on`. The page's files hold nothing of anybody and ask for nobody. What is behind
//! them asks for a caller as a query does; what a table with a scope holds is shown to a trusted caller only, because
//! nothing here limits what is seen to one scope.
//!
//! The paths under `/console/` belong to the page and change with it: they are not in `/openapi.json`.

mod entries;
mod files;
mod item;
mod model;
mod retrofit;

use keyfold_core::model::Table;
use serde_json::Value;

pub(crate) use files::File;

use crate::Record;
use crate::ask::Asker;
use keyfold_core::query::check::Caller;
use keyfold_core::query::question::{Params, QuestionError};
use keyfold_edge::Problem;

/// What of the console is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleRoute<'p> {
    /// `GET /`, `GET /console.js`, `GET /console.css`
    File(File),
    /// `GET /console/model`
    Model,
    /// `GET /console/tables/{table}/entries?index=...&from=...`
    Entries {
        /// The table, as the path has it.
        table: &'p str,
    },
    /// `GET /console/tables/{table}/item?key=...`
    Item {
        /// The table, as the path has it.
        table: &'p str,
    },
    /// `GET /console/retrofits/{retrofit}`
    Retrofit {
        /// The retrofit, as the path has it.
        retrofit: &'p str,
    },
}

impl<'p> ConsoleRoute<'p> {
    /// The route with these segments of a path.
    pub(crate) fn of(segments: &[&'p str]) -> Option<ConsoleRoute<'p>> {
        Some(match segments {
            [""] => ConsoleRoute::File(File::Page),
            ["console.js"] => ConsoleRoute::File(File::Script),
            ["console.css"] => ConsoleRoute::File(File::Style),
            ["console", "model"] => ConsoleRoute::Model,
            ["console", "tables", table, "entries"] => ConsoleRoute::Entries { table },
            ["console", "tables", table, "item"] => ConsoleRoute::Item { table },
            ["console", "retrofits", retrofit] => ConsoleRoute::Retrofit { retrofit },
            _ => return None,
        })
    }
}

/// What the console answers.
pub(crate) enum ConsoleResponse {
    /// A file of the page.
    File(File),
    /// What the page shows.
    Json(Value),
}

/// Answers a request of the console.
pub(crate) async fn answer(
    asker: &Asker<'_>,
    route: ConsoleRoute<'_>,
    mut params: Params,
    record: &mut Record,
) -> Result<ConsoleResponse, Problem> {
    if let ConsoleRoute::File(file) = route {
        return Ok(ConsoleResponse::File(file));
    }
    if !asker.may_ask() {
        return Err(Problem::not_authenticated());
    }
    asker.api.may_read(asker.caller)?;
    let value = match route {
        ConsoleRoute::File(_) | ConsoleRoute::Model => {
            nothing_left(&params, "")?;
            model::describe(asker)
        }
        ConsoleRoute::Entries { table } => {
            let index = params.take("index").pop();
            let from = params.take("from").pop();
            nothing_left(&params, "index")?;
            let place = entries::Wanted { table, index: index.as_deref(), from: from.as_deref() };
            entries::read(asker, &place, record).await?
        }
        ConsoleRoute::Item { table } => {
            let key = params.take("key").pop().unwrap_or_default();
            nothing_left(&params, "key")?;
            item::read(asker, table, &key, record).await?
        }
        ConsoleRoute::Retrofit { retrofit } => {
            nothing_left(&params, "")?;
            retrofit::read(asker, retrofit, record).await?
        }
    };
    Ok(ConsoleResponse::Json(value))
}

/// May this caller see what the table holds?
fn shows(asker: &Asker<'_>, table: &Table) -> bool {
    table.scope.is_empty() || *asker.caller == Caller::Trusted
}

/// A parameter that nobody has taken is a mistake.
fn nothing_left(params: &Params, known: &str) -> Result<(), Problem> {
    let Some(left) = params.left() else { return Ok(()) };
    Err(QuestionError::UnknownParameter {
        question: "console".to_owned(),
        parameter: left.to_owned(),
        known: Some(known).filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect(),
    }
    .into())
}
