"""A script in Python: writes an event with its folded keys, and asks who viewed a resource.

The table is that of keyfold.toml; `keyfold local` has it on your machine (AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000).
"""

import os
from pathlib import Path

import boto3

import keyfold

tables = keyfold.load(Path(os.environ.get("KEYFOLD_MANIFEST", "keyfold.toml")).read_text(encoding="utf-8"))
client = boto3.client("dynamodb")

event = {
    "id": "script-1",
    "resourceId": "123bbb",
    "action": "viewed",
    "accessedBy": "ann",
    "timestamp": "2017-03-05T10:00:00.000",
}
arguments = tables.put("audit", event)
boto3.resource("dynamodb").Table(arguments.pop("TableName")).put_item(**arguments)

where = {"resourceId": "123bbb", "action": "viewed", "accessedBy": "ann"}
for item in tables.items(client, {"table": "audit", "where": where, "order": "-timestamp"}):
    print(item["timestamp"], item["accessedBy"])
