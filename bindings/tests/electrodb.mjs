// CPU time beside ElectroDB on the same Node and the same table: keys, put input, plan, a page of 20, a new process.
// node electrodb.mjs PACKAGE MANIFEST ENDPOINT, where ENDPOINT is that of `keyfold local`. Both are measured in turns; a figure is the
// median of the rounds, a ratio the median of the rounds' ratios.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { createConversions, Entity } from "electrodb";

const [, , folder, manifest, endpoint] = process.argv;
const { load } = await import(pathToFileURL(`${folder}/index.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));
const plainClient = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const client = DynamoDBDocumentClient.from(plainClient);
const text = { type: "string", required: true };
const key = (field, composite, template) => ({ field, composite, template, casing: "none" });
const entity = new Entity(
  {
    model: { entity: "event", version: "1", service: "audit" },
    attributes: { id: text, resourceId: text, action: { type: ["viewed", "edited", "deleted"], required: true }, accessedBy: text, timestamp: text },
    indexes: {
      byId: { pk: key("id", ["id"], "${id}") },
      byResourceActionUser: {
        index: "byResourceActionUser",
        pk: key("byResourceActionUser_pk", ["resourceId", "action", "accessedBy"], "${resourceId}-${action}-${accessedBy}"),
        sk: key("timestamp", ["timestamp"], "${timestamp}"),
      },
    },
  },
  { client, table: "ResourceAccessAuditV2" },
);

const item = { id: "1", resourceId: "peer", action: "viewed", accessedBy: "joe1", timestamp: "2017-05-01T00:00:00.000Z" };
const where = { resourceId: "peer", action: "viewed", accessedBy: "joe1" };
const request = { table: "audit", where, order: "timestamp", limit: 20 };
const of = (at) => ({ ...item, id: `peer-${at}`, timestamp: `2017-05-01T00:00:00.${String(at).padStart(3, "0")}Z` });
for (let at = 0; at < 60; at += 1) await client.send(new PutCommand(keyfold.put("audit", of(at))));

const conversions = createConversions(entity);
const ours = {
  fold: (at) => keyfold.fold("audit", of(at % 1000)),
  put: (at) => keyfold.put("audit", of(at % 1000)),
  plan: () => keyfold.plan(request),
  page: () => keyfold.query(client, request),
  plainPage: () => keyfold.query(plainClient, request),
};
const theirs = {
  fold: (at) => conversions.fromComposite.toKeys(of(at % 1000)),
  put: (at) => entity.put(of(at % 1000)).params(),
  plan: () => entity.query.byResourceActionUser(where).params({ limit: 20 }),
  page: () => entity.query.byResourceActionUser(where).go({ limit: 20, order: "asc", ignoreOwnership: true }),
};
theirs.plainPage = theirs.page;
const ids = (items) => items.map((one) => one.id);
assert.deepEqual(ids((await ours.page()).items), ids((await theirs.page()).data));
assert.equal(ours.put(3).Item.byResourceActionUser_pk, theirs.put(3).Item.byResourceActionUser_pk);

const spent = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
const micros = async (call, calls) => {
  const begin = spent();
  for (let at = 0; at < calls; at += 1) await call(at);
  return (spent() - begin) / calls;
};
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const show = (what, mine, other) => {
  const ratio = median(mine.map((one, at) => one / other[at]));
  console.log(`${what}: Keyfold ${median(mine).toFixed(1)}, ElectroDB ${median(other).toFixed(1)}, ratio ${ratio.toFixed(2)}`);
};
const compare = async (what, mine, other, calls, rounds = 9) => {
  const [a, b] = [[], []];
  await micros(mine, calls);
  await micros(other, calls);
  for (let round = 0; round < rounds; round += 1) {
    a.push(await micros(mine, calls));
    b.push(await micros(other, calls));
  }
  show(what, a, b);
};
await compare("keys of an item, µs", ours.fold, theirs.fold, 3000);
await compare("input of a put, µs", ours.put, theirs.put, 3000);
await compare("a plan, µs", ours.plan, theirs.plan, 2000);
await compare("a page of 20 through the document client, µs", ours.page, theirs.page, 150);
await compare("a page of 20, ours in DynamoDB's notation, µs", ours.plainPage, theirs.plainPage, 150);

const millis = (code) =>
  Number(execFileSync(process.execPath, ["--input-type=module", "-e", `const a = process.cpuUsage(); ${code}; const { user, system } = process.cpuUsage(a); console.log((user + system) / 1000);`], { encoding: "utf8" }));
const loads = [
  `const { load } = await import(${JSON.stringify(pathToFileURL(`${folder}/index.js`).href)}); const { readFileSync } = await import("node:fs"); await load(readFileSync(${JSON.stringify(manifest)}, "utf8"))`,
  `await import(${JSON.stringify(import.meta.resolve("electrodb"))})`,
];
const [a, b] = [[], []];
for (let round = 0; round < 15; round += 1) {
  a.push(millis(loads[0]));
  b.push(millis(loads[1]));
}
show("load in a new process, ms", a, b);
client.destroy();
