// Reads and writes of many items.

import { BATCH_ATTEMPTS_MAX, isDocumentClient, isRetryable, options, pause, readItems, sdk, send } from "./client.js";
import { KeyfoldError } from "./core.js";
import { itemToTyped, typedItemToRaw } from "./values.js";

/** DynamoDB's limits of one request. */
const GET_ITEMS_MAX = 100;
const WRITE_ITEMS_MAX = 25;
const TRANSACT_ITEMS_MAX = 100;

const invalid = (message) => new KeyfoldError({ code: "invalid-call", message });

const list = (call, given) => {
  if (!Array.isArray(given)) throw new TypeError(`\`${call}\` takes a list`);
  return given;
};

const slices = (all, size) => Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));

/** Values of the caller's client, as the plain client has them. */
const rawOf = (client) => (isDocumentClient(client) ? (item) => typedItemToRaw(itemToTyped(item)) : (item) => item);

const textOfKey = (names, item) =>
  JSON.stringify(names.map((name) => item[name]), (_, value) => (value instanceof Uint8Array ? [...value] : value));

export const batchGet = async (keyfold, client, keys, { consistent = false, foldedKeys, numbers, signal }) => {
  const commands = await sdk();
  const plain = !isDocumentClient(client);
  const raw = rawOf(client);
  const asked = list("batchGet", keys).map((one, at) => {
    const { table, key } = options(`batchGet[${at}]`, one, ["table", "key"]);
    const { TableName, Key } = keyfold.get(table, key, { plain });
    const names = keyfold.table(table).key;
    return { table, TableName, Key: raw(Key), text: textOfKey(names, raw(Key)), names };
  });
  const found = new Map();
  for (const TableName of new Set(asked.map((one) => one.TableName))) {
    const ofTable = asked.filter((one) => one.TableName === TableName);
    const unique = [...new Map(ofTable.map((one) => [one.text, one.Key])).values()];
    const reader = await keyfold.readerOf(client, ofTable[0].table, { foldedKeys, numbers });
    for (const Keys of slices(unique, GET_ITEMS_MAX)) {
      const input = { RequestItems: { [TableName]: { Keys, ConsistentRead: consistent } } };
      const { items } = await readItems(client, commands, "BatchGetItem", input, signal);
      for (const item of items) found.set(`${TableName} ${textOfKey(ofTable[0].names, item)}`, reader(item));
    }
  }
  return asked.map(({ TableName, text }) => found.get(`${TableName} ${text}`));
};

/** The only member of a write: its kind and its contents. */
const kindOf = (call, write, kinds) => {
  const given = Object.keys(options(call, write, kinds));
  if (given.length !== 1) throw invalid(`\`${call}\` has one of \`${kinds.join("`, `")}\``);
  return [given[0], write[given[0]]];
};

export const batchWrite = async (keyfold, client, writes, { signal }) => {
  const { BatchWriteItemCommand } = await sdk();
  const plain = !isDocumentClient(client);
  const raw = rawOf(client);
  // All are checked before the first is sent.
  const requests = list("batchWrite", writes).map((write, at) => {
    const [kind, one] = kindOf(`batchWrite[${at}]`, write, ["put", "delete"]);
    if (kind === "put") {
      const { table, item, ...rest } = options(`batchWrite[${at}].put`, one, ["table", "item", "expires"]);
      const { TableName, Item } = keyfold.put(table, item, { ...rest, plain });
      return [TableName, { PutRequest: { Item: raw(Item) } }];
    }
    const { table, key } = options(`batchWrite[${at}].delete`, one, ["table", "key"]);
    const { TableName, Key } = keyfold.get(table, key, { plain });
    return [TableName, { DeleteRequest: { Key: raw(Key) } }];
  });
  for (const slice of slices(requests, WRITE_ITEMS_MAX)) {
    let RequestItems = {};
    for (const [table, request] of slice) (RequestItems[table] ??= []).push(request);
    for (let attempt = 0; Object.keys(RequestItems).length > 0; attempt += 1) {
      if (attempt >= BATCH_ATTEMPTS_MAX) {
        const left = Object.values(RequestItems).flat().length;
        throw new KeyfoldError({ code: "unprocessed", message: `\`BatchWriteItem\` left ${left} undone after ${BATCH_ATTEMPTS_MAX} attempts` });
      }
      if (attempt > 0) await pause(attempt - 1, signal);
      try {
        ({ UnprocessedItems: RequestItems = {} } = await send(client, new BatchWriteItemCommand({ RequestItems }), signal));
      } catch (error) {
        if (!isRetryable(error)) throw error;
      }
    }
  }
};

const transactItem = (keyfold, call, write, plain) => {
  const [kind, one] = kindOf(call, write, ["put", "update", "delete", "check"]);
  if (typeof one !== "object" || one === null) throw new TypeError(`\`${call}.${kind}\` is an object`);
  const { table, item, key, ...rest } = one;
  if (kind === "put") return ["Put", keyfold.put(table, item, { ...rest, plain })];
  if (kind === "update") return ["Update", keyfold.update(table, key, { ...rest, plain })];
  if (kind === "check" && rest.ifAbsent) {
    options(`${call}.check`, rest, ["ifAbsent"]);
    const names = { "#key": keyfold.table(table).key[0] };
    return ["ConditionCheck", { ...keyfold.get(table, key, { plain }), ConditionExpression: "attribute_not_exists(#key)", ExpressionAttributeNames: names }];
  }
  const input = keyfold.delete(table, key, { ...rest, plain });
  if (kind === "delete") return ["Delete", input];
  if (!input.ConditionExpression) throw invalid(`\`${call}.check\` needs \`ifAbsent\`, \`expecting\` or \`condition\``);
  return ["ConditionCheck", input];
};

export const transact = async (keyfold, client, writes, { token, signal }) => {
  const { TransactWriteItemsCommand } = await sdk();
  const plain = !isDocumentClient(client);
  const raw = rawOf(client);
  const TransactItems = list("transact", writes).map((write, at) => {
    const [name, input] = transactItem(keyfold, `transact[${at}]`, write, plain);
    for (const field of ["Item", "Key", "ExpressionAttributeValues"]) {
      if (input[field]) input[field] = raw(input[field]);
    }
    return { [name]: input };
  });
  if (TransactItems.length > TRANSACT_ITEMS_MAX) throw invalid(`a transaction has at most ${TRANSACT_ITEMS_MAX} writes`);
  const input = token === undefined ? { TransactItems } : { TransactItems, ClientRequestToken: token };
  await send(client, new TransactWriteItemsCommand(input), signal);
};
