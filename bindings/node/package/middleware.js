// A middleware of the SDK: what an application puts into a table of the manifest gets its folded keys.

import { KeyfoldError } from "./core.js";

const LETTERS = new Set(["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"]);

/** Is every attribute in DynamoDB's notation? A key is folded from scalars, so such an item is never one of plain values. */
const isPlain = (item) =>
  Object.values(item ?? {}).every((value) => {
    if (typeof value !== "object" || value === null) return false;
    const names = Object.keys(value);
    return names.length === 1 && LETTERS.has(names[0]);
  });

/** The attributes that an update expression changes. */
export const changedBy = (expression, names = {}) => {
  const roots = new Set();
  // A comma between brackets separates arguments of a function.
  const clauses = expression.replaceAll(/\([^()]*(\([^()]*\)[^()]*)*\)/g, "()").split(/\b(?:SET|REMOVE|ADD|DELETE)\b|,/i);
  for (const clause of clauses) {
    const root = /^\s*([#\w-]+)/.exec(clause)?.[1];
    if (root) roots.add(names[root] ?? root);
  }
  return roots;
};

const refused = (table, what) =>
  new KeyfoldError({
    code: "update-bypasses-keys",
    message: `${what} of table \`${table}\`, so its folded keys would be wrong`,
    hint: "send the input of `update`, or call `updateItem`",
  });

class Folding {
  #keyfold;
  #tables;

  constructor(keyfold) {
    this.#keyfold = keyfold;
    this.#tables = new Map(keyfold.tables().map((table) => [table.name, table]));
  }

  #put(put) {
    const table = this.#tables.get(put?.TableName);
    if (!table || !put.Item) return put;
    return { ...put, Item: this.#keyfold.put(table.id, put.Item, { plain: isPlain(put.Item) }).Item };
  }

  #checked(update) {
    const table = this.#tables.get(update?.TableName);
    if (!table) return update;
    const changed = [...changedBy(update.UpdateExpression ?? "", update.ExpressionAttributeNames), ...Object.keys(update.AttributeUpdates ?? {})];
    // An update that Keyfold made sets the folded keys too.
    const folded = table.folded.filter((name) => changed.includes(name));
    const input = changed.find((name) => table.inputs.includes(name));
    if (input !== undefined && folded.length === 0) throw refused(table.id, `the update changes \`${input}\`, which is part of a key`);
    return update;
  }

  #batch(requests) {
    const fold = ([name, all]) => [
      name,
      all.map((one) => (one.PutRequest ? { ...one, PutRequest: { ...one.PutRequest, Item: this.#put({ TableName: name, Item: one.PutRequest.Item }).Item } } : one)),
    ];
    return Object.fromEntries(Object.entries(requests ?? {}).map(fold));
  }

  #statement(text) {
    const name = /^\s*(?:INSERT\s+INTO|UPDATE)\s+"?([\w.-]+)/i.exec(text ?? "")?.[1];
    const table = this.#tables.get(name);
    if (table) throw refused(table.id, "a PartiQL statement changes items");
  }

  input(command, input) {
    switch (command) {
      case "PutItemCommand":
        return this.#put(input);
      case "UpdateItemCommand":
        return this.#checked(input);
      case "BatchWriteItemCommand":
        return { ...input, RequestItems: this.#batch(input.RequestItems) };
      case "TransactWriteItemsCommand": {
        const folded = (one) => ({ ...one, ...(one.Put && { Put: this.#put(one.Put) }), ...(one.Update && { Update: this.#checked(one.Update) }) });
        return { ...input, TransactItems: (input.TransactItems ?? []).map(folded) };
      }
      case "ExecuteStatementCommand":
        this.#statement(input.Statement);
        return input;
      case "BatchExecuteStatementCommand":
        (input.Statements ?? []).forEach(({ Statement }) => this.#statement(Statement));
        return input;
      case "ExecuteTransactionCommand":
        (input.TransactStatements ?? []).forEach(({ Statement }) => this.#statement(Statement));
        return input;
      default:
        return input;
    }
  }
}

/** Adds the middleware to a client, and returns the client. */
export const attach = (keyfold, client) => {
  const folding = new Folding(keyfold);
  const middleware = (next, { commandName }) => (args) => next({ ...args, input: folding.input(commandName, args.input) });
  client.middlewareStack.add(middleware, { step: "initialize", name: "keyfold", override: true });
  return client;
};
