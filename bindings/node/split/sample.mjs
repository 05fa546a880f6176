// The functions of the core that run when a program folds and writes: their numbers go to the output.
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
const core = new Core({ first, mark });
core.panicked();
// Room for large texts, and a refusal.
attempt(core, "plan", 0, ["x".repeat(100_000)]);
for (const line of readFileSync(vectors, "utf8").split("\n").filter(Boolean)) {
  const { manifest, table, items, updates } = JSON.parse(line);
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
  core.forget(tables);
}
console.log([...ran].sort((a, b) => a - b).join("\n"));
