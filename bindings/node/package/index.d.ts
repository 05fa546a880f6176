// Keyfold for JavaScript. `Tables` and `Questions` can be the interfaces that `keyfold types --lang typescript` writes: then a misspelt
// table, attribute or question is a compile error.

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

/** A value in DynamoDB's notation, as the plain client has it. */
export type AttributeValue =
  | { S: string }
  | { N: string }
  | { B: Uint8Array }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { M: Record<string, AttributeValue> }
  | { L: AttributeValue[] }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: Uint8Array[] }
  // A kind that this version of the AWS SDK does not know.
  | { $unknown: [string, any] };
export type PlainItem = Record<string, AttributeValue>;

/** What a table holds: its items, and the attributes that make its key; its items by entity, if they are known. */
export interface TableTypes {
  item: object;
  key: object;
  entities?: object;
}
export interface QuestionTypes {
  input: object;
  output: object;
}

export type AnyTables = Record<string, { item: Item; key: Item }>;
export type AnyQuestions = Record<string, { input: Item; output: Item }>;

/** The names of an item's attributes, also of a union. */
export type AttributeOf<I> = I extends unknown ? keyof I & string : never;
type ValueOf<I, Name> = I extends unknown ? (Name extends keyof I ? NonNullable<I[Name]> : never) : never;

export type ReturnValues = "NONE" | "ALL_OLD" | "UPDATED_OLD" | "ALL_NEW" | "UPDATED_NEW";

export interface PutInput<I = Item> {
  TableName: string;
  Item: I & Item;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
  ReturnValues?: ReturnValues;
  ReturnValuesOnConditionCheckFailure?: "ALL_OLD";
}

export interface UpdateInput<Values = Item> {
  TableName: string;
  Key: Values;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Values;
  ReturnValues?: ReturnValues;
  ReturnValuesOnConditionCheckFailure: "ALL_OLD";
}

export interface DeleteInput<Values = Item> {
  TableName: string;
  Key: Values;
  ConditionExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Values;
  ReturnValues?: ReturnValues;
  ReturnValuesOnConditionCheckFailure?: "ALL_OLD";
}

export interface GetInput<Values = Item> {
  TableName: string;
  Key: Values;
  ConsistentRead?: boolean;
}

/** A comparison of a `where`. */
export type Comparison<V> =
  | V
  | {
      "="?: V;
      "<>"?: V;
      "<"?: V;
      "<="?: V;
      ">"?: V;
      ">="?: V;
      between?: readonly [V, V];
      beginsWith?: string | Uint8Array;
      contains?: unknown;
      in?: readonly V[];
      exists?: boolean;
      notExists?: boolean;
    };

/** Values by path, where a name has a dot. */
interface ByPath {
  [path: `${string}.${string}`]: unknown;
}
// An interface has no index signature, and must be accepted too.
type WithPaths<T> = T | (T & ByPath);

/** Conditions on an item. A name with a dot is a path into a map. */
export type Where<I = Item> =
  | WithPaths<
      { [Name in AttributeOf<I>]?: Comparison<ValueOf<I, Name>> } & {
        and?: readonly Where<I>[];
        or?: readonly Where<I>[];
        not?: Where<I>;
        entity?: string | readonly string[];
      }
    >
  | readonly (Where<I> | { attribute: string; operator: string; value: unknown })[];

type Values<I> = WithPaths<{ [Name in AttributeOf<I>]?: ValueOf<I, Name> }>;
/** What an item must be for a write to happen; `null` means absent. */
export type Expecting<I = Item> = WithPaths<{ [Name in AttributeOf<I>]?: ValueOf<I, Name> | null }>;

export interface Conditions<I = Item> {
  expecting?: Expecting<I>;
  /** A condition, in the form of a `where`. */
  condition?: Where<I>;
}

/** A change of an item. A name with a dot is a path into a map. */
export interface Update<I = Item> extends Conditions<I> {
  set?: Values<I>;
  remove?: readonly (AttributeOf<I> | `${string}.${string}`)[];
  /** Values for attributes that have none. */
  setIfAbsent?: Values<I>;
  /** Numbers to add to numbers, and elements to add to sets. */
  add?: Values<I>;
  /** Elements to delete from sets. */
  delete?: Values<I>;
  /** Lists to add at the end of lists. */
  append?: Values<I>;
  /** Lists to add at the start of lists. */
  prepend?: Values<I>;
  /** The entity that the item must be of. Its keys then need no read in most cases. */
  entity?: string;
  /** The time after which DynamoDB deletes the item: a Date, or seconds since 1970. */
  expires?: Date | number;
  returning?: ReturnValues;
}

/** A change for the plain client. */
export interface PlainUpdate extends Omit<Update, "set" | "setIfAbsent" | "add" | "delete" | "append" | "prepend" | "expecting"> {
  set?: PlainItem;
  setIfAbsent?: PlainItem;
  add?: PlainItem;
  delete?: PlainItem;
  append?: PlainItem;
  prepend?: PlainItem;
  expecting?: Record<string, AttributeValue | null>;
}

export interface PutOptions<I = Item> extends Conditions<I> {
  /** Only if no item has the key. */
  ifAbsent?: boolean;
  /** The time after which DynamoDB deletes the item: a Date, or seconds since 1970. */
  expires?: Date | number;
  returning?: "NONE" | "ALL_OLD";
}
export interface DeleteOptions<I = Item> extends Conditions<I> {
  returning?: "NONE" | "ALL_OLD";
}
export interface PlainConditions {
  expecting?: Record<string, AttributeValue | null>;
  condition?: Where;
  returning?: "NONE" | "ALL_OLD";
}

/** One question; docs/queries.md explains every field. */
export interface Request<Table extends string = string, I = Item> {
  table: Table;
  entity?: string | readonly string[];
  where?: Where<I>;
  order?: AttributeOf<I> | `-${AttributeOf<I>}` | readonly (AttributeOf<I> | `-${AttributeOf<I>}`)[];
  limit?: number;
  select?: readonly AttributeOf<I>[];
  count?: boolean;
  consistent?: boolean;
  scan?: boolean;
  sortInMemory?: number;
  page?: string;
  readUnitsMax?: number;
  explain?: boolean;
}

export interface SendOptions {
  signal?: { readonly aborted: boolean };
}

export interface ReadOptions extends SendOptions {
  /** Are the attributes that folding makes shown? */
  foldedKeys?: boolean;
  /** "number": every number is a `number`, however many digits it has. */
  numbers?: "exact" | "number";
}

export interface QueryOptions extends ReadOptions {
  /** The table with the state of retrofits. */
  control?: string;
  /** Are the items wanted by entity too? */
  groupByEntity?: boolean;
}

export interface AskOptions extends QueryOptions {
  limit?: number;
  order?: string | readonly string[];
  page?: string;
  count?: boolean;
  explain?: boolean;
  readUnitsMax?: number;
  sortInMemory?: number;
}

export interface Plan {
  table: string;
  estimatedReadUnits: number;
  requests: { operation: "Query" | "Scan"; input: Item }[];
}

export interface Explanation {
  table: string;
  reads: { source: string; operation: "query" | "scan"; keyCondition?: string; filter?: string; recheck?: string; missingAttributes?: string; descending: boolean }[];
  furtherReads?: number;
  delivery: string;
  estimatedReadUnits: number;
  rejected: { source: string; reason: string }[];
}

export interface Answer<I = Item> {
  items: I[];
  count: number;
  /** Put it into the request to get the next page. It holds key values of items: encrypt it before you give it to others. */
  page?: string;
  consumedReadUnits: number;
  itemsRead: number;
  requests: number;
  plan?: Explanation;
  /** With `groupByEntity`: the items by the name of their entity; those of no entity are `""`. */
  byEntity?: Record<string, I[]>;
}

/** The pages of an answer, each read when it is wanted, with the totals of those that were read. */
export class Answers<I = Item> implements AsyncIterable<Answer<I>> {
  private constructor();
  readonly consumedReadUnits: number;
  readonly itemsRead: number;
  readonly requests: number;
  readonly count: number;
  /** The token of the next page; `undefined` before the first and after the last. */
  readonly page: string | undefined;
  [Symbol.asyncIterator](): AsyncGenerator<Answer<I>>;
  /** Item by item. */
  items(): AsyncGenerator<I>;
  /** All items. */
  all(): Promise<I[]>;
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

export type Entry<Values = Item> = { index: string; entry: Values } | { index: string; absent: string };

export interface Table {
  id: string;
  /** Its name in DynamoDB. */
  name: string;
  ttl: string | null;
  key: string[];
  /** The attributes that folding makes. */
  folded: string[];
  /** The attributes that folded keys depend on. */
  inputs: string[];
  entities: string[];
  entityInputs: string[];
}

interface Client {
  send(command: any, options?: any): Promise<any>;
}
interface ClientWithMiddleware extends Client {
  middlewareStack: { add(middleware: any, options: any): void };
}

type All = { [name: string]: TableTypes };
type Named<T> = keyof T & string;
/** With `plain`, items and values are in DynamoDB's notation. */
type Given<P, I> = P extends true ? PlainItem : I;
type Result<P, I = Item> = P extends true ? PlainItem : I;
type UpdateOf<P, I> = P extends true ? PlainUpdate & { stored?: PlainItem | null } : Update<I> & { stored?: I | null };
type PutOptionsOf<P, I> = P extends true ? PlainConditions & { ifAbsent?: boolean; expires?: Date | number } : PutOptions<I>;
type DeleteOptionsOf<P, I> = P extends true ? PlainConditions : DeleteOptions<I>;

/** A request of which entity and selection decide the type of the answer's items. */
type Asked<Name extends string, I, E, S> = Omit<Request<Name, I>, "entity" | "select"> & { entity?: E; select?: readonly S[] };
type Entities = string | readonly string[];
type OfEntity<T extends TableTypes, E> = T extends { entities: infer All } ? (E extends keyof All ? All[E] : T["item"]) : T["item"];
type Selected<I, S> = [S] extends [never] ? I : I extends unknown ? Pick<I, S & keyof I> : never;

/** One write of a transaction. */
export type TransactWrite<Tables> = {
  [Name in Named<Tables>]: Tables[Name] extends { item: infer I; key: infer K }
    ?
        | { put: { table: Name; item: I } & PutOptions<I> }
        | { update: { table: Name; key: K; stored?: I | null } & Update<I> }
        | { delete: { table: Name; key: K } & Conditions<I> }
        | { check: { table: Name; key: K } & (Conditions<I> | { ifAbsent: true }) }
    : never;
}[Named<Tables>];

/** One write of a batch. */
export type BatchWrite<Tables> = {
  [Name in Named<Tables>]: Tables[Name] extends { item: infer I; key: infer K }
    ? { put: { table: Name; item: I; expires?: Date | number } } | { delete: { table: Name; key: K } }
    : never;
}[Named<Tables>];

export type KeyIn<Tables> = {
  [Name in Named<Tables>]: Tables[Name] extends { key: infer K } ? { table: Name; key: K } : never;
}[Named<Tables>];
type ItemsAt<Tables, Keys extends readonly { table: string }[]> = {
  [At in keyof Keys]: (Keys[At]["table"] extends keyof Tables ? (Tables[Keys[At]["table"]] extends { item: infer I } ? I : never) : never) | undefined;
};

export class Keyfold<Tables extends { [Name in keyof Tables]: TableTypes } = AnyTables, Questions extends { [Name in keyof Questions]: QuestionTypes } = AnyQuestions> {
  private constructor();
  fold<Name extends Named<Tables>, const P extends boolean = false>(table: Name, item: Given<P, Tables[Name]["item"]>, options?: { plain?: P }): Result<P, Tables[Name]["item"] & Item>;
  unfold(table: Named<Tables>, key: string, options?: { index?: string }): Unfolded;
  keyOf<Name extends Named<Tables>, const P extends boolean = false>(table: Name, attributes: Given<P, Tables[Name]["key"]>, options?: { plain?: P }): Result<P>;
  entriesOf<Name extends Named<Tables>, const P extends boolean = false>(table: Name, item: Given<P, Tables[Name]["item"]>, options?: { plain?: P }): Entry<Result<P>>[];
  /** The name of an item's entity; `null` if it has none. */
  entityOf<Name extends Named<Tables>, const P extends boolean = false>(table: Name, item: Given<P, Partial<Tables[Name]["item"]>>, options?: { plain?: P }): string | null;
  tables(): Table[];
  table(name: Named<Tables>): Table;
  /** The input of a PutCommand; with `plain`, item and input are those of a PutItemCommand. */
  put<Name extends Named<Tables>, const P extends boolean = false>(table: Name, item: Given<P, Tables[Name]["item"]>, options?: PutOptionsOf<P, Tables[Name]["item"]> & { plain?: P }): PutInput<Result<P, Tables[Name]["item"]>>;
  /** The input of an UpdateCommand. Refused with `update-needs-reading` where it cannot be right without reading the item. */
  update<Name extends Named<Tables>, const P extends boolean = false>(table: Name, key: Given<P, Tables[Name]["key"]>, update: UpdateOf<P, Tables[Name]["item"]> & { plain?: P }): UpdateInput<Result<P>>;
  delete<Name extends Named<Tables>, const P extends boolean = false>(table: Name, key: Given<P, Tables[Name]["key"]>, options?: DeleteOptionsOf<P, Tables[Name]["item"]> & { plain?: P }): DeleteInput<Result<P>>;
  /** The input of a GetCommand. */
  get<Name extends Named<Tables>, const P extends boolean = false>(table: Name, key: Given<P, Tables[Name]["key"]>, options?: { consistent?: boolean; plain?: P }): GetInput<Result<P>>;
  /** The input of an UpdateCommand that corrects the folded keys of a stored item, such as the new image of a stream record, if
   * they are still what they were; `null` if they are right. */
  repair<const P extends boolean = false>(table: Named<Tables>, image: Given<P, Item>, options?: { plain?: P }): UpdateInput<Result<P>> | null;
  plan<Name extends Named<Tables>>(request: Request<Name, Tables[Name]["item"]>): Plan;
  explain<Name extends Named<Tables>>(request: Request<Name, Tables[Name]["item"]>): Explanation;
  /** Folds every item that this client puts into a table of the manifest; updates that would leave a folded key wrong are refused. */
  attach<C extends ClientWithMiddleware>(client: C): C;
  getItem<Name extends Named<Tables>>(client: Client, table: Name, key: Tables[Name]["key"], options?: ReadOptions & { consistent?: boolean }): Promise<Tables[Name]["item"] | undefined>;
  /** Reads items. The answer has them in the order of the keys, `undefined` where there is none. */
  batchGet<const Keys extends readonly KeyIn<Tables>[]>(client: Client, keys: Keys, options?: ReadOptions & { consistent?: boolean }): Promise<ItemsAt<Tables, Keys>>;
  /** Puts and deletes items, each on its own. */
  batchWrite(client: Client, writes: readonly BatchWrite<Tables>[], options?: SendOptions): Promise<void>;
  /** Writes all or nothing. */
  transact(client: Client, writes: readonly TransactWrite<Tables>[], options?: SendOptions & { token?: string }): Promise<void>;
  /** Updates an item, and reads it first where its folded keys need what is not known. */
  updateItem<Name extends Named<Tables>>(client: Client, table: Name, key: Tables[Name]["key"], update: Update<Tables[Name]["item"]> & SendOptions): Promise<{ attempts: number; item?: Partial<Tables[Name]["item"]> }>;
  /** One page of an answer. */
  query<Name extends Named<Tables>, const E extends Entities = Entities, const S extends AttributeOf<Tables[Name]["item"]> = never>(client: Client, request: Asked<Name, Tables[Name]["item"], E, S>, options?: QueryOptions): Promise<Answer<Selected<OfEntity<Tables[Name], E>, S>>>;
  /** All pages, item by item. */
  items<Name extends Named<Tables>, const E extends Entities = Entities, const S extends AttributeOf<Tables[Name]["item"]> = never>(client: Client, request: Asked<Name, Tables[Name]["item"], E, S>, options?: QueryOptions): AsyncGenerator<Selected<OfEntity<Tables[Name], E>, S>>;
  /** The pages of an answer. */
  pages<Name extends Named<Tables>, const E extends Entities = Entities, const S extends AttributeOf<Tables[Name]["item"]> = never>(client: Client, request: Asked<Name, Tables[Name]["item"], E, S>, options?: QueryOptions): Answers<Selected<OfEntity<Tables[Name], E>, S>>;
  /** The pages of a named question's answer. */
  ask<Name extends Named<Questions>>(client: Client, question: Name, input: Questions[Name]["input"], options?: AskOptions): Answers<Questions[Name]["output"]>;
}

/** A part of the package's module: keyfold.wasm or rest.wasm. */
export type WasmPart = object;

export interface LoadOptions {
  /** The module, for runtimes that do not compile WebAssembly, and for `keyfold/slim`. */
  wasm?: { first: WasmPart; rest: WasmPart };
  /** Refuse a compiled manifest of another build of the package instead of reading its text. */
  strict?: boolean;
}

/** Loads a manifest: the text of a keyfold.toml, or what `compile` made of it. */
export function load<Tables extends { [Name in keyof Tables]: TableTypes } = AnyTables, Questions extends { [Name in keyof Questions]: QuestionTypes } = AnyQuestions>(manifest: string | Uint8Array, options?: LoadOptions): Promise<Keyfold<Tables, Questions>>;

/** Checks a manifest and writes it as `load` reads it fastest. It fits this build of the package; any other reads the text in it. */
export function compile(manifest: string, options?: Pick<LoadOptions, "wasm">): Promise<Uint8Array>;
