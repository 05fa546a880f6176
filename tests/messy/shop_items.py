"""A shop in one table: five entities, and the application that writes them. Nothing here knows of Keyfold."""

import http.client
import random
import threading
import time

STATES = ["open", "paid", "packed", "sent", "returned"]
CARRIERS = ["post", "bike", "van"]
WRITERS = 3
PAUSE_SECONDS = 0.01
# DynamoDB is away while the program that has it is started again. An SDK would try as long.
AWAY_SECONDS = 60
# No cart expires while the test runs.
FAR_AWAY = 4_000_000_000


def text(value):
    return {"S": value}


def number(value):
    return {"N": str(value)}


def moment(dice):
    return f"2024-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}T{dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}Z"


def key(item):
    return item["PK"]["S"], item["SK"]["S"]


def customer(one, dice):
    """Its id is in the key alone. Without an e-mail address it is not in GSI1."""
    item = {"PK": text(f"CUSTOMER#{one}"), "SK": text("PROFILE"), "type": text("Customer"), "name": text(f"Name {one}"), "joinedAt": text(moment(dice))}
    if dice.random() < 0.9:
        item |= {"email": text(f"{one}@example.com"), "GSI1PK": text(f"EMAIL#{one}@example.com"), "GSI1SK": text("CUSTOMER")}
    return item


def order(one, of, dice):
    """It stores both ids, which its key has too. Old ones store the amount as text."""
    placed, state = moment(dice), dice.choice(STATES)
    amount = dice.randrange(1, 100_000)
    return {
        "PK": text(f"CUSTOMER#{of}"), "SK": text(f"ORDER#{one}"), "type": text("Order"), "orderId": text(one), "customerId": text(of),
        "status": text(state), "placedAt": text(placed), "amount": text(str(amount)) if dice.random() < 0.3 else number(amount),
        "GSI1PK": text(f"STATUS#{state}"), "GSI1SK": text(placed),
    }


def line(one, of, dice):
    product = f"p{dice.randrange(300):03}"
    return {
        "PK": text(f"ORDER#{of}"), "SK": text(f"LINE#{one}"), "type": text("Line"), "productId": text(product), "quantity": number(dice.randrange(1, 9)),
        "GSI1PK": text(f"PRODUCT#{product}"), "GSI1SK": text(f"ORDER#{of}"),
    }


def shipment(one, of, dice):
    carrier, sent = dice.choice(CARRIERS), moment(dice)
    return {
        "PK": text(f"ORDER#{of}"), "SK": text(f"SHIPMENT#{one}"), "type": text("Shipment"), "carrier": text(carrier), "sentAt": text(sent),
        "parcels": {"L": [text("box"), number(2)]}, "GSI1PK": text(f"CARRIER#{carrier}"), "GSI1SK": text(sent),
    }


def cart(one, of, dice):
    return {
        "PK": text(f"CUSTOMER#{of}"), "SK": text(f"CART#{one}"), "type": text("Cart"), "expiresAt": number(FAR_AWAY + dice.randrange(1000)),
        "content": {"M": {"count": number(dice.randrange(5)), "tags": {"SS": ["a", "b"]}}},
    }


def shop(count, dice):
    """So many items. One in a hundred has no `type`."""
    items = {}

    def add(item):
        if dice.random() < 0.01:
            del item["type"]
        items[key(item)] = item

    while len(items) < count:
        one = f"c{len(items):05}"
        add(customer(one, dice))
        for number_of_order in range(dice.randrange(4)):
            bought = f"{one}o{number_of_order}"
            add(order(bought, one, dice))
            for number_of_line in range(dice.randrange(1, 4)):
                add(line(f"{number_of_line:02}", bought, dice))
            if dice.random() < 0.6:
                add(shipment(f"s{bought}", bought, dice))
        if dice.random() < 0.3:
            add(cart(f"k{one}", one, dice))
    return items


class Application:
    """Writes as fast as it may and never stops by itself. Each thread has customers of its own, and notes what it wrote last.

    `place` says where an item is written: the table, and the item with the keys that this table has."""

    def __init__(self, dynamo, truth, seed, place):
        self.dynamo, self.truth, self.place = dynamo, truth, place
        self.stop, self.pause, self.writes, self.failed, self.idle = threading.Event(), threading.Event(), [0] * WRITERS, [], [False] * WRITERS
        owners = sorted({pk for pk, _ in truth if pk.startswith("CUSTOMER#")})
        self.seed, self.threads = seed, [
            threading.Thread(target=self.run, args=([pk.split("#")[1] for pk in owners[at::WRITERS]], at, random.Random(seed + at))) for at in range(WRITERS)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, owners, at, dice):
        mine = {one: {} for one in owners}
        try:
            # A copy: the threads that began before this one add items.
            for name in list(self.truth):
                owner = name[0].split("#")[1].split("o")[0]
                if owner in mine:
                    mine[owner][name] = True
            while not self.stop.is_set():
                self.idle[at] = self.pause.is_set()
                if not self.idle[at]:
                    self.write(mine, at, dice)
                    self.writes[at] += 1
                time.sleep(PAUSE_SECONDS)
        except Exception as error:  # Whatever it is, the test has failed.
            self.failed.append(repr(error))

    def write(self, mine, at, dice):
        owner = dice.choice(list(mine))
        known = [name for name in mine[owner] if name in self.truth]
        choice, new = dice.random(), f"{owner}o{self.seed}{at}{self.writes[at]}"
        if choice < 0.2:
            self.put(mine[owner], order(new, owner, dice))
        elif choice < 0.3:
            self.put(mine[owner], cart(f"k{new}", owner, dice))
        elif choice < 0.4 and known:
            self.delete(dice.choice(known))
        elif known:
            self.change(self.truth[dice.choice(known)], dice)

    def change(self, item, dice):
        """A new state, carrier or address, with the key of GSI1 that belongs to it; a new note, which is in no key."""
        item = dict(item)
        kind = item["SK"]["S"].split("#")[0]
        if kind == "ORDER":
            state = dice.choice(STATES)
            item |= {"status": text(state), "GSI1PK": text(f"STATUS#{state}")}
        elif kind == "SHIPMENT":
            carrier = dice.choice(CARRIERS)
            item |= {"carrier": text(carrier), "GSI1PK": text(f"CARRIER#{carrier}")}
        elif kind == "PROFILE" and "email" in item:
            address = f"{dice.randrange(10**6)}@example.org"
            item |= {"email": text(address), "GSI1PK": text(f"EMAIL#{address}")}
        item["note"] = text(f"note {dice.randrange(10**6)}")
        self.put(None, item)

    def put(self, mine, item):
        before = self.truth.get(key(item))
        if before and self.place(before)[2] != self.place(item)[2]:
            # In this table the new state is in the key. While both items are there, they are two with one key of the other table.
            left = self.place(before)[2]
            self.send("TransactWriteItems", lambda table, placed, _: {"TransactItems": [
                {"Delete": {"TableName": table, "Key": left}}, {"Put": {"TableName": table, "Item": placed}}]}, item)
        else:
            self.send("PutItem", lambda table, placed, _: {"TableName": table, "Item": placed}, item)
        self.truth[key(item)] = item
        if mine is not None:
            mine[key(item)] = True

    def delete(self, name):
        item = self.truth[name]
        self.send("DeleteItem", lambda table, _, own: {"TableName": table, "Key": own}, item)
        del self.truth[name]

    def send(self, operation, body, item):
        until = time.monotonic() + AWAY_SECONDS
        while True:
            table, placed, own = self.place(item)
            try:
                return self.dynamo(operation, **body(table, placed, own))
            except (OSError, http.client.HTTPException):
                if time.monotonic() > until:
                    raise
                self.dynamo.own = threading.local()
                time.sleep(0.2)

    def hold(self):
        """No write is under way from here on, until `go`."""
        self.pause.set()
        while not all(self.idle) and not self.failed:
            time.sleep(0.01)

    def go(self):
        self.idle[:] = [False] * WRITERS
        self.pause.clear()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed
        return sum(self.writes)
