"""Writes and asks the sample's table through `keyfold local`, and compares each answer with the command's:
python answers.py MANIFEST ENDPOINT KEYFOLD"""

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import boto3

import keyfold

manifest, endpoint, command = sys.argv[1:]
tables = keyfold.load(Path(manifest).read_text(encoding="utf-8"))
access = dict(endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)
audit = boto3.resource("dynamodb", **access)


def refused(code, call):
    try:
        call()
    except keyfold.KeyfoldError as error:
        assert error.code == code, (error.code, code, error.message)
        return
    raise AssertionError(f"not refused with {code}")


def send(arguments, method):
    table = audit.Table(arguments.pop("TableName"))
    return getattr(table, method)(**arguments)


refused("invalid-manifest", lambda: keyfold.load("nonsense ="))
refused("unknown-table", lambda: tables.put("nothing", {}))
refused("item-attribute-required", lambda: tables.put("audit", {"id": "1"}))
refused("unknown-attribute", lambda: tables.plan({"table": "audit", "where": {"nothing": 1}}))
refused("bad-page-token", lambda: tables.query(client, {"table": "audit", "where": {"id": "1"}, "page": "forged"}))

actions = ["viewed", "edited", "deleted"]
digits = ["12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678", "7", "-1.5"]
for at in range(240):
    item = {
        "id": f"python-{at}",
        "resourceId": f"p{at % 3}",
        "action": actions[at % 2],
        "accessedBy": f"joe{at % 2}",
        "timestamp": f"2017-0{1 + at % 9}-01T00:00:00.{at:03}",
        "amount": Decimal(digits[at % len(digits)]),
    }
    send(tables.put("audit", item, if_absent=True), "put_item")

refused("update-needs-reading", lambda: tables.update("audit", {"id": "python-1"}, set={"action": "viewed"}))
assert tables.update_item(client, "audit", {"id": "python-1"}, set={"action": "deleted"}) == {"attempts": 1}
send(tables.update("audit", {"id": "python-2"}, set={"note": "x"}), "update_item")
known = {"resourceId": "p0", "accessedBy": "joe1", "timestamp": "2017-04-01T00:00:00.003"}
send(tables.update("audit", {"id": "python-3"}, set={"action": "deleted"}, expecting=known), "update_item")
refused("item-not-found", lambda: tables.update_item(client, "audit", {"id": "none"}, set={"action": "viewed"}))
send(tables.delete("audit", {"id": "python-4"}, expecting={"action": "viewed"}), "delete_item")


def ask(request):
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    arguments = ["--manifest", manifest, "--json", "query", "--endpoint", endpoint, "--all", "--request", json.dumps(request)]
    done = subprocess.run([command, *arguments], check=True, capture_output=True, env=environment)
    return json.loads(done.stdout, parse_float=str, parse_int=str)


def plain(item):
    return {name: str(value) if isinstance(value, Decimal) else value for name, value in item.items()}


requests = [
    {"table": "audit", "where": {"resourceId": "p0", "action": "viewed", "accessedBy": "joe0"}, "order": "timestamp"},
    {"table": "audit", "where": {"resourceId": "p0", "action": "viewed", "accessedBy": "joe0"}, "order": "-timestamp", "limit": 7},
    {
        "table": "audit",
        "where": {"resourceId": "p1", "action": {"in": actions}, "accessedBy": {"in": ["joe0", "joe1"]}},
        "order": "timestamp",
        "limit": 9,
    },
    {"table": "audit", "where": {"id": {"in": ["python-1", "python-4", "python-5"]}}},
    {"table": "audit", "where": {"timestamp": {"beginsWith": "2017-03"}}, "scan": True, "limit": 5},
]
items = 0
for request in requests:
    ours = [plain(item) for item in tables.items(client, request, folded_keys=True)]
    theirs = ask(request)
    assert ours == theirs["items"], (request, ours[:2], theirs["items"][:2])
    items += len(ours)
assert items > 150, items
print(f"Python: {len(requests)} questions over {items} items answered as the command answers them")
