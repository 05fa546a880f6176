//! Without a mouse: from the top of the page to the answer of a question.

use anyhow::{bail, ensure};
use serde_json::json;

use super::super::fixture::Fixture;
use super::super::page::Page;

/// No place is further than so many tabs.
const TABS_MAX: u32 = 80;
const FOCUSED: &str = "document.activeElement.innerText || document.activeElement.id";
/// Is it to be seen where the focus is?
const SEEN: &str = "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; })()";

pub(super) async fn alone(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/", fixture.audit)).await?;
    page.until("document.querySelector('nav a')", "the navigation").await?;
    page.key("Tab").await?;
    ensure!(page.text(FOCUSED).await? == "Skip to content", "the first stop is not the way to the content");
    page.key("Enter").await?;
    ensure!(
        page.text("document.activeElement.id").await? == "main",
        "the way to the content leads elsewhere"
    );
    page.go(&format!("{}/", fixture.audit)).await?;
    page.until("document.querySelector('nav a')", "the navigation").await?;
    to(page, "whenDidUserActOnResource").await?;
    page.key("Enter").await?;
    page.until("document.activeElement.tagName === 'H1'", "the focus on the new heading").await?;
    for (stop, text) in [("p0", "123bbb"), ("p1", "v"), ("p2", "joe1"), ("p3", "2017-03")] {
        to(page, stop).await?;
        match stop {
            "p1" => page.key(text).await?,
            _ => page.typing(text).await?,
        }
    }
    to(page, "Ask").await?;
    page.key("Enter").await?;
    page.until("document.querySelectorAll('#items tbody tr').length === 3", "the answer").await?;
    let said = page.text("document.querySelector('#status').textContent").await?;
    ensure!(said.starts_with("3 items"), "nothing is said to those who listen: {said}");
    // On a narrow window the navigation is behind a button.
    page.size(360, 740).await?;
    page.go(&format!("{}/", fixture.audit)).await?;
    page.until("document.querySelector('nav a')", "the navigation").await?;
    to(page, "Menu").await?;
    page.key("Enter").await?;
    page.until("document.querySelector('#menu[aria-expanded=true]')", "the open menu").await?;
    page.picture("menu-360-light").await?;
    to(page, "byAction").await?;
    page.key("Enter").await?;
    page.until("document.querySelector('#collections')", "the item collections").await?;
    page.size(1280, 900).await
}

/// Presses Tab until the element with this text or id has the focus; each stop must be seen.
async fn to(page: &mut Page, wanted: &str) -> anyhow::Result<()> {
    for _ in 0..TABS_MAX {
        page.key("Tab").await?;
        let here = page.text(FOCUSED).await?;
        ensure!(page.value(SEEN).await? == json!(true), "the focus on `{here}` is not to be seen");
        let id = page.text("document.activeElement.id").await?;
        if here == wanted || id == wanted {
            return Ok(());
        }
    }
    bail!("`{wanted}` is not reached within {TABS_MAX} tabs")
}
