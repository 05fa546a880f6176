// The pages of an answer.

/** The pages of an answer, each read when it is wanted. */
export class Answers {
  #read;
  #page;
  /** The totals of the pages that were read. */
  consumedReadUnits = 0;
  itemsRead = 0;
  requests = 0;
  count = 0;

  constructor(read, page) {
    this.#read = read;
    this.#page = page;
  }

  /** The token of the next page; `undefined` before the first and after the last. */
  get page() {
    return this.#page;
  }

  async *[Symbol.asyncIterator]() {
    do {
      const answer = await this.#read(this.#page);
      this.#page = answer.page;
      for (const total of ["consumedReadUnits", "itemsRead", "requests", "count"]) this[total] += answer[total];
      yield answer;
    } while (this.#page);
  }

  /** Item by item. */
  async *items() {
    for await (const { items } of this) yield* items;
  }

  /** All items. */
  async all() {
    const all = [];
    for await (const { items } of this) all.push(...items);
    return all;
  }
}

/** The items of an answer by the name of their entity; those of no entity are `""`. `raw`: the same items in DynamoDB's notation. */
export const groupedByEntity = (keyfold, table, items, raw) => {
  const { entities, entityInputs } = keyfold.table(table);
  const byEntity = Object.fromEntries(entities.map((name) => [name, []]));
  for (const [at, item] of items.entries()) {
    const inputs = Object.fromEntries(entityInputs.filter((name) => Object.hasOwn(raw[at], name)).map((name) => [name, raw[at][name]]));
    (byEntity[keyfold.entityOf(table, inputs, { plain: true }) ?? ""] ??= []).push(item);
  }
  return byEntity;
};
