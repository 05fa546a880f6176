// The calls of each TypeScript application of this folder, for `driver.mjs`.
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

export interface Customer {
  customerId: string;
  name: string;
  visits: number;
  log: string[];
}
export interface Order {
  customerId: string;
  orderId: string;
  status: "open" | "paid";
  placedAt: string;
  total: number;
}
export interface Product {
  productId: string;
  price: number;
  stock: number;
}
export interface Page {
  items: object[];
  next?: string;
}

export interface Shop {
  addCustomer(customer: Customer): Promise<void>;
  addProduct(product: Product): Promise<void>;
  /** False if there is such an order. */
  placeOrder(order: Order): Promise<boolean>;
  order(customerId: string, orderId: string): Promise<object | undefined>;
  products(ids: string[]): Promise<object[]>;
  /** The open orders from this day on. */
  openOrders(since: string): Promise<object[]>;
  openOrdersPage(size: number, page: string | undefined): Promise<Page>;
  /** Counts the visit and appends a note to the log. */
  visit(customerId: string, note: string): Promise<void>;
  /** Marks the order as paid and takes the product from the stock; false if it is paid, sold out, or the customer is unknown. */
  pay(customerId: string, orderId: string, productId: string): Promise<boolean>;
  /** Deletes an open order; false if it is not open. */
  cancel(customerId: string, orderId: string): Promise<boolean>;
  /** Stores a session that DynamoDB deletes after this second. */
  logIn(customerId: string, token: string, expires: number): Promise<void>;
  /** A consumer of the table's stream: corrects the keys of an order that a writer left behind. */
  repair(image: Record<string, AttributeValue>): Promise<void>;
  /** All items of a customer, three in a page. */
  everythingOf(customerId: string): Promise<object[]>;
}
