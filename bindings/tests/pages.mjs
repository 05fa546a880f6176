// Compares every page of the answers to random requests with Rust's: node pages.mjs PACKAGE ENDPOINT < LINES, where the lines are what
// `answers` of tests/models printed for the same endpoint.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { canonical, rawItem, runtime } from "./raw.mjs";

const [, , folder, endpoint] = process.argv;
const { KeyfoldError, load } = await import(pathToFileURL(`${folder}/node.js`));
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });

const asked = async (keyfold, request) => {
  try {
    return await keyfold.query(client, request, { foldedKeys: true });
  } catch (error) {
    // Other errors are DynamoDB's refusals.
    if (!(error instanceof KeyfoldError) && !error.$metadata) throw error;
    return { code: error instanceof KeyfoldError ? error.code : "dynamo" };
  }
};

const counts = { models: 0, pages: 0, items: 0, refused: 0 };
for await (const line of createInterface({ input: process.stdin })) {
  const { seed, manifest, request, pages } = JSON.parse(line);
  const keyfold = await load(manifest);
  counts.models += 1;
  let page;
  for (const [number, rust] of pages.entries()) {
    const ours = await asked(keyfold, page ? { ...request, page } : request);
    const theirs = rust.items ? { ...rust, items: rust.items.map(rawItem) } : rust;
    if (!theirs.page) delete theirs.page;
    delete ours.plan;
    if (canonical(ours) !== canonical(theirs)) {
      console.error(`seed ${seed}, page ${number}:\n${runtime} ${canonical(ours)}\nRust ${canonical(theirs)}\n${manifest}\n${JSON.stringify(request)}`);
      process.exit(1);
    }
    counts.pages += 1;
    counts.items += rust.items?.length ?? 0;
    counts.refused += rust.code ? 1 : 0;
    ({ page } = ours);
  }
}
console.log(`${runtime}: ${counts.models} models asked, ${counts.pages} pages with ${counts.items} items as in Rust, ${counts.refused} refusals`);
if (counts.items === 0) process.exit(1);
client.destroy();
