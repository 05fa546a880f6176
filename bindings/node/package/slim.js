// Keyfold without its module: `load(manifest, { wasm: { first, rest } })` takes keyfold.wasm and rest.wasm.

import * as keyfold from "./keyfold.js";

const own = async () => {
  throw new keyfold.KeyfoldError({ code: "invalid-call", message: "`keyfold/slim` needs `load(manifest, { wasm: { first, rest } })`" });
};

export const load = (manifest, options) => keyfold.load(own, manifest, options);
export const compile = (manifest, options) => keyfold.compile(own, manifest, options);
export { Answers } from "./answers.js";
export { ExactNumber, Keyfold, KeyfoldError } from "./keyfold.js";
