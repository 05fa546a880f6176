#!/usr/bin/env python3
"""A shop in one table: from `keyfold init` to an index in place, and into a new single-table design, by the documented commands alone.

Usage: python3 tests/messy/shop.py FOLDER [in_place | moved | moved_keys]. FOLDER has `keyfold` and the functions. Standard library only. KEYFOLD_SEED repeats the
choices of a run as far as the machine allows, KEYFOLD_ITEMS sets how many items there are.

The application (`shop_items.py`) knows nothing of Keyfold and writes all the time. It notes what it wrote; the rules below say which
keys are announced. Each item of each table is compared with that, attribute by attribute: nothing else may have changed.

The new design has other keys for each entity, and another overloaded index. The application moves there, back, and there again; the table
that it left follows all the time. In a second new design the state of an order is in its key, which moves with it: there, too, it moves
there and back, and then for good.
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
# The attributes that the retrofit keeps on items until it is finished.
OWN = ("keyfold_fence", "keyfold_tombstone", "keyfold_source", "keyfold_removing", "keyfold_place")
RETROFIT = "renewed"

# The table as it was before Keyfold: keys, index and TTL.
BEFORE = """
[tables.Shop]
partition = "PK"
sort = "SK"
ttl = "expiresAt"
attributes = { PK = "string", SK = "string", GSI1PK = "string", GSI1SK = "string", expiresAt = "number" }
indexes.GSI1 = { type = "global", partition = "GSI1PK", sort = "GSI1SK" }
"""

# The new design, which is added to the manifest of `init`. It has the same entities.
NEW = """
[tables.NewShop]
partition = { attribute = "pk" }
sort = { attribute = "sk" }
ttl = "expiresAt"
attributes = { note = "string", type = "string" }
indexes.byState = { partition = { attribute = "statePk" }, sort = { attribute = "stateSk" } }
[tables.NewShop.entities.Customer]
when = { sk = { begins-with = "profile" }, email = { exists = true } }
partition = "customer/{customerId}"
sort = "profile"
indexes.byState = { partition = "mail/{email}", sort = "{customerId}" }
[tables.NewShop.entities.Customer.attributes]
customerId = { type = "string", from-key = true }
email = { type = "string", required = true }
joinedAt = { type = "timestamp", precision = "s" }
name = "string"
[tables.NewShop.entities.CustomerNotInGSI1]
when = { sk = { begins-with = "profile" }, email = { exists = false } }
partition = "customer/{customerId}"
sort = "profile"
[tables.NewShop.entities.CustomerNotInGSI1.attributes]
customerId = { type = "string", from-key = true }
email = "string"
joinedAt = { type = "timestamp", precision = "s" }
name = "string"
[tables.NewShop.entities.Order]
partition = "customer/{customerId}"
sort = "order/{orderId}"
indexes.byState = { partition = "state/{status}", sort = "{orderId}" }
[tables.NewShop.entities.Order.attributes]
customerId = { type = "string", required = true }
orderId = { type = "string", required = true }
placedAt = { type = "timestamp", precision = "s", required = true }
status = { type = "string", required = true }
[tables.NewShop.entities.Cart]
partition = "customer/{customerId}"
sort = "cart/{cartId}"
[tables.NewShop.entities.Cart.attributes]
cartId = { type = "string", from-key = true }
content = "map"
customerId = { type = "string", from-key = true }
expiresAt = "number"
[tables.NewShop.entities.Line]
partition = "line/{orderId}"
sort = "line/{lineId}"
[tables.NewShop.entities.Line.attributes]
lineId = { type = "string", from-key = true }
orderId = { type = "string", from-key = true }
productId = { type = "string", required = true }
quantity = "number"
[tables.NewShop.entities.Shipment]
partition = "shipment/{shipmentId}/{orderId}"
sort = "shipment"
indexes.byState = { partition = "carrier/{carrier}", sort = "{shipmentId}" }
[tables.NewShop.entities.Shipment.attributes]
carrier = { type = "string", required = true }
orderId = { type = "string", from-key = true }
parcels = "list"
sentAt = { type = "timestamp", precision = "s", required = true }
shipmentId = { type = "string", from-key = true }

[retrofits.renewed]
from = "Shop"
to = "NewShop"
drop = ["PK", "SK", "GSI1PK", "GSI1SK"]
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


ORDER, MOVING_ORDER = 'sort = "order/{orderId}"', 'sort = "order/{status}/{orderId}"'


def moving(item):
    """The item as the second new design has it."""
    stored = renewed(item)
    if item["SK"]["S"].startswith("ORDER#"):
        stored["sk"] = text(f"order/{item['status']['S']}/{item['orderId']['S']}")
    return stored


def renewed(item):
    """The item as the new design has it."""
    owner, (kind, *rest) = item["PK"]["S"].split("#")[1], item["SK"]["S"].split("#")
    own, keys = "".join(rest), {}
    if kind == "PROFILE":
        keys = {"pk": f"customer/{owner}", "sk": "profile"}
        if "email" in item:
            keys |= {"statePk": f"mail/{item['email']['S']}", "stateSk": owner}
    elif kind == "ORDER":
        keys = {"pk": f"customer/{owner}", "sk": f"order/{own}", "statePk": f"state/{item['status']['S']}", "stateSk": own}
    elif kind == "CART":
        keys = {"pk": f"customer/{owner}", "sk": f"cart/{own}"}
    elif kind == "LINE":
        keys = {"pk": f"line/{owner}", "sk": f"line/{own}"}
    elif kind == "SHIPMENT":
        keys = {"pk": f"shipment/{own}/{owner}", "sk": "shipment", "statePk": f"carrier/{item['carrier']['S']}", "stateSk": own}
    old = ("PK", "SK", "GSI1PK", "GSI1SK")
    return {name: value for name, value in item.items() if name not in old} | {name: text(value) for name, value in keys.items()}


def key_in(table, item):
    return {name: item[name] for name in (("pk", "sk") if table == "NewShop" else ("PK", "SK"))}


def identity(item):
    """An item's key, in whichever table it is."""
    return tuple(item[name]["S"] for name in (("pk", "sk") if "pk" in item else ("PK", "SK")))


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

    def compared(self, table, of, marks=()):
        """Waits until the table holds what was written, changed as announced, as long as the replicator may take."""
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            stored = [item for item in self.dynamo.items(table) if not ("keyfold_tombstone" in item and "keyfold_tombstone" in marks)]
            found = [{name: value for name, value in item.items() if name not in marks} for item in stored]
            wanted = [of(item) for item in self.truth.values()]
            said = differences(*({identity(item): same(item) for item in side} for side in (found, wanted)))
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

    def designed(self, new):
        """Adds the new design to the manifest."""
        manifest = self.programs.manifest
        manifest.write_text(manifest.read_text() + new)
        self.programs.said("check")
        self.again()

    def moved(self):
        """Into the new design, back, and there again. The application writes all the time, but for the seconds of each switch."""
        self.designed(NEW)
        self.planned()
        self.filled()
        for table, words in (("NewShop", ()), ("Shop", ("--back",)), ("NewShop", ())):
            self.switched(table, *words)
            time.sleep(WRITE_SECONDS)
            self.both("after the switch to " + table, OWN)
        self.finished()

    def planned(self):
        """The way back exists, for every item."""
        plan = self.programs.keyfold("plan", RETROFIT, "--full")
        assert plan["noWayBack"] is None and plan["refused"] == 0, plan
        back = plan["thereAndBack"]
        assert not back["refused"] and not back["changes"] and not back["untried"], back
        say(f"plan: {plan['protocol']}; all of {plan['items']} items come back as they were")

    def moved_keys(self):
        """Into a design whose keys move, back, and there for good."""
        assert ORDER in NEW
        self.designed(NEW.replace(ORDER, MOVING_ORDER))
        self.planned()
        self.new = moving
        self.filled()
        for table, words in (("NewShop", ()), ("Shop", ("--back",))):
            self.switched(table, *words)
            time.sleep(WRITE_SECONDS)
            self.both("after the switch to " + table, OWN)
        self.switched("NewShop", "--for-good")
        time.sleep(WRITE_SECONDS)
        self.finished()

    def filled(self):
        """Backfilled and compared. While the application writes, a gate can be closed for a moment: `switch` looks again."""
        for _ in range(2):
            self.programs.keyfold("run", RETROFIT, codes=(0, 1))
            time.sleep(WRITE_SECONDS)

    def finished(self):
        self.programs.keyfold("finish", RETROFIT)
        self.application.hold()
        count = self.compared("NewShop", self.new)
        self.application.go()
        say(f"finished: all of {count} items agree in the new table, and no mark is left on them")

    def both(self, when, marks):
        """Nothing is lost or added in either table."""
        self.application.hold()
        count = self.compared("NewShop", self.new, marks)
        self.compared("Shop", lambda item: item, marks)
        self.application.go()
        say(f"{when}: all of {count} items agree in both tables, attribute by attribute")

    def switched(self, table, *words):
        """What can be done while the application writes is done first; then it stops, and goes on in the other table."""
        self.programs.keyfold("switch", RETROFIT, *words, codes=(0, 1))
        self.application.hold()
        held = time.monotonic()
        self.programs.keyfold("switch", RETROFIT, *words, "--writers", "attested")
        self.table = table
        say(f"the application writes to {table}; it stood still for {time.monotonic() - held:.1f} s")
        self.application.go()

    def placed(self, item):
        """Where the application writes an item now."""
        stored = self.new(item) if self.table == "NewShop" else item
        return self.table, stored, key_in(self.table, stored)

    def again(self):
        """The programs with the manifest of today."""
        self.programs.end()
        self.programs.start()

    def run(self, seed, part):
        self.table, self.new = "Shop", renewed
        self.application = shop_items.Application(self.dynamo, self.truth, seed, self.placed)
        try:
            self.described()
            part(self)
        finally:
            writes = self.application.end()
        say(f"{writes} writes of the application meanwhile")


def played(folder, seed, part):
    with tempfile.TemporaryDirectory() as temporary, open(f"{temporary}/log", "w+") as log:
        temporary = pathlib.Path(temporary)
        (temporary / "before.toml").write_text(BEFORE)
        programs = Programs(folder, log, PORT, seed, temporary / "before.toml", temporary / "data")
        try:
            Shop(programs, temporary, seed).run(seed, part)
        except BaseException:
            log.seek(0)
            print(log.read()[-3000:], file=sys.stderr)
            raise
        finally:
            programs.end()


def main(folder):
    seed = int(os.environ.get("KEYFOLD_SEED", random.randrange(10**6)))
    say(f"KEYFOLD_SEED={seed} KEYFOLD_ITEMS={ITEMS}")
    for part in (Shop.in_place, Shop.moved, Shop.moved_keys):
        if len(sys.argv) < 3 or part.__name__ in sys.argv[2:]:
            played(folder, seed, part)


main(pathlib.Path(sys.argv[1]).resolve())
