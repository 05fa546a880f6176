import { readFileSync } from "node:fs";
import { ConditionalCheckFailedException, type DynamoDBClient, TransactionCanceledException, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { DeleteCommand, DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { load } from "keyfold";
import type { Shop } from "./contract.js";
import type { Questions, Tables } from "./keyfold_shop.js";

const keyfold = await load<Tables, Questions>(readFileSync("shop.toml", "utf8"));
const customerKey = (customerId: string) => ({ kind: "customer", customerId }) as const;
const orderKey = (customerId: string, orderId: string) => ({ kind: "order", customerId, orderId }) as const;
const productKey = (productId: string) => ({ kind: "product", productId }) as const;

const succeeds = async (work: Promise<unknown>) => {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException || error instanceof TransactionCanceledException) return false;
    throw error;
  }
};

export const openShop = (plain: DynamoDBClient): Shop => {
  const client = DynamoDBDocumentClient.from(plain);
  return {
    addCustomer: async (customer) => {
      await client.send(new PutCommand(keyfold.put("shop", { kind: "customer", ...customer })));
    },
    addProduct: async (product) => {
      await client.send(new PutCommand(keyfold.put("shop", { kind: "product", ...product })));
    },
    placeOrder: (order) => succeeds(client.send(new PutCommand(keyfold.put("shop", { kind: "order", ...order }, { ifAbsent: true })))),
    order: (customerId, orderId) => keyfold.getItem(client, "shop", orderKey(customerId, orderId)),
    products: async (ids) => {
      const found = await keyfold.batchGet(client, ids.map((id) => ({ table: "shop", key: productKey(id) })));
      return found.filter((product) => product !== undefined);
    },
    openOrders: (since) => keyfold.ask(client, "ordersByStatus", { status: "open", "placedAt.gte": since }).all(),
    openOrdersPage: async (limit, page) => {
      const answer = await keyfold.query(client, { table: "shop", entity: "order", where: { status: "open" }, order: "placedAt", limit, page });
      return { items: answer.items, next: answer.page };
    },
    visit: async (customerId, note) => {
      await keyfold.updateItem(client, "shop", customerKey(customerId), { add: { visits: 1 }, append: { log: [note] } });
    },
    pay: (customerId, orderId, productId) =>
      succeeds(
        keyfold.transact(client, [
          { update: { table: "shop", key: orderKey(customerId, orderId), set: { status: "paid" }, expecting: { status: "open" } } },
          { update: { table: "shop", key: productKey(productId), add: { stock: -1 }, condition: { stock: { ">": 0 } } } },
          { check: { table: "shop", key: customerKey(customerId), condition: { name: { exists: true } } } },
        ]),
      ),
    cancel: (customerId, orderId) =>
      succeeds(client.send(new DeleteCommand(keyfold.delete("shop", orderKey(customerId, orderId), { expecting: { status: "open" } })))),
    logIn: async (customerId, token, expires) => {
      await client.send(new PutCommand(keyfold.put("shop", { kind: "session", customerId, token }, { expires })));
    },
    repair: async (image) => {
      const update = keyfold.repair("shop", image, { plain: true });
      if (update) await succeeds(plain.send(new UpdateItemCommand(update)));
    },
    everythingOf: (customerId) => keyfold.ask(client, "everythingOf", { customerId }, { limit: 3 }).all(),
  };
};
