//! Tables, and what they and their indexes hold.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::super::fixture::Fixture;
use super::super::looks;
use super::super::page::Page;
use super::texts;

/// Item collections as the page shows them: partition key and the sort keys below each other.
const COLLECTIONS: &str = r##"[...document.querySelectorAll("#collections tbody")].map((body) => ({
  key: body.querySelector("th.partition").firstChild.data,
  count: Number(body.querySelector(".count").innerText.split(" ")[0]),
  sorts: [...body.querySelectorAll("th.sort")].map((e) => e.innerText),
}))"##;

pub(super) async fn table(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/tables/audit", fixture.audit)).await?;
    let nav = page.value(&texts("nav a")).await?.to_string();
    for name in
        ["audit-legacy", "byResourceActionUser", "byUserAction", "byAction", "whatDidUserDo", "auditInPlace"]
    {
        ensure!(nav.contains(&format!("\"{name}\"")), "{name} is not in {nav}");
    }
    let keys = page.text("document.querySelector('.rows').innerText").await?;
    for part in
        ["{resourceId}-{action}-{accessedBy}", "byResourceActionUser_pk", "{action}.{id|shard:10}", "global"]
    {
        ensure!(keys.contains(part), "{part} is not in {keys}");
    }
    let all = page.text("document.querySelector('main').innerText").await?;
    ensure!(all.contains("viewed, edited, deleted") && all.contains("latestOfAction"), "{all}");
    looks::good(page, "table").await
}

pub(super) async fn index(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/tables/audit/content/byResourceActionUser", fixture.audit)).await?;
    page.until("document.querySelector('#collections')", "the item collections").await?;
    let shown = page.value(COLLECTIONS).await?;
    let shown = shown.as_array().context("no list")?;
    let keys = texts_of(shown, "key");
    ensure!(keys.len() > 20 && keys.is_sorted(), "{keys:?}");
    ensure!(keys.contains(&"123bbb-viewed-joe1".to_owned()), "{keys:?}");
    for one in shown {
        let sorts: Vec<&str> =
            one["sorts"].as_array().context("no list")?.iter().filter_map(Value::as_str).collect();
        ensure!(sorts.is_sorted() && one["count"] == json!(sorts.len()), "{one}");
    }
    let absent = page.text("document.querySelector('#absent').innerText").await?;
    ensure!(
        absent.contains("not in this index") && absent.contains("byResourceActionUser_pk is missing"),
        "{absent}"
    );
    let said = page.text("document.querySelector('#status').textContent").await?;
    ensure!(said.contains("item collections"), "nothing is said to those who listen: {said}");
    looks::good(page, "index").await?;
    page.go(&format!("{}/#/tables/audit/content/byUserAction", fixture.audit)).await?;
    page.until("document.querySelector('#collections')", "the native index").await?;
    looks::good(page, "native-index").await
}

pub(super) async fn overloaded(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/tables/pets/content/index1", fixture.pets)).await?;
    page.until("document.querySelector('#collections')", "the overloaded index").await?;
    let shown = page.value(COLLECTIONS).await?;
    let ana = json!({ "key": "ana", "count": 7, "sorts": [
        "cat:treeclimbed:oak", "cat:treeclimbed:spruce", "dog:command:roll over", "dog:command:sit",
        "parrot:words:000003", "parrot:words:000005", "parrot:words:000101" ] });
    ensure!(shown[0] == ana, "{shown}");
    let absent = page.text("document.querySelector('#absent').innerText").await?;
    ensure!(absent.contains("1 is not in this index"), "{absent}");
    looks::good(page, "overloaded").await?;
    page.go(&format!("{}/#/tables/pets", fixture.pets)).await?;
    looks::good(page, "overloaded-table").await
}

pub(super) async fn bounded(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/tables/homes/content", fixture.pets)).await?;
    page.until("document.querySelector('#collections')", "the table's content").await?;
    let all = page.text("document.querySelector('main').innerText").await?;
    ensure!(all.contains("the first 200 of more"), "{all}");
    page.go(&format!("{}/#/questions/audit/getEvent", fixture.audit)).await?;
    page.fill("p0", "event-000").await?;
    page.click("form button.main").await?;
    page.until("document.querySelector('#items')", "the event").await?;
    let row = page.text("document.querySelector('#items').innerText").await?;
    ensure!(row.contains("<img src=x onerror="), "{row}");
    let broken = page.value("document.images.length > 0 || document.title === 'broken'").await?;
    ensure!(broken == json!(false), "a value became markup");
    Ok(())
}

fn texts_of(all: &[Value], member: &str) -> Vec<String> {
    all.iter().filter_map(|one| one[member].as_str().map(str::to_owned)).collect()
}
