// Writes and asks the sample's table through `keyfold local`, and compares each answer with the command's:
// node answers.mjs PACKAGE MANIFEST ENDPOINT KEYFOLD
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, DeleteCommand, NumberValue, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

const [, , folder, manifest, endpoint, command] = process.argv;
const { load, KeyfoldError } = await import(pathToFileURL(`${folder}/node.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const documents = DynamoDBDocumentClient.from(client);

const refused = async (call, code) => {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof KeyfoldError, String(error));
    assert.equal(error.code, code);
    return;
  }
  assert.fail(`not refused with ${code}`);
};

// Refusals are errors of a class of their own, with the core's code.
await refused(() => load("nonsense ="), "invalid-manifest");
await refused(() => keyfold.put("nothing", {}), "unknown-table");
await refused(() => keyfold.put("audit", { id: "1" }), "item-attribute-required");
await refused(() => keyfold.plan({ table: "audit", where: { nothing: 1 } }), "unknown-attribute");
await refused(() => keyfold.plan({ table: "audit", where: { action: "viewed" }, limit: 0 }), "over-limit");
await refused(() => keyfold.query(documents, { table: "audit", where: { id: "1" }, page: "forged" }), "bad-page-token");

// Numbers keep their 38 digits, both ways.
const actions = ["viewed", "edited", "deleted"];
const digits = ["12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678", "7", "-1.5"];
for (let at = 0; at < 240; at += 1) {
  const item = {
    id: `node-${at}`,
    resourceId: `r${at % 3}`,
    action: actions[at % 2],
    accessedBy: `joe${at % 2}`,
    timestamp: `2017-0${1 + (at % 9)}-01T00:00:00.${String(at).padStart(3, "0")}`,
    amount: NumberValue.from(digits[at % digits.length]),
  };
  await documents.send(new PutCommand(keyfold.put("audit", item, { ifAbsent: true })));
}
const { TableName } = keyfold.delete("audit", { id: "node-0" });
const stored = await client.send(new GetItemCommand({ TableName, Key: { id: { S: "node-0" } } }));
assert.equal(stored.Item.amount.N, digits[0]);
assert.equal(stored.Item.byResourceActionUser_pk.S, "r0-viewed-joe0");

// A partial update takes the folded keys along, or says what it needs.
await refused(() => keyfold.update("audit", { id: "node-1" }, { set: { action: "viewed" } }), "update-needs-reading");
const { attempts } = await keyfold.updateItem(documents, "audit", { id: "node-1" }, { set: { action: "deleted" } });
assert.equal(attempts, 1);
await documents.send(new UpdateCommand(keyfold.update("audit", { id: "node-2" }, { set: { note: "x" } })));
const known = { resourceId: "r0", accessedBy: "joe1", timestamp: "2017-04-01T00:00:00.003" };
await documents.send(new UpdateCommand(keyfold.update("audit", { id: "node-3" }, { set: { action: "deleted" }, expecting: known })));
await refused(() => keyfold.updateItem(documents, "audit", { id: "none" }, { set: { action: "viewed" } }), "item-not-found");
await documents.send(new DeleteCommand(keyfold.delete("audit", { id: "node-4" }, { expecting: { action: "viewed" } })));

// Every question: Node's pages are the command's.
const ask = (request) => JSON.parse(execFileSync(command, ["--manifest", manifest, "--json", "query", "--endpoint", endpoint, "--all", "--request", JSON.stringify(request)], { encoding: "utf8", env: { ...process.env, AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_REGION: "us-east-1" } }));
const plainOf = (value) => (value === null || typeof value !== "object" ? (typeof value === "bigint" ? value.toString() : value) : value.toAttributeValue ? value.toString() : Object.fromEntries(Object.keys(value).sort().map((name) => [name, plainOf(value[name])])));
const requests = [
  { table: "audit", where: { resourceId: "r0", action: "viewed", accessedBy: "joe0" }, order: "timestamp" },
  { table: "audit", where: { resourceId: "r0", action: "viewed", accessedBy: "joe0" }, order: "-timestamp", limit: 7 },
  { table: "audit", where: { resourceId: "r1", action: { in: ["viewed", "edited", "deleted"] }, accessedBy: { in: ["joe0", "joe1"] } }, order: "timestamp", limit: 9 },
  { table: "audit", where: { resourceId: "r2", action: "edited", accessedBy: "joe1", timestamp: { beginsWith: "2017-03" } } },
  { table: "audit", where: { id: "node-1" } },
  { table: "audit", where: { id: { in: ["node-1", "node-4", "node-5"] } } },
  { table: "audit", where: { timestamp: { beginsWith: "2017-03" } }, scan: true, limit: 5 },
];
let items = 0;
for (const request of requests) {
  const ours = [];
  for await (const item of keyfold.items(documents, request, { foldedKeys: true })) ours.push(plainOf(item));
  const theirs = ask(request);
  assert.deepEqual(ours.map(plainNumber), theirs.items.map(plainNumber), JSON.stringify(request));
  const { count } = await keyfold.query(client, { ...request, count: true, limit: undefined });
  assert.equal(count, theirs.count, JSON.stringify(request));
  items += ours.length;
}
function plainNumber(item) {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, typeof value === "number" ? String(value) : value]));
}
assert.ok(items > 150, `${items} items are too few to compare`);
console.log(`Node: ${requests.length} questions over ${items} items answered as the command answers them`);
