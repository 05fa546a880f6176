"""Bad input of every kind, to every function: each answer is a refusal with a code of the core or an exception of Python, and never
`internal`, which is what a panic becomes: python hostile.py MANIFEST"""

import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path

import keyfold

tables = keyfold.load(Path(sys.argv[1]).read_text(encoding="utf-8"))
event = {"id": "1", "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1", "timestamp": "2017-03-01T08:00:00Z"}


def nested(depth, wrap):
    return reduce(lambda inner, _: wrap(inner), range(depth), "x")


bad = [
    None, True, 0, -0.0, float("nan"), 1e400, 2**200, Decimal("NaN"), Decimal("1e9999"), "", "x", "\ud800", "\0", "x" * 1_100_000,
    datetime.min, set(), {1, "a"}, {""}, [], [[]], {}, {"N": "x"}, {"N": "9" * 1000}, {"S": 1}, {1: 2}, {"a": object()}, b"", b"x" * 50_000,
    object(), len, nested(200, lambda inner: [inner]), nested(200, lambda inner: {"M": {"a": inner}}),
    nested(200, lambda inner: {"not": inner}), nested(50_000, lambda inner: [inner]), [{"id": "1"}] * 2000,
    {f"a{at}": at for at in range(2000)}, {"in": ["x"] * 1000}, {"between": [1]},
]
names = ["id", "resourceId", "action", "timestamp", "keyfold_fence", "byResourceActionUser_pk", "", "x" * 70_000]
fields = ["table", "entity", "where", "order", "limit", "select", "page", "readUnitsMax", "sortInMemory"]


class Client:
    """Answers every read with nothing."""

    def query(self, **arguments):
        return {}

    scan = get_item = batch_get_item = batch_write_item = transact_write_items = query


def calls():
    for one in bad:
        yield lambda: keyfold.load(one)
        yield lambda: tables.unfold("audit", one)
        for plain in (True, False):
            yield lambda: tables.fold("audit", one, plain=plain)
            yield lambda: tables.put(one, event, plain=plain)
            yield lambda: tables.key_of("audit", one, plain=plain)
            yield lambda: tables.entries_of("audit", one, plain=plain)
            yield lambda: tables.update("audit", one, set=one, plain=plain)
            yield lambda: tables.update("audit", {"id": "1"}, set={"note": one}, remove=one, expecting=one, stored=one, plain=plain)
            yield lambda: tables.delete("audit", one, expecting=one, plain=plain)
            for option in ("condition", "entity", "add", "append", "set_if_absent"):
                yield lambda: tables.update("audit", {"id": "1"}, **{option: one}, plain=plain)
            yield lambda: tables.repair("audit", one, plain=plain)
            yield lambda: tables.get(Client(), "audit", one, plain=plain)
        yield lambda: tables.ask(Client(), one, one).all()
        yield lambda: tables.ask(Client(), "getEvent", {"id": one}).all()
        yield lambda: tables.batch_write(Client(), one)
        yield lambda: tables.transact(Client(), [one])
        yield lambda: tables.plan(one)
        for field in fields:
            yield lambda: tables.plan({"table": "audit", "where": {"id": "1"}, field: one})
            yield lambda: tables.query(Client(), {"table": "audit", "where": {"id": "1"}, field: one})
        for name in names:
            yield lambda: tables.put("audit", {**event, name: one})
            yield lambda: tables.plan({"table": "audit", "where": {name: one}})
            yield lambda: tables.update("audit", {"id": "1"}, set={name: one})


NATIVE = (TypeError, ValueError, RecursionError)
asked, codes = 0, Counter()
for call in calls():
    asked += 1
    try:
        call()
    except keyfold.KeyfoldError as error:
        assert error.code != "internal" and error.message, (error.code, error.message)
        codes[error.code] += 1
    except NATIVE as error:
        codes[type(error).__name__] += 1
assert asked > 2000 and len(codes) > 8, (asked, codes)
assert tables.put("audit", event)["Item"]["byResourceActionUser_pk"] == "123bbb-viewed-joe1"
print(f"Python: {asked} bad calls, {len(codes)} kinds of refusal, no panic")
