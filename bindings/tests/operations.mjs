// Does what `operations` of keyfold-testkit drew, and compares each outcome and the items at the end with Rust's:
// node operations.mjs PACKAGE ENDPOINT < LINES
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { CreateTableCommand, DeleteItemCommand, DeleteTableCommand, DynamoDBClient, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { canonical, rawItem, runtime } from "./raw.mjs";

const [, , folder, endpoint] = process.argv;
const { KeyfoldError, load } = await import(pathToFileURL(`${folder}/node.js`));
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const OUTCOMES = { TransactionCanceledException: "cancelled" };

/** A table with only a primary key. */
const create = async (TableName, key, item) => {
  const types = key.map((AttributeName) => ({ AttributeName, AttributeType: Object.keys(item[AttributeName])[0] }));
  const KeySchema = key.map((AttributeName, at) => ({ AttributeName, KeyType: at === 0 ? "HASH" : "RANGE" }));
  await client.send(new CreateTableCommand({ TableName, AttributeDefinitions: types, KeySchema, BillingMode: "PAY_PER_REQUEST" }));
};

const one = async (keyfold, table, { put, update, delete: key }) => {
  if (put) return client.send(new PutItemCommand(keyfold.put(table, put, { plain: true })));
  if (update) return keyfold.updateItem(client, table, update.key, { set: update.set });
  return client.send(new DeleteItemCommand(keyfold.delete(table, key, { plain: true })));
};

const inBatch = (table) => ({ put, delete: key }) => (put ? { put: { table, item: put } } : { delete: { table, key } });
const inTransaction = (table) => (write) => {
  if (write.create) return { put: { table, item: write.create, ifAbsent: true } };
  return write.update ? { update: { table, ...write.update } } : inBatch(table)(write);
};

/** Values as the plain client has them. */
const raw = (write) => {
  const [[kind, content]] = Object.entries(write);
  return { [kind]: kind === "update" ? Object.fromEntries(Object.entries(content).map(([name, item]) => [name, rawItem(item)])) : rawItem(content) };
};

const outcomeOf = async (keyfold, table, { operation, writes }) => {
  const given = writes.map(raw);
  try {
    if (operation === "write") await one(keyfold, table, given[0]);
    else if (operation === "batch") await keyfold.batchWrite(client, given.map(inBatch(table)));
    else await keyfold.transact(client, given.map(inTransaction(table)));
    return "done";
  } catch (error) {
    if (error instanceof KeyfoldError) return error.code;
    if (error.name in OUTCOMES) return OUTCOMES[error.name];
    throw error;
  }
};

const same = (seed, what, ours, rust) => {
  if (canonical(ours) === canonical(rust)) return;
  console.error(`seed ${seed}, ${what}:\n${runtime} ${canonical(ours)}\nRust ${canonical(rust)}`);
  process.exit(1);
};
/** One text for a number: DynamoDB writes `1E-130` in full. */
const number = (text) => {
  const [, sign, whole, fraction = "", power = "0"] = /^(-?)(\d+)\.?(\d*)(?:E(.*))?$/i.exec(text);
  const digits = (whole + fraction).replace(/^0+/, "");
  const shortest = digits.replace(/0+$/, "");
  return shortest === "" ? "0" : `${sign}${shortest}e${Number(power) - fraction.length + digits.length - shortest.length}`;
};
/** One form for a value. The elements of a set have no order. */
const ordered = (value) => {
  const [[kind, content]] = Object.entries(value);
  if (kind === "M") return { M: orderedItem(content) };
  if (kind === "L") return { L: content.map(ordered) };
  if (kind === "N") return { N: number(content) };
  const elements = kind === "NS" ? content.map(number) : content;
  return { [kind]: /^[NSB]S$/.test(kind) ? elements.map(canonical).sort() : elements };
};
const orderedItem = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, ordered(value)]));
const sorted = (items) => items.map((item) => canonical(orderedItem(item))).sort();

const counts = { models: 0, operations: 0, writes: 0, refused: 0, items: 0 };
for await (const line of createInterface({ input: process.stdin })) {
  const { seed, manifest, table, key, operations, after } = JSON.parse(line);
  const name = `operations-${runtime}-${seed}`;
  const keyfold = await load(manifest.replace("tableOfTheCase", name));
  // The first write is a put or a delete: nothing is stored yet.
  const [{ put, delete: gone }] = operations[0].writes;
  await create(name, key, gone ?? keyfold.keyOf(table, rawItem(put), { plain: true }));
  for (const [number, operation] of operations.entries()) {
    same(seed, `operation ${number}`, await outcomeOf(keyfold, table, operation), operation.outcome);
    counts.operations += 1;
    counts.writes += operation.writes.length;
    counts.refused += operation.outcome === "done" ? 0 : 1;
  }
  const { Items } = await client.send(new ScanCommand({ TableName: name, ConsistentRead: true }));
  same(seed, "the items at the end", sorted(Items), sorted(after.map(rawItem)));
  await client.send(new DeleteTableCommand({ TableName: name }));
  counts.models += 1;
  counts.items += Items.length;
}
console.log(`${runtime}: ${counts.operations} operations with ${counts.writes} writes on ${counts.models} tables as in Rust, ${counts.refused} refused; ${counts.items} items at the end`);
if (counts.items === 0 || counts.refused === 0) process.exit(1);
client.destroy();
