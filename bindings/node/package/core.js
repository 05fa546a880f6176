// The border to the core: one instance of its WebAssembly module. Texts go in, a text comes out.

/** A refusal of the core. `code` stays the same, whatever the message says; docs/errors.md lists the codes. */
export class KeyfoldError extends Error {
  constructor({ code, message, hint }, options) {
    super(message, options);
    this.name = "KeyfoldError";
    this.code = code;
    this.hint = hint;
  }
}

/** Room for the texts of a call, at first; it grows with them. */
const ROOM_BYTES = 1 << 16;
/** A letter of JavaScript takes at most so many bytes of UTF-8. */
const LETTER_BYTES_MAX = 3;
const PAGE_BYTES = 1 << 16;

// Node's own way is several times as fast for short texts; browsers have the other one.
const hasBuffer = typeof Buffer !== "undefined" && typeof Buffer.prototype.write === "function";
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const viewOf = hasBuffer ? (buffer) => Buffer.from(buffer) : (buffer) => new Uint8Array(buffer);
const write = hasBuffer ? (bytes, text, at) => bytes.write(text, at) : (bytes, text, at) => encoder.encodeInto(text, bytes.subarray(at)).written;
const read = hasBuffer ? (bytes, from, to) => bytes.toString("utf8", from, to) : (bytes, from, to) => decoder.decode(bytes.subarray(from, to));

/** A text so short is written faster letter by letter. */
const SHORT_LETTERS = 24;

/** Writes a text, and says how many bytes it has. */
const put = (bytes, text, at) => {
  if (text.length > SHORT_LETTERS) return write(bytes, text, at);
  for (let number = 0; number < text.length; number += 1) {
    const letter = text.charCodeAt(number);
    if (letter > 0x7f) return write(bytes, text, at);
    bytes[at + number] = letter;
  }
  return text.length;
};

/** An instance of the core. `parts` are its module: what runs first, and the rest, which is loaded once something of it is called.
 * `parts.mark` hears which functions run, where a module was made to say so. `memory` is what another instance had in mind, as
 * pieces `[address, bytes]`. */
export class Core {
  #exports;
  #bytes;
  #room = 0;
  #at = 0;

  constructor(parts, memory) {
    const more = () => {
      new WebAssembly.Instance(parts.rest(), { first: this.#exports });
    };
    this.#exports = new WebAssembly.Instance(parts.first, { split: { more, mark: parts.mark } }).exports;
    this.#bytes = viewOf(this.#exports.memory.buffer);
    this.#exports.start();
    if (memory) this.#remember(memory);
  }

  #remember({ bytes, pieces }) {
    const missing = bytes - this.#view().length;
    if (missing > 0) this.#exports.memory.grow(Math.ceil(missing / PAGE_BYTES));
    const view = this.#view();
    for (const [address, piece] of pieces) view.set(piece, address);
  }

  /** All memory; another object after it has grown. */
  #view() {
    if (this.#bytes.length === 0) this.#bytes = viewOf(this.#exports.memory.buffer);
    return this.#bytes;
  }

  /** A copy of all memory. */
  memory() {
    return Uint8Array.from(this.#view());
  }

  /** Calls an export for an object of the core, where there is one, with up to three texts. A refusal is thrown. */
  call(name, object, texts, last) {
    const run = this.#exports[name];
    // By number: an iterator costs more than the short texts.
    const first = texts[0];
    const second = texts[1];
    const third = texts[2];
    this.#makeRoom(texts);
    const bytes = this.#view();
    let at = this.#at;
    const a = first === undefined ? last : put(bytes, first, at);
    const b = second === undefined ? last : put(bytes, second, (at += a));
    const c = third === undefined ? last : put(bytes, third, (at += b));
    // Arguments that an export does not take are ignored.
    const told = (object === undefined ? run(a) : run(object, a, b, c, last)) >>> 0;
    const from = this.#exports.output();
    const text = told < 2 ? "" : read(this.#view(), from, from + (told >>> 1));
    if (told & 1) throw new KeyfoldError(JSON.parse(text));
    return text;
  }

  #makeRoom(texts) {
    let most = 0;
    for (let number = 0; number < texts.length; number += 1) most += texts[number].length * LETTER_BYTES_MAX;
    if (most <= this.#room) return;
    this.#room = Math.max(most, ROOM_BYTES);
    this.#at = this.#exports.input(this.#room);
  }

  /** Where the core panicked, once it did. */
  panicked() {
    const from = this.#exports.panic_place();
    return read(this.#view(), from, from + this.#exports.panicked());
  }

  forget(object) {
    this.#exports.forget(object);
  }
}
