// Writes at full speed with folded keys, during a retrofit: node writers.mjs PACKAGE MANIFEST ENDPOINT SECONDS.
// With 0 seconds it writes the items that are there before, without keys.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

const [, , folder, manifest, endpoint, seconds] = process.argv;
const OLD_ITEMS = 2000;
const { load, KeyfoldError } = await import(pathToFileURL(`${folder}/node.js`));
const keyfold = await load(readFileSync(manifest, "utf8"));
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const documents = DynamoDBDocumentClient.from(client);

const any = (all) => all[Math.floor(Math.random() * all.length)];
const event = (id) => ({
  id,
  resourceId: any(["123bbb", "456-b", "r-1"]),
  action: any(["viewed", "edited", "deleted"]),
  accessedBy: any(["joe1", "jane2", "b-b"]),
  timestamp: `2017-03-${String(1 + Math.floor(Math.random() * 28)).padStart(2, "0")}T10:00:00.000`,
});

if (seconds === "0") {
  const { TableName } = keyfold.put("audit", event("any"));
  for (let at = 0; at < OLD_ITEMS; at += 25) {
    const requests = Array.from({ length: 25 }, (_, one) => ({ PutRequest: { Item: event(`old-${at + one}`) } }));
    await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: requests } }));
  }
  process.exit(0);
}

const counts = { put: 0, update: 0, delete: 0, overtaken: 0 };
const until = Date.now() + Number(seconds) * 1000;
const write = async () => {
  const id = `old-${Math.floor(Math.random() * OLD_ITEMS)}`;
  const kind = any(["put", "update", "update", "delete"]);
  try {
    if (kind === "put") await documents.send(new PutCommand(keyfold.put("audit", event(id))));
    if (kind === "update") await keyfold.updateItem(documents, "audit", { id }, { set: { action: any(["viewed", "edited"]) } });
    if (kind === "delete") await documents.send(new DeleteCommand(keyfold.delete("audit", { id })));
    counts[kind] += 1;
  } catch (error) {
    // Another writer was faster: the item is gone, or changed too often.
    if (!(error instanceof KeyfoldError) || !["item-not-found", "update-contended"].includes(error.code)) throw error;
    counts.overtaken += 1;
  }
};
await Promise.all(Array.from({ length: 8 }, async () => { while (Date.now() < until) await write(); }));
console.log(`Node wrote beside the retrofit: ${JSON.stringify(counts)}`);
if (!counts.put || !counts.update || !counts.delete) process.exit(1);
