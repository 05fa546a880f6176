// A Lambda function in Node: writes an event with its folded keys, and answers who viewed a resource.
// The table is that of keyfold.toml; `keyfold local` has it on your machine (AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000).
import { readFileSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { KeyfoldError, load } from "keyfold";

const client = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const keyfold = await load(readFileSync(process.env.KEYFOLD_MANIFEST ?? "keyfold.toml", "utf8"));

export const handler = async ({ write, ask }) => {
  try {
    if (write) {
      await client.send(new PutCommand(keyfold.put("audit", write)));
      return { statusCode: 201 };
    }
    const { resourceId, accessedBy } = ask;
    const where = { resourceId, action: "viewed", accessedBy };
    const answer = await keyfold.query(client, { table: "audit", where, order: "-timestamp", limit: 20 });
    return { statusCode: 200, body: JSON.stringify(answer.items) };
  } catch (error) {
    if (!(error instanceof KeyfoldError)) throw error;
    return { statusCode: 400, body: JSON.stringify({ code: error.code, message: error.message, hint: error.hint }) };
  }
};
