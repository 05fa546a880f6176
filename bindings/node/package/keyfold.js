// Keyfold for JavaScript: folded keys, writes, plans and answers of a manifest. The decisions are those of the Rust core, which runs
// here as WebAssembly; this file turns values into DynamoDB's and sends what the core says.

import { readCompiled, written } from "./compiled.js";
import { Core, KeyfoldError } from "./core.js";
import { define, ExactNumber, fromTyped, itemFromTyped, itemToTyped, namesOf, rawItemToTyped, rawToTyped, toTyped, typedItemToRaw, typedToRaw } from "./values.js";

export { ExactNumber, KeyfoldError };

/** Attempts of one read while DynamoDB throttles, beyond the SDK's own. */
const READ_ATTEMPTS_MAX = 5;
/** Attempts of one batch. */
const BATCH_ATTEMPTS_MAX = 10;
/** How long what was read of the control table is good for. */
const READINESS_MS = 5000;
const CONTROL_TABLE = "keyfold-control";

// What runs first, and the rest of the module. Where there are files, the rest is read when it is needed.
let parts;

const readParts = async () => {
  const [first, rest] = ["./keyfold.wasm", "./rest.wasm"].map((name) => new URL(name, import.meta.url));
  let bytesOfRest;
  let bytesOfFirst;
  if (first.protocol === "file:") {
    const { readFileSync } = await import("node:fs");
    bytesOfFirst = readFileSync(first);
    bytesOfRest = () => readFileSync(rest);
  } else {
    const [one, other] = await Promise.all([first, rest].map(async (url) => (await fetch(url)).arrayBuffer()));
    bytesOfFirst = one;
    bytesOfRest = () => other;
  }
  let moduleOfRest;
  return { first: await WebAssembly.compile(bytesOfFirst), rest: () => (moduleOfRest ??= new WebAssembly.Module(bytesOfRest())) };
};

/** A core, and a new one after a trap: the old one must not go on from there. */
class Home {
  /** How often it was started. */
  generation = 0;
  core;
  #memory;

  constructor(memory) {
    this.#memory = memory;
    this.#start();
  }

  #start() {
    this.core = new Core(parts, this.#memory);
    this.generation += 1;
  }

  /** Does every core of this home know its tables from the start? */
  get remembers() {
    return this.#memory !== undefined;
  }

  forget(core, number) {
    // A core that was given up has forgotten everything.
    if (core === this.core) core.forget(number);
  }

  /** What a caller of the core sees of an error. A mistake of the core itself becomes a KeyfoldError; so does a value that uses up
   * the stack. */
  shown(error) {
    if (error instanceof KeyfoldError || error instanceof TypeError) return error;
    // Whatever else comes may come from within a call, such as that the rest of the module cannot be read.
    const at = error instanceof WebAssembly.RuntimeError ? this.core.panicked() : undefined;
    this.#start();
    if (at !== undefined) {
      return new KeyfoldError({ code: "internal", message: `a mistake of Keyfold itself, at ${at}` }, { cause: error });
    }
    if (error instanceof RangeError) {
      return new KeyfoldError({ code: "invalid-call", message: "a value is nested too deeply" }, { cause: error });
    }
    return error;
  }
}

/** The home of all manifests that are texts. */
let shared;
const forgotten = new FinalizationRegistry(({ core, number }) => shared.forget(core, number));

/** A text for the core. Nothing else may cross its border: it would read memory that is not the text's. */
const textual = (what, value) => {
  if (typeof value !== "string") throw new TypeError(`${what} is a text, not ${value === null ? "null" : `a ${typeof value}`}`);
  return value;
};
const tableName = (value) => textual("a table's name", value);

/** Loads a manifest: the text of a keyfold.toml, or what `compile` made of it. */
export const load = async (manifest) => {
  parts ??= await readParts();
  if (manifest instanceof Uint8Array) {
    const { manifest: text, memory } = readCompiled(manifest);
    if (memory) return new Keyfold(text, new Home(memory));
    manifest = text;
  }
  shared ??= new Home();
  return new Keyfold(manifest, shared);
};

/** Checks a manifest and writes it as `load` reads it fastest. */
export const compile = async (manifest) => {
  parts ??= await readParts();
  const [before, after] = [new Home(), new Home()];
  try {
    after.core.call("load", undefined, [textual("a manifest", manifest)]);
  } catch (error) {
    throw after.shown(error);
  }
  return written(manifest, before.core.memory(), after.core.memory());
};

// Loaded with the first call that sends something: whoever only folds needs no SDK.
let commandsOfSdk;
const sdk = () => (commandsOfSdk ??= import("@aws-sdk/client-dynamodb"));
let exactOfSdk;
const exactNumbers = () => (exactOfSdk ??= import("@aws-sdk/lib-dynamodb").then(({ NumberValue }) => (digits) => NumberValue.from(digits)));

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
  #home;
  #manifest;
  #number;
  #generation;
  #reads = new Map();
  #readiness = new Map();

  constructor(manifest, home) {
    this.#manifest = textual("a manifest", manifest);
    this.#home = home;
    try {
      this.#tables(home.core);
    } catch (error) {
      throw home.shown(error);
    }
  }

  /** The core's number of these tables; they are loaded anew if the core was started anew. */
  #tables(core) {
    if (this.#home.remembers) return 0;
    if (this.#generation !== this.#home.generation) {
      this.#number = Number(core.call("load", undefined, [this.#manifest]));
      this.#generation = this.#home.generation;
      forgotten.register(this, { core, number: this.#number });
    }
    return this.#number;
  }

  /** Calls the core for these tables. `texts` makes the texts: what uses up the stack there is the caller's mistake, too. */
  #call(name, texts, last) {
    const home = this.#home;
    try {
      return home.core.call(name, this.#tables(home.core), texts(), last);
    } catch (error) {
      throw home.shown(error);
    }
  }

  /** An object of the core, until it is forgotten. */
  #object(name, texts, last) {
    return new CoreObject(this.#home, this.#home.core, Number(this.#call(name, texts, last)));
  }

  /** The item with its folded keys, and without folded keys that it should not have. */
  fold(table, item, { plain = false } = {}) {
    const patch = this.#call("fold", () => [tableName(table), textOfItem(item, plain)]);
    return patched(item, JSON.parse(patch), plain);
  }

  /** The parts of a folded key. */
  unfold(table, key, { index } = {}) {
    const texts = () => [tableName(table), textual("a key", key), index ? textual("an index's name", index) : ""];
    const unfolded = JSON.parse(this.#call("unfold", texts, index ? 1 : 0));
    return { ...unfolded, values: itemFromTyped(unfolded.values) };
  }

  /** The primary key that these attributes make. */
  keyOf(table, attributes, { plain = false } = {}) {
    const key = JSON.parse(this.#call("key_of", () => [tableName(table), textOfItem(attributes, plain)]));
    return plain ? typedItemToRaw(key) : itemFromTyped(key);
  }

  /** What each index holds of an item, or why it holds nothing. */
  entriesOf(table, item, { plain = false } = {}) {
    const entries = JSON.parse(this.#call("entries_of", () => [tableName(table), textOfItem(item, plain)]));
    const shownEntry = plain ? typedItemToRaw : (entry) => itemFromTyped(entry);
    return entries.map(({ entry, ...rest }) => (entry ? { ...rest, entry: shownEntry(entry) } : rest));
  }

  /** The input of a PutCommand. `ifAbsent`: only where no item has its key. */
  put(table, item, { ifAbsent = false, plain = false } = {}) {
    const told = this.#call("put", () => [tableName(table), textOfItem(item, plain)], ifAbsent ? 1 : 0);
    const { patch, input } = JSON.parse(told);
    input.Item = patched(item, patch, plain);
    return shown(input, plain, undefined);
  }

  /** The input of an UpdateCommand: attributes are set and removed, and folded keys made anew. Refused with
   * `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have read it. */
  update(table, key, { plain = false, stored, ...update }) {
    const values = new Originals();
    const updating = this.#updating(table, key, { ...update, reading: stored !== undefined }, plain, values);
    try {
      let next = JSON.parse(updating.call("request"));
      if (next.operation === "GetItem") {
        if (stored === undefined) throw new KeyfoldError({ code: "invalid-call", message: "the item was not read" });
        updating.call("was_read", () => [JSON.stringify(stored && (plain ? rawItemToTyped(stored) : itemToTyped(stored)))]);
        next = JSON.parse(updating.call("request"));
      }
      return shown(next.input, plain, values);
    } finally {
      updating.forget();
    }
  }

  #updating(table, key, { set = {}, remove = [], expecting = {}, reading = false }, plain, values) {
    const asked = { set: plain ? rawItemToTyped(set) : values.noted(set), remove, reading, ...expected(expecting, plain, values) };
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    return this.#object("update", () => [tableName(table), keyText, JSON.stringify(asked)]);
  }

  /** The input of a DeleteCommand. */
  delete(table, key, { expecting = {}, plain = false } = {}) {
    const values = new Originals();
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    const asked = JSON.stringify(expected(expecting, plain, values));
    return shown(JSON.parse(this.#call("delete", () => [tableName(table), keyText, asked])), plain, values);
  }

  /** The plan of a request: its reads, its price, what else was considered, and the input of each read. Nothing is read. */
  plan(request) {
    return JSON.parse(this.#call("plan", () => [textOf(request)]));
  }

  /** Updates an item. If its folded keys need what is not known, it is read, and written on condition that it has not changed. */
  async updateItem(client, table, key, update) {
    const { GetItemCommand, UpdateItemCommand } = await sdk();
    const plain = !isDocumentClient(client);
    const updating = this.#updating(table, key, { reading: true, ...update }, plain, new Originals());
    const textOfSeen = (item) => [JSON.stringify(item ? rawItemToTyped(item) : null)];
    try {
      let refused = 0;
      for (;;) {
        const { operation, input } = JSON.parse(updating.call("request"));
        const raw = shown(input, true);
        if (operation === "GetItem") {
          const { Item } = await client.send(new GetItemCommand(raw));
          updating.call("was_read", () => textOfSeen(Item));
          continue;
        }
        try {
          await client.send(new UpdateItemCommand(raw));
          return { attempts: refused + 1 };
        } catch (error) {
          if (error.name !== "ConditionalCheckFailedException") throw error;
          refused = Number(updating.call("was_refused", () => textOfSeen(error.Item)));
        }
        await pause(refused);
      }
    } finally {
      updating.forget();
    }
  }

  /** Answers a request: one page of items. `page` of the answer, put into the request, asks for the next one. An index that a
   * retrofit still fills is not read; `control` is the name of the control table that says so. */
  async query(client, request, { control = CONTROL_TABLE } = {}) {
    const commands = await sdk();
    const exact = isDocumentClient(client) ? await exactNumbers() : undefined;
    const rows = await this.#rows(client, commands, request?.table, control);
    const asking = this.#object("question", () => [textOf(request), rows ?? ""], rows === undefined ? 0 : 1);
    const kept = [];
    try {
      const underWay = new Map();
      for (;;) {
        const { send, answer } = JSON.parse(asking.call("step"));
        if (answer) return shownAnswer(answer, kept, exact);
        for (const { access, looksAt, operation, input } of send) {
          const read = operation === "BatchGetItem" ? readItems : readPage;
          underWay.set(access, read(client, commands, operation, input).then((response) => ({ access, looksAt, response })));
        }
        const { access, looksAt, response } = await Promise.race(underWay.values());
        underWay.delete(access);
        response.items = lookedAt(response.items, looksAt, kept);
        asking.call("arrived", () => [JSON.stringify(response)], access);
      }
    } finally {
      asking.forget();
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

  /** The reads of the control table that say which indexes of a table a retrofit still fills. */
  #readsOf(kept, table, control) {
    if (!this.#reads.has(kept)) {
      const reads = this.#call("readiness_reads", () => [table, textual("a control table's name", control)]);
      this.#reads.set(kept, JSON.parse(reads));
    }
    return this.#reads.get(kept);
  }

  /** What the control table says of the retrofits into a request's table; nothing is read for a table that none fills. */
  async #rows(client, { GetItemCommand, QueryCommand }, table, control) {
    // The core says what is wrong with such a request.
    if (typeof table !== "string") return undefined;
    const kept = `${control} ${table}`;
    const reads = this.#readsOf(kept, table, control);
    if (reads.length === 0) return undefined;
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

/** An update or a question, which the core knows by number. */
class CoreObject {
  #home;
  #core;
  #number;

  constructor(home, core, number) {
    this.#home = home;
    this.#core = core;
    this.#number = number;
  }

  call(name, texts = () => [], last) {
    try {
      return this.#core.call(name, this.#number, texts(), last);
    } catch (error) {
      throw this.#home.shown(error);
    }
  }

  forget() {
    this.#home.forget(this.#core, this.#number);
  }
}

const textOfItem = (item, plain) => JSON.stringify(plain ? rawItemToTyped(item) : itemToTyped(item));

/** What the core looks at of these items, each with its number among those that are kept here; whole items where it may look at
 * everything. */
const lookedAt = (items, names, kept) =>
  items.map((item) => {
    if (!names) return rawItemToTyped(item);
    const seen = { "": { N: String(kept.push(item) - 1) } };
    for (const name of names) {
      if (Object.hasOwn(item, name)) define(seen, name, rawToTyped(item[name]));
    }
    return seen;
  });

/** The core's answer with its items: as the document client has them where `exact` makes its numbers. */
const shownAnswer = ({ items, only, without, ...rest }, kept, exact) => {
  const names = only && new Set(only);
  const isShown = (name) => !name.startsWith(without) && (!names || names.has(name));
  const whole = exact ? (item) => itemFromTyped(item, exact) : typedItemToRaw;
  const part = exact ? (item) => itemFromTyped(item, exact, isShown) : (item) => partOf(item, isShown);
  return { ...rest, items: items.map((item) => (typeof item === "number" ? part(kept[item]) : whole(item))) };
};

const partOf = (item, isShown) => {
  const part = {};
  for (const name of Object.keys(item)) {
    if (isShown(name)) define(part, name, item[name]);
  }
  return part;
};

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
  // A spread keeps an attribute that is called `__proto__`; `Object.assign` would not.
  const result = { ...item };
  for (const name of Object.keys(set)) define(result, name, plain ? typedToRaw(set[name]) : fromTyped(set[name]));
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
        items: page.Items ?? [],
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
      response.items.push(...(got.Responses?.[table] ?? []));
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
