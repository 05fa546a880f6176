import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { ElectroError, Entity, Service } from "electrodb";
import type { Shop } from "./contract.js";

const options = { table: "Shop", identifiers: { entity: "kind" } };

const Customer = new Entity(
  {
    model: { entity: "customer", version: "1", service: "shop" },
    attributes: {
      customerId: { type: "string", required: true },
      name: { type: "string", required: true },
      visits: { type: "number" },
      log: { type: "list", items: { type: "string" } },
    },
    indexes: {
      primary: {
        collection: "everything",
        pk: { field: "pk", composite: ["customerId"], template: "customer#${customerId}", casing: "none" },
        sk: { field: "sk", composite: [], template: "profile", casing: "none" },
      },
    },
  },
  options,
);
const Order = new Entity(
  {
    model: { entity: "order", version: "1", service: "shop" },
    attributes: {
      customerId: { type: "string", required: true },
      orderId: { type: "string", required: true },
      status: { type: ["open", "paid"] as const, required: true },
      placedAt: { type: "string", required: true },
      total: { type: "number", required: true },
    },
    indexes: {
      primary: {
        collection: "everything",
        pk: { field: "pk", composite: ["customerId"], template: "customer#${customerId}", casing: "none" },
        sk: { field: "sk", composite: ["orderId"], template: "order#${orderId}", casing: "none" },
      },
      byStatus: {
        index: "byStatus",
        pk: { field: "gsi1pk", composite: ["status"], template: "orders#${status}", casing: "none" },
        sk: { field: "gsi1sk", composite: ["placedAt", "orderId"], template: "${placedAt}#${orderId}", casing: "none" },
      },
    },
  },
  options,
);
const Product = new Entity(
  {
    model: { entity: "product", version: "1", service: "shop" },
    attributes: {
      productId: { type: "string", required: true },
      price: { type: "number", required: true },
      stock: { type: "number", required: true },
    },
    indexes: {
      primary: {
        pk: { field: "pk", composite: ["productId"], template: "product#${productId}", casing: "none" },
        sk: { field: "sk", composite: [], template: "product", casing: "none" },
      },
    },
  },
  options,
);
const Session = new Entity(
  {
    model: { entity: "session", version: "1", service: "shop" },
    attributes: {
      customerId: { type: "string", required: true },
      token: { type: "string", required: true },
      expiresAt: { type: "number" },
    },
    indexes: {
      primary: {
        collection: "everything",
        pk: { field: "pk", composite: ["customerId"], template: "customer#${customerId}", casing: "none" },
        sk: { field: "sk", composite: ["token"], template: "session#${token}", casing: "none" },
      },
    },
  },
  options,
);
const shop = new Service({ customer: Customer, order: Order, product: Product, session: Session });

const succeeds = async (work: Promise<unknown>) => {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof ElectroError && error.cause?.name === "ConditionalCheckFailedException") return false;
    throw error;
  }
};

export const openShop = (client: DynamoDBClient): Shop => {
  shop.setClient(client);
  return {
    addCustomer: async (customer) => {
      await Customer.put(customer).go();
    },
    addProduct: async (product) => {
      await Product.put(product).go();
    },
    placeOrder: (order) => succeeds(Order.create(order).go()),
    order: async (customerId, orderId) => (await Order.get({ customerId, orderId }).go()).data ?? undefined,
    products: async (ids) => (await Product.get(ids.map((productId) => ({ productId }))).go()).data,
    openOrders: async (placedAt) => (await Order.query.byStatus({ status: "open" }).gte({ placedAt }).go({ pages: "all" })).data,
    openOrdersPage: async (limit, cursor) => {
      const answer = await Order.query.byStatus({ status: "open" }).go({ limit, cursor: cursor ?? null });
      return { items: answer.data, next: answer.cursor ?? undefined };
    },
    visit: async (customerId, note) => {
      await Customer.update({ customerId }).add({ visits: 1 }).append({ log: [note] }).go();
    },
    pay: async (customerId, orderId, productId) => {
      const { canceled } = await shop.transaction
        .write(({ customer, order, product }) => [
          order.update({ customerId, orderId }).set({ status: "paid" }).where(({ status }, { eq }) => eq(status, "open")).commit(),
          product.update({ productId }).add({ stock: -1 }).where(({ stock }, { gt }) => gt(stock, 0)).commit(),
          customer.check({ customerId }).where(({ name }, { exists }) => exists(name)).commit(),
        ])
        .go();
      return !canceled;
    },
    cancel: (customerId, orderId) => succeeds(Order.delete({ customerId, orderId }).where(({ status }, { eq }) => eq(status, "open")).go()),
    logIn: async (customerId, token, expiresAt) => {
      await Session.put({ customerId, token, expiresAt }).go();
    },
    repair: async (image) => {
      const { data } = Order.parse({ Item: unmarshall(image) });
      if (!data) return;
      const { customerId, orderId, status, placedAt } = data;
      const unchanged = Order.patch({ customerId, orderId }).set({ status, placedAt }).where((now, { eq }) => `${eq(now.status, status)} AND ${eq(now.placedAt, placedAt)}`);
      await succeeds(unchanged.go());
    },
    everythingOf: async (customerId) => {
      const { data } = await shop.collections.everything({ customerId }).go({ limit: 3, pages: "all" });
      return Object.values(data).flat();
    },
  };
};
