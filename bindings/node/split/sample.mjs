// The functions of the core that run when a program folds, writes and reads: their numbers go to the output.
// node sample.mjs MARKED PACKAGE VECTORS SHOP AUDIT, where MARKED is the module as `keyfold-node-split mark` writes it, SHOP the manifest
// `bindings/tests/shop.toml`, and AUDIT one with retrofits, `keyfold.toml`.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , marked, folder, vectors, shop, audit] = process.argv;
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
  const retrofits = JSON.parse(attempt(core, "readiness_reads", tables, [request.table, "keyfold-control"]) ?? "[]");
  const rows = retrofits.length === 0 ? "" : JSON.stringify(retrofits.map(() => ({ segments: [], more: false })));
  for (const items of [[], stored]) {
    const question = attempt(core, "question", tables, [JSON.stringify(request), rows], rows === "" ? 0 : 1);
    if (question === undefined) return;
    for (let steps = 0; steps < 4; steps += 1) {
      const { send } = JSON.parse(attempt(core, "step", Number(question), []) ?? "{}");
      if (!send) break;
      for (const { access, looksAt } of send) {
        const lookedAt = (item) => looksAt.map((name) => item[name]?.S ?? item[name] ?? null);
        const ofItems = looksAt ? { kept: items.map(lookedAt), first: 0 } : { items };
        const response = { ...ofItems, count: items.length, scanned: items.length, units: 0.5, calls: 1 };
        attempt(core, "arrived", Number(question), [JSON.stringify(response)], access);
      }
    }
    core.forget(Number(question));
  }
};

const loaded = (core, manifest) => {
  // A manifest is read only once, when it is compiled.
  isNoted = false;
  const tables = Number(core.call("load", undefined, [manifest]));
  isNoted = true;
  return tables;
};

const core = new Core({ first, mark });
core.panicked();
// Room for large texts, and a refusal.
attempt(core, "plan", 0, ["x".repeat(100_000)]);
for (const line of readFileSync(vectors, "utf8").split("\n").filter(Boolean)) {
  const { manifest, table, items, updates, request } = JSON.parse(line);
  const tables = loaded(core, manifest);
  const folded = new Set(JSON.parse(core.call("tables", tables, [])).flatMap((table) => table.folded));
  for (const { item, key } of items) {
    const unfolded = Object.fromEntries(Object.entries(item).filter(([name]) => !folded.has(name)));
    for (const text of [item, unfolded].map((one) => JSON.stringify(one))) {
      for (const name of ["fold", "key_of", "entries_of", "entity_of"]) attempt(core, name, tables, [table, text]);
      for (const isNew of [0, 1]) attempt(core, "put", tables, [table, text], isNew);
    }
    if (!key || typeof key !== "object") continue;
    attempt(core, "delete", tables, [table, JSON.stringify(key), '{"expecting":{}}']);
    attempt(core, "get", tables, [table, JSON.stringify(key)]);
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
// Questions by name, and conditions of a write.
const ask = (tables, question, input) => {
  const request = JSON.parse(attempt(core, "asked", tables, ["", question, JSON.stringify(input)]));
  read(core, tables, request, []);
};
const ofAudit = loaded(core, readFileSync(audit, "utf8"));
ask(ofAudit, "getEvent", { id: "e1" });
ask(ofAudit, "whatDidUserDo", { accessedBy: "joe1", "timestamp.between": ["2017-03-01", "2017-03-31"] });
const tables = loaded(core, readFileSync(shop, "utf8"));
// A program writes one name or value where the models above have lists.
read(core, tables, { table: "shop", where: { entity: "order", status: "open" }, order: "placedAt", limit: 5 }, []);
ask(tables, "ordersOf", { customerId: "c1" });
ask(tables, "openOrders", { status: "open", "placedAt.gte": "2026-01" });
const [customer, asked] = [{ customerId: { S: "c1" } }, { expecting: { name: { S: "n" } }, absent: ["log"], condition: { visits: { "<": 5 } } }];
attempt(core, "put_if", tables, ["shop", JSON.stringify({ ...customer, PK: { S: "c#c1" }, SK: { S: "profile" } }), JSON.stringify(asked)]);
attempt(core, "update", tables, ["shop", JSON.stringify(customer), JSON.stringify({ ...asked, set: { name: { S: "m" } }, add: { visits: { N: "1" } }, entity: "customer" })]);
console.log([...ran].sort((a, b) => a - b).join("\n"));
