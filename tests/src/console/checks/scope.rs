//! A caller who is not trusted, and a table that belongs to organisations.

use anyhow::ensure;
use serde_json::json;

use super::super::fixture::Fixture;
use super::super::looks;
use super::super::page::Page;

pub(super) async fn kept(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/tables/orders/content", fixture.orders)).await?;
    page.until("document.body.innerText.includes('shown to a trusted caller only')", "the reason").await?;
    ensure!(page.value("document.querySelector('table') === null").await? == json!(true), "content is shown");
    looks::good(page, "scope").await?;
    page.go(&format!("{}/#/questions/orders/largeOrders", fixture.orders)).await?;
    page.fill("p0", "5").await?;
    page.click("form button.main").await?;
    page.until("document.querySelector('.problem')", "the refusal").await?;
    let problem = page.text("document.querySelector('.problem').innerText").await?;
    ensure!(problem.contains("claim-missing"), "{problem}");
    Ok(())
}
