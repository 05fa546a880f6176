// Runs a scenario in an application: node driver.mjs APPLICATION SCENARIO ENDPOINT. Prints the result of each call.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";

const [, , application, scenario, endpoint] = process.argv;
const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
const shop = (await import(pathToFileURL(application))).openShop(client);

/** The image that a stream delivers after a writer has changed an attribute without its keys. */
const imageAfter = async (Key, [name, value]) => {
  const update = { TableName: "Shop", Key, UpdateExpression: "SET #a = :v", ExpressionAttributeNames: { "#a": name }, ExpressionAttributeValues: { ":v": value } };
  await client.send(new UpdateItemCommand(update));
  return (await client.send(new GetItemCommand({ TableName: "Shop", Key, ConsistentRead: true }))).Item;
};

const pages = async (size) => {
  const found = [];
  let next;
  do {
    const page = await shop.openOrdersPage(size, next);
    found.push(page.items);
    next = page.next;
  } while (next !== undefined);
  return found;
};

for (const [method, ...input] of JSON.parse(readFileSync(scenario, "utf8"))) {
  let result;
  if (method === "openOrdersPage") result = await pages(...input);
  else if (method === "repair") result = await shop.repair(await imageAfter(...input));
  else result = await shop[method](...input);
  console.log(JSON.stringify([method, result ?? null]));
}
client.destroy();
