"""Compares the wheel with what Rust makes of random models: python vectors.py < LINES"""

import base64
import json
import sys

import keyfold


def canonical(value):
    return json.dumps(value, sort_keys=True, default=list)


def raw(value):
    """Values as boto3's client has them: bytes are bytes."""
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": base64.b64decode(content)}
    if kind == "BS":
        return {"BS": [base64.b64decode(one) for one in content]}
    if kind == "L":
        return {"L": [raw(one) for one in content]}
    return {"M": raw_item(content)} if kind == "M" else value


def raw_item(item):
    return {name: raw(value) for name, value in item.items()}


def attempt(call):
    try:
        return call()
    except keyfold.KeyfoldError as error:
        return {"code": error.code, "message": error.message}


compared = 0


def same(seed, what, ours, rust):
    global compared
    compared += 1
    if canonical(ours) != canonical(rust):
        sys.exit(f"seed {seed}, {what}:\nPython {canonical(ours)}\nRust {canonical(rust)}")


FIELDS = ("UpdateExpression", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")


def shown(update):
    if "code" in update:
        return update
    return {field: update.get(field, {}) for field in FIELDS}


def main():
    cases = 0
    for line in sys.stdin:
        vector = json.loads(line)
        seed, table, tables = vector["seed"], vector["table"], keyfold.load(vector["manifest"])
        for item in vector["items"]:
            item["item"] = raw_item(item["item"])
            if "stored" in item:
                item["stored"] = raw_item(item["stored"])
                item["key"] = item["key"] if isinstance(item["key"], str) else raw_item(item["key"])
                for entry in item["entries"]:
                    if "entry" in entry:
                        entry["entry"] = raw_item(entry["entry"])
                same(seed, "fold", tables.fold(table, item["item"], plain=True), item["stored"])
                same(seed, "key", tables.key_of(table, item["item"], plain=True), item["key"])
                same(seed, "entries", tables.entries_of(table, item["item"], plain=True), item["entries"])
            put = attempt(lambda: tables.put(table, item["item"], plain=True))
            same(seed, "put", put.get("Item", put), item.get("stored") or {"code": item["code"], "message": item["message"]})
        for one in vector["updates"]:
            for field in ("key", "set", "stored"):
                one[field] = raw_item(one[field])
            for told in (one["unread"], one["read"]):
                if "code" not in told:
                    told["ExpressionAttributeValues"] = raw_item(told["ExpressionAttributeValues"])
            unread = attempt(lambda: tables.update(table, one["key"], set=one["set"], plain=True))
            same(seed, "update", shown(unread), one["unread"])
            read = attempt(lambda: tables.update(table, one["key"], set=one["set"], stored=one["stored"], plain=True))
            same(seed, "update of what was read", shown(read), one["read"])
        expected = vector["plan"]
        same(seed, "explanation", attempt(lambda: tables.explain(vector["request"])), expected)
        plan = attempt(lambda: tables.plan(vector["request"]))
        if "code" in expected:
            same(seed, "plan", plan, expected)
        else:
            same(seed, "reads", len(plan.pop("requests")), len(expected["reads"]) + expected.get("furtherReads", 0))
            same(seed, "plan", plan, {name: expected[name] for name in ("table", "estimatedReadUnits")})
        cases += 1
    print(f"Python: {cases} models, {compared} comparisons, no difference")
    if cases == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
