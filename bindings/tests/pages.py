"""Compares every page of the answers to random requests with Rust's: python pages.py ENDPOINT < LINES, where the lines are what
`answers` of tests/models printed for the same endpoint."""

import json
import sys

import boto3
import botocore.exceptions

import keyfold
from vectors import canonical, raw_item

access = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)


def asked(tables, request):
    try:
        return tables.query(client, request, folded_keys=True, plain=True)
    except keyfold.KeyfoldError as error:
        return {"code": error.code}
    except botocore.exceptions.ClientError:
        return {"code": "dynamo"}


models = pages = items = refused = 0
for line in sys.stdin:
    case = json.loads(line)
    tables = keyfold.load(case["manifest"])
    models += 1
    page = None
    for number, rust in enumerate(case["pages"]):
        ours = asked(tables, {**case["request"], "page": page} if page else case["request"])
        ours.pop("plan", None)
        if rust.get("page") is None:
            rust.pop("page", None)
        if "items" in rust:
            rust["items"] = [raw_item(item) for item in rust["items"]]
        if canonical(ours) != canonical(rust):
            sys.exit(f"seed {case['seed']}, page {number}:\nPython {canonical(ours)}\nRust {canonical(rust)}")
        pages += 1
        items += len(rust.get("items", []))
        refused += "code" in rust
        page = ours.get("page")
print(f"Python: {models} models asked, {pages} pages with {items} items as in Rust, {refused} refusals")
if items == 0:
    sys.exit(1)
