// The calls of the package, in a table of two entities, at an endpoint: node calls.mjs PACKAGE MANIFEST ENDPOINT
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import {
  BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, ExecuteStatementCommand, GetCommand, NumberValue, PutCommand, TransactWriteCommand, UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { runtime } from "./raw.mjs";

const [, , folder, manifest, endpoint] = process.argv;
const { ExactNumber, load, KeyfoldError } = await import(pathToFileURL(`${folder}/node.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const documents = DynamoDBDocumentClient.from(client);
const TableName = "CallsShop";

const names = ["PK", "SK", "GSI1PK", "GSI1SK"];
const keys = (partition, sort) => [{ AttributeName: partition, KeyType: "HASH" }, { AttributeName: sort, KeyType: "RANGE" }];
await client.send(new DeleteTableCommand({ TableName })).catch(() => {});
await client.send(
  new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: keys("PK", "SK"),
    GlobalSecondaryIndexes: [{ IndexName: "byStatus", KeySchema: keys("GSI1PK", "GSI1SK"), Projection: { ProjectionType: "ALL" } }],
  }),
);

const code = (error) => (error instanceof KeyfoldError ? error.code : error.name);
const refused = async (call, wanted, text = /./) => {
  try {
    await call();
  } catch (error) {
    assert.equal(code(error), wanted, error.stack);
    assert.match(error.message, text);
    return error;
  }
  return assert.fail(`not refused with ${wanted}`);
};
const tests = [];
const test = (name, run) => tests.push({ name, run });

const customer = { customerId: "ann", name: "Ann", address: { city: "Bern", zip: "3000" }, visits: 1 };
const order = (number, more) => ({
  customerId: "ann", orderId: `${number}`, status: "open", placedAt: `2024-03-0${number}T10:00:00.000Z`, total: number * 10, ...more,
});
const stored = async (key) => (await documents.send(new GetCommand({ TableName, Key: { PK: key.PK, SK: key.SK } }))).Item;
const keyOfOrder = (number) => ({ PK: "c#ann", SK: `o#${number}` });
const keyOfCustomer = { PK: "c#ann", SK: "profile" };
/** An item of this kind gets its entity from its key, so that key is given. */
const item = (attributes) => ({ ...attributes, ...(attributes.orderId ? keyOfOrder(attributes.orderId) : keyOfCustomer) });

test("a number that JSON cannot hold is a value of a request", async () => {
  const digits = "12345678901234567890123";
  for (const total of [BigInt(digits), new ExactNumber(digits), NumberValue.from(digits)]) {
    const { requests } = keyfold.plan({ table: "shop", where: { entity: "order", customerId: "ann", total } });
    assert.ok(JSON.stringify(requests).includes(`{"N":"${digits}"}`));
  }
});

test("a named question takes operators in the names of its input, page by page, with totals", async () => {
  const writes = [1, 2, 3, 4, 5, 6].map((number) => ({ put: { table: "shop", item: item(order(number)) } }));
  await keyfold.batchWrite(documents, [...writes, { put: { table: "shop", item: item(customer) } }]);
  const answers = keyfold.ask(documents, "openOrders", { status: "open", "placedAt.gte": "2024-03-03" }, { limit: 3 });
  const pages = [];
  for await (const page of answers) pages.push(page.items.map(({ orderId }) => orderId));
  assert.deepEqual(pages.flat(), ["3", "4", "5", "6"]);
  assert.equal(pages[0].length, 3);
  assert.ok(answers.consumedReadUnits > 0 && answers.requests >= 2 && answers.count === 4);
  assert.equal((await keyfold.ask(documents, "shop.openOrders", { status: "open" }).all()).length, 6);
  await refused(() => keyfold.ask(documents, "openOrders", { status: "open", placed: "2024" }), "unknown-parameter", /`placed`/);
  await refused(() => keyfold.ask(documents, "openOrders", {}), "missing-parameter", /`status`/);
  await refused(() => keyfold.ask(documents, "openOders", {}), "invalid-call", /`openOders`/);
});

test("an answer hides folded keys, shows numbers as the caller wants, and groups items by entity", async () => {
  const request = { table: "shop", where: { customerId: "ann" } };
  const { items, byEntity } = await keyfold.query(documents, request, { groupByEntity: true });
  assert.equal(items.length, 7);
  assert.ok(!("GSI1PK" in items[0]) && !("PK" in items[0]));
  assert.deepEqual([byEntity.customer.length, byEntity.order.length], [1, 6]);
  const { items: whole } = await keyfold.query(documents, request, { foldedKeys: true });
  assert.ok(whole.every((one) => one.PK === "c#ann"));
  const precise = "12345678901234567890";
  await client.send(new PutItemCommand({ TableName, Item: { ...keyfold.fold("shop", { PK: { S: "c#bob" }, SK: { S: "profile" }, customerId: { S: "bob" } }, { plain: true }), visits: { N: precise } } }));
  const ofBob = { table: "shop", where: { customerId: "bob" } };
  assert.equal((await keyfold.query(documents, ofBob)).items[0].visits.toString(), precise);
  assert.equal((await keyfold.query(documents, ofBob, { numbers: "number" })).items[0].visits, Number(precise));
  await refused(() => keyfold.query(documents, ofBob, { numbers: "bigint" }), "TypeError", /`numbers`/);
  const { items: chosen } = await keyfold.query(documents, { ...request, select: ["SK"] });
  assert.equal(chosen[0].SK, "o#1");
});

test("a name with a dot is a path in updates, as it is in a `where`", async () => {
  await documents.send(new UpdateCommand(keyfold.update("shop", keyOfCustomer, { set: { "address.city": "Thun" }, remove: ["address.zip"] })));
  const found = await stored(keyOfCustomer);
  assert.deepEqual(found.address, { city: "Thun" });
  assert.ok(!("address.city" in found));
  const change = { set: { name: "A." }, expecting: { "address.city": "Bern" } };
  await refused(() => documents.send(new UpdateCommand(keyfold.update("shop", keyOfCustomer, change))), "ConditionalCheckFailedException");
  await refused(() => keyfold.update("shop", keyOfCustomer, { set: { "name.first": "A." } }), "item-attribute-type", /`name`/);
});

test("an unknown option is refused by its name, everywhere", async () => {
  const key = keyOfCustomer;
  const calls = [
    () => keyfold.fold("shop", item(customer), { plan: true }),
    () => keyfold.put("shop", item(customer), { ifabsent: true }),
    () => keyfold.update("shop", key, { set: { name: "A." }, added: { version: 1 } }),
    () => keyfold.delete("shop", key, { if: {} }),
    () => keyfold.get("shop", key, { strong: true }),
    () => keyfold.keyOf("shop", key, { raw: true }),
    () => keyfold.entriesOf("shop", item(customer), { raw: true }),
    () => keyfold.unfold("shop", "c#ann", { raw: true }),
    () => keyfold.repair("shop", item(customer), { raw: true }),
    () => keyfold.updateItem(documents, "shop", key, { set: { name: "A." }, stored: {} }),
    () => keyfold.query(documents, { table: "shop", where: { customerId: "ann" } }, { Control: "x" }),
    () => keyfold.batchGet(documents, [{ table: "shop", key, strong: true }]),
    () => keyfold.batchWrite(documents, [{ put: { table: "shop", item: item(customer), ifAbsent: true } }]),
    () => keyfold.transact(documents, [{ put: { table: "shop", item: item(customer), ifabsent: true } }]),
    () => keyfold.ask(documents, "ordersOf", { customerId: "ann" }, { Limit: 3 }),
    () => load("", { strickt: true }),
  ];
  for (const call of calls) await refused(call, "TypeError", /has no option `\w+`/);
  await refused(() => keyfold.put("shop", item(customer), { ifabsent: true }), "TypeError", /did you mean `ifAbsent`/);
  await refused(() => keyfold.plan({ table: "shop", wehre: {} }), "invalid-call", /`wehre`/);
});

test("an unreadable request names its field, and a refusal its cause, without values", async () => {
  await refused(() => keyfold.plan({ table: "shop", limit: "secret" }), "invalid-call", /at `limit`: expected u32$/);
  const wrong = item({ ...order(1), status: "lost" });
  const error = await refused(() => keyfold.put("shop", wrong), "item-key-not-foldable", /attribute `status` has a value that the manifest does not list/);
  assert.ok(!error.message.includes("lost"));
});

test("an update in a table of several entities is one request, where its key shows the entity", async () => {
  const update = keyfold.update("shop", keyOfOrder(1), { set: { status: "paid" } });
  assert.ok(Object.values(update.ExpressionAttributeValues).includes("order#paid"));
  let requests = 0;
  const counting = { config: client.config, send: (command) => (requests += 1) && client.send(command) };
  const plainKey = { PK: { S: "c#ann" }, SK: { S: "o#1" } };
  const { attempts } = await keyfold.updateItem(counting, "shop", plainKey, { set: { status: { S: "paid" } } });
  assert.deepEqual([attempts, requests], [1, 1]);
  assert.equal((await stored(keyOfOrder(1))).GSI1PK, "order#paid");
  // The order number is in the primary key.
  await keyfold.updateItem(documents, "shop", keyOfOrder(2), { set: { placedAt: "2024-04-01T00:00:00.000Z" }, entity: "order" });
  assert.equal((await stored(keyOfOrder(2))).GSI1SK, "2024-04-01T00:00:00.000Z#2");
  await refused(() => keyfold.update("shop", keyOfOrder(2), { set: { status: "paid" }, entity: "customer" }), "item-not-this-entity");
});

test("counters, defaults, lists, sets, returned values and time to live", async () => {
  const { item: after } = await keyfold.updateItem(documents, "shop", keyOfCustomer, {
    add: { visits: 2, tags: new Set(["new"]) }, append: { log: ["a"] }, setIfAbsent: { name: "nobody", "address.country": "CH" },
    expires: new Date("2030-01-01T00:00:00Z"), returning: "ALL_NEW",
  });
  assert.deepEqual([after.visits, after.name, after.log, [...after.tags]], [3, "Ann", ["a"], ["new"]]);
  assert.deepEqual([after.address.country, after.expiresAt], ["CH", 1893456000]);
  await keyfold.updateItem(documents, "shop", keyOfCustomer, { prepend: { log: ["b"] }, delete: { tags: new Set(["new"]) }, add: { "address.moves": 1 } });
  const found = await stored(keyOfCustomer);
  assert.deepEqual([found.log, found.tags, found.address.moves], [["b", "a"], undefined, 1]);
  await refused(() => keyfold.update("shop", keyOfOrder(1), { setIfAbsent: { status: "open" } }), "update-computed-key", /`status`/);
  await refused(() => keyfold.update("shop", keyOfCustomer, { append: { log: "x" } }), "invalid-call", /`log`/);
  await refused(() => keyfold.update("shop", keyOfCustomer, { set: { total: 1 } }), "item-attribute-never", /`total`/);
});

test("conditions on puts, updates and deletes", async () => {
  const put = keyfold.put("shop", item(order(1, { total: 11 })), { condition: { total: { "<": 5 } }, returning: "ALL_OLD" });
  await refused(() => documents.send(new PutCommand(put)), "ConditionalCheckFailedException");
  const right = keyfold.put("shop", item(order(1, { total: 11 })), { condition: { total: { between: [5, 20] } }, returning: "ALL_OLD" });
  assert.equal((await documents.send(new PutCommand(right))).Attributes.total, 10);
  await refused(() => documents.send(new DeleteCommand(keyfold.delete("shop", keyOfOrder(1), { condition: { status: "sent" } }))), "ConditionalCheckFailedException");
  await refused(() => keyfold.updateItem(documents, "shop", keyOfOrder(1), { set: { total: 12 }, condition: { total: { ">": 100 } } }), "expectation-failed");
});

test("items by key, many writes, and all or nothing", async () => {
  const { customerId, orderId, total } = await keyfold.getItem(documents, "shop", keyOfOrder(3), { consistent: true });
  assert.deepEqual([customerId, orderId, total], ["ann", "3", 30]);
  assert.equal(await keyfold.getItem(documents, "shop", keyOfOrder(99)), undefined);
  const many = Array.from({ length: 120 }, (_, at) => ({ table: "shop", key: keyOfOrder(at) }));
  const got = await keyfold.batchGet(documents, many);
  assert.deepEqual(got.map((one) => one?.orderId).filter(Boolean), ["1", "2", "3", "4", "5", "6"]);
  const writes = Array.from({ length: 30 }, (_, at) => ({ put: { table: "shop", item: item(order(7, { orderId: `x${at}` })) } }));
  await keyfold.batchWrite(documents, writes);
  assert.equal((await stored(keyOfOrder("x29"))).GSI1PK, "order#open");
  await keyfold.batchWrite(documents, writes.map(({ put }) => ({ delete: { table: "shop", key: { PK: "c#ann", SK: `o#${put.item.orderId}` } } })));
  assert.equal(await stored(keyOfOrder("x29")), undefined);
  const all = (visits) => [
    { put: { table: "shop", item: item(order(8)), ifAbsent: true } },
    { update: { table: "shop", key: keyOfOrder(4), set: { status: "paid" } } },
    { delete: { table: "shop", key: keyOfOrder(6) } },
    { check: { table: "shop", key: keyOfCustomer, expecting: { visits } } },
  ];
  await refused(() => keyfold.transact(documents, all(0)), "TransactionCanceledException");
  await refused(() => keyfold.transact(documents, [{ check: { table: "shop", key: keyOfCustomer } }]), "invalid-call", /`ifAbsent`, `expecting` or `condition`/);
  await refused(() => keyfold.transact(documents, [{ put: { table: "shop", item: item(customer) }, check: {} }]), "invalid-call", /has one of/);
  assert.equal(await stored(keyOfOrder(8)), undefined);
  await keyfold.transact(documents, all(3));
  assert.deepEqual([(await stored(keyOfOrder(8))).GSI1PK, (await stored(keyOfOrder(4))).GSI1PK, await stored(keyOfOrder(6))], ["order#open", "order#paid", undefined]);
});

test("the plain client takes and gets DynamoDB's notation", async () => {
  const key = { PK: { S: "c#eve" }, SK: { S: "o#1" } };
  const eve = { ...key, customerId: { S: "eve" }, orderId: { S: "1" }, status: { S: "open" }, placedAt: { S: "2024-03-01T10:00:00.000Z" }, total: { N: "5" } };
  const bytes = { B: new Uint8Array([1, 2, 255]) };
  await keyfold.batchWrite(client, [{ put: { table: "shop", item: { ...eve, note: bytes } } }]);
  const found = await keyfold.getItem(client, "shop", key, { foldedKeys: true });
  assert.deepEqual([found.GSI1PK, found.total, found.note], [{ S: "order#open" }, { N: "5" }, bytes]);
  const [got, absent] = await keyfold.batchGet(client, [{ table: "shop", key }, { table: "shop", key: { ...key, SK: { S: "o#2" } } }]);
  assert.deepEqual([got.orderId, got.GSI1PK, absent], [{ S: "1" }, undefined, undefined]);
  const change = { set: { status: { S: "paid" } }, add: { total: { N: "1" } }, expecting: { note: bytes }, condition: { total: { "<": 9 } }, returning: "ALL_NEW" };
  const { item: after } = await keyfold.updateItem(client, "shop", key, change);
  assert.deepEqual([after.status, after.total, after.note], [{ S: "paid" }, { N: "6" }, bytes]);
  const update = { update: { table: "shop", key, set: { status: { S: "open" } } } };
  const free = (number) => ({ check: { table: "shop", key: { ...key, SK: { S: `o#${number}` } }, ifAbsent: true } });
  await refused(() => keyfold.transact(client, [{ put: { table: "shop", item: { ...eve, SK: { S: "o#3" }, orderId: { S: "3" } } } }, free(1)]), "TransactionCanceledException");
  await keyfold.transact(client, [update, free(3)]);
  assert.deepEqual((await keyfold.getItem(client, "shop", key)).status, { S: "open" });
  await keyfold.transact(client, [{ put: { table: "shop", item: { ...eve, status: { S: "sent" } } } }], { token: `eve-${runtime}-${Date.now()}` });
  const { items, byEntity } = await keyfold.query(client, { table: "shop", where: { customerId: "eve" } }, { groupByEntity: true });
  assert.deepEqual([items[0].status, byEntity.order.length], [{ S: "sent" }, 1]);
  await keyfold.batchWrite(client, [{ delete: { table: "shop", key } }]);
  assert.equal(await keyfold.getItem(client, "shop", key), undefined);
});

test("a signal ends a call", async () => {
  const signal = AbortSignal.abort();
  await refused(() => keyfold.query(documents, { table: "shop", where: { customerId: "ann" } }, { signal }), "AbortError");
  await refused(() => keyfold.updateItem(documents, "shop", keyOfOrder(3), { set: { total: 1 }, signal }), "AbortError");
});

test("a client with the middleware folds what it puts, and refuses what would leave a key wrong", async () => {
  const folding = DynamoDBDocumentClient.from(keyfold.attach(new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } })));
  await folding.send(new PutCommand({ TableName, Item: item(order(1)) }));
  await folding.send(new BatchWriteCommand({ RequestItems: { [TableName]: [{ PutRequest: { Item: item(order(2)) } }] } }));
  await folding.send(new TransactWriteCommand({ TransactItems: [{ Put: { TableName, Item: item(order(3)) } }] }));
  for (const number of [1, 2, 3]) assert.equal((await stored(keyOfOrder(number))).GSI1PK, "order#open");
  const plain = keyfold.attach(new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } }));
  await plain.send(new PutItemCommand({ TableName, Item: { PK: { S: "c#ann" }, SK: { S: "o#4" }, customerId: { S: "ann" }, orderId: { S: "4" }, status: { S: "sent" }, placedAt: { S: "2024-03-04T10:00:00.000Z" } } }));
  assert.equal((await stored(keyOfOrder(4))).GSI1PK, "order#sent");
  await refused(() => folding.send(new PutCommand({ TableName, Item: item(order(1, { status: "lost" })) })), "item-key-not-foldable");
  const update = { TableName, Key: keyOfOrder(1), UpdateExpression: "SET #s = :s, total = if_not_exists(total, :s)", ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":s": "paid" } };
  await refused(() => folding.send(new UpdateCommand(update)), "update-bypasses-keys", /`status`/);
  await refused(() => folding.send(new TransactWriteCommand({ TransactItems: [{ Update: update }] })), "update-bypasses-keys");
  await refused(() => folding.send(new ExecuteStatementCommand({ Statement: `UPDATE "${TableName}" SET status='paid' WHERE PK='c#ann' AND SK='o#1'` })), "update-bypasses-keys");
  await folding.send(new UpdateCommand({ ...update, UpdateExpression: "ADD visits :one", ExpressionAttributeNames: undefined, ExpressionAttributeValues: { ":one": 1 } }));
  await folding.send(new UpdateCommand(keyfold.update("shop", keyOfOrder(1), { set: { status: "paid" } })));
  assert.equal((await stored(keyOfOrder(1))).GSI1PK, "order#paid");
  await folding.send(new PutCommand({ TableName: "elsewhere", Item: { id: "1" } })).catch((error) => assert.equal(error.name, "ResourceNotFoundException"));
});

test("an item of a stream is repaired by one update, or is right", async () => {
  assert.equal(keyfold.repair("shop", await stored(keyOfOrder(1))), null);
  await documents.send(new UpdateCommand({ TableName, Key: keyOfOrder(1), UpdateExpression: "SET #s = :s", ExpressionAttributeNames: { "#s": "status" }, ExpressionAttributeValues: { ":s": "sent" } }));
  const image = await stored(keyOfOrder(1));
  assert.equal(image.GSI1PK, "order#paid");
  const repair = keyfold.repair("shop", image);
  await documents.send(new UpdateCommand(repair));
  assert.equal((await stored(keyOfOrder(1))).GSI1PK, "order#sent");
  // An old image: a later writer was faster.
  await refused(() => documents.send(new UpdateCommand(keyfold.repair("shop", { ...image, status: "open" }))), "ConditionalCheckFailedException");
  const { Item } = await client.send(new GetItemCommand({ TableName, Key: { PK: { S: "c#ann" }, SK: { S: "o#1" } } }));
  assert.equal(keyfold.repair("shop", Item, { plain: true }), null);
});

for (const { name, run } of tests) {
  try {
    await run();
  } catch (error) {
    console.error(`not so: ${name}`);
    throw error;
  }
}
console.log(`${runtime}: ${tests.length} groups of calls in a table of two entities`);
client.destroy();
