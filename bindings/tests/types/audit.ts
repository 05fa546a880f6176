// Types of keyfold.toml, as `keyfold types --lang typescript` writes them. A comment says which error a line must give.
import { load } from "keyfold";
import type { AuditItem, AuditWhenDidUserActOnResource, Tables } from "./keyfold_audit";

const event: AuditItem = { id: "1", action: "viewed", timestamp: "2017-03-01T08:00:00Z", resourceId: "123bbb" };
const asked: AuditWhenDidUserActOnResource = { resourceId: "123bbb", action: "viewed", accessedBy: "joe1" };

export const right = async (text: string) => {
  const keyfold = await load<Tables>(text);
  const { Item } = keyfold.put("audit", { ...event, ...asked });
  keyfold.update("audit", { id: "1" }, { set: { resourceName: "a" }, remove: ["accessedBy"], expecting: { action: null } });
  const { items } = await keyfold.query({ send: async () => ({}) }, { table: "audit", where: { id: "1" } });
  return [Item.action, items[0]?.timestamp];
};

export const wrong = async (text: string) => {
  const keyfold = await load<Tables>(text);
  keyfold.put("audits", event); // error TS2345
  keyfold.put("audit", { id: "1", acton: "viewed", timestamp: "2017" }); // error TS2561
  keyfold.put("audit", { id: "1", timestamp: "2017" }); // error TS2741
  keyfold.put("audit", { ...event, action: "seen" }); // error TS2322
  keyfold.put("audit", { ...event, resourceId: 7 }); // error TS2322
  keyfold.keyOf("audit", { ids: "1" }); // error TS2353
  keyfold.update("audit", { id: "1" }, { set: { action: "seen" } }); // error TS2322
  keyfold.update("audit", { id: "1" }, { remove: ["acton"] }); // error TS2820
  keyfold.plan({ table: "audits" }); // error TS2820
  const { items } = await keyfold.query({ send: async () => ({}) }, { table: "audit", where: { id: "1" } });
  const other: AuditWhenDidUserActOnResource = { resourceId: "123bbb", accessedBy: "joe1" }; // error TS2741
  const seen: AuditWhenDidUserActOnResource = { ...asked, action: "seen" }; // error TS2322
  const unknown: AuditWhenDidUserActOnResource = { ...asked, resource: "1" }; // error TS2561
  return [items[0]?.timstamp, other, seen, unknown]; // error TS2551
};
