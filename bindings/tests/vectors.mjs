// Compares the npm package with what Rust makes of random models: node vectors.mjs PACKAGE < LINES
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { canonical, rawItem, runtime } from "./raw.mjs";

const { compile, load } = await import(pathToFileURL(`${process.argv[2]}/node.js`));

const attempt = (call) => {
  try {
    return call();
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};

/** So many manifests are loaded as text for one that is compiled. */
const COMPILED_EVERY = 16;

let compared = 0;
const same = (seed, what, ours, rust) => {
  compared += 1;
  if (canonical(ours) !== canonical(rust)) {
    console.error(`seed ${seed}, ${what}:\n${runtime} ${canonical(ours)}\nRust ${canonical(rust)}`);
    process.exit(1);
  }
};

/** The item after an update of whole attributes. */
const applied = (stored, { UpdateExpression, ExpressionAttributeNames: names, ExpressionAttributeValues: values }) => {
  const after = { ...stored };
  const [, set, remove] = /^(?:SET (.*?))?(?: ?REMOVE (.*))?$/.exec(UpdateExpression);
  for (const clause of set?.split(", ") ?? []) {
    const [name, value] = clause.split(" = ");
    after[names[name]] = values[value];
  }
  for (const name of remove?.split(", ") ?? []) delete after[names[name]];
  return after;
};

let cases = 0;
let oneRequest = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const vector = JSON.parse(line);
  // A compiled manifest is the same manifest.
  const keyfold = await load(vector.seed % COMPILED_EVERY === 0 ? await compile(vector.manifest) : vector.manifest);
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
    // With its entity known, an update that needs no read leaves the item as folding the whole item would.
    const entity = keyfold.entityOf(vector.table, stored, { plain: true }) ?? undefined;
    const alone = attempt(() => keyfold.update(vector.table, key, { set, entity, plain: true }));
    if (alone.UpdateExpression) {
      same(vector.seed, "one request", applied(stored, alone), keyfold.fold(vector.table, { ...stored, ...set }, { plain: true }));
      oneRequest += 1;
    }
    same(vector.seed, "update of what was read", shown(attempt(() => keyfold.update(vector.table, key, { set, stored, plain: true }))), read);
  }
  same(vector.seed, "explanation", attempt(() => keyfold.explain(vector.request)), vector.plan);
  const { requests, ...plan } = attempt(() => keyfold.plan(vector.request));
  const { code, message, table, estimatedReadUnits, reads, furtherReads = 0 } = vector.plan;
  same(vector.seed, "plan", plan, code ? { code, message } : { table, estimatedReadUnits });
  if (!code) same(vector.seed, "reads", requests.length, reads.length + furtherReads);
  cases += 1;
}
console.log(`${runtime}: ${cases} models, ${compared} comparisons, no difference; ${oneRequest} updates in one request`);
if (cases === 0) process.exit(1);
