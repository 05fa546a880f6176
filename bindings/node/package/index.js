// Keyfold for JavaScript: folded keys, writes, plans and answers of a manifest. The decisions are those of the Rust core, which runs
// here as WebAssembly; this file turns values into DynamoDB's and sends what the core says.

import { initSync, lastPanic, Tables } from "./keyfold.js";
import { ExactNumber, itemFromTyped, itemToTyped, namesOf, rawItemToTyped, toTyped, typedItemToRaw } from "./values.js";

export { ExactNumber };

/** Attempts of one read while DynamoDB throttles, beyond the SDK's own. */
const READ_ATTEMPTS_MAX = 5;
/** Attempts of one batch. */
const BATCH_ATTEMPTS_MAX = 10;
/** How long what was read of the control table is good for. */
const READINESS_MS = 5000;
const CONTROL_TABLE = "keyfold-control";

/** A refusal of the core. `code` stays the same, whatever the message says; docs/errors.md lists the codes. */
export class KeyfoldError extends Error {
  constructor({ code, message, hint }, options) {
    super(message, options);
    this.name = "KeyfoldError";
    this.code = code;
    this.hint = hint;
  }
}

let module;
let generation = 0;

const start = () => {
  initSync({ module });
  generation += 1;
};

const bytesOfModule = async (url) => {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  return response.arrayBuffer();
};

/** Calls the core. A refusal becomes a KeyfoldError; so does a mistake of the core itself, which then starts anew, and a value that
 * uses up the stack. */
const called = (call) => {
  try {
    return call();
  } catch (error) {
    if (typeof error === "string") throw new KeyfoldError(JSON.parse(error));
    if (error instanceof WebAssembly.RuntimeError) {
      const at = lastPanic();
      start();
      throw new KeyfoldError({ code: "internal", message: `a mistake of Keyfold itself, at ${at}` }, { cause: error });
    }
    if (error instanceof RangeError) {
      // The stack was used up, perhaps within the core, which must not go on from there.
      start();
      throw new KeyfoldError({ code: "invalid-call", message: "a value is nested too deeply" }, { cause: error });
    }
    throw error;
  }
};

/** A text for the core. Nothing else may cross its border: it would read memory that is not the text's. */
const textual = (what, value) => {
  if (typeof value !== "string") throw new TypeError(`${what} is a text, not ${value === null ? "null" : `a ${typeof value}`}`);
  return value;
};
const tableName = (value) => textual("a table's name", value);

const parsed = (call) => JSON.parse(called(call));

/** Loads a manifest: the text of a keyfold.toml. */
export const load = async (manifest) => {
  if (!module) {
    const bytes = await bytesOfModule(new URL("./keyfold_bg.wasm", import.meta.url));
    if (!module) {
      module = await WebAssembly.compile(bytes);
      start();
    }
  }
  return new Keyfold(manifest);
};

const isDocumentClient = (client) => client?.config?.translateConfig !== undefined || client?.constructor?.name === "DynamoDBDocumentClient";

const RETRYABLE = new Set([
  "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
  "ServiceUnavailable", "TimeoutError", "TransactionConflictException",
]);

const pause = (attempt) => {
  const ceiling = Math.min(50 * 2 ** Math.min(attempt, 16), 5000);
  return new Promise((resolve) => setTimeout(resolve, Math.random() * ceiling));
};

/** The tables of a manifest. */
export class Keyfold {
  #manifest;
  #tables;
  #generation;
  #readiness = new Map();

  constructor(manifest) {
    this.#manifest = textual("a manifest", manifest);
    this.#core();
  }

  /** The core's tables; made anew if the core was started anew. */
  #core() {
    if (this.#generation !== generation) {
      this.#tables = called(() => new Tables(this.#manifest));
      this.#generation = generation;
    }
    return this.#tables;
  }

  #text(item, plain) {
    return JSON.stringify(plain ? rawItemToTyped(item) : itemToTyped(item));
  }

  /** The item with its folded keys, and without folded keys that it should not have. */
  fold(table, item, { plain = false } = {}) {
    return patched(item, parsed(() => this.#core().fold(tableName(table), this.#text(item, plain))), plain);
  }

  /** The parts of a folded key. */
  unfold(table, key, { index } = {}) {
    const unfolded = parsed(() => this.#core().unfold(tableName(table), textual("a key", key), index && textual("an index's name", index)));
    return { ...unfolded, values: itemFromTyped(unfolded.values) };
  }

  /** The primary key that these attributes make. */
  keyOf(table, attributes, { plain = false } = {}) {
    const key = parsed(() => this.#core().keyOf(tableName(table), this.#text(attributes, plain)));
    return plain ? typedItemToRaw(key) : itemFromTyped(key);
  }

  /** What each index holds of an item, or why it holds nothing. */
  entriesOf(table, item, { plain = false } = {}) {
    const entries = parsed(() => this.#core().entriesOf(tableName(table), this.#text(item, plain)));
    const shownEntry = plain ? typedItemToRaw : (entry) => itemFromTyped(entry);
    return entries.map(({ entry, ...rest }) => (entry ? { ...rest, entry: shownEntry(entry) } : rest));
  }

  /** The input of a PutCommand. `ifAbsent`: only where no item has its key. */
  put(table, item, { ifAbsent = false, plain = false } = {}) {
    const { patch, input } = parsed(() => this.#core().put(tableName(table), this.#text(item, plain), ifAbsent));
    input.Item = patched(item, patch, plain);
    return shown(input, plain, undefined);
  }

  /** The input of an UpdateCommand: attributes are set and removed, and folded keys made anew. Refused with
   * `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have read it. */
  update(table, key, { plain = false, stored, ...update }) {
    const values = new Originals();
    const updating = this.#updating(table, key, { ...update, reading: stored !== undefined }, plain, values);
    try {
      let next = parsed(() => updating.request());
      if (next.operation === "GetItem") {
        if (stored === undefined) throw new KeyfoldError({ code: "invalid-call", message: "the item was not read" });
        called(() => updating.wasRead(JSON.stringify(stored && (plain ? rawItemToTyped(stored) : itemToTyped(stored)))));
        next = parsed(() => updating.request());
      }
      return shown(next.input, plain, values);
    } finally {
      updating.free();
    }
  }

  #updating(table, key, { set = {}, remove = [], expecting = {}, reading = false }, plain, values) {
    const asked = { set: plain ? rawItemToTyped(set) : values.noted(set), remove, reading, ...expected(expecting, plain, values) };
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    return called(() => this.#core().update(tableName(table), keyText, JSON.stringify(asked)));
  }

  /** The input of a DeleteCommand. */
  delete(table, key, { expecting = {}, plain = false } = {}) {
    const values = new Originals();
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    const asked = JSON.stringify(expected(expecting, plain, values));
    return shown(parsed(() => this.#core().delete(tableName(table), keyText, asked)), plain, values);
  }

  /** The plan of a request: its reads, its price, what else was considered, and the input of each read. Nothing is read. */
  plan(request) {
    return parsed(() => this.#core().plan(textOf(request)));
  }

  /** Updates an item. If its folded keys need what is not known, it is read, and written on condition that it has not changed. */
  async updateItem(client, table, key, update) {
    const { GetItemCommand, UpdateItemCommand } = await import("@aws-sdk/client-dynamodb");
    const plain = !isDocumentClient(client);
    const updating = this.#updating(table, key, { reading: true, ...update }, plain, new Originals());
    try {
      for (;;) {
        const { operation, input } = parsed(() => updating.request());
        const raw = shown(input, true);
        if (operation === "GetItem") {
          const { Item } = await client.send(new GetItemCommand(raw));
          called(() => updating.wasRead(JSON.stringify(Item ? rawItemToTyped(Item) : null)));
          continue;
        }
        try {
          await client.send(new UpdateItemCommand(raw));
          return { attempts: updating.refused() + 1 };
        } catch (error) {
          if (error.name !== "ConditionalCheckFailedException") throw error;
          called(() => updating.wasRefused(JSON.stringify(error.Item ? rawItemToTyped(error.Item) : null)));
        }
        await pause(updating.refused());
      }
    } finally {
      updating.free();
    }
  }

  /** Answers a request: one page of items. `page` of the answer, put into the request, asks for the next one. An index that a
   * retrofit still fills is not read; `control` is the name of the control table that says so. */
  async query(client, request, { control = CONTROL_TABLE } = {}) {
    const commands = await import("@aws-sdk/client-dynamodb");
    const plain = !isDocumentClient(client);
    let exact;
    if (!plain) {
      const { NumberValue } = await import("@aws-sdk/lib-dynamodb");
      exact = (digits) => NumberValue.from(digits);
    }
    const text = textOf(request);
    const rows = await this.#rows(client, commands, text, request.table, control);
    const asking = called(() => this.#core().question(text, rows));
    try {
      const underWay = new Map();
      for (;;) {
        const { send, answer } = parsed(() => asking.step());
        if (answer) {
          const items = plain ? typedItemToRaw : (item) => itemFromTyped(item, exact);
          return { ...answer, items: answer.items.map(items) };
        }
        for (const { access, operation, input } of send) {
          const read = operation === "BatchGetItem" ? readItems : readPage;
          underWay.set(access, read(client, commands, operation, input).then((response) => ({ access, response })));
        }
        const { access, response } = await Promise.race(underWay.values());
        underWay.delete(access);
        called(() => asking.arrived(access, JSON.stringify(response)));
      }
    } finally {
      asking.free();
    }
  }

  /** All pages of a request, item by item. */
  async *items(client, request, options) {
    let page = request.page;
    do {
      const answer = await this.query(client, page ? { ...request, page } : request, options);
      yield* answer.items;
      page = answer.page;
    } while (page);
  }

  /** What the control table says of the retrofits into a request's table; nothing is read for a table that none fills. */
  async #rows(client, { GetItemCommand, QueryCommand }, text, table, control) {
    const reads = parsed(() => this.#core().readinessReads(text, textual("a control table's name", control)));
    if (reads.length === 0) return undefined;
    const kept = `${control} ${table}`;
    const known = this.#readiness.get(kept);
    if (known && Date.now() - known.at < READINESS_MS) return known.rows;
    const row = async ({ head, segments }) => {
      try {
        const [{ Item }, { Items = [], LastEvaluatedKey }] = await Promise.all([
          client.send(new GetItemCommand(head)),
          client.send(new QueryCommand(segments)),
        ]);
        return { head: Item && rawItemToTyped(Item), segments: Items.map(rawItemToTyped), more: LastEvaluatedKey !== undefined };
      } catch (error) {
        if (error.name === "ResourceNotFoundException") return {};
        throw error;
      }
    };
    const rows = JSON.stringify(await Promise.all(reads.map(row)));
    this.#readiness.set(kept, { at: Date.now(), rows });
    return rows;
  }
}

/** The request's text. Numbers that JSON cannot hold exactly are written as `{"N": "..."}`. */
const textOf = (request) => {
  const text = JSON.stringify(request, (_, value) => {
    if (typeof value === "bigint") return { N: value.toString() };
    if (value instanceof ExactNumber) return { N: value.value };
    return value;
  });
  return textual("a request's JSON", text);
};

/** What is expected: `undefined` and `null` in `expecting` mean that the attribute must be absent. */
const expected = (expecting, plain, values) => {
  const names = namesOf(expecting);
  const present = names.map((name) => [name, expecting[name]]).filter(([, value]) => value !== undefined && value !== null);
  const absent = names.filter((name) => expecting[name] === undefined || expecting[name] === null);
  const object = Object.fromEntries(present);
  return { expecting: plain ? rawItemToTyped(object) : values.noted(object), absent };
};

/** Values as the program gave them, by their notation: the input holds the same bigint, set or NumberValue again. */
class Originals {
  #known = new Map();

  noted(item) {
    const typed = {};
    for (const name of namesOf(item)) {
      if (item[name] === undefined) continue;
      typed[name] = toTyped(item[name]);
      this.#known.set(JSON.stringify(typed[name]), item[name]);
    }
    return typed;
  }

  item(typed) {
    const plain = {};
    for (const name of Object.keys(typed)) {
      const text = JSON.stringify(typed[name]);
      plain[name] = this.#known.has(text) ? this.#known.get(text) : itemFromTyped({ value: typed[name] }).value;
    }
    return plain;
  }
}

/** The item, with what folding changes of it. */
const patched = (item, { set, remove }, plain) => {
  const result = { ...item, ...(plain ? typedItemToRaw(set) : itemFromTyped(set)) };
  for (const name of remove) delete result[name];
  return result;
};

/** The core's input, as the client takes it. */
const shown = (input, plain, values) => {
  for (const field of ["Key", "ExpressionAttributeValues"]) {
    if (input[field]) input[field] = plain ? typedItemToRaw(input[field]) : values ? values.item(input[field]) : itemFromTyped(input[field]);
  }
  return input;
};

/** A page's input for the plain client: keys and values in its own form. */
const readPage = async (client, { QueryCommand, ScanCommand }, operation, input) => {
  for (const field of ["ExclusiveStartKey", "ExpressionAttributeValues"]) {
    if (input[field]) input[field] = typedItemToRaw(input[field]);
  }
  for (let calls = 1; ; calls += 1) {
    try {
      const page = await client.send(operation === "Query" ? new QueryCommand(input) : new ScanCommand(input));
      return {
        items: (page.Items ?? []).map(rawItemToTyped),
        count: page.Count ?? 0,
        scanned: page.ScannedCount ?? 0,
        lastKey: page.LastEvaluatedKey && rawItemToTyped(page.LastEvaluatedKey),
        units: page.ConsumedCapacity?.CapacityUnits ?? 0,
        calls,
      };
    } catch (error) {
      if (calls >= READ_ATTEMPTS_MAX || !RETRYABLE.has(error.name)) throw error;
      await pause(calls - 1);
    }
  }
};

/** All items of a batch; keys that DynamoDB leaves unprocessed are asked for again. */
const readItems = async (client, { BatchGetItemCommand }, _, input) => {
  const [[table, asked]] = Object.entries(input.RequestItems);
  const response = { items: [], units: 0 };
  asked.Keys = asked.Keys.map(typedItemToRaw);
  for (let attempt = 0; attempt < BATCH_ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 0) await pause(attempt - 1);
    try {
      const got = await client.send(new BatchGetItemCommand(input));
      for (const item of got.Responses?.[table] ?? []) response.items.push(rawItemToTyped(item));
      for (const one of got.ConsumedCapacity ?? []) response.units += one.CapacityUnits ?? 0;
      const left = got.UnprocessedKeys?.[table]?.Keys ?? [];
      if (left.length === 0) return response;
      asked.Keys = left;
    } catch (error) {
      if (attempt + 1 >= BATCH_ATTEMPTS_MAX || !RETRYABLE.has(error.name)) throw error;
    }
  }
  throw new KeyfoldError({
    code: "unprocessed",
    message: `\`BatchGetItem\` on table \`${table}\` left ${asked.Keys.length} undone after ${BATCH_ATTEMPTS_MAX} attempts`,
  });
};
