#!/usr/bin/env python3
"""A shop in one table, from `keyfold init` to an index in place, by the documented commands alone.

Usage: python3 tests/messy/shop.py FOLDER, which has `keyfold` and the functions. Standard library only. KEYFOLD_SEED repeats the
choices of a run as far as the machine allows, KEYFOLD_ITEMS sets how many items there are.

The application (`shop_items.py`) knows nothing of Keyfold and writes all the time. It notes what it wrote; the rules below say which
keys are announced. Each item of each table is compared with that, attribute by attribute: nothing else may have changed.
"""

import os
import pathlib
import random
import sys
import tempfile
import time

import shop_items
from programs import Programs
from shop_items import text

ITEMS = int(os.environ.get("KEYFOLD_ITEMS", 20_000))
PORT = 8768
SETTLE_SECONDS = 90
WRITE_SECONDS = 3
INDEX = "byCustomerIdStatus"
SAY = time.monotonic()

# The table as it was before Keyfold: keys, index and TTL.
BEFORE = """
[tables.Shop]
partition = "PK"
sort = "SK"
ttl = "expiresAt"
attributes = { PK = "string", SK = "string", GSI1PK = "string", GSI1SK = "string", expiresAt = "number" }
indexes.GSI1 = { type = "global", partition = "GSI1PK", sort = "GSI1SK" }
"""


def say(what):
    print(f"{time.monotonic() - SAY:6.1f} s  {what}", flush=True)


def same(value):
    """A value so that equal ones are equal: a set has no order."""
    if isinstance(value, dict):
        return {name: sorted(held) if name in ("SS", "NS", "BS") else same(held) for name, held in value.items()}
    return value


def folded(item):
    """The keys that the new index announces: `customerId` and `status`, where an item has both. An id that stands in the key counts."""
    owner = item.get("customerId") or (text(item["PK"]["S"].split("#")[1]) if item["PK"]["S"].startswith("CUSTOMER#") else None)
    if owner is None or "status" not in item:
        return {}
    return {f"{INDEX}_pk": text(f"{owner['S']}#{item['status']['S']}")}


def differences(found, wanted):
    """Attribute by attribute."""
    said = []
    for name in found.keys() | wanted.keys():
        one, other = found.get(name, {}), wanted.get(name, {})
        said += [f"{name}: `{attribute}` is {one.get(attribute)} instead of {other.get(attribute)}"
                 for attribute in one.keys() | other.keys() if one.get(attribute) != other.get(attribute)]
    return said


class Shop:
    def __init__(self, programs, folder, seed):
        self.programs, self.folder, self.dynamo = programs, folder, programs.dynamo
        self.truth = shop_items.shop(ITEMS, random.Random(seed))
        self.dynamo.load("Shop", self.truth.values())
        untyped = sum("type" not in item for item in self.truth.values())
        say(f"{len(self.truth)} items, {untyped} without `type`")

    def compared(self, table, of):
        """Waits until the table holds what was written, changed as announced, as long as the replicator may take."""
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            found = {shop_items.key(item): same(item) for item in self.dynamo.items(table)}
            wanted = [of(item) for item in self.truth.values()]
            said = differences(found, {shop_items.key(item): same(item) for item in wanted})
            if not said:
                return len(found)
            assert time.monotonic() < until, f"{table}: {len(said)} differences\n" + "\n".join(said[:10])
            time.sleep(0.5)

    def described(self):
        """`init` writes the manifest from the live table, and its proof holds."""
        report = self.programs.said("init", "--table", "Shop", "--out", str(self.folder / "keyfold.toml"), "--force")
        self.programs.manifest = self.folder / "keyfold.toml"
        manifest = self.programs.manifest.read_text()
        for entity in ("Customer", "Order", "Line", "Shipment", "Cart"):
            assert f"[tables.Shop.entities.{entity}]" in manifest, manifest
        assert "when = { type" not in manifest, "`type` is missing in some items: the keys tell the entities apart"
        self.programs.said("check")
        say(f"init: five entities, told apart by their keys; {report.get('sample', {}).get('items')} items sampled")

    def in_place(self):
        added = self.programs.said("init", "--new-index", "customerId, status / placedAt")
        assert added["index"] == INDEX and added["retrofit"], added
        self.again()
        self.programs.said("index", "add", "Shop", "--all")
        name = added["retrofit"]
        self.programs.keyfold("plan", name)
        self.programs.keyfold("run", name)
        time.sleep(WRITE_SECONDS)
        self.programs.keyfold("run", name)
        self.programs.keyfold("switch", name)
        self.application.hold()
        count = self.compared("Shop", lambda item: {**item, **folded(item)})
        keys = sum(bool(folded(item)) for item in self.truth.values())
        say(f"in place: {count} items are as they were, and {keys} have the announced key of {INDEX}")
        self.programs.keyfold("finish", name)
        self.compared("Shop", lambda item: {**item, **folded(item)})
        self.application.go()

    def again(self):
        """The programs with the manifest of today."""
        self.programs.end()
        self.programs.start()

    def run(self, seed):
        self.application = shop_items.Application(self.dynamo, self.truth, seed, lambda item: ("Shop", item, {name: item[name] for name in ("PK", "SK")}))
        try:
            self.described()
            self.in_place()
        finally:
            writes = self.application.end()
        say(f"{writes} writes of the application meanwhile")


def main(folder):
    seed = int(os.environ.get("KEYFOLD_SEED", random.randrange(10**6)))
    say(f"KEYFOLD_SEED={seed} KEYFOLD_ITEMS={ITEMS}")
    with tempfile.TemporaryDirectory() as temporary, open(f"{temporary}/log", "w+") as log:
        temporary = pathlib.Path(temporary)
        (temporary / "before.toml").write_text(BEFORE)
        programs = Programs(folder, log, PORT, seed, temporary / "before.toml", temporary / "data")
        try:
            Shop(programs, temporary, seed).run(seed)
        except BaseException:
            log.seek(0)
            print(log.read()[-3000:], file=sys.stderr)
            raise
        finally:
            programs.end()


main(pathlib.Path(sys.argv[1]).resolve())
