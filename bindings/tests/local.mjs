// The helpers for tests: node --test local.mjs, with the environment PACKAGE, KEYFOLD_COMMAND and MANIFEST.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";

const { startLocal, useLocal } = await import(pathToFileURL(`${process.env.PACKAGE}/testing.js`));
const manifest = process.env.MANIFEST;
const local = useLocal(before, after, { manifest });

test("the tables of the manifest are there", async () => {
  const client = new DynamoDBClient(local.clientOptions);
  const { TableNames } = await client.send(new ListTablesCommand({}));
  assert.ok(TableNames.includes("CallsShop"), TableNames.join());
  client.destroy();
});

test("two run at a time, and what is stopped answers no longer", async () => {
  const other = await startLocal({ manifest });
  assert.notEqual(other.endpoint, local.endpoint);
  await other.stop();
  await assert.rejects(fetch(other.endpoint));
  assert.ok((await fetch(local.endpoint, { method: "POST" })).status > 0);
});

test("the error of a start that fails is shown", async () => {
  await assert.rejects(startLocal({ manifest: "nowhere.toml" }), /nowhere\.toml/);
  await assert.rejects(startLocal({ manifest, command: "/nowhere/keyfold" }), /did not start: .*ENOENT/);
});
