// Keyfold for every bundler and runtime that may compile WebAssembly: the module is in the JavaScript, so no file goes with it.

import * as inline from "./inline.js";
import * as keyfold from "./keyfold.js";
import { inlineParts } from "./parts.js";

const own = () => inlineParts(inline);

export const load = (manifest, options) => keyfold.load(own, manifest, options);
export const compile = (manifest, options) => keyfold.compile(own, manifest, options);
export { Answers } from "./answers.js";
export { ExactNumber, Keyfold, KeyfoldError } from "./keyfold.js";
