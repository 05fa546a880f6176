//! What must hold of the console, one sentence each, in the order in which they are looked at.

mod content;
mod keyboard;
mod questions;
mod retrofit;
mod scope;

use std::future::Future;
use std::pin::Pin;

use anyhow::{Context, ensure};

use super::fixture::Fixture;
use super::page::Page;

type Check = for<'a> fn(&'a mut Page, &'a Fixture) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

const CHECKS: [(&str, Check); 11] = [
    ("a retrofit's progress changes while it is looked at", |page, fixture| {
        Box::pin(retrofit::live(page, fixture))
    }),
    ("a retrofit's end shows its gates, its comparison and its quarantine", |page, fixture| {
        Box::pin(retrofit::ended(page, fixture))
    }),
    ("a table shows its keys as templates, its attributes and its questions", |page, fixture| {
        Box::pin(content::table(page, fixture))
    }),
    ("an index's item collections are grouped and sorted, and absent items are told", |page, fixture| {
        Box::pin(content::index(page, fixture))
    }),
    ("an overloaded index keeps its namespaces apart", |page, fixture| {
        Box::pin(content::overloaded(page, fixture))
    }),
    ("a large table is shown in part and says so; what looks like markup is text", |page, fixture| {
        Box::pin(content::bounded(page, fixture))
    }),
    (
        "a question gives its rows, its plan, what was not taken, its cost and its next page",
        |page, fixture| Box::pin(questions::asked(page, fixture)),
    ),
    ("a bad input gives the problem's text", |page, fixture| Box::pin(questions::refused(page, fixture))),
    ("a free request is answered, explained or refused with an index that would do", |page, fixture| {
        Box::pin(questions::free(page, fixture))
    }),
    ("the keyboard alone finds a question and gets its answer", |page, fixture| {
        Box::pin(keyboard::alone(page, fixture))
    }),
    ("a table with a scope shows no content to a caller who is not trusted", |page, fixture| {
        Box::pin(scope::kept(page, fixture))
    }),
];

/// Looks at everything; `told` hears of each check that held.
pub async fn all(page: &mut Page, fixture: &Fixture, told: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    page.size(1280, 900).await?;
    for (name, check) in CHECKS {
        check(page, fixture).await.with_context(|| name.to_owned())?;
        let complaints = page.complaints();
        ensure!(complaints.is_empty(), "{name}: the page complains: {complaints:?}");
        told(name);
    }
    Ok(())
}

/// The texts of all elements with a selector, as an expression.
fn texts(selector: &str) -> String {
    format!("[...document.querySelectorAll({})].map((e) => e.innerText.trim())", serde_json::json!(selector))
}
