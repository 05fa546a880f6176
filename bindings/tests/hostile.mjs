// Bad input of every kind, to every function: each answer is an exception of JavaScript with a code of the core or a TypeError, the
// core goes on, and a trap (which only a mistake of Keyfold makes) starts it again: node hostile.mjs PACKAGE MANIFEST
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { runtime } from "./raw.mjs";

const [, , folder, manifest] = process.argv;
const { compile, load, KeyfoldError } = await import(pathToFileURL(`${folder}/node.js`));
const { Core } = await import(pathToFileURL(`${folder}/core.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));

const event = { id: "1", resourceId: "123bbb", action: "viewed", accessedBy: "joe1", timestamp: "2017-03-01T08:00:00Z" };
const nested = (depth, of) => Array.from({ length: depth }).reduce(of, "x");
const bad = [
  undefined, null, true, 0, -0, NaN, Infinity, 1e400, 2n ** 200n, "", "x", "\ud800", "\u0000", "x".repeat(1_100_000), Symbol("x"), () => 1,
  new Date(0), new Map([[{}, 1]]), new Set(), new Set([1, "a"]), new Set([""]), [], [[]], {}, { toString: null }, Object.create(null),
  { N: "x" }, { N: "9".repeat(1000) }, { S: 1 }, { toAttributeValue: () => 1, value: "x" }, new Uint8Array(50_000), /x/, new WeakMap(),
  JSON.parse('{"__proto__":{"S":"x"}}'), nested(200, (inner) => [inner]), nested(200, (inner) => ({ M: { a: inner } })),
  nested(200, (inner) => ({ not: inner })), nested(100_000, (inner) => [inner]), Array(2000).fill({ id: "1" }),
  Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`a${at}`, at])), { in: Array(1000).fill("x") }, { between: [1] },
];
const names = ["id", "resourceId", "action", "timestamp", "keyfold_fence", "byResourceActionUser_pk", "", "x".repeat(70_000), "__proto__"];

const calls = function* () {
  for (const one of bad) {
    yield () => load(one);
    yield () => keyfold.unfold("audit", one);
    for (const plain of [true, false]) {
      yield () => keyfold.fold("audit", one, { plain });
      yield () => keyfold.put(one, event, { plain });
      yield () => keyfold.keyOf("audit", one, { plain });
      yield () => keyfold.entriesOf("audit", one, { plain });
      yield () => keyfold.update("audit", one, { set: one, plain });
      yield () => keyfold.update("audit", { id: "1" }, { set: { note: one }, remove: one, expecting: one, stored: one, plain });
      yield () => keyfold.delete("audit", one, { expecting: one, plain });
    }
    yield () => keyfold.plan(one);
    for (const field of ["table", "entity", "where", "order", "limit", "select", "page", "readUnitsMax", "sortInMemory"]) {
      yield () => keyfold.plan({ table: "audit", where: { id: "1" }, [field]: one });
      yield () => keyfold.query({ send: async () => ({}) }, { table: "audit", where: { id: "1" }, [field]: one });
    }
    for (const name of names) {
      yield () => keyfold.put("audit", { ...event, [name]: one });
      yield () => keyfold.plan({ table: "audit", where: { [name]: one } });
      yield () => keyfold.update("audit", { id: "1" }, { set: { [name]: one } });
    }
  }
};

const codes = new Map();
let asked = 0;
for (const call of calls()) {
  asked += 1;
  try {
    await call();
  } catch (error) {
    const known = error instanceof KeyfoldError ? error.code : error.name;
    const isNative = error instanceof KeyfoldError ? error.code !== "internal" && error.message : error instanceof TypeError || error instanceof RangeError;
    assert.ok(isNative, `${call}: ${known} ${error.stack}`);
    codes.set(known, (codes.get(known) ?? 0) + 1);
  }
}
assert.ok(asked > 2000 && codes.size > 8, `${asked} calls, ${[...codes.keys()]}`);
assert.equal(keyfold.put("audit", event).Item.byResourceActionUser_pk, "123bbb-viewed-joe1");

// A text is the same text, whatever JSON makes of its letters: as a program's value, and in DynamoDB's notation.
const outcome = (call) => {
  try {
    return call();
  } catch (error) {
    return error.code ?? error.name;
  }
};
const ends = ["\ud800", "\udc00x", "x\ud83d"];
const letters = ['"', "\\", "\n", "\u0000", "\u001f", "\u007f", "é", "\u2028", "\ufeff", "\ud83d\ude00", "\ud83dx", ...ends, '\\u0041"', "}", "{", ","];
for (const letter of letters) {
  for (const resourceId of [letter, `a${letter}b`, `${letter.repeat(30)}`]) {
    const typed = Object.fromEntries(Object.entries({ ...event, resourceId, [letter]: letter }).map(([name, value]) => [name, { S: value }]));
    const inNotation = outcome(() => keyfold.put("audit", typed, { plain: true }).Item.byResourceActionUser_pk.S);
    assert.equal(outcome(() => keyfold.put("audit", { ...event, resourceId, [letter]: letter }).Item.byResourceActionUser_pk), inNotation);
  }
}

// `__proto__` is an attribute like any other.
const odd = Object.defineProperty({ ...event }, "__proto__", { value: "x", enumerable: true });
assert.ok(Object.hasOwn(keyfold.put("audit", odd).Item, "__proto__"));

// A compiled manifest that is damaged or of another version is refused; one of another build is read as text.
const compiled = await compile(readFileSync(manifest, "utf8"));
const headBytes = new DataView(compiled.buffer).getUint32(0, true);
const head = JSON.parse(new TextDecoder().decode(compiled.subarray(4, 4 + headBytes)));
const withHead = (changed) => {
  const text = new TextEncoder().encode(JSON.stringify({ ...head, ...changed }));
  const length = new Uint8Array(new Uint32Array([text.length]).buffer);
  return Uint8Array.from([...length, ...text, ...compiled.subarray(4 + headBytes)]);
};
const changedByte = compiled.map((byte, at) => (at === compiled.length - 9 ? byte ^ 1 : byte));
const damaged = [compiled.subarray(0, 0), compiled.subarray(0, 3), compiled.subarray(0, 900), compiled.subarray(0, -8), changedByte];
damaged.push(withHead({ pieces: 1 }), withHead({ manifest: 1 }), withHead({ pieces: [[1e12, 8]] }), withHead({ bytes: 1 }));
for (const one of damaged) await assert.rejects(() => load(one), (error) => error instanceof KeyfoldError && error.code === "invalid-manifest");
for (const v of [head.v + 1, head.v - 1, undefined]) await assert.rejects(() => load(withHead({ v })), (error) => error instanceof KeyfoldError && error.code === "unknown-format");
const stale = withHead({ build: "another", pieces: 1 });
const warnings = [];
const { emitWarning } = process;
process.emitWarning = (message, { code }) => warnings.push(code);
await assert.rejects(() => load(stale, { strict: true }), (error) => error instanceof KeyfoldError && error.code === "compiled-manifest-stale");
for (const one of [compiled, stale, stale]) {
  assert.equal((await load(one)).put("audit", event).Item.byResourceActionUser_pk, "123bbb-viewed-joe1");
}
assert.deepEqual(warnings, ["compiled-manifest-stale"], "it is reported, once");
process.emitWarning = emitWarning;

// A trap has a name, and the next call works, on a core that was started again.
let started = 0;
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    super(...given);
    started += 1;
  }
};
const { call } = Core.prototype;
for (const trap of [new WebAssembly.RuntimeError("unreachable"), new RangeError("Maximum call stack size exceeded")]) {
  Core.prototype.call = () => {
    throw trap;
  };
  const code = trap instanceof RangeError ? "invalid-call" : "internal";
  const before = started;
  assert.throws(() => keyfold.plan({ table: "audit", where: { id: "1" } }), (error) => error instanceof KeyfoldError && error.code === code);
  Core.prototype.call = call;
  assert.ok(started > before, "the core goes on after a trap");
  assert.equal(keyfold.plan({ table: "audit", where: { id: "1" } }).table, "audit");
}
console.log(`${runtime}: ${asked} bad calls, ${codes.size} kinds of refusal, no trap`);
