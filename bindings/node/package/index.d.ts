// Keyfold for JavaScript. `Tables` can be the interface that `keyfold types --lang typescript` writes: then a misspelt table or
// attribute is a compile error.

/** A number that neither `number` nor `bigint` holds exactly. */
export class ExactNumber {
  constructor(value: string);
  readonly value: string;
  toString(): string;
}

/** A refusal of the core. `code` stays the same, whatever the message says; docs/errors.md lists the codes. */
export class KeyfoldError extends Error {
  readonly code: string;
  readonly hint?: string;
}

export type Item = Record<string, unknown>;

/** What a table holds: its items, and the attributes that make its key. */
export interface TableTypes {
  item: object;
  key: object;
}

export type AnyTables = Record<string, { item: Item; key: Item }>;

export interface PutInput<I = Item> {
  TableName: string;
  Item: I & Item;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ReturnValuesOnConditionCheckFailure?: "ALL_OLD";
}

export interface UpdateInput {
  TableName: string;
  Key: Item;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Item;
  ReturnValuesOnConditionCheckFailure: "ALL_OLD";
}

export interface DeleteInput {
  TableName: string;
  Key: Item;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
  ReturnValuesOnConditionCheckFailure?: "ALL_OLD";
}

export interface Update<I = Item> {
  set?: Partial<I>;
  remove?: readonly (keyof I & string)[];
  /** What the item must be for the update to happen; `null` means absent. */
  expecting?: { [Name in keyof I]?: I[Name] | null };
}

/** One question; docs/queries.md explains every field. */
export interface Request<Table extends string = string> {
  table: Table;
  entity?: string | readonly string[];
  where?: unknown;
  order?: string | readonly string[];
  limit?: number;
  select?: readonly string[];
  count?: boolean;
  consistent?: boolean;
  scan?: boolean;
  sortInMemory?: number;
  page?: string;
  readUnitsMax?: number;
  explain?: boolean;
}

export interface Plan {
  table: string;
  reads: { source: string; operation: "query" | "scan"; keyCondition?: string; filter?: string; recheck?: string; descending: boolean }[];
  delivery: string;
  estimatedReadUnits: number;
  rejected: { source: string; reason: string }[];
  requests: { operation: "Query" | "Scan"; input: Item }[];
}

export interface Answer<I = Item> {
  items: I[];
  count: number;
  /** Put it into the request to get the next page. It holds key values of items: encrypt it before you give it to others. */
  page?: string;
  consumedReadUnits: number;
  itemsRead: number;
  requests: number;
  plan?: Plan;
}

export interface Unfolded {
  attribute: string;
  entity: string | null;
  template: string;
  values: Item;
  /** Parts whose letter case the key does not keep. */
  lossy: Record<string, string>;
  shards: Record<string, number>;
}

export type Entry = { index: string; entry: Item } | { index: string; absent: string };

interface Client {
  send(command: any): Promise<any>;
}

export class Keyfold<Tables extends { [Name in keyof Tables]: TableTypes } = AnyTables> {
  fold<Name extends keyof Tables & string>(table: Name, item: Tables[Name]["item"], options?: { plain?: boolean }): Tables[Name]["item"] & Item;
  unfold(table: keyof Tables & string, key: string, options?: { index?: string }): Unfolded;
  keyOf<Name extends keyof Tables & string>(table: Name, attributes: Tables[Name]["key"], options?: { plain?: boolean }): Item;
  entriesOf<Name extends keyof Tables & string>(table: Name, item: Tables[Name]["item"], options?: { plain?: boolean }): Entry[];
  /** The input of a PutCommand; with `plain`, item and input are those of a PutItemCommand. */
  put<Name extends keyof Tables & string>(table: Name, item: Tables[Name]["item"], options?: { ifAbsent?: boolean; plain?: false }): PutInput<Tables[Name]["item"]>;
  put(table: keyof Tables & string, item: Item, options: { ifAbsent?: boolean; plain: true }): PutInput;
  /** The input of an UpdateCommand. Refused with `update-needs-reading` where it cannot be right without reading the item. */
  update<Name extends keyof Tables & string>(table: Name, key: Tables[Name]["key"], update: Update<Tables[Name]["item"]> & { stored?: Tables[Name]["item"] | null; plain?: boolean }): UpdateInput;
  delete<Name extends keyof Tables & string>(table: Name, key: Tables[Name]["key"], options?: { expecting?: Update<Tables[Name]["item"]>["expecting"]; plain?: boolean }): DeleteInput;
  plan(request: Request<keyof Tables & string>): Plan;
  /** Updates an item, and reads it first where its folded keys need what is not known. */
  updateItem<Name extends keyof Tables & string>(client: Client, table: Name, key: Tables[Name]["key"], update: Update<Tables[Name]["item"]>): Promise<{ attempts: number }>;
  /** One page of an answer. */
  query<Name extends keyof Tables & string>(client: Client, request: Request<Name>, options?: { control?: string }): Promise<Answer<Tables[Name]["item"]>>;
  /** All pages, item by item. */
  items<Name extends keyof Tables & string>(client: Client, request: Request<Name>, options?: { control?: string }): AsyncGenerator<Tables[Name]["item"]>;
}

/** Loads a manifest: the text of a keyfold.toml, or what `compile` made of it. */
export function load<Tables extends { [Name in keyof Tables]: TableTypes } = AnyTables>(manifest: string | Uint8Array): Promise<Keyfold<Tables>>;

/** Checks a manifest and writes it as `load` reads it fastest. It fits this build of the package; any other reads the text in it. */
export function compile(manifest: string): Promise<Uint8Array>;
