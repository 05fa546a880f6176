//! A retrofit, while it runs and when it has run.

use anyhow::ensure;
use serde_json::json;

use super::super::fixture::{Fixture, RETROFIT};
use super::super::looks;
use super::super::page::Page;
use super::texts;

/// The sample's retrofit is over after so many steps, at the most.
const STEPS_MAX: u32 = 100;
const ITEMS: &str = "[...document.querySelectorAll('.figures div')].find((e) => e.innerText.startsWith('Items read'))?.querySelector('dd').innerText";

pub(super) async fn live(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    page.go(&format!("{}/#/retrofits/{RETROFIT}", fixture.audit)).await?;
    page.until("document.querySelector('#pass-backfill')", "the backfill's segments").await?;
    let states = page.value(&texts("#pass-backfill tbody td:nth-child(2)")).await?;
    ensure!(states == json!(["done", "done", "done", "under way", ""]), "{states}");
    let before = page.text(ITEMS).await?;
    ensure!(fixture.step().await?, "nothing is left to do");
    page.until(&format!("{ITEMS} !== {}", json!(before)), "progress, without anybody asking for it").await?;
    let gates = page.value(&texts("#gates code")).await?;
    ensure!(gates[0] == "backfill-incomplete", "{gates}");
    looks::good(page, "retrofit-running").await
}

pub(super) async fn ended(page: &mut Page, fixture: &Fixture) -> anyhow::Result<()> {
    for _ in 0..STEPS_MAX {
        if !fixture.step().await? {
            break;
        }
    }
    page.until("document.querySelector('#pass-verify-source')", "the comparison").await?;
    let keys = page.value(&texts("#quarantine tbody tr")).await?;
    let keys = keys.to_string();
    ensure!(keys.contains("id = 111aax") && keys.contains("item-attribute-required"), "{keys}");
    let gates = page.value(&texts("#gates code")).await?;
    ensure!(gates.to_string().contains("quarantine-not-empty"), "{gates}");
    ensure!(!gates.to_string().contains("backfill-incomplete"), "{gates}");
    looks::good(page, "retrofit-ended").await?;
    page.go(&format!("{}/#/retrofits/auditInPlace", fixture.audit)).await?;
    page.until("document.body.innerText.includes('It was not started')", "a retrofit that was not started")
        .await
}
