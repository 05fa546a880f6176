"""Writes at full speed with folded keys, beside a retrofit: python writers.py MANIFEST ENDPOINT SECONDS"""

import random
import sys
import time
from pathlib import Path

import boto3

import keyfold

manifest, endpoint, seconds = sys.argv[1:]
OLD_ITEMS = 2000
tables = keyfold.load(Path(manifest).read_text(encoding="utf-8"))
access = dict(endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)
audit = boto3.resource("dynamodb", **access)


def send(arguments, method):
    getattr(audit.Table(arguments.pop("TableName")), method)(**arguments)


def event(id):
    return {
        "id": id,
        "resourceId": random.choice(["123bbb", "456-b", "r-1"]),
        "action": random.choice(["viewed", "edited", "deleted"]),
        "accessedBy": random.choice(["joe1", "jane2", "b-b"]),
        "timestamp": f"2017-03-{random.randint(1, 28):02}T10:00:00.000",
    }


counts = {"put": 0, "update": 0, "delete": 0, "overtaken": 0}
until = time.monotonic() + float(seconds)
while time.monotonic() < until:
    id = f"old-{random.randrange(OLD_ITEMS)}"
    kind = random.choice(["put", "update", "update", "delete"])
    try:
        if kind == "put":
            send(tables.put("audit", event(id)), "put_item")
        elif kind == "update":
            tables.update_item(client, "audit", {"id": id}, set={"action": random.choice(["viewed", "edited"])})
        else:
            send(tables.delete("audit", {"id": id}), "delete_item")
        counts[kind] += 1
    except keyfold.KeyfoldError as error:
        # Another writer was faster: the item is gone, or changed too often.
        if error.code not in ("item-not-found", "update-contended"):
            raise
        counts["overtaken"] += 1
print(f"Python wrote beside the retrofit: {counts}")
sys.exit(not (counts["put"] and counts["update"] and counts["delete"]))
