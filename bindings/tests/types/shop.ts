// Types of shop.toml: keys of entities, and two conditions on one attribute. A comment says which error a line must give.
import { load } from "keyfold";
import type { Questions, ShopCustomer, ShopInPriceRange, ShopOrder, ShopOrdersOf, ShopTaggedAnswer, Tables } from "./keyfold_shop";

type Input<Name extends keyof Questions> = Questions[Name]["input"];
type Output<Name extends keyof Questions> = Questions[Name]["output"];

export const since: ShopOrdersOf = { customerId: "c1", "placedAt.gte": "2026-01-01T00:00:00Z" };
export const range: ShopInPriceRange = { customerId: "c1", "price.gte": 5, "price.lte": 9n };
export const tagged: Input<"tagged"> = { customerId: "c1", "tags.contains": "new" };
export const order: Output<"ordersOf"> = { kind: "order", customerId: "c1", orderId: "o1" } satisfies ShopOrder;
export const picked: ShopTaggedAnswer = { orderId: "o1" } satisfies Output<"tagged">;
export const any: Output<"everything">[] = [order, { kind: "customer", customerId: "c1", name: "Ann" }];

export const right = async (text: string) => {
  const keyfold = await load<Tables>(text);
  return [keyfold.keyOf("shop", { kind: "order", customerId: "c1", orderId: "o1" }), keyfold.keyOf("shop", { kind: "customer", customerId: "c1" })];
};

/** `entity` narrows the items of an answer. */
export const narrowed = async (text: string, client: { send(command: unknown): Promise<unknown> }) => {
  const keyfold = await load<Tables, Questions>(text);
  const { items } = await keyfold.query(client, { table: "shop", where: { customerId: "c1" }, entity: "order" });
  const orders: ShopOrder[] = items;
  const customers: ShopCustomer[] = items; // error TS2322
  return [orders, customers];
};

export const wrong = async (text: string) => {
  const keyfold = await load<Tables>(text);
  keyfold.keyOf("shop", { customerId: "c1", orderId: "o1" }); // error TS2345
  keyfold.keyOf("shop", { kind: "order", customerId: "c1" }); // error TS2345
  keyfold.keyOf("shop", { kind: "customer", customerId: "c1", orderId: "o1" }); // error TS2353
  const bare: ShopOrdersOf = { customerId: "c1", placedAt: "2026" }; // error TS2353
  const text_: Input<"inPriceRange"> = { customerId: "c1", "price.gte": "5" }; // error TS2322
  const set: Input<"tagged"> = { customerId: "c1", "tags.contains": new Set(["new"]) }; // error TS2322
  const total: Output<"tagged"> = { orderId: "o1", price: 5 }; // error TS2353
  return [bare, text_, set, total];
};
