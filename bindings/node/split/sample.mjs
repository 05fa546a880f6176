// The functions of the core that run when a program folds, writes and reads: their numbers go to the output.
// node sample.mjs MARKED PACKAGE VECTORS, where MARKED is the module as `keyfold-node-split mark` writes it.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , marked, folder, vectors] = process.argv;
const { Core } = await import(pathToFileURL(`${folder}/core.js`));
const first = new WebAssembly.Module(readFileSync(marked));
const ran = new Set();
let isNoted = true;
const mark = (number) => isNoted && ran.add(number);

const attempt = (core, name, object, texts, last) => {
  try {
    return core.call(name, object, texts, last);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    return undefined;
  }
};
/** A question's reads, answered as by an empty table, and by one with these items in each page. */
const read = (core, tables, request, stored) => {
  attempt(core, "plan", tables, [JSON.stringify(request)]);
  attempt(core, "tables", tables, []);
  for (const items of [[], stored.map((item, number) => ({ ...item, "": { N: String(number) } }))]) {
    const question = attempt(core, "question", tables, [JSON.stringify(request), ""], 0);
    if (question === undefined) return;
    for (let steps = 0; steps < 4; steps += 1) {
      const { send } = JSON.parse(attempt(core, "step", Number(question), []) ?? "{}");
      if (!send) break;
      for (const { access } of send) {
        const response = { items, count: items.length, scanned: items.length, units: 0.5, calls: 1 };
        attempt(core, "arrived", Number(question), [JSON.stringify(response)], access);
      }
    }
    core.forget(Number(question));
  }
};

const core = new Core({ first, mark });
core.panicked();
// Room for large texts, and a refusal.
attempt(core, "plan", 0, ["x".repeat(100_000)]);
for (const line of readFileSync(vectors, "utf8").split("\n").filter(Boolean)) {
  const { manifest, table, items, updates, request } = JSON.parse(line);
  // A manifest is read only once, when it is compiled.
  isNoted = false;
  const tables = Number(core.call("load", undefined, [manifest]));
  isNoted = true;
  for (const { item, key } of items) {
    const text = JSON.stringify(item);
    for (const name of ["fold", "key_of", "entries_of"]) attempt(core, name, tables, [table, text]);
    for (const isNew of [0, 1]) attempt(core, "put", tables, [table, text], isNew);
    if (key && typeof key === "object") attempt(core, "delete", tables, [table, JSON.stringify(key), '{"expecting":{}}']);
  }
  for (const { key, set, stored } of updates) {
    for (const reading of [false, true]) {
      const asked = JSON.stringify({ set, reading, expecting: reading ? {} : stored });
      const updating = attempt(core, "update", tables, [table, JSON.stringify(key), asked]);
      if (updating === undefined) continue;
      attempt(core, "request", Number(updating), []);
      attempt(core, "was_read", Number(updating), [JSON.stringify(stored)]);
      attempt(core, "request", Number(updating), []);
      core.forget(Number(updating));
    }
  }
  read(core, tables, request, items.flatMap(({ stored }) => (stored ? [stored] : [])));
  core.forget(tables);
}
console.log([...ran].sort((a, b) => a - b).join("\n"));
