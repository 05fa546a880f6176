// Shared by the tests of random models: values as the plain client has them, and one text for what is the same.

/** What runs this. */
export const runtime = globalThis.Deno ? "Deno" : globalThis.Bun ? "Bun" : "Node";

export const canonical = (value) =>
  JSON.stringify(value, (_, inner) => {
    if (inner instanceof Uint8Array) return { bytes: [...inner] };
    if (inner && typeof inner === "object" && !Array.isArray(inner)) {
      return Object.fromEntries(Object.keys(inner).sort().map((name) => [name, inner[name]]));
    }
    return inner;
  });

/** Values as the plain client has them: bytes are bytes. */
const raw = (value) => {
  if (typeof value.B === "string") return { B: new Uint8Array(Buffer.from(value.B, "base64")) };
  if (Array.isArray(value.BS)) return { BS: value.BS.map((one) => new Uint8Array(Buffer.from(one, "base64"))) };
  if (Array.isArray(value.L)) return { L: value.L.map(raw) };
  return value.M ? { M: rawItem(value.M) } : value;
};
export const rawItem = (item) => item && Object.fromEntries(Object.entries(item).map(([name, value]) => [name, raw(value)]));
