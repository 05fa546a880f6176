// Compares the npm package with what Rust makes of random models: node vectors.mjs PACKAGE < LINES
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { load } = await import(pathToFileURL(`${process.argv[2]}/index.js`));

const canonical = (value) =>
  JSON.stringify(value, (_, inner) => {
    if (inner instanceof Uint8Array) return { bytes: [...inner] };
    if (inner && typeof inner === "object" && !Array.isArray(inner)) {
      return Object.fromEntries(Object.keys(inner).sort().map((name) => [name, inner[name]]));
    }
    return inner;
  });

// Values as the plain client has them: bytes are bytes.
const raw = (value) => {
  if (typeof value.B === "string") return { B: new Uint8Array(Buffer.from(value.B, "base64")) };
  if (Array.isArray(value.BS)) return { BS: value.BS.map((one) => new Uint8Array(Buffer.from(one, "base64"))) };
  if (Array.isArray(value.L)) return { L: value.L.map(raw) };
  return value.M ? { M: rawItem(value.M) } : value;
};
const rawItem = (item) => item && Object.fromEntries(Object.entries(item).map(([name, value]) => [name, raw(value)]));

const attempt = (call) => {
  try {
    return call();
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};

let compared = 0;
const same = (seed, what, ours, rust) => {
  compared += 1;
  if (canonical(ours) !== canonical(rust)) {
    console.error(`seed ${seed}, ${what}:\nNode ${canonical(ours)}\nRust ${canonical(rust)}`);
    process.exit(1);
  }
};

let cases = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const vector = JSON.parse(line);
  const keyfold = await load(vector.manifest);
  for (const one of vector.items) {
    const { code, message } = one;
    const [item, stored, key] = [rawItem(one.item), rawItem(one.stored), typeof one.key === "object" ? rawItem(one.key) : one.key];
    const entries = one.entries?.map(({ entry, ...rest }) => (entry ? { ...rest, entry: rawItem(entry) } : rest));
    if (stored) {
      same(vector.seed, "fold", keyfold.fold(vector.table, item, { plain: true }), stored);
      same(vector.seed, "key", keyfold.keyOf(vector.table, item, { plain: true }), key);
      same(vector.seed, "entries", keyfold.entriesOf(vector.table, item, { plain: true }), entries);
    }
    const put = attempt(() => keyfold.put(vector.table, item, { plain: true }));
    same(vector.seed, "put", put.Item ?? put, stored ?? { code, message });
  }
  for (const one of vector.updates) {
    const [key, set, stored] = [one.key, one.set, one.stored].map(rawItem);
    const [unread, read] = [one.unread, one.read].map((told) =>
      told.code ? told : { ...told, ExpressionAttributeValues: rawItem(told.ExpressionAttributeValues) },
    );
    const shown = ({ UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues = {}, code, message }) =>
      code ? { code, message } : { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues };
    same(vector.seed, "update", shown(attempt(() => keyfold.update(vector.table, key, { set, plain: true }))), unread);
    same(vector.seed, "update of what was read", shown(attempt(() => keyfold.update(vector.table, key, { set, stored, plain: true }))), read);
  }
  const plan = attempt(() => keyfold.plan(vector.request));
  delete plan.requests;
  same(vector.seed, "plan", plan, vector.plan);
  cases += 1;
}
console.log(`Node: ${cases} models, ${compared} comparisons, no difference`);
if (cases === 0) process.exit(1);
