// Invokes the example function as Lambda would.
import assert from "node:assert/strict";
import { handler } from "./handler.mjs";

const write = { id: "example-1", resourceId: "123bbb", action: "viewed", accessedBy: "bob", timestamp: "2017-03-05T10:00:00.000" };
assert.equal((await handler({ write })).statusCode, 201);
const asked = await handler({ ask: { resourceId: "123bbb", accessedBy: "bob" } });
assert.equal(asked.statusCode, 200);
assert.deepEqual(JSON.parse(asked.body).map((item) => item.id), ["example-1"]);
const refused = await handler({ write: { id: "example-2" } });
assert.equal(JSON.parse(refused.body).code, "item-attribute-required");
console.log("Node: the example function writes, asks and refuses");
