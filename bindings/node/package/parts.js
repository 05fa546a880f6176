// The module's two parts, from whatever holds them.

const moduleOf = (part) => (part instanceof WebAssembly.Module ? part : new WebAssembly.Module(part));

/** The parts from the first one and a function that returns the rest, which is called once it is needed. */
export const lazyParts = (first, restOf) => {
  let rest;
  return { first: moduleOf(first), rest: () => (rest ??= moduleOf(restOf())) };
};

/** The parts that a caller passes: each a module, or its bytes. */
export const partsOf = (wasm) => {
  const isPart = (part) => part instanceof WebAssembly.Module || part instanceof ArrayBuffer || ArrayBuffer.isView(part);
  if (!isPart(wasm?.first) || !isPart(wasm?.rest)) {
    throw new TypeError("`wasm` is `{ first, rest }`: keyfold.wasm and rest.wasm, each a WebAssembly.Module or its bytes");
  }
  return lazyParts(wasm.first, () => wasm.rest);
};

const bytesOf = (text) => {
  if (typeof Buffer !== "undefined") return Buffer.from(text, "base64");
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
};

const unzipped = async (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();

/** The parts in the JavaScript itself: compressed, in base64. Where possible, the rest waits until it is needed. */
export const inlineParts = async ({ FIRST, REST }) => {
  const zlib = globalThis.process?.getBuiltinModule?.("node:zlib");
  if (zlib) return lazyParts(zlib.gunzipSync(bytesOf(FIRST)), () => zlib.gunzipSync(bytesOf(REST)));
  const [first, rest] = await Promise.all([FIRST, REST].map((text) => unzipped(bytesOf(text))));
  return lazyParts(first, () => rest);
};
