// Does each mistake in calls.ts give its error, and does nothing else give one? node calls-types.mjs TSC PACKAGE FOLDER
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const [, , tsc, folder, place] = process.argv;
const file = new URL("calls.ts", import.meta.url);
mkdirSync(place, { recursive: true });
copyFileSync(file, `${place}/calls.ts`);
// No library of a browser, so that the declarations need none.
const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, target: "es2022", lib: ["es2023"], module: "esnext", moduleResolution: "bundler", types: [], paths: { keyfold: [`${folder}/index.d.ts`] } };
writeFileSync(`${place}/tsconfig.json`, JSON.stringify({ compilerOptions, include: ["calls.ts"] }));
const { stdout } = spawnSync(tsc, ["--pretty", "false"], { cwd: place, encoding: "utf8" });
const found = [...stdout.matchAll(/^(\S+?)\((\d+),\d+\): error (\w+)/gm)].map(([, name, line, error]) => `${name}:${line} ${error}`);
const lines = readFileSync(file, "utf8").split("\n");
const wanted = lines.flatMap((line, at) => (/\/\/ error (\w+)$/.test(line) ? [`calls.ts:${at + 1} ${/(\w+)$/.exec(line)[1]}`] : []));
assert.ok(wanted.length > 10);
assert.deepEqual([...new Set(found)], wanted, stdout);
console.log(`TypeScript: the calls compile, and ${wanted.length} mistakes are errors`);
