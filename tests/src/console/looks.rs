//! What holds for every view: nothing sticks out, everything is named, every text can be read.

use anyhow::ensure;
use serde_json::{Value, json};

use super::page::Page;

/// The widths that are looked at.
const WIDTHS: [u32; 3] = [360, 768, 1280];
const HEIGHT: u32 = 900;

/// What is wrong with names and headings, as an expression that gives a list.
const NAMES: &str = r#"(() => {
  const wrong = [];
  const visible = (e) => e.getClientRects().length > 0;
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  for (const e of document.querySelectorAll("input, select, textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) wrong.push("no label: " + e.id);
  for (const e of document.querySelectorAll("table")) if (!e.caption) wrong.push("no caption");
  for (const e of document.querySelectorAll("thead th")) if (!e.scope) wrong.push("no scope: " + e.textContent);
  for (const e of document.querySelectorAll("a, button")) if (visible(e) && !e.textContent.trim()) wrong.push("no name: " + e.outerHTML);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  return wrong;
})()"#;

/// Texts with a contrast below 4.5 to what is behind them.
const CONTRAST: &str = r#"(() => {
  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const l = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const low = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.disabled) continue;
    const [a, b] = [light(colour(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.add(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
  }
  return [...low];
})()"#;

/// Looks at the view that is shown, in both schemes and every width, and takes pictures of it.
pub(super) async fn good(page: &mut Page, name: &str) -> anyhow::Result<()> {
    let names = page.value(NAMES).await?;
    ensure!(names == json!([]), "{name}: {names}");
    for scheme in ["light", "dark"] {
        page.scheme(scheme).await?;
        // Colours change over a short time.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let low = page.value(CONTRAST).await?;
        ensure!(low == json!([]), "{name}, {scheme}: {low}");
        for width in WIDTHS {
            page.size(width, HEIGHT).await?;
            let wide = page.value(STICKING_OUT).await?;
            ensure!(wide == Value::Null, "{name}: at {width} pixels: {wide}");
            if width != 768 {
                page.picture(&format!("{name}-{width}-{scheme}")).await?;
            }
        }
    }
    page.scheme("light").await?;
    page.size(1280, HEIGHT).await
}

/// `null`, or by how much the page is wider than the window.
const STICKING_OUT: &str = r#"(() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide <= 0) return null;
  const out = [...document.querySelectorAll("body *")].filter((e) => !e.parentElement.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1);
  return `${wide} pixels: ` + out.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(" | ");
})()"#;
