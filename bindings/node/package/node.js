// Keyfold for Node, Deno and Bun without a bundler: the module is read from files. Bundlers take index.js, whose module is in the
// JavaScript.

import { readFileSync } from "node:fs";
import * as keyfold from "./keyfold.js";
import { lazyParts } from "./parts.js";

const read = (name) => readFileSync(new URL(name, import.meta.url));

const own = async () => lazyParts(read("./keyfold.wasm"), () => read("./rest.wasm"));

export const load = (manifest, options) => keyfold.load(own, manifest, options);
export const compile = (manifest, options) => keyfold.compile(own, manifest, options);
export { Answers } from "./answers.js";
export { ExactNumber, Keyfold, KeyfoldError } from "./keyfold.js";
