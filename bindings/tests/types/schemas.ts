// Schemas of all manifests, as `keyfold types --lang zod` writes them: what they accept, and what they refuse. A comment says which
// error a line must give.
import { AuditItem } from "./keyfold_audit.js";
import { PetsItem, PetsParrot } from "./keyfold_pets.js";
import { ProjectsKey } from "./keyfold_projects.js";
import { type Questions, ShopInPriceRange, ShopItem, ShopKey, ShopTaggedAnswer } from "./keyfold_shop.js";

const order: ShopItem = { kind: "order", customerId: "c1", orderId: "o1", price: 5n, tags: new Set(["new"]) };
const asked: Questions["inPriceRange"]["input"] = { customerId: "c1", "price.gte": 5 };
const accepted: [{ safeParse(value: unknown): { success: boolean } }, unknown][] = [
  [ShopItem, order],
  [ShopItem, { kind: "customer", customerId: "c1", name: "Ann" }],
  [ShopItem, { ...order, price: { value: "12345678901234567890.5" } }],
  [ShopKey, { kind: "customer", customerId: "c1" }],
  [ShopInPriceRange, asked],
  [ShopTaggedAnswer, { orderId: "o1" }],
  [AuditItem, { id: "1", action: "viewed", timestamp: "2017-03-01T08:00:00Z" }],
  [PetsItem, { owner: "ana", petId: "io", species: "parrot", born: "2015-01-01", words: 7 }],
  [ProjectsKey, { organisationId: "acme", projectId: "p1" }],
];
const refused: typeof accepted = [
  [ShopItem, { ...order, kind: "customer" }],
  [ShopItem, { ...order, orderId: undefined }],
  [ShopItem, { ...order, price: "5" }],
  [ShopItem, { ...order, tags: ["new"] }],
  [ShopKey, { customerId: "c1", orderId: "o1" }],
  [ShopInPriceRange, { "price.gte": 5 }],
  [AuditItem, { id: "1", action: "seen", timestamp: "2017-03-01T08:00:00Z" }],
  [PetsParrot, { owner: "ana", petId: "io", species: "dog", born: "2015-01-01" }],
  [ProjectsKey, { organisationId: "acme" }],
];
accepted.forEach(([schema, value], at) => {
  if (!schema.safeParse(value).success) throw new Error(`the schema refuses value ${at}`);
});
refused.forEach(([schema, value], at) => {
  if (schema.safeParse(value).success) throw new Error(`the schema accepts value ${at}`);
});

export const wrong: ShopItem = { kind: "order", customerId: "c1" }; // error TS2322
export const price: Questions["inPriceRange"]["input"] = { customerId: "c1", "price.gte": "5" }; // error TS2322
