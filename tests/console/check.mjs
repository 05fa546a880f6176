// The console in a headless Chromium, by Playwright: what must hold on the page, one sentence each.
//
// `.ci/console` installs playwright-core and a browser and starts this with three arguments: the browser's program, the fixture's
// program, and the folder for the pictures. It fails at the first sentence that does not hold.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { join } from "node:path";
import { look } from "./looks.mjs";

const [browserProgram, fixtureProgram, pictures] = process.argv.slice(2);
// NODE_PATH does not reach `import`; `require` from the folder of .ci/console does.
const { chromium } = createRequire(join(process.env.PLAYWRIGHT_FOLDER, "package.json"))("playwright-core");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"];

// The most steps that the sample's retrofit can take, and the most times that Tab is pressed to reach an element.
const STEPS_MAX = 100;
const TABS_MAX = 80;
// 15 seconds.
const LOOKS_MAX = 300;
const LOOK_PAUSE_MS = 50;

// --- the fixture: the console with sample data, and a retrofit that takes one step for each line

const fixture = spawn(fixtureProgram, ["--by-hand"], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: fixture.stdout })[Symbol.asyncIterator]();
const line = async () => {
  const { value, done } = await lines.next();
  assert(!done, "the fixture has ended");
  return value;
};
const url = {};
for (const _ of ["audit", "pets"]) {
  const [name, address] = (await line()).split(/\s+/);
  url[name] = address.replace(/\/$/, "");
}
const step = async () => {
  fixture.stdin.write("\n");
  return (await line()) === "step";
};

// --- the page

mkdirSync(pictures, { recursive: true });
const browser = await chromium.launch({ executablePath: browserProgram, args: FLAGS });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(15_000);
// Exceptions, console errors and violations of the page's content security policy. A refused request does not count.
let complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (message) => {
  if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) complaints.push(message.text());
});

const texts = (selector) => page.locator(selector).allInnerTexts().then((all) => all.map((text) => text.trim()));
const text = (selector) => page.locator(selector).first().innerText();
const shown = (selector) => page.waitForSelector(selector, { state: "attached" });
// Looks until an expression is true. `waitForFunction` would call `eval`, which the page's content security policy forbids.
async function until(expression) {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if (await page.evaluate(`Boolean(${expression})`)) return;
    await page.waitForTimeout(LOOK_PAUSE_MS);
  }
  assert.fail(`this does not become true: ${expression}`);
}
const picture = (name) => page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
const good = (name) => look(page, name, picture);
const has = (all, ...parts) => parts.forEach((part) => assert(all.includes(part), `${part} is not in: ${all}`));

// Loads an address again, even if only the part behind `#` differs.
async function go(address) {
  await page.goto("about:blank");
  await page.goto(address);
  await shown("h1");
}

// The values of a column of the answer.
const column = (name) => page.evaluate((name) => {
  const at = [...document.querySelectorAll("#items thead th")].findIndex((e) => e.innerText === name);
  return [...document.querySelectorAll("#items tbody tr")].map((row) => row.children[at].innerText);
}, name);

// Item collections as the page shows them: a partition key, and the sort keys below it.
const collections = () => page.evaluate(() => [...document.querySelectorAll("#collections tbody")].map((body) => ({
  key: body.querySelector("th.partition").firstChild.data,
  count: Number(body.querySelector(".count").innerText.split(" ")[0]),
  sorts: [...body.querySelectorAll("th.sort")].map((e) => e.innerText),
})));

const isSorted = (all, before = (a, b) => a <= b) => all.every((one, at) => at === 0 || before(all[at - 1], one));
const ask = () => page.click("form button.main");

// Presses Tab until the element with this text or id has the focus. A keyboard user must see each stop.
async function tabTo(wanted) {
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const e = document.activeElement;
      const style = getComputedStyle(e);
      return { text: e.innerText, id: e.id, isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
    });
    assert(here.isSeen, `the focus on ${here.text || here.id} is not visible`);
    if (here.text === wanted || here.id === wanted) return;
  }
  assert.fail(`${wanted} is not reached within ${TABS_MAX} tabs`);
}

// --- what must hold, in the order in which it is looked at

const CHECKS = {
  async "a running retrofit's progress changes without a reload"() {
    const read = () => page.evaluate(() => [...document.querySelectorAll(".figures div")]
      .find((e) => e.innerText.startsWith("Items read"))?.querySelector("dd").innerText);
    await go(`${url.audit}/#/retrofits/auditV2`);
    await shown("#pass-backfill");
    assert.deepEqual(await texts("#pass-backfill tbody td:nth-child(2)"), ["done", "done", "done", "in progress", ""]);
    const before = await read();
    assert(await step(), "the retrofit has no step left");
    await page.waitForFunction((before) => [...document.querySelectorAll(".figures div")]
      .find((e) => e.innerText.startsWith("Items read"))?.querySelector("dd").innerText !== before, before);
    assert.equal((await texts("#gates code.lead"))[0], "backfill-incomplete");
    has(await text("#phase"), "running: readers and writers use the source");
    await good("retrofit-running");
  },

  async "a finished retrofit shows its gates, its comparison and its quarantine"() {
    for (let steps = 0; steps < STEPS_MAX && (await step()); steps += 1);
    await shown("#pass-verify-source");
    // The page looks every few seconds, and may have looked in the middle of the last step.
    await until("document.body.innerText.includes('the comparison started just now')");
    has((await texts("#quarantine tbody tr")).join("\n"), "id = 111aax", "item-attribute-required");
    has((await texts("#misfits tbody tr")).join("\n"), "missing", "id = 111aax");
    const gates = await texts("#gates code");
    assert(gates.includes("quarantine-not-empty") && !gates.includes("backfill-incomplete"), String(gates));
    await good("retrofit-ended");
    await go(`${url.audit}/#/retrofits/auditInPlace`);
    await until("document.body.innerText.includes('was not started')");
  },

  async "a table shows its keys as templates, its attributes and its questions"() {
    await go(`${url.audit}/#/tables/audit`);
    const nav = await texts("nav a");
    for (const name of ["audit-legacy", "byResourceActionUser", "byUserAction", "byAction", "whatDidUserDo", "auditInPlace"])
      assert(nav.includes(name), `${name} is not in ${nav}`);
    has(await text(".rows"), "{resourceId}-{action}-{accessedBy}", "byResourceActionUser_pk", "{action}.{id|shard:10}", "global");
    has(await text("main"), "viewed, edited, deleted", "latestOfAction");
    await good("table");
  },

  async "an index's item collections are grouped and sorted, and the page counts the items that are not in the index"() {
    await go(`${url.audit}/#/tables/audit/content/byResourceActionUser`);
    await shown("#collections");
    const all = await collections();
    const keys = all.map(({ key }) => key);
    assert(keys.length > 20 && isSorted(keys) && keys.includes("123bbb-viewed-joe1"), String(keys));
    for (const { sorts, count } of all) assert(isSorted(sorts) && count === sorts.length, String(sorts));
    has(await text("#absent"), "not in this index", "byResourceActionUser_pk is missing");
    // A screen reader hears the status line.
    has(await page.locator("#status").textContent(), "item collections");
    await good("index");
    await go(`${url.audit}/#/tables/audit/content/byUserAction`);
    await shown("#collections");
    await good("native-index");
  },

  async "an overloaded index keeps its namespaces apart"() {
    await go(`${url.pets}/#/tables/pets/content/index1`);
    await shown("#collections");
    assert.deepEqual((await collections())[0], { key: "ana", count: 7, sorts: ["cat:treeclimbed:oak", "cat:treeclimbed:spruce",
      "dog:command:roll over", "dog:command:sit", "parrot:words:000003", "parrot:words:000005", "parrot:words:000101"] });
    has(await text("#absent"), "1 is not in this index");
    await good("overloaded");
    await go(`${url.pets}/#/tables/pets`);
    await good("overloaded-table");
  },

  async "a large table is shown in part and the page says so; a value with markup stays text"() {
    await go(`${url.pets}/#/tables/homes/content`);
    await shown("#collections");
    has(await text("main"), "there are more");
    await go(`${url.audit}/#/questions/audit/getEvent`);
    await page.fill("#p0", "event-000");
    await ask();
    await shown("#items");
    has(await text("#items"), "<img src=x onerror=");
    assert(!(await page.evaluate("document.images.length > 0 || document.title === 'broken'")), "a value became markup");
  },

  async "a question gives its rows, its plan, the rejected paths, its cost and its next page"() {
    await go(`${url.audit}/#/questions/audit/whenDidUserActOnResource`);
    await good("question");
    await page.fill("#p0", "123bbb");
    await page.selectOption("#p1", "viewed");
    await page.fill("#p2", "joe1");
    await page.fill("#p3", "2017-03");
    await ask();
    await shown("#items");
    assert.deepEqual(await column("id"), ["111aaa", "111aab", "111aac"]);
    has(await text("#reads"), "query index byResourceActionUser", "123bbb-viewed-joe1");
    has(await text("#rejected"), "table", "byAction");
    assert.deepEqual((await texts(".figures dd")).slice(2, 4), ["3", "3"]);
    await good("answer");
    await go(`${url.audit}/#/questions/audit/latestOfAction`);
    await page.selectOption("#p0", "viewed");
    await ask();
    await until("document.querySelectorAll('#items tbody tr').length === 20");
    await page.click("#next");
    await until("document.querySelectorAll('#items tbody tr').length === 40");
    const times = await column("timestamp");
    assert(times.length === 40 && isSorted(times, (a, b) => a >= b), String(times));
    await good("pages");
  },

  async "what was asked is in the address, comes back with it, and can be taken away as a file"() {
    await go(`${url.audit}/#/questions/audit/whenDidUserActOnResource`);
    await page.fill("#p0", "123bbb");
    await page.selectOption("#p1", "viewed");
    await page.fill("#p2", "joe1");
    await ask();
    await shown("#items");
    const shared = await page.evaluate("location.href");
    has(shared, "resourceId=123bbb", "action=viewed", "accessedBy=joe1");
    const rows = await column("id");
    await go(shared);
    await shown("#items");
    assert.deepEqual(await column("id"), rows);
    assert.equal(await page.inputValue("#p2"), "joe1");
    has(await page.locator("#programs pre").textContent(), "keyfold ask whenDidUserActOnResource resourceId=123bbb action=viewed accessedBy=joe1");
    const saved = async (button) => {
      const [file] = await Promise.all([page.waitForEvent("download"), page.click(`#exports button:text("${button}")`)]);
      const parts = [];
      for await (const part of await file.createReadStream()) parts.push(part);
      return { name: file.suggestedFilename(), text: Buffer.concat(parts).toString() };
    };
    const lines = await saved("Save as JSON lines");
    assert.equal(lines.name, "whenDidUserActOnResource.jsonl");
    assert.deepEqual(lines.text.trim().split("\n").map((one) => JSON.parse(one).id), rows);
    const csv = await saved("Save as CSV");
    has(csv.text.split("\r\n")[0], "resourceId,", "byResourceActionUser_pk");
    assert.equal(csv.text.trim().split("\r\n").length, rows.length + 1);
    // Back and forth in the history brings back what was asked there.
    await page.fill("#p2", "sam2");
    await ask();
    await until("location.hash.includes('sam2')");
    await page.goBack();
    await until("document.querySelector('#p2').value === 'joe1'");
    await shown("#items");
    assert.deepEqual(await column("id"), rows);
    await go(`${url.audit}/#/request?${encodeURIComponent('{"table":"audit","where":{"id":"event-001"}}')}`);
    await until("document.querySelectorAll('#items tbody tr').length === 1");
  },

  async "an item is found by its key, shows its expected keys, and can be copied as programs"() {
    await go(`${url.audit}/#/tables/audit/item`);
    await page.fill("#k0", "event-001");
    await ask();
    await shown("#item-keys");
    has((await texts("#item-keys tbody tr")).join("\n"), "byResourceActionUser_pk", "as it is folded", "a separate attribute");
    has(await page.locator("#programs").textContent(), "aws dynamodb get-item --consistent-read --table-name", `--key '{"id":{"S":"event-001"}}'`,
      'boto3.client("dynamodb").get_item(', 'Key={"id": {"S": "event-001"}}', 'from "@aws-sdk/client-dynamodb"');
    await page.click("#programs summary");
    await good("item");
    await page.click("#programs button");
    await until("['AWS CLI copied', 'Selected: copy it with the keyboard'].includes(document.getElementById('status').textContent)");
    const shared = await page.evaluate("location.href");
    await go(shared);
    await shown("#item-keys");
    assert.equal(await page.inputValue("#k0"), "event-001");
    await page.fill("#k0", "nobody's \"key\"");
    await ask();
    await until("document.body.innerText.includes('no item with this key')");
    // From an answer, and where the primary key is folded.
    await go(`${url.pets}/#/tables/homes/content`);
    await shown("#collections");
    await page.click("#collections td.open a");
    await shown("#item-keys");
    await good("item-folded");
  },

  async "the contents of a table go on to their end"() {
    await go(`${url.pets}/#/tables/homes/content`);
    await shown("#next");
    const count = () => page.locator("#collections tbody tr").count();
    assert.equal(await count(), 200);
    await page.click("#next");
    await until("!document.querySelector('#next')");
    const keys = (await collections()).map(({ key }) => key);
    assert((await count()) > 220 && new Set(keys).size === keys.length, "an item collection is shown twice");
    assert.equal(await page.evaluate("document.activeElement.id"), "summary");
  },

  async "a fan-out is one line of the plan"() {
    await go(`${url.audit}/#/questions/audit/latestOfAction`);
    await page.selectOption("#p0", "viewed");
    await ask();
    await shown("#reads");
    assert.equal(await page.locator("#reads tbody tr").count(), 1);
    has(await text("#reads tbody th"), "× 10");
    await page.click("#reads summary");
    assert.equal(await page.locator("#reads li").count(), 10);
    await good("fan-out");
  },

  async "the first request gives something"() {
    await go(`${url.audit}/#/request`);
    await ask();
    await shown("#reads");
    assert.equal(await page.locator(".problem").count(), 0);
  },

  async "an input that cannot be right gives the problem's text"() {
    await go(`${url.audit}/#/questions/audit/whatDidUserDo`);
    await page.fill("#p0", "jane");
    await page.fill("#p2a", "2018-06-01");
    await page.fill("#p2b", "2018-01-01");
    await ask();
    await shown(".problem[role=alert]");
    has(await text(".problem"), "its lower bound above its upper bound", "inverted-between");
    await good("problem");
  },

  async "a free request is answered, explained, or refused with an index that would serve it"() {
    await go(`${url.audit}/#/request`);
    await page.fill("#request", '{"table":"audit","where":{"accessedBy":"jane","action":"edited"},"limit":5}');
    await ask();
    await until("document.querySelectorAll('#items tbody tr').length === 5");
    await shown("#reads");
    await good("request");
    await page.click("form button[type=button]");
    await until("!document.querySelector('#items') && document.querySelector('#reads')");
    await page.fill("#request", '{"table":"audit","where":{"resourceName":"Thing1"}}');
    await ask();
    await shown(".problem pre");
    has(await text(".problem"), "needs-scan", "[tables.audit.indexes.");
    await good("refused-request");
    await page.fill("#request", '{"table":');
    await ask();
    await until("document.querySelector('.problem').innerText.includes('malformed-request')");
  },

  async "the keyboard alone finds a question and gets its answer"() {
    const focused = (what) => page.evaluate(`document.activeElement.${what}`);
    await go(`${url.audit}/`);
    await shown("nav a");
    await page.keyboard.press("Tab");
    assert.equal(await focused("innerText"), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await focused("id"), "main");
    await go(`${url.audit}/`);
    await shown("nav a");
    await tabTo("whenDidUserActOnResource");
    await page.keyboard.press("Enter");
    await until("document.activeElement.tagName === 'H1'");
    for (const [stop, value] of [["p0", "123bbb"], ["p1", "v"], ["p2", "joe1"], ["p3", "2017-03"]]) {
      await tabTo(stop);
      await page.keyboard.type(value);
    }
    await tabTo("Ask");
    await page.keyboard.press("Enter");
    await until("document.querySelectorAll('#items tbody tr').length === 3");
    assert((await page.locator("#status").textContent()).startsWith("3 items"), "a screen reader hears nothing");
    // In a narrow window the navigation is behind a button.
    await page.setViewportSize({ width: 360, height: 740 });
    await go(`${url.audit}/`);
    await shown("nav a");
    await tabTo("Menu");
    await page.keyboard.press("Enter");
    await shown("#menu[aria-expanded=true]");
    await picture("menu-360-light");
    await tabTo("byAction");
    await page.keyboard.press("Enter");
    await shown("#collections");
    await page.setViewportSize({ width: 1280, height: 900 });
  },
};

let code = 0;
try {
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      await check();
      assert.deepEqual(complaints, [], "the page complains");
      console.log(`ok: ${name}`);
    } catch (error) {
      const says = await page.evaluate("document.body.innerText.slice(0, 2000)").catch(() => "nothing");
      console.error(`FAILED: ${name}\n${error.stack}\nthe page says: ${says}`);
      code = 1;
      break;
    }
  }
  if (code === 0) console.log(`${Object.keys(CHECKS).length} checks of the console hold; the pictures are in ${pictures}`);
} finally {
  await browser.close();
  fixture.stdin.end();
}
process.exit(code);
