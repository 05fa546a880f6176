// The keys that ElectroDB makes of pairs that must not have one key in common, and of numbers that must stay in order; and what
// it would send for a question that no index serves. Prints one JSON object.

import { Entity } from "electrodb";

const entity = new Entity(
  {
    model: { entity: "event", version: "1", service: "audit" },
    attributes: {
      a: { type: "string", required: true },
      b: { type: "string", required: true },
      n: { type: "number", required: true },
      other: { type: "string" },
    },
    indexes: { byPair: { pk: { field: "pk", composite: ["a", "b"] }, sk: { field: "sk", composite: ["n"] } } },
  },
  { table: "any" },
);

const pair = ([a, b]) => entity.put({ a, b, n: 1 }).params().Item.pk;
const number = (n) => entity.put({ a: "a", b: "b", n }).params().Item.sk;
const { delimiters, letters } = JSON.parse(process.argv[2]);
console.log(
  JSON.stringify({
    delimiters: delimiters.map(pair),
    letters: letters.map(pair),
    numbers: [9, 10].map(number),
    unserved: "KeyConditionExpression" in entity.find({ other: "x" }).params() ? "a query" : "a scan with a filter",
  }),
);
