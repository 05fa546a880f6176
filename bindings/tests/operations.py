"""Does what `operations` of keyfold-testkit drew, and compares each outcome and the items at the end with Rust's:
python operations.py ENDPOINT < LINES"""

import json
import sys
from decimal import Context, Decimal

import boto3

import keyfold
from vectors import canonical, raw_item

access = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)


def create(name, key, first):
    """A table with only a primary key."""
    types = [{"AttributeName": one, "AttributeType": next(iter(first[one]))} for one in key]
    schema = [{"AttributeName": one, "KeyType": kind} for one, kind in zip(key, ("HASH", "RANGE"))]
    client.create_table(TableName=name, AttributeDefinitions=types, KeySchema=schema, BillingMode="PAY_PER_REQUEST")


def arguments(tables, table, kind, content):
    if kind == "put":
        return tables.put(table, content, plain=True)
    if kind == "create":
        return tables.put(table, content, if_absent=True, plain=True)
    if kind == "update":
        return tables.update(table, content["key"], set=content["set"], stored=content["stored"], plain=True)
    return tables.delete(table, content, plain=True)


def raw(write):
    ((kind, content),) = write.items()
    return kind, {name: raw_item(item) for name, item in content.items()} if kind == "update" else raw_item(content)


def one(tables, table, kind, content):
    if kind == "put":
        tables.put_item(client, table, content, plain=True)
    elif kind == "update":
        tables.update_item(client, table, content["key"], set=content["set"], plain=True)
    else:
        tables.delete_item(client, table, content, plain=True)


def outcome_of(tables, table, operation):
    given = [raw(write) for write in operation["writes"]]
    try:
        if operation["operation"] == "write":
            one(tables, table, *given[0])
        else:
            send = tables.batch_write if operation["operation"] == "batch" else tables.transact
            send(client, [arguments(tables, table, *write) for write in given])
    except keyfold.KeyfoldError as error:
        return error.code
    except client.exceptions.TransactionCanceledException:
        return "cancelled"
    return "done"


def in_full(text):
    """One text for a number: DynamoDB writes `1E-130` in full."""
    return str(Decimal(text).normalize(Context(prec=40))) if Decimal(text) else "0"


def ordered(value):
    """One form for a value. The elements of a set have no order."""
    ((kind, content),) = value.items()
    if kind == "M":
        return ordered_item(content)
    if kind == "L":
        return [ordered(one) for one in content]
    if kind in ("N", "NS"):
        content = in_full(content) if kind == "N" else [in_full(one) for one in content]
    return {kind: sorted(map(canonical, content)) if kind in ("SS", "NS", "BS") else content}


def ordered_item(item):
    return {name: ordered(value) for name, value in item.items()}


def in_order(items):
    return sorted(canonical(ordered_item(item)) for item in items)


def same(seed, what, ours, rust):
    if canonical(ours) != canonical(rust):
        sys.exit(f"seed {seed}, {what}:\nPython {canonical(ours)}\nRust {canonical(rust)}")


models = operations = writes = refused = items = 0
for line in sys.stdin:
    case = json.loads(line)
    seed, table, name = case["seed"], case["table"], f"operations-Python-{case['seed']}"
    tables = keyfold.load(case["manifest"].replace("tableOfTheCase", name, 1))
    kind, content = raw(case["operations"][0]["writes"][0])
    create(name, case["key"], content if kind == "delete" else tables.key_of(table, content, plain=True))
    for number, operation in enumerate(case["operations"]):
        same(seed, f"operation {number}", outcome_of(tables, table, operation), operation["outcome"])
        operations += 1
        writes += len(operation["writes"])
        refused += operation["outcome"] != "done"
    stored = client.scan(TableName=name, ConsistentRead=True)["Items"]
    same(seed, "the items at the end", in_order(stored), in_order(map(raw_item, case["after"])))
    client.delete_table(TableName=name)
    models += 1
    items += len(stored)
print(f"Python: {operations} operations with {writes} writes on {models} tables as in Rust, {refused} refused; {items} items at the end")
if items == 0 or refused == 0:
    sys.exit(1)
