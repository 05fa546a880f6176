// Keyfold for JavaScript: folded keys, writes, plans and answers of a manifest. The decisions are those of the Rust core, which runs
// here as WebAssembly; this file turns values into DynamoDB's and sends what the core says.

import { Answers, groupedByEntity } from "./answers.js";
import { batchGet, batchWrite, transact } from "./batch.js";
import { CONTROL_TABLE, exactNumbers, isDocumentClient, options, pause, READINESS_MS, readItems, readPage, sdk, send } from "./client.js";
import { compiledIsStale, readCompiled, written } from "./compiled.js";
import { Core, KeyfoldError } from "./core.js";
import { attach } from "./middleware.js";
import { partsOf } from "./parts.js";
import { define, ExactNumber, isNumberValue, itemFromTyped, itemText, itemToTyped, namesOf, rawItemToTyped, rawToTyped, toTyped, typedItemToRaw } from "./values.js";

export { ExactNumber, KeyfoldError };

/** The parts of the module: what runs first, and the rest. */
let parts;
const loadParts = async (wasm, ownParts) => {
  parts ??= wasm === undefined ? await ownParts() : partsOf(wasm);
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

/** Loads a manifest: the text of a keyfold.toml, or what `compile` made of it. `ownParts` loads the module where the caller does
 * not pass it: each entry of the package has its own way. */
export const load = async (ownParts, manifest, given) => {
  const { wasm, strict = false } = options("load", given, ["wasm", "strict"]);
  await loadParts(wasm, ownParts);
  if (manifest instanceof Uint8Array) {
    const { manifest: text, memory } = readCompiled(manifest);
    if (memory) return new Keyfold(text, new Home(memory));
    compiledIsStale(strict);
    manifest = text;
  }
  shared ??= new Home();
  return new Keyfold(manifest, shared);
};

/** Checks a manifest and writes it as `load` reads it fastest. */
export const compile = async (ownParts, manifest, given) => {
  await loadParts(options("compile", given, ["wasm"]).wasm, ownParts);
  const [before, after] = [new Home(), new Home()];
  try {
    after.core.call("load", undefined, [textual("a manifest", manifest)]);
  } catch (error) {
    throw after.shown(error);
  }
  return written(manifest, before.core.memory(), after.core.memory());
};

const QUERY_OPTIONS = ["control", "foldedKeys", "groupByEntity", "numbers", "signal"];
const ASK_OPTIONS = ["limit", "order", "page", "count", "explain", "readUnitsMax", "sortInMemory"];
const PUT_OPTIONS = ["ifAbsent", "expecting", "condition", "returning", "expires", "plain"];
/** Options that hold attributes and their values. */
const VALUES = new Set(["set", "setIfAbsent", "add", "delete", "append", "prepend"]);
const UPDATE_OPTIONS = [...VALUES, "remove", "expecting", "condition", "entity", "returning", "expires"];

const isConditional = ({ expecting, condition }) => expecting !== undefined || condition !== undefined;

const splitQuestion = (question) => {
  const at = question.indexOf(".");
  return at < 0 ? ["", question] : [question.slice(0, at), question.slice(at + 1)];
};

const returningValues = (input, returning) => {
  if (returning !== undefined) input.ReturnValues = returning;
  return input;
};

/** The tables of a manifest. */
export class Keyfold {
  #home;
  #manifest;
  #number;
  #generation;
  #reads = new Map();
  #readiness = new Map();
  #described;

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
  fold(table, item, given) {
    const { plain = false } = options("fold", given, ["plain"]);
    const patch = this.#call("fold", () => [tableName(table), textOfItem(item, plain)]);
    return patched(item, JSON.parse(patch), plain);
  }

  /** The parts of a folded key. */
  unfold(table, key, given) {
    const { index } = options("unfold", given, ["index"]);
    const texts = () => [tableName(table), textual("a key", key), index ? textual("an index's name", index) : ""];
    const unfolded = JSON.parse(this.#call("unfold", texts, index ? 1 : 0));
    return { ...unfolded, values: itemFromTyped(unfolded.values) };
  }

  /** The primary key that these attributes make. */
  keyOf(table, attributes, given) {
    const { plain = false } = options("keyOf", given, ["plain"]);
    const key = JSON.parse(this.#call("key_of", () => [tableName(table), textOfItem(attributes, plain)]));
    return plain ? typedItemToRaw(key) : itemFromTyped(key);
  }

  /** What each index holds of an item, or why it holds nothing. */
  entriesOf(table, item, given) {
    const { plain = false } = options("entriesOf", given, ["plain"]);
    const entries = JSON.parse(this.#call("entries_of", () => [tableName(table), textOfItem(item, plain)]));
    const shownEntry = plain ? typedItemToRaw : (entry) => itemFromTyped(entry);
    return entries.map(({ entry, ...rest }) => (entry ? { ...rest, entry: shownEntry(entry) } : rest));
  }

  /** The name of an item's entity; `null` if it has none. */
  entityOf(table, item, given) {
    const { plain = false } = options("entityOf", given, ["plain"]);
    return JSON.parse(this.#call("entity_of", () => [tableName(table), textOfItem(item, plain)]));
  }

  /** The tables of the manifest: `{ id, name, ttl, key, folded, inputs, entities, entityInputs }`. */
  tables() {
    return (this.#described ??= JSON.parse(this.#call("tables", () => [])));
  }

  /** One of the tables, by its id or its name in DynamoDB. */
  table(name) {
    const found = this.tables().find(({ id }) => id === name) ?? this.tables().find((table) => table.name === name);
    if (!found) throw new KeyfoldError({ code: "unknown-table", message: `no table is called \`${tableName(name)}\`` });
    return found;
  }

  /** The input of a PutCommand. `ifAbsent`: only where no item has its key. */
  put(table, item, given) {
    const { plain = false, returning, expires, ...asked } = options("put", given, PUT_OPTIONS);
    if (expires !== undefined) item = this.#expiring(table, item, expires, plain);
    const told = isConditional(asked)
      ? this.#call("put_if", () => [tableName(table), textOfItem(item, plain), this.#asked(asked, plain, new Originals())])
      : this.#call("put", () => [tableName(table), textOfItem(item, plain)], asked.ifAbsent ? 1 : 0);
    const { patch, input } = JSON.parse(told);
    input.Item = patched(item, patch, plain);
    return returningValues(shown(input, plain, undefined), returning);
  }

  /** The item, or a set of its attributes, with the time after which DynamoDB deletes it. */
  #expiring(table, item, expires, plain) {
    const { id, ttl } = this.table(table);
    if (!ttl) throw new KeyfoldError({ code: "invalid-call", message: `table \`${id}\` has no \`ttl\` in the manifest` });
    const seconds = Math.floor(expires instanceof Date ? expires.getTime() / 1000 : Number(expires));
    if (!Number.isSafeInteger(seconds)) throw new TypeError("`expires` is a Date, or a number of seconds since 1970");
    return { ...item, [ttl]: plain ? { N: String(seconds) } : seconds };
  }

  /** The input of an UpdateCommand: attributes are set and removed, and folded keys made anew. Refused with
   * `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have read it. */
  update(table, key, given) {
    const { plain = false, stored, returning, ...update } = options("update", given, [...UPDATE_OPTIONS, "stored", "plain"]);
    const values = new Originals();
    const updating = this.#updating(table, key, update, stored !== undefined, plain, values);
    try {
      let next = JSON.parse(updating.call("request"));
      if (next.operation === "GetItem") {
        if (stored === undefined) throw new KeyfoldError({ code: "invalid-call", message: "the item was not read" });
        updating.call("was_read", () => [JSON.stringify(stored && (plain ? rawItemToTyped(stored) : itemToTyped(stored)))]);
        next = JSON.parse(updating.call("request"));
      }
      return returningValues(shown(next.input, plain, values), returning);
    } finally {
      updating.forget();
    }
  }

  #updating(table, key, { expires, ...update }, reading, plain, values) {
    if (expires !== undefined) update = { ...update, set: this.#expiring(table, update.set, expires, plain) };
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    return this.#object("update", () => [tableName(table), keyText, this.#asked({ ...update, reading }, plain, values)]);
  }

  /** The changes and conditions of a write, for the core. */
  #asked({ expecting = {}, condition, ...rest }, plain, values) {
    const asked = { ...expected(expecting, plain, values) };
    for (const [name, value] of Object.entries(rest)) {
      if (value === undefined) continue;
      asked[name] = VALUES.has(name) ? (plain ? rawItemToTyped(value) : values.noted(value)) : value;
    }
    const text = JSON.stringify(asked);
    // A condition is a `where`, whose numbers are written in its own way.
    return condition === undefined ? text : `${text.slice(0, -1)}${text === "{}" ? "" : ","}"condition":${textOf(condition, "a condition")}}`;
  }

  /** The input of a DeleteCommand. */
  delete(table, key, given) {
    const { plain = false, returning, ...asked } = options("delete", given, ["expecting", "condition", "returning", "plain"]);
    const values = new Originals();
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    const told = this.#call("delete", () => [tableName(table), keyText, this.#asked(asked, plain, values)]);
    return returningValues(shown(JSON.parse(told), plain, values), returning);
  }

  /** The input of a GetCommand. */
  get(table, key, given) {
    const { plain = false, consistent = false } = options("get", given, ["consistent", "plain"]);
    const values = new Originals();
    const keyText = JSON.stringify(plain ? rawItemToTyped(key) : values.noted(key));
    const input = shown(JSON.parse(this.#call("get", () => [tableName(table), keyText])), plain, values);
    return consistent ? { ...input, ConsistentRead: true } : input;
  }

  /** The input of an UpdateCommand that corrects the folded keys of a stored item, such as the new image of a stream
   * record, if they are still what they were; `null` if they are right. */
  repair(table, image, given) {
    const { plain = false } = options("repair", given, ["plain"]);
    const input = JSON.parse(this.#call("repair", () => [tableName(table), textOfItem(image, plain)]));
    return input && shown(input, plain, undefined);
  }

  /** The input of each read of a request, and their price. Nothing is read. */
  plan(request) {
    return JSON.parse(this.#call("plan", () => [textOf(request)]));
  }

  /** The plan in words: its reads, its price, and why no other table or index is used. Nothing is read. */
  explain(request) {
    return JSON.parse(this.#call("explain", () => [textOf(request)]));
  }

  /** Folds every item that this client puts into a table of the manifest. */
  attach(client) {
    return attach(this, client);
  }

  /** Reads one item; `undefined` if there is none. */
  async getItem(client, table, key, given) {
    const { consistent, foldedKeys, numbers, signal } = options("getItem", given, ["consistent", "foldedKeys", "numbers", "signal"]);
    const { GetItemCommand } = await sdk();
    const plain = !isDocumentClient(client);
    const { TableName, Key } = this.get(table, key, { plain });
    const input = { TableName, Key: plain ? Key : typedItemToRaw(itemToTyped(Key)), ConsistentRead: consistent ?? false };
    const { Item } = await send(client, new GetItemCommand(input), signal);
    return Item && (await this.readerOf(client, table, { foldedKeys, numbers }))(Item);
  }

  /** How an item of the plain client is shown to a caller. Folded keys are hidden, except those of the table itself. */
  async readerOf(client, table, { foldedKeys = false, numbers }) {
    const { key, folded } = this.table(table);
    const hidden = new Set(foldedKeys ? [] : folded.filter((name) => !key.includes(name)));
    const isShown = (name) => !hidden.has(name);
    const exact = isDocumentClient(client) ? await exactNumbers(numbers) : undefined;
    return exact ? (item) => itemFromTyped(item, exact, isShown) : (item) => partOf(item, isShown);
  }

  /** Reads items: `[{ table, key }]`. The answer has them in the same order, `undefined` where there is none. */
  batchGet(client, keys, given) {
    return batchGet(this, client, keys, options("batchGet", given, ["consistent", "foldedKeys", "numbers", "signal"]));
  }

  /** Puts and deletes items, each on its own: `[{ put: { table, item } }, { delete: { table, key } }]`. */
  batchWrite(client, writes, given) {
    return batchWrite(this, client, writes, options("batchWrite", given, ["signal"]));
  }

  /** Writes all or nothing: `[{ put: { table, item, ...options } }, { update: { table, key, ...update } }, { delete }, { check }]`. */
  transact(client, writes, given) {
    return transact(this, client, writes, options("transact", given, ["token", "signal"]));
  }

  /** Updates an item. If its folded keys need what is not known, it is read, and written on condition that it has not changed. */
  async updateItem(client, table, key, given) {
    const { signal, returning, ...update } = options("updateItem", given, [...UPDATE_OPTIONS, "signal"]);
    const { GetItemCommand, UpdateItemCommand } = await sdk();
    const plain = !isDocumentClient(client);
    const updating = this.#updating(table, key, update, true, plain, new Originals());
    const textOfSeen = (item) => [JSON.stringify(item ? rawItemToTyped(item) : null)];
    try {
      let refused = 0;
      for (;;) {
        const { operation, input } = JSON.parse(updating.call("request"));
        const raw = returningValues(shown(input, true), returning);
        if (operation === "GetItem") {
          const { Item } = await send(client, new GetItemCommand(raw), signal);
          updating.call("was_read", () => textOfSeen(Item));
          continue;
        }
        try {
          const { Attributes } = await send(client, new UpdateItemCommand(raw), signal);
          const item = Attributes && (await this.readerOf(client, table, {}))(Attributes);
          return item ? { attempts: refused + 1, item } : { attempts: refused + 1 };
        } catch (error) {
          if (error.name !== "ConditionalCheckFailedException") throw error;
          refused = Number(updating.call("was_refused", () => textOfSeen(error.Item)));
        }
        await pause(refused, signal);
      }
    } finally {
      updating.forget();
    }
  }

  /** Answers a request: one page of items. `page` of the answer, put into the request, asks for the next one. An index that a
   * retrofit still fills is not read; `control` is the name of the control table that says so. */
  async query(client, request, given) {
    const { control = CONTROL_TABLE, foldedKeys = false, groupByEntity = false, numbers, signal } = options("query", given, QUERY_OPTIONS);
    const commands = await sdk();
    const exact = isDocumentClient(client) ? await exactNumbers(numbers) : undefined;
    const rows = await this.#rows(client, commands, request?.table, control, signal);
    const asking = this.#object("question", () => [textOf(request), rows ?? ""], rows === undefined ? 0 : 1);
    const kept = [];
    try {
      const underWay = new Map();
      for (;;) {
        const { send: reads, answer } = JSON.parse(asking.call("step"));
        if (answer) {
          const hidden = foldedKeys ? [] : this.table(request.table).folded.filter((name) => !request.select?.includes(name));
          const shownItems = shownAnswer(answer, kept, exact, new Set(hidden));
          if (!groupByEntity) return shownItems;
          const raw = answer.items.map((item) => (typeof item === "number" ? kept[item] : item));
          return { ...shownItems, byEntity: groupedByEntity(this, request.table, shownItems.items, raw) };
        }
        for (const { access, looksAt, operation, input } of reads) {
          const read = operation === "BatchGetItem" ? readItems : readPage;
          underWay.set(access, read(client, commands, operation, input, signal).then((response) => ({ access, looksAt, response })));
        }
        const { access, looksAt, response } = await Promise.race(underWay.values());
        underWay.delete(access);
        asking.call("arrived", () => [textOfResponse(response, looksAt, kept)], access);
      }
    } finally {
      asking.forget();
    }
  }

  /** All pages of a request, item by item. */
  async *items(client, request, given) {
    for await (const { items } of this.pages(client, request, given)) yield* items;
  }

  /** The pages of a request. */
  pages(client, request, given) {
    return new Answers((page) => this.query(client, page ? { ...request, page } : request, given), request?.page);
  }

  /** The pages of a named question's answer: `table.question` where several tables have a question of this name. */
  ask(client, question, input = {}, given) {
    const { limit, order, page, count, explain, readUnitsMax, sortInMemory, ...rest } = options("ask", given, [...QUERY_OPTIONS, ...ASK_OPTIONS]);
    const [table, name] = splitQuestion(textual("a question's name", question));
    const request = JSON.parse(this.#call("asked", () => [table, name, textOf(input, "a question's input")]));
    for (const [field, value] of Object.entries({ limit, order, count, explain, readUnitsMax, sortInMemory })) {
      if (value !== undefined) request[field] = value;
    }
    return this.pages(client, page ? { ...request, page } : request, rest);
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
  async #rows(client, { GetItemCommand, QueryCommand }, table, control, signal) {
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
          send(client, new GetItemCommand(head), signal),
          send(client, new QueryCommand(segments), signal),
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

const textOfItem = (item, plain) => (plain ? JSON.stringify(rawItemToTyped(item)) : itemText(item));

/** What the core looks at of an item, in the order of the names: a string as it is, `null` for an absent attribute. */
const lookedAt = (item, names) =>
  names.map((name) => {
    if (!Object.hasOwn(item, name)) return null;
    const value = item[name];
    return value.S ?? rawToTyped(value);
  });

/** A response for the core. Items are kept here where it looks at a part of them only. */
const textOfResponse = ({ items, ...rest }, names, kept) => {
  if (!names) return JSON.stringify({ items: items.map(rawItemToTyped), ...rest });
  const first = kept.length;
  for (const item of items) kept.push(item);
  return JSON.stringify({ kept: items.map((item) => lookedAt(item, names)), first, ...rest });
};

/** The core's answer with its items: as the document client has them where `exact` makes its numbers. */
const shownAnswer = ({ items, only, without, ...rest }, kept, exact, hidden) => {
  const names = only && new Set(only);
  const isShown = (name) => !name.startsWith(without) && !hidden.has(name) && (!names || names.has(name));
  const isShownOfWhole = (name) => !hidden.has(name);
  const whole = exact ? (item) => itemFromTyped(item, exact, isShownOfWhole) : (item) => typedItemToRaw(partOf(item, isShownOfWhole));
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

const isObject = (value) => typeof value === "object" && value !== null;

/** A number that JSON cannot hold exactly. */
const isExact = (value) => typeof value === "bigint" || (isObject(value) && isNumberValue(value));
const hasExact = (value) => {
  if (!isObject(value)) return typeof value === "bigint";
  if (isNumberValue(value)) return true;
  for (const name in value) if (hasExact(value[name])) return true;
  return false;
};

/** For `JSON.stringify`, which passes what `toJSON` made of a value: the value itself is in its object. */
function exactly(name, value) {
  return isExact(this[name]) ? toTyped(this[name]) : value;
}

/** The request's text. Numbers that JSON cannot hold exactly are written as `{"N": "..."}`. */
const textOf = (request, what = "a request") => {
  let text;
  try {
    text = JSON.stringify(request);
  } catch {
    // JSON has no `bigint`.
  }
  if (text === undefined || hasExact(request)) text = JSON.stringify(request, exactly);
  return textual(`${what}'s JSON`, text);
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

/** The item, with what folding changes of it. Folded keys are strings. */
const patched = (item, { set, remove }, plain) => {
  // V8 takes 20 times as long to add attributes to a copy that a spread has made.
  const result = {};
  for (const name of Object.keys(item)) define(result, name, item[name]);
  for (const name of Object.keys(set)) define(result, name, plain ? { S: set[name] } : set[name]);
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
