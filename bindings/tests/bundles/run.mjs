// The package in every bundler and runtime: node run.mjs PACKAGE MANIFEST FOLDER. The bundlers are those of this folder's lock file,
// installed in FOLDER. Each bundle runs in its own folder, where the package is not installed, and must answer as Node does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const [, , folder, manifest, place] = process.argv;
const require = createRequire(`${place}/x.js`);
const work = join(place, "work");
const out = join(tmpdir(), `keyfold-bundles-${process.pid}`);
for (const one of [work, out, join(place, "node_modules/keyfold")]) rmSync(one, { recursive: true, force: true });
for (const one of [work, out]) mkdirSync(one, { recursive: true });
cpSync(folder, join(place, "node_modules/keyfold"), { recursive: true });

// What runs in each: it folds, plans, and is refused, with a text and with a compiled manifest.
const body = `
  const event = { id: "e1", resourceId: "123bbb", action: "viewed", accessedBy: "jø", timestamp: "2017-05-01T00:00:00.000Z", count: 2n ** 70n };
  const answer = async () => {
    const of = async (manifest) => {
      const keyfold = await load(manifest, { strict: true });
      let refused;
      try { keyfold.put("audit", { ...event, action: "stolen" }); } catch (error) { refused = [error instanceof KeyfoldError, error.code]; }
      return [keyfold.put("audit", event), keyfold.plan({ table: "audit", where: { action: "deleted" }, order: "-timestamp", limit: 20 }), refused];
    };
    const all = [await of(manifest), await of(await compile(manifest))];
    return JSON.stringify(all, (_, value) => (typeof value === "bigint" ? value + "n" : value));
  };
`;
const text = `const manifest = ${JSON.stringify(readFileSync(manifest, "utf8"))};`;
const app = `import { compile, KeyfoldError, load } from "keyfold";\n${text}${body}`;
const appOfCjs = `const { compile, KeyfoldError, load } = require("keyfold");\n${text}${body}`;
const print = "answer().then((said) => console.log(said), (error) => { console.error(error); process.exit(1); });";
const file = (name, contents) => {
  writeFileSync(join(work, name), contents);
  return join(work, name);
};
const entry = file("app.mjs", app + print);
const asModule = file("module.mjs", `${app}export { answer };`);
const cjs = file("app.cjs", appOfCjs + print);
const node = (path, ...flags) => execFileSync(process.execPath, [...flags, path], { encoding: "utf8", cwd: dirname(path), stdio: ["ignore", "pipe", "inherit"] }).trim();
const wanted = node(entry);
assert.match(wanted, /123bbb-viewed-jø.*\[true,"item-/s);

const esbuild = (options) => require("esbuild").build({ bundle: true, logLevel: "warning", external: ["@aws-sdk/*"], ...options });
const bundled = async (name, options) => {
  const outfile = join(out, name);
  const { warnings } = await esbuild({ entryPoints: [entry], outfile, ...options });
  assert.deepEqual(warnings, []);
  return node(outfile);
};

const webpack = (target) =>
  new Promise((resolve, reject) => {
    const options = { mode: "production", target, entry, context: work, output: { path: out, filename: `webpack-${target}.cjs` }, externals: [/^@aws-sdk\//], externalsType: "commonjs", optimization: { minimize: false } };
    require("webpack")(options, (error, stats) => {
      if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString("errors-only")));
      else resolve();
    });
  }).then(() => node(join(out, `webpack-${target}.cjs`)));

const vite = async () => {
  const { build } = await import(require.resolve("vite").replace(/index\.cjs$/, "dist/node/index.js"));
  const rollupOptions = { external: [/^@aws-sdk\//], input: asModule, preserveEntrySignatures: "strict", output: { entryFileNames: "vite.mjs" } };
  await build({ root: work, logLevel: "warn", build: { outDir: out, emptyOutDir: false, minify: false, target: "es2022", rollupOptions } });
  const run = join(out, "vite-run.mjs");
  writeFileSync(run, `import { answer } from "./vite.mjs";\n${print}`);
  return node(run);
};

const jest = (name, source, ...flags) => {
  const root = join(work, `jest-${name}`);
  mkdirSync(root);
  const test = join(root, name === "esm" ? "said.test.mjs" : "said.test.cjs");
  const said = join(root, "said.txt");
  const { extension, write } = name === "esm" ? { extension: "mjs", write: `import { writeFileSync } from "node:fs";\n` } : { extension: "cjs", write: `const { writeFileSync } = require("node:fs");\n` };
  writeFileSync(test, `${write}${source}test("answers", async () => writeFileSync(${JSON.stringify(said)}, await answer()));`);
  const config = { rootDir: root, testMatch: [`**/*.test.${extension}`], moduleFileExtensions: ["mjs", "cjs", "js", "json"], transform: {}, cacheDirectory: join(root, "cache") };
  writeFileSync(join(root, "package.json"), "{}");
  const bin = join(dirname(require.resolve("jest/package.json")), "bin/jest.js");
  execFileSync(process.execPath, [...flags, bin, "--silent", "--config", JSON.stringify(config)], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  return readFileSync(said, "utf8");
};

const workerd = async () => {
  const outfile = join(out, "worker/worker.mjs");
  const worker = file("worker.mjs", `${app}export default { fetch: async () => new Response(await answer()) };`);
  // As wrangler does it: modules of WebAssembly stay files, which the runtime compiles.
  await esbuild({ entryPoints: [worker], outfile, format: "esm", conditions: ["workerd", "worker", "browser"], external: ["@aws-sdk/*", "*.wasm"] });
  for (const part of ["keyfold.wasm", "rest.wasm"]) cpSync(join(folder, part), join(out, "worker", part));
  const { Miniflare } = require("miniflare");
  const path = join(out, "worker");
  const modules = readdirSync(path).map((name) => ({ type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule", path: join(path, name) }));
  modules.sort((one) => (one.type === "ESModule" ? -1 : 1));
  const isolate = new Miniflare({ modules, modulesRoot: path, compatibilityDate: "2026-01-01" });
  try {
    return await (await isolate.dispatchFetch("http://localhost/")).text();
  } finally {
    await isolate.dispose();
  }
};

const slim = () => {
  const parts = `import { readFileSync } from "node:fs";\nconst part = (name) => readFileSync(new URL(import.meta.resolve("keyfold/" + name)));\nconst wasm = { first: part("keyfold.wasm"), rest: part("rest.wasm") };\n`;
  const source = app.replace('from "keyfold"', 'from "keyfold/slim"').replaceAll(/(load|compile)\(manifest(, \{)?/g, (_, call, more) => `${call}(manifest, { wasm${more ? "," : " }"}`);
  return node(file("slim.mjs", parts + source + print));
};

const runs = {
  "Node, require": () => node(cjs),
  "Node, keyfold/slim": slim,
  "esbuild, ESM": () => bundled("esbuild.mjs", { format: "esm", platform: "node" }),
  "esbuild, CommonJS": () => bundled("esbuild.cjs", { format: "cjs", platform: "node" }),
  "esbuild, CommonJS of CommonJS": () => bundled("esbuild-of.cjs", { entryPoints: [cjs], format: "cjs", platform: "node" }),
  "esbuild, browser": () => bundled("esbuild-browser.mjs", { format: "esm", platform: "browser", minify: true }),
  "webpack, node": () => webpack("node"),
  "webpack, web": () => webpack("web"),
  vite,
  "Jest, ESM": () => jest("esm", app, "--experimental-vm-modules", "--no-warnings"),
  "Jest, CommonJS": () => jest("cjs", appOfCjs),
  workerd,
};
let failed = false;
for (const [name, run] of Object.entries(runs)) {
  try {
    assert.equal(await run(), wanted);
    console.log(`${name}: as in Node`);
  } catch (error) {
    failed = true;
    console.error(`${name}: ${error.stderr ?? error.stack}`.slice(0, 3000));
  }
}
rmSync(out, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
