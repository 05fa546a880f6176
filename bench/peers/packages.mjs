// CPU time of the npm package, compared with ElectroDB and the SDK alone, on the same table and the same index: node packages.mjs MANIFEST ENDPOINT ROUNDS CALLS.
// The table is there and empty. Both are measured in turns; printed is one JSON text with the times of every round, in microseconds.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { createConversions, Entity } from "electrodb";
import { compile, load } from "keyfold";

const [, , manifest, endpoint, rounds, calls] = process.argv;
const COMPILED = "packages.keyfold";
const compiled = await compile(readFileSync(manifest, "utf8"));
writeFileSync(COMPILED, compiled);
const keyfold = await load(compiled);
const plainClient = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const client = DynamoDBDocumentClient.from(plainClient);
const text = { type: "string", required: true };
const key = (field, composite, template) => ({ field, composite, template, casing: "none" });
const schema = {
  model: { entity: "event", version: "1", service: "audit" },
  attributes: { id: text, resourceId: text, action: { type: ["viewed", "edited", "deleted"], required: true }, accessedBy: text, timestamp: text },
  indexes: {
    byId: { pk: key("pk", ["resourceId"], "resource#${resourceId}"), sk: key("sk", ["id"], "event#${id}") },
    byResourceActionUser: {
      index: "byResourceActionUser",
      pk: key("gsi1pk", ["resourceId", "action", "accessedBy"], "event#${resourceId}#${action}#${accessedBy}"),
      sk: key("gsi1sk", ["timestamp"], "${timestamp}"),
    },
  },
};
const entity = new Entity(schema, { client, table: "benchPackages" });
const conversions = createConversions(entity);

const where = (at) => ({ resourceId: `peer${at % 3}`, action: "viewed", accessedBy: "joe1" });
const of = (at) => ({ kind: "event", ...where(at), id: `id-${at}`, timestamp: `2017-05-01T00:00:00.${String(at % 1000).padStart(3, "0")}Z` });
const request = (at) => ({ table: "audit", where: { entity: "event", ...where(at) }, order: "timestamp", limit: 20 });
/** The same page by the document client alone, with the key joined by hand. */
const input = (at) => ({
  TableName: "benchPackages",
  IndexName: "byResourceActionUser",
  KeyConditionExpression: "gsi1pk = :key",
  ExpressionAttributeValues: { ":key": `event#peer${at % 3}#viewed#joe1` },
  Limit: 20,
});
for (let at = 0; at < 180; at += 1) await client.send(new PutCommand(keyfold.put("audit", of(at))));

const pairs = {
  keys: [(at) => keyfold.fold("audit", of(at)), (at) => conversions.fromComposite.toKeys(of(at))],
  put: [(at) => keyfold.put("audit", of(at)), (at) => entity.put(of(at)).params()],
  plan: [(at) => keyfold.plan(request(at)), (at) => entity.query.byResourceActionUser(where(at)).params({ limit: 20 })],
  page: [
    (at) => keyfold.query(client, request(at)),
    (at) => entity.query.byResourceActionUser(where(at)).go({ limit: 20, order: "asc", ignoreOwnership: true }),
  ],
};
pairs.pageOfSdk = [pairs.page[0], (at) => client.send(new QueryCommand(input(at)))];
const [ours, theirs] = [await pairs.page[0](1), await pairs.page[1](1)];
assert.deepEqual(ours.items.map((item) => item.id), theirs.data.map((item) => item.id));
assert.equal(ours.items.length, 20);
assert.deepEqual((await pairs.pageOfSdk[1](1)).Items.map((item) => item.id), ours.items.map((item) => item.id));
const [put, theirPut] = [keyfold.put("audit", of(3)).Item, entity.put(of(3)).params().Item];
for (const name of ["pk", "sk", "gsi1pk", "gsi1sk"]) assert.equal(put[name], theirPut[name]);

// What README.md says about ElectroDB's keys, and about questions that no index serves.
const number = { type: "number", required: true };
const byDefault = new Entity(
  {
    model: schema.model,
    attributes: { a: text, b: text, n: number, other: { type: "string" } },
    indexes: { byPair: { pk: { field: "pk", composite: ["a", "b"] }, sk: { field: "sk", composite: ["n"] } } },
  },
  { table: "any" },
);
const folded = (a, b, n) => byDefault.put({ a, b, n }).params().Item;
assert.equal(folded("x#b_y", "z", 1).pk, folded("x", "y#b_z", 1).pk);
assert.equal(folded("X", "y", 1).pk, folded("x", "y", 1).pk);
assert.ok(folded("a", "b", 10).sk < folded("a", "b", 9).sk);
assert.ok(!("KeyConditionExpression" in byDefault.find({ other: "x" }).params()));

const spent = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
const measured = async (call, times) => {
  const begun = spent();
  for (let at = 0; at < times; at += 1) await call(at);
  return (spent() - begun) / times;
};
const times = {};
for (const [name, both] of Object.entries(pairs)) {
  const isPage = name.startsWith("page");
  const share = isPage ? Math.max(1, calls / 20) : calls;
  // Short turns: a machine's speed changes within a second, which is a hundred pages.
  const turn = isPage ? Math.min(share, 25) : share;
  // V8 compiles what runs often, in the background: its time is not that of a call.
  for (const call of both) await measured(call, Math.max(share, isPage ? 300 : 5000));
  times[name] = [[], []];
  for (let round = 0; round < (rounds * share) / turn; round += 1) {
    for (const [side, call] of both.entries()) times[name][side].push(await measured(call, turn));
  }
}
client.destroy();

// In new processes, what each has to do before its first call.
const begun = "const a = process.cpuUsage();";
const ended = "const { user, system } = process.cpuUsage(a); console.log(user + system);";
const inNewProcess = (code) => Number(execFileSync(process.execPath, ["--input-type=module", "-e", begun + code + ended], { encoding: "utf8" }));
const loaded = (from) => `import { readFileSync } from "node:fs"; const { load } = await import("keyfold"); const keyfold = await load(readFileSync(${from}));`;
const starts = {
  load: [loaded(JSON.stringify(COMPILED)), `const { Entity } = await import("electrodb"); const entity = new Entity(${JSON.stringify(schema)}, { table: "any" });`],
};
starts.firstPlan = [
  `${starts.load[0]} keyfold.plan(${JSON.stringify(request(0))});`,
  `${starts.load[1]} entity.query.byResourceActionUser(${JSON.stringify(where(0))}).params({ limit: 20 });`,
];
starts.loadText = [loaded(`${JSON.stringify(manifest)}, "utf8"`), starts.load[1]];
for (const [name, both] of Object.entries(starts)) {
  times[name] = [[], []];
  for (let round = 0; round < rounds; round += 1) both.forEach((code, side) => times[name][side].push(inNewProcess(code)));
}
console.log(JSON.stringify(times));
