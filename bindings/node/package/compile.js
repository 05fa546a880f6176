#!/usr/bin/env node
// keyfold-compile MANIFEST FILE: checks a manifest and writes it as `load` reads it fastest.
import { readFileSync, writeFileSync } from "node:fs";
import { compile, KeyfoldError } from "./index.mjs";

const [, , manifest, file] = process.argv;
if (!file) {
  console.error("usage: keyfold-compile MANIFEST FILE");
  process.exit(2);
}
try {
  writeFileSync(file, await compile(readFileSync(manifest, "utf8")));
} catch (error) {
  if (!(error instanceof KeyfoldError)) throw error;
  console.error(error.message);
  process.exit(1);
}
