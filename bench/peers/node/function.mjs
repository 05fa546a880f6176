// The question of the sample, "when did this user act on this resource?", with ElectroDB: an HTTP API's event in, its
// answer out. Everything that outlives an invocation is made when the module is loaded.

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity } from "electrodb";

const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({ endpoint: process.env.KEYFOLD_ENDPOINT || undefined }),
);

const event = new Entity(
  {
    model: { entity: "event", version: "1", service: "audit" },
    attributes: {
      id: { type: "string", required: true },
      resourceId: { type: "string", required: true },
      resourceName: { type: "string" },
      action: { type: ["viewed", "edited", "deleted"], required: true },
      accessedBy: { type: "string", required: true },
      timestamp: { type: "string", required: true },
      note: { type: "string" },
    },
    indexes: {
      byId: { pk: { field: "id", composite: ["id"], template: "${id}", casing: "none" } },
      byResourceActionUser: {
        index: "byResourceActionUser",
        pk: {
          field: "byResourceActionUser_pk",
          composite: ["resourceId", "action", "accessedBy"],
          template: "${resourceId}-${action}-${accessedBy}",
          casing: "none",
        },
        sk: { field: "timestamp", composite: ["timestamp"], template: "${timestamp}", casing: "none" },
      },
    },
  },
  { client, table: "ResourceAccessAuditV2" },
);

export async function handler(request) {
  const { where, limit } = JSON.parse(request.body);
  const { resourceId, action, accessedBy } = where;
  const query = event.query.byResourceActionUser({ resourceId, action, accessedBy });
  const found = await query
    .begins({ timestamp: where.timestamp.beginsWith })
    .go({ limit, order: "asc", ignoreOwnership: true });
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ items: found.data, count: found.data.length }),
  };
}
