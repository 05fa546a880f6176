// JavaScript's values and DynamoDB's. Texts for the core hold DynamoDB's notation, with bytes as base64.

/** A number that neither `number` nor `bigint` holds exactly: its digits. The document client's `NumberValue` has the same form. */
export class ExactNumber {
  constructor(value) {
    this.value = String(value);
  }
  toString() {
    return this.value;
  }
  toJSON() {
    return this.value;
  }
}

const isBytes = (value) => value instanceof Uint8Array || value instanceof ArrayBuffer || ArrayBuffer.isView(value);

const bytesOf = (value) =>
  value instanceof Uint8Array
    ? value
    : value instanceof ArrayBuffer
      ? new Uint8Array(value)
      : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);

const toBase64 = (value) => {
  const bytes = bytesOf(value);
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};

const fromBase64 = (text) => {
  if (typeof Buffer !== "undefined") return new Uint8Array(Buffer.from(text, "base64"));
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
};

// The SDK's NumberValue, of whichever copy of the SDK: an object that says it is a number's digits.
export const isNumberValue = (value) =>
  value instanceof ExactNumber || (typeof value.toAttributeValue === "function" && typeof value.value === "string");

const wrong = (value) => new TypeError(`a ${value?.constructor?.name ?? typeof value} cannot be stored in DynamoDB`);

const digits = (value) => {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError("DynamoDB cannot store this number");
    return String(value);
  }
  return typeof value === "bigint" ? value.toString() : value.value;
};

/** A value of a program, in DynamoDB's notation. */
export const toTyped = (value) => {
  switch (typeof value) {
    case "string":
      return { S: value };
    case "number":
    case "bigint":
      return { N: digits(value) };
    case "boolean":
      return { BOOL: value };
    case "object":
      break;
    default:
      throw wrong(value);
  }
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.map(toTyped) };
  if (isBytes(value)) return { B: toBase64(value) };
  if (value instanceof Set) return setToTyped(value);
  if (isNumberValue(value)) return { N: digits(value) };
  if (value instanceof Map) return { M: itemToTyped(Object.fromEntries(value)) };
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return { M: itemToTyped(value) };
  throw wrong(value);
};

const setToTyped = (set) => {
  const values = [...set];
  const [first] = values;
  if (values.length === 0) throw new TypeError("DynamoDB cannot store an empty set");
  if (typeof first === "string" && values.every((one) => typeof one === "string")) return { SS: values };
  if (isBytes(first) && values.every(isBytes)) return { BS: values.map(toBase64) };
  const isNumber = (one) =>
    typeof one === "number" || typeof one === "bigint" || (typeof one === "object" && one !== null && isNumberValue(one));
  if (values.every(isNumber)) return { NS: values.map(digits) };
  throw new TypeError("a set has only strings, only numbers or only bytes");
};

/** The names of an item's attributes. A text or a list has names too, for JavaScript, and is no item. */
export const namesOf = (item) => {
  const isItem = typeof item === "object" && item !== null && !Array.isArray(item) && !isBytes(item) && !(item instanceof Set) && !(item instanceof Map);
  if (!isItem) throw new TypeError(`an item is an object, not ${item === null ? "null" : `a ${item?.constructor?.name ?? typeof item}`}`);
  return Object.keys(item);
};

/** An item of a program, in DynamoDB's notation. What is `undefined` is left out. */
export const itemToTyped = (item) => {
  const typed = {};
  for (const name of namesOf(item)) {
    if (item[name] !== undefined) define(typed, name, toTyped(item[name]));
  }
  return typed;
};

/** Names of attributes as JSON. Programs have few; more than this are those of data. */
const NAMES_MAX = 1000;
const namesAsJson = new Map();
const nameAsJson = (name) => {
  let text = namesAsJson.get(name);
  if (text === undefined) {
    text = JSON.stringify(name);
    if (namesAsJson.size < NAMES_MAX) namesAsJson.set(name, text);
  }
  return text;
};

/** Texts that need no escape in JSON; JSON.stringify takes three times as long to find that out. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The text of an item in DynamoDB's notation. Most values are strings: no object is made for them. */
export const itemText = (item) => {
  let text = "";
  for (const name of namesOf(item)) {
    const value = item[name];
    if (value === undefined) continue;
    const typed = typeof value === "string" ? `{"S":${PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)}}` : JSON.stringify(toTyped(value));
    text += `${text === "" ? "{" : ","}${nameAsJson(name)}:${typed}`;
  }
  return text === "" ? "{}" : `${text}}`;
};

// `__proto__` is a name like any other.
export const define = (object, name, value) => {
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
};

/** An attribute value of the plain client, as the core takes it: bytes become base64. */
export const rawToTyped = (value) => {
  if (value.B !== undefined) return { B: typeof value.B === "string" ? value.B : toBase64(value.B) };
  if (value.BS !== undefined) return { BS: value.BS.map((one) => (typeof one === "string" ? one : toBase64(one))) };
  if (value.L !== undefined) return { L: value.L.map(rawToTyped) };
  if (value.M !== undefined) return { M: rawItemToTyped(value.M) };
  return value;
};

export const rawItemToTyped = (item) => {
  const typed = {};
  for (const name of namesOf(item)) define(typed, name, rawToTyped(item[name]));
  return typed;
};

/** What the core writes, as the plain client takes it. */
export const typedToRaw = (value) => {
  if (value.B !== undefined) return { B: fromBase64(value.B) };
  if (value.BS !== undefined) return { BS: value.BS.map(fromBase64) };
  if (value.L !== undefined) return { L: value.L.map(typedToRaw) };
  if (value.M !== undefined) return { M: typedItemToRaw(value.M) };
  return value;
};

export const typedItemToRaw = (item) => {
  const raw = {};
  for (const name of Object.keys(item)) define(raw, name, typedToRaw(item[name]));
  return raw;
};

// Plain decimal digits without an exponent or a superfluous zero, as DynamoDB returns numbers.
const normal = (text) => {
  const [, sign, whole, part = "", exponent = "0"] = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return text;
  let all = (whole + part).replace(/^0+/, "");
  let scale = Number(exponent) - part.length;
  const kept = all.replace(/0+$/, "");
  scale += all.length - kept.length;
  return kept === "" ? "0" : `${sign === "-" ? "-" : ""}${kept}e${scale}`;
};

/** A number's digits as a `number`, where that is exact, or a `bigint`, or what `exact` makes of them. */
export const numberOf = (text, exact = (digits) => new ExactNumber(digits)) => {
  const number = Number(text);
  if (exact === Number) return number;
  // Most numbers look as JavaScript writes them.
  if (Number.isSafeInteger(number) && String(number) === text) return number;
  if (Number.isFinite(number) && normal(String(number)) === normal(text)) {
    if (!Number.isInteger(number) || Number.isSafeInteger(number)) return number;
  }
  return /^-?\d+$/.test(text) ? BigInt(text) : exact(text);
};

/** A value in DynamoDB's notation, as a program's. */
export const fromTyped = (value, exact) => {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return numberOf(value.N, exact);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.M !== undefined) return itemFromTyped(value.M, exact);
  if (value.L !== undefined) return value.L.map((one) => fromTyped(one, exact));
  if (value.B !== undefined) return bytesFrom(value.B);
  if (value.SS !== undefined) return new Set(value.SS);
  if (value.NS !== undefined) return new Set(value.NS.map((one) => numberOf(one, exact)));
  return new Set(value.BS.map(bytesFrom));
};

// The core writes bytes as base64; the plain client has them as they are.
const bytesFrom = (value) => (typeof value === "string" ? fromBase64(value) : value);

/** An item in DynamoDB's notation, of the core or of the plain client, as a program's values: all of it, or what `isShown`. */
export const itemFromTyped = (item, exact, isShown) => {
  const plain = {};
  for (const name of Object.keys(item)) {
    if (!isShown || isShown(name)) define(plain, name, fromTyped(item[name], exact));
  }
  return plain;
};
