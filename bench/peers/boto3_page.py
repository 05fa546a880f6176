"""The CPU of a page of 20 in Python: by Keyfold with a client of boto3, by a table of boto3, and by that client alone.

The three take turns of 25 pages. The table is that of MANIFEST, bench/peers/packages.toml.

    keyfold --manifest MANIFEST local --port PORT & boto3_page.py MANIFEST http://127.0.0.1:PORT [TURNS]
"""

import statistics
import sys
import time

import boto3
import keyfold
from boto3.dynamodb.conditions import Attr, Key

ITEMS = 20
PAGES = 25
EVENT = {"resourceId": "peer", "action": "viewed", "accessedBy": "joe"}
KEY = "event#peer#viewed#joe"
INDEX = "byResourceActionUser"

manifest, endpoint = sys.argv[1:3]
turns = int(sys.argv[3]) if len(sys.argv) > 3 else 60
access = {"endpoint_url": endpoint, "region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
client = boto3.client("dynamodb", **access)
table = boto3.resource("dynamodb", **access).Table("benchPackages")
tables = keyfold.load(open(manifest).read())
events = [
    {"kind": "event", "id": f"page-{number:02}", "timestamp": f"2017-05-01T00:00:{number:02}.000Z", **EVENT}
    for number in range(ITEMS)
]
tables.batch_write(client, [tables.put("audit", event) for event in events])


def by_keyfold():
    where = {"entity": "event", **EVENT}
    return next(tables.find(client, "audit", where, order="timestamp", limit=ITEMS).pages()).items


def by_table():
    return table.query(
        IndexName=INDEX,
        KeyConditionExpression=Key("gsi1pk").eq(KEY),
        FilterExpression=Attr("kind").eq("event"),
        Limit=ITEMS,
        ReturnConsumedCapacity="TOTAL",
    )["Items"]


def by_client():
    return client.query(
        TableName="benchPackages",
        IndexName=INDEX,
        KeyConditionExpression="gsi1pk = :key",
        FilterExpression="kind = :kind",
        ExpressionAttributeValues={":key": {"S": KEY}, ":kind": {"S": "event"}},
        Limit=ITEMS,
        ReturnConsumedCapacity="TOTAL",
    )["Items"]


ways = [by_keyfold, by_table, by_client]
taken = {way: [] for way in ways}
for turn in range(turns + 4):
    for way in ways:
        begun = time.process_time()
        for _ in range(PAGES):
            assert len(way()) == ITEMS
        # The first turns warm up.
        if turn >= 4:
            taken[way].append((time.process_time() - begun) / PAGES * 1e6)
of_table = statistics.median(taken[by_table])
for way in ways:
    median = statistics.median(taken[way])
    print(f"{way.__name__:<12} {median:6.0f} us of CPU a page, {median / of_table:.2f}x of a table of boto3")
