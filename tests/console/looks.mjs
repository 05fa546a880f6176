// What holds for every view: nothing is wider than the window, every control has a name, every text has enough contrast.

import assert from "node:assert/strict";

const WIDTHS = [360, 768, 1280];
const HEIGHT = 900;
// Colours change over a short time when the scheme does.
const TRANSITION_MS = 300;

// Controls and tables that a screen reader could not name, and headings that are not one.
function unnamed() {
  const wrong = [];
  const isVisible = (e) => e.getClientRects().length > 0;
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  for (const e of document.querySelectorAll("input, select, textarea"))
    if (!e.labels.length && !e.getAttribute("aria-label")) wrong.push(`no label: ${e.id}`);
  for (const e of document.querySelectorAll("table")) if (!e.caption) wrong.push("no caption");
  for (const e of document.querySelectorAll("thead th")) if (!e.scope) wrong.push(`no scope: ${e.textContent}`);
  for (const e of document.querySelectorAll("a, button"))
    if (isVisible(e) && !e.textContent.trim()) wrong.push(`no name: ${e.outerHTML}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  return wrong;
}

// Texts with a contrast below 4.5 to their background: https://www.w3.org/TR/WCAG21/#contrast-minimum
function faint() {
  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const background = (e) => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const low = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!hasText || !e.checkVisibility() || e.disabled) continue;
    const [a, b] = [luminance(colour(getComputedStyle(e).color)), luminance(background(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.add(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
  }
  return [...low];
}

// `null`, or how much wider the page is than the window, and through what.
function tooWide() {
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide <= 0) return null;
  const out = [...document.querySelectorAll("body *")]
    .filter((e) => !e.parentElement.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1);
  return `${wide} pixels: ${out.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(" | ")}`;
}

// Looks at the view that is shown, in both colour schemes and every width, and takes pictures of it.
export async function look(page, name, picture) {
  assert.deepEqual(await page.evaluate(unnamed), [], name);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(TRANSITION_MS);
    assert.deepEqual(await page.evaluate(faint), [], `${name}, ${colorScheme}`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      assert.equal(await page.evaluate(tooWide), null, `${name} at ${width} pixels`);
      if (width !== 768) await picture(`${name}-${width}-${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: HEIGHT });
}
