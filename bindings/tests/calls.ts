// The types of the package's calls. A comment says which error a line must give.
import { ExactNumber, load } from "keyfold";

type DynamoNumber = number | bigint | ExactNumber | { value: string; toString(): string };
interface Customer {
  customerId: string;
  name?: string;
  visits?: DynamoNumber;
  address?: Record<string, unknown>;
}
interface Order {
  customerId: string;
  orderId: string;
  status: "open" | "paid" | "sent";
  total?: DynamoNumber;
}
interface CustomerKey {
  customerId: string;
}
interface OrderKey {
  customerId: string;
  orderId: string;
}
interface Tables {
  shop: { item: Customer | Order; key: CustomerKey | OrderKey; entities: { customer: Customer; order: Order } };
}
interface Questions {
  ordersOf: { input: { customerId: string }; output: Order };
  openOrders: { input: { status: Order["status"]; "placedAt.gte"?: string }; output: Pick<Order, "orderId"> };
}

const client = { send: async () => ({}) };
const order: Order = { customerId: "ann", orderId: "1", status: "open" };

export const right = async (text: string) => {
  const keyfold = await load<Tables, Questions>(text, { strict: true });
  keyfold.put("shop", order, { ifAbsent: true });
  keyfold.put("shop", order, { condition: { total: { "<": 5 }, or: [{ status: "open" }, { status: { in: ["paid"] } }] }, returning: "ALL_OLD" });
  keyfold.update("shop", { customerId: "ann", orderId: "1" }, { set: { status: "paid" }, add: { total: 1 }, expecting: { total: null }, entity: "order" });
  keyfold.update("shop", { customerId: "ann" }, { set: { "address.city": "Bern" }, remove: ["name", "address.zip"], add: { visits: 1n } });
  const plain = keyfold.put("shop", { PK: { S: "c#ann" } }, { plain: true, ifAbsent: true }).Item.PK;
  const typed = keyfold.update("shop", { PK: { S: "c#ann" } }, { set: { name: { S: "A." } }, plain: true }).Key.PK;
  const raw = keyfold.fold("shop", { PK: { S: "c#ann" } }, { plain: true }).PK;
  const { items } = await keyfold.query(client, { table: "shop", entity: "order", where: { customerId: "ann", total: { ">": 5 } }, order: "-orderId" });
  const status: "open" | "paid" | "sent" | undefined = items[0]?.status;
  const chosen = await keyfold.query(client, { table: "shop", entity: "order", where: { customerId: "ann" }, select: ["status"] });
  const only: Pick<Order, "status"> | undefined = chosen.items[0];
  const answers = keyfold.ask(client, "openOrders", { status: "open", "placedAt.gte": "2024" }, { limit: 3 });
  for await (const page of answers) page.items.map(({ orderId }) => orderId.length);
  const [one] = await keyfold.batchGet(client, [{ table: "shop", key: { customerId: "ann" } }]);
  await keyfold.transact(client, [{ put: { table: "shop", item: order, ifAbsent: true } }, { check: { table: "shop", key: { customerId: "ann" }, expecting: { name: "Ann" } } }]);
  return [plain, typed, raw, status, only, one, answers.consumedReadUnits];
};

export const untyped = async (text: string) => {
  const keyfold = await load(text);
  const { items } = await keyfold.query(client, { table: "any", where: { anything: { ">": 1 }, not: { other: "x" } }, select: ["anything"], order: ["-anything"] });
  keyfold.update("any", { id: "1" }, { set: { any: 1 }, expecting: { other: null } });
  return [items[0]?.anything, await keyfold.ask(client, "any", { a: 1 }).all()];
};

export const wrong = async (text: string) => {
  const keyfold = await load<Tables, Questions>(text);
  keyfold.put("shop", order, { ifabsent: true }); // error TS2561
  keyfold.put("shop", order, { condition: { totl: 5 } }); // error TS2353
  keyfold.update("shop", { customerId: "ann" }, { set: { nme: "A." } }); // error TS2561
  keyfold.update("shop", { customerId: "ann" }, { set: { name: "A." }, added: { visits: 1 } }); // error TS2561
  keyfold.put("shop", { PK: "c#ann" }, { plain: true }); // error TS2322
  await keyfold.query(client, { table: "shop", where: { statos: "open" } }); // error TS2353
  await keyfold.query(client, { table: "shop", where: { status: "lost" } }); // error TS2322
  await keyfold.query(client, { table: "shop", order: "-statos" }); // error TS2820
  await keyfold.query(client, { table: "shop", select: ["statos"] }); // error TS2820
  keyfold.ask(client, "openOder", { status: "open" }); // error TS2345
  keyfold.ask(client, "openOrders", { status: "lost" }); // error TS2322
  keyfold.ask(client, "openOrders", { status: "open", placedAt: "2024" }); // error TS2353
  const { items } = await keyfold.query(client, { table: "shop", entity: "order", where: { customerId: "ann" } });
  return [items[0]?.name]; // error TS2339
};
