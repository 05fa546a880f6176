"""A script in Python: writes an event with its folded keys, and asks who viewed a resource.

The table is that of keyfold.toml; `keyfold local` has it on your machine (AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000).
"""

import os
from pathlib import Path

import boto3

import keyfold

tables = keyfold.load(Path(os.environ.get("KEYFOLD_MANIFEST", "keyfold.toml")))
client = boto3.client("dynamodb")

event = {
    "id": "script-1",
    "resourceId": "123bbb",
    "action": "viewed",
    "accessedBy": "ann",
    "timestamp": "2017-03-05T10:00:00.000",
}
tables.put_item(client, "audit", event)

asked = {"resourceId": "123bbb", "action": "viewed", "accessedBy": "ann"}
for item in tables.ask(client, "whenDidUserActOnResource", asked):
    print(item["timestamp"], item["accessedBy"])
