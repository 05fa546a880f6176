//! Questions and free requests.

use anyhow::ensure;
use serde_json::{Value, json};

use super::super::fixture::Fixture;
use super::super::looks;
use super::super::page::Page;
use super::texts;

/// The values of a column of the answer.
fn column(name: &str) -> String {
    format!(
        "(() => {{ const at = [...document.querySelectorAll('#items thead th')].findIndex((e) => e.innerText === {}); \
         return [...document.querySelectorAll('#items tbody tr')].map((row) => row.children[at].innerText); }})()",
        json!(name)
    )
}

pub(super) async fn asked(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/questions/audit/whenDidUserActOnResource", fixture.audit)).await?;
    looks::good(page, "question").await?;
    page.fill("p0", "123bbb").await?;
    page.value("document.getElementById('p1').value = 'viewed'").await?;
    page.fill("p2", "joe1").await?;
    page.fill("p3", "2017-03").await?;
    page.click("form button.main").await?;
    page.until("document.querySelector('#items')", "the answer").await?;
    let ids = page.value(&column("id")).await?;
    ensure!(ids == json!(["111aaa", "111aab", "111aac"]), "{ids}");
    let reads = page.text("document.querySelector('#reads').innerText").await?;
    ensure!(
        reads.contains("query index byResourceActionUser") && reads.contains("123bbb-viewed-joe1"),
        "{reads}"
    );
    let rejected = page.text("document.querySelector('#rejected').innerText").await?;
    ensure!(rejected.contains("table") && rejected.contains("byAction"), "{rejected}");
    let figures = page.value(&texts(".figures dd")).await?;
    ensure!(figures[2] == "3" && figures[3] == "3", "{figures}");
    looks::good(page, "answer").await?;
    page.go(&format!("{}/#/questions/audit/latestOfAction", fixture.audit)).await?;
    page.value("document.getElementById('p0').value = 'viewed'").await?;
    page.click("form button.main").await?;
    page.until("document.querySelectorAll('#items tbody tr').length === 20", "the first page").await?;
    page.click("#next").await?;
    page.until("document.querySelectorAll('#items tbody tr').length === 40", "the second page").await?;
    let times = page.value(&column("timestamp")).await?;
    let times: Vec<&str> = times.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    ensure!(times.len() == 40 && times.is_sorted_by(|a, b| a >= b), "{times:?}");
    looks::good(page, "pages").await
}

pub(super) async fn refused(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/questions/audit/whatDidUserDo", fixture.audit)).await?;
    page.fill("p0", "jane").await?;
    page.fill("p2a", "2018-06-01").await?;
    page.fill("p2b", "2018-01-01").await?;
    page.click("form button.main").await?;
    page.until("document.querySelector('.problem[role=alert]')", "the problem").await?;
    let problem = page.text("document.querySelector('.problem').innerText").await?;
    ensure!(
        problem.contains("its lower bound above its upper bound") && problem.contains("inverted-between"),
        "{problem}"
    );
    looks::good(page, "problem").await
}

pub(super) async fn free(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/request", fixture.audit)).await?;
    page.fill("request", r#"{"table":"audit","where":{"accessedBy":"jane","action":"edited"},"limit":5}"#)
        .await?;
    page.click("form button.main").await?;
    page.until("document.querySelectorAll('#items tbody tr').length === 5", "the answer").await?;
    page.until("document.querySelector('#reads')", "the plan").await?;
    looks::good(page, "request").await?;
    page.click("form button[type=button]").await?;
    page.until("!document.querySelector('#items') && document.querySelector('#reads')", "the plan alone")
        .await?;
    page.fill("request", r#"{"table":"audit","where":{"resourceName":"Thing1"}}"#).await?;
    page.click("form button.main").await?;
    page.until("document.querySelector('.problem pre')", "an index that would do").await?;
    let problem = page.text("document.querySelector('.problem').innerText").await?;
    ensure!(problem.contains("needs-scan") && problem.contains("[tables.audit.indexes."), "{problem}");
    looks::good(page, "refused-request").await?;
    page.fill("request", "{\"table\":").await?;
    page.click("form button.main").await?;
    page.until(
        "document.querySelector('.problem').innerText.includes('malformed-request')",
        "a request that is none",
    )
    .await
}
