// Keyfold for Cloudflare Workers, which compile WebAssembly when they are deployed and never later.

import * as keyfold from "./keyfold.js";
import first from "./keyfold.wasm";
import { partsOf } from "./parts.js";
import rest from "./rest.wasm";

const own = async () => partsOf({ first, rest });

export const load = (manifest, options) => keyfold.load(own, manifest, options);
export const compile = (manifest, options) => keyfold.compile(own, manifest, options);
export { Answers } from "./answers.js";
export { ExactNumber, Keyfold, KeyfoldError } from "./keyfold.js";
