"""Messy items, and the programs that write them while a retrofit is at work."""

import random
import threading
import time

OWNERS = ["Ann", "BOB", "cem#3", "dora%20", "Zoë", "İpek", "ΑΣ", "o-1", "o_2", "x" * 300] + [f"owner{number}" for number in range(200)]
CITIES = ["Berlin", "New York", "Köln", "a:b", "100%", "Saint-Denis"]
WRITERS = 3
PAUSE_SECONDS = 0.008


def text(value):
    return {"S": value}


def clean(number, dice):
    """An item that fits: its timestamp is nobody else's."""
    seconds, milliseconds = divmod(number, 1000)
    hour, minute, second = 1 + seconds // 3600 % 20, seconds // 60 % 60, seconds % 60
    utc = f"2017-03-{1 + seconds // 72000:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}"
    later = f"2017-03-{1 + seconds // 72000:02}T{hour + 1:02}:{minute:02}:{second:02}.{milliseconds:03}"
    item = {
        "id": text(f"i{number:06}"), "owner": text(dice.choice(OWNERS)), "kind": text(dice.choice(["view", "edit", "delete"])),
        "at": text(dice.choice([utc + "Z", utc, later + "+01:00"])), "size": {"N": str(dice.choice([0, 7, 999999, dice.randrange(10**6)]))},
        "note": text("note " * dice.randrange(20)),
    }
    if dice.random() < 0.8:
        item |= {"country": text("DE"), "city": text(dice.choice(CITIES))}
        if dice.random() < 0.5:
            item["street"] = text(dice.choice(["High Street", "a:b:c", "x%3Ay"]))
            if dice.random() < 0.5:
                item["house"] = text(str(dice.randrange(99)))
    if dice.random() < 0.7:
        item["day"] = text(f"2017-{1 + number % 12:02}-{1 + number % 28:02}")
    if dice.random() < 0.3:
        item["label"] = text(dice.choice(["Red", "GRÜN", "blue-ish"]))
    if dice.random() < 0.2:
        item["tags"] = {"SS": ["a", "b"]}
        item["deep"] = {"M": {"list": {"L": [{"N": "1"}, {"BOOL": True}, {"NULL": True}]}}}
    return item


def without(*names):
    return lambda item: [item.pop(name, None) for name in names]


def setting(**values):
    return lambda item: item.update(values)


# The possible misfits of an item, by name. Most also count where a retrofit has no key of the attribute: then the item fits.
FLAWS = {
    "no owner": without("owner"),
    "owner is a list": setting(owner={"L": [text("Ann")]}),
    "size is text": setting(size=text("12")),
    "time is a number": setting(at={"N": "1488355200"}),
    "unlisted kind": setting(kind=text("peek")),
    "owner is too long": setting(owner=text("y" * 3000)),
    "empty label": setting(label=text("")),
    "time is no time": setting(at=text("yesterday")),
    "time does not exist": setting(at=text("2017-02-30T08:00:00Z")),
    "time is too fine": setting(at=text("2017-03-01T08:00:00.0005Z")),
    "day does not exist": setting(day=text("2017-13-01")),
    "size is too wide": setting(size={"N": "1000000"}),
    "size is negative": setting(size={"N": "-1"}),
    "size is broken": setting(size={"N": "1.5"}),
    "house without street": lambda item: (item.pop("street", None), item.update(country=text("DE"), city=text("Bonn"), house=text("7"))),
    "no time": without("at"),
}


def nearly_full(item):
    """Below 400 KB, and over it with folded keys."""
    from keys import ITEM_BYTES, item_bytes

    item["note"] = text("")
    item["note"] = text("n" * (ITEM_BYTES - item_bytes(item) - 30))


def messy(count, share, first, dice):
    """So many items; a share of them has a flaw, some claim another's key, three are nearly full."""
    items = {}
    for number in range(first, first + count):
        item = clean(number, dice)
        if dice.random() < share:
            dice.choice(list(FLAWS.values()))(item)
        items[item["id"]["S"]] = item
    ids = list(items)
    for one, other in zip(dice.sample(ids, 60), dice.sample(ids, 60)):
        for name in ("owner", "at", "kind"):
            if name in items[other]:
                items[one][name] = items[other][name]
    for one in dice.sample(ids, 3):
        items[one] = clean(int(one[1:]), dice)
        nearly_full(items[one])
    return items


class Writers:
    """Programs that write as fast as they may. Each has ids of its own, and notes what it wrote last.

    With `fold`, they are programs of the target, which fold keys themselves; otherwise they know nothing of keys, and write flaws too."""

    def __init__(self, dynamo, table, truth, seed, fold=None):
        self.dynamo, self.table, self.truth, self.fold = dynamo, table, truth, fold
        self.stop, self.writes, self.failed = threading.Event(), [0] * WRITERS, []
        ids, self.new = sorted(truth), 500_000 + seed * 50_000
        self.threads = [threading.Thread(target=self.run, args=(ids[number::WRITERS], number, random.Random(seed + number))) for number in range(WRITERS)]
        for thread in self.threads:
            thread.start()

    def run(self, ids, number, dice):
        try:
            while not self.stop.is_set():
                self.write(ids, number, dice)
                self.writes[number] += 1
                time.sleep(PAUSE_SECONDS)
        except Exception as error:  # Whatever it is, the scenario has failed.
            self.failed.append(repr(error))

    def write(self, ids, number, dice):
        one, choice = dice.choice(ids), dice.random()
        known = self.truth.get(one)
        if choice < 0.1 and known:
            self.dynamo("DeleteItem", TableName=self.table, Key={"id": text(one)})
            self.truth[one] = None
        elif choice < 0.5 and known and not self.fold:
            self.update(one, known, dice)
        elif choice < 0.6:
            new = clean(self.new + self.writes[number] * WRITERS + number, dice)
            ids.append(new["id"]["S"])
            self.put(new)
        else:
            item = clean(int(one[1:]), dice)
            if dice.random() < 0.05 and not self.fold:
                dice.choice(list(FLAWS.values()))(item)
            self.put(item)

    def put(self, item):
        self.dynamo("PutItem", TableName=self.table, Item=self.fold(item) if self.fold else item)
        self.truth[item["id"]["S"]] = item

    def update(self, one, known, dice):
        """Changes attributes that keys are made of, and takes one away."""
        new = {"owner": text(dice.choice(OWNERS)), "city": text(dice.choice(CITIES)), "country": text("FR")}
        gone = dice.choice(["label", "day", "tags"])
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in new) + f" REMOVE #{gone}"
        self.dynamo("UpdateItem", TableName=self.table, Key={"id": text(one)}, UpdateExpression=expression,
                    ExpressionAttributeNames={f"#{name}": name for name in [*new, gone]},
                    ExpressionAttributeValues={f":{name}": value for name, value in new.items()})
        self.truth[one] = {name: value for name, value in {**known, **new}.items() if name != gone}

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed
        return sum(self.writes)
