// The package in a browser, which has no files and another way to texts: what it says must be what it says in Node.
// node browser.mjs PACKAGE PLAYWRIGHT_FOLDER CHROMIUM MANIFEST
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , folder, playwright, executablePath, manifest] = process.argv;
const { chromium } = createRequire(`${playwright}/x.js`)("playwright-core");
const text = readFileSync(manifest, "utf8");

/** Runs in Node, and as text in the page. */
const said = async (load, text) => {
  const keyfold = await load(text);
  const event = { id: "e1", resourceId: "123bbb", action: "viewed", accessedBy: "jø", timestamp: "2017-05-01T00:00:00.000Z", count: 2n ** 70n };
  const attempt = (act) => {
    try {
      return act();
    } catch (error) {
      return { error: error.name, code: error.code };
    }
  };
  const all = [
    keyfold.fold("audit", event),
    keyfold.put("audit", event),
    keyfold.entriesOf("audit", event),
    keyfold.plan({ table: "audit", where: { action: "deleted" }, order: "-timestamp", limit: 20 }),
    attempt(() => keyfold.fold("audit", { ...event, action: "stolen" })),
    attempt(() => keyfold.fold("nowhere", event)),
    attempt(() => keyfold.fold("audit", 7)),
  ];
  return JSON.stringify(all, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
};

const types = { js: "text/javascript", wasm: "application/wasm", html: "text/html" };
const server = createServer((request, response) => {
  const name = request.url.slice(1) || "index.html";
  response.setHeader("content-type", types[name.split(".").pop()] ?? "text/plain");
  if (name === "index.html") return response.end("<!doctype html><title>keyfold</title>");
  try {
    response.end(readFileSync(`${folder}/${name.replaceAll("..", "")}`));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const arguments_ = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args: arguments_ });
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const there = await page.evaluate(`import("/index.js").then(({ load }) => (${said})(load, ${JSON.stringify(text)}))`);
  const { load } = await import(pathToFileURL(`${folder}/node.js`));
  const here = await said(load, text);
  if (there !== here) throw new Error(`the browser says\n${there}\nand Node\n${here}`);
  console.log(`${browser.version()}: ${JSON.parse(here).length} answers as in Node`);
} finally {
  await browser.close();
  server.close();
}
