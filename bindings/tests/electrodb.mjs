// CPU time beside ElectroDB on the same Node: keys and put input, plan, cold load. node electrodb.mjs PACKAGE MANIFEST
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Entity } from "electrodb";

const [, , folder, manifest] = process.argv;
const { load } = await import(pathToFileURL(`${folder}/index.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));
const text = { type: "string", required: true };
const entity = new Entity(
  {
    model: { entity: "event", version: "1", service: "audit" },
    attributes: { id: text, resourceId: text, action: text, accessedBy: text, timestamp: text },
    indexes: {
      primary: { pk: { field: "pk", composite: ["id"] }, sk: { field: "sk", composite: [] } },
      byResourceActionUser: { index: "gsi1", pk: { field: "gsi1pk", composite: ["resourceId", "action", "accessedBy"] }, sk: { field: "gsi1sk", composite: ["timestamp"] } },
      byUserAction: { index: "gsi2", pk: { field: "gsi2pk", composite: ["accessedBy", "action"] }, sk: { field: "gsi2sk", composite: ["timestamp"] } },
      byAction: { index: "gsi3", pk: { field: "gsi3pk", composite: ["action"] }, sk: { field: "gsi3sk", composite: ["timestamp"] } },
    },
  },
  { table: "ResourceAccessAuditV2" },
);

const item = { id: "1", resourceId: "123ccc", action: "viewed", accessedBy: "joe1", timestamp: "2017-05-01T00:00:00.000" };
const where = { resourceId: "123ccc", action: "viewed", accessedBy: "joe1" };
const micros = (call) => {
  const once = (rounds) => {
    const begin = process.cpuUsage();
    for (let at = 0; at < rounds; at += 1) call(at);
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / rounds;
  };
  once(5000);
  return Math.min(...Array.from({ length: 5 }, () => once(5000)));
};
const millis = (code) => {
  const run = () => Number(execFileSync(process.execPath, ["--input-type=module", "-e", `const a = process.cpuUsage(); const t = performance.now(); ${code}; const { user, system } = process.cpuUsage(a); console.log((user + system) / 1000);`], { encoding: "utf8" }));
  return Math.min(...Array.from({ length: 7 }, run));
};
const rows = [
  ["put input, µs", micros((at) => keyfold.put("audit", { ...item, id: `${at}` })), micros((at) => entity.put({ ...item, id: `${at}` }).params())],
  ["plan, µs", micros(() => keyfold.plan({ table: "audit", where })), micros(() => entity.query.byResourceActionUser(where).params())],
  [
    "load, ms",
    millis(`const { load } = await import(${JSON.stringify(pathToFileURL(`${folder}/index.js`).href)}); const { readFileSync } = await import("node:fs"); await load(readFileSync(${JSON.stringify(manifest)}, "utf8"))`),
    millis(`await import(${JSON.stringify(import.meta.resolve("electrodb"))})`),
  ],
];
for (const [what, ours, theirs] of rows) console.log(`${what}: Keyfold ${ours.toFixed(1)}, ElectroDB ${theirs.toFixed(1)}`);
