// A compiled manifest: what the core has in mind after it has read and checked the manifest's text. Loading it reads no text and checks
// nothing again, so it takes a fraction of the time. It fits one build of the core; the text goes with it for every other.

import { BUILD } from "./build.js";
import { KeyfoldError } from "./core.js";

/** The version of this form, and of the manifest's language that the text is in. Every other is refused. */
export const FORMAT = 2;
const HEAD_BYTES = 4;
/** Differences that are nearer than this are one piece. */
const GAP_BYTES = 64;

/** FNV-1a, word by word: is it what was written? */
const sumOf = (bytes, places) => {
  const words = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~3)));
  let sum = 0x811c9dc5 ^ bytes.length;
  for (const place of places) sum = Math.imul(sum ^ place, 0x01000193);
  for (let at = 0; at < words.length; at += 1) sum = Math.imul(sum ^ words[at], 0x01000193);
  for (const byte of bytes.subarray(words.length * 4)) sum = Math.imul(sum ^ byte, 0x01000193);
  return sum >>> 0;
};

/** Where one memory differs from another, which it began as: `[address, length]` each. */
const differences = (before, after) => {
  const pieces = [];
  for (let at = 0; at < after.length; at += 1) {
    if (after[at] === (before[at] ?? 0)) continue;
    const last = pieces.at(-1);
    if (last && at - (last[0] + last[1]) < GAP_BYTES) last[1] = at + 1 - last[0];
    else pieces.push([at, 1]);
  }
  return pieces;
};

/** What the core has in mind of a manifest, as bytes to keep. */
export const written = (manifest, before, after) => {
  const pieces = differences(before, after);
  const held = new Uint8Array(pieces.reduce((sum, [, length]) => sum + length, 0));
  let filled = 0;
  for (const [at, length] of pieces) {
    held.set(after.subarray(at, at + length), filled);
    filled += length;
  }
  const head = { v: FORMAT, build: BUILD, bytes: after.length, pieces, sum: sumOf(held, [after.length, ...pieces.flat()]), manifest };
  const text = new TextEncoder().encode(JSON.stringify(head));
  const bytes = new Uint8Array(HEAD_BYTES + text.length + held.length);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, HEAD_BYTES);
  bytes.set(held, HEAD_BYTES + text.length);
  return bytes;
};

const damaged = () => new KeyfoldError({ code: "invalid-manifest", message: "the compiled manifest is damaged", hint: "compile it again" });

const headOf = (bytes) => {
  try {
    const length = new DataView(bytes.buffer, bytes.byteOffset, HEAD_BYTES).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)));
    return { ...head, held: bytes.subarray(HEAD_BYTES + length) };
  } catch {
    throw damaged();
  }
};

let isReported = false;

/** The compiled manifest is another build's: its text is read instead, which is reported once, or refused. */
export const compiledIsStale = (strict) => {
  const message = "the compiled manifest was made by another build of the package, so its text is read, which takes longer";
  const hint = "compile it again with this package's `keyfold-compile`";
  if (strict) throw new KeyfoldError({ code: "compiled-manifest-stale", message: message.replace(", so its text is read, which takes longer", ""), hint });
  if (isReported) return;
  isReported = true;
  const emit = globalThis.process?.emitWarning;
  if (emit) emit.call(globalThis.process, `${message}: ${hint}`, { type: "KeyfoldWarning", code: "compiled-manifest-stale" });
  else console.warn(`keyfold: ${message}: ${hint}`);
};

/** Reads it: the manifest's text, and the memory of a core that has read it; none if it is another build's. */
export const readCompiled = (bytes) => {
  const { v, manifest, build, bytes: size, pieces, sum, held } = headOf(bytes);
  if (v !== FORMAT) {
    const message = `the compiled manifest has format version ${v ?? "none"}, and this Keyfold reads version ${FORMAT} only`;
    throw new KeyfoldError({ code: "unknown-format", message, hint: "compile it again" });
  }
  if (typeof manifest !== "string") throw damaged();
  if (build !== BUILD) return { manifest };
  if (!Array.isArray(pieces) || sumOf(held, [size, ...pieces.flat()]) !== sum) throw damaged();
  let from = 0;
  const memory = pieces.map(([address, length]) => {
    from += length;
    return [address, held.subarray(from - length, from)];
  });
  return { manifest, memory: { bytes: size, pieces: memory } };
};
