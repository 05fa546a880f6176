"""A shop of customers and orders in one table, in the words of the package: python shop.py TYPES ENDPOINT

TYPES has what `keyfold types --lang pydantic` wrote of types/shop.toml, as keyfold_shop.py.
"""

import asyncio
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import aiobotocore.session
import boto3
import botocore.exceptions

import keyfold
import keyfold.aio

sys.path.insert(0, sys.argv[1])
from keyfold_shop import SHOP, SHOP_EVERYTHING, SHOP_IN_PRICE_RANGE, SHOP_ORDERS_OF, SHOP_TAGGED, ShopCustomer, ShopOrder  # noqa: E402

MANIFEST = Path(__file__).parent / "types/shop.toml"
access = dict(endpoint_url=sys.argv[2], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)
tables = keyfold.load(MANIFEST)


def order(number, **more):
    day = f"2026-01-{number + 1:02}T00:00:00Z"
    return ShopOrder(kind="order", customerId="c1", orderId=f"o{number}", price=number, placedAt=day, **more)


def key(number):
    return {"kind": "order", "customerId": "c1", "orderId": f"o{number}"}


def refused(code, call):
    try:
        call()
    except keyfold.KeyfoldError as error:
        assert error.code == code, (error.code, error.message)
        return error
    raise AssertionError(f"not refused with {code}")


def failed(code, call):
    try:
        call()
    except botocore.exceptions.ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError(f"did not fail with {code}")


def fill():
    customer = ShopCustomer(kind="customer", customerId="c1", name="Ann")
    orders = [order(number, tags={"new"} if number % 2 else None) for number in range(10)]
    tables.batch_write(client, [tables.put(SHOP, item) for item in (customer, *orders, order(99))])
    tables.batch_write(client, [tables.delete(SHOP, key(99))])


def questions_are_answered_with_their_operators():
    answer = tables.ask(client, SHOP_ORDERS_OF({"customerId": "c1", "placedAt.gte": "2026-01-06T00:00:00Z"}))
    found = answer.all()
    assert [one.orderId for one in found] == ["o5", "o6", "o7", "o8", "o9"] and isinstance(found[0], ShopOrder), found
    assert answer.units > 0 and not hasattr(found[0], "pk")
    both = {"customerId": "c1", "price.gte": 3, "price.lte": Decimal(4)}
    assert [one.price for one in tables.ask(client, SHOP_IN_PRICE_RANGE(both))] == [3, 4]
    assert len(tables.ask(client, "shop.ordersOf", {"customerId": "c1"}).all()) == 10
    tagged = tables.ask(client, SHOP_TAGGED({"customerId": "c1", "tags.contains": "new"}), limit=2).first()
    assert tagged.orderId == "o1" and not hasattr(tagged, "price"), tagged
    assert "pk" in tables.ask(client, "ordersOf", {"customerId": "c1"}, folded_keys=True).first()


def mistakes_in_a_question_are_refused():
    refused("unknown-parameter", lambda: tables.ask(client, "ordersOf", {"customerId": "c1", "placedAt": "2026"}))
    refused("missing-parameter", lambda: tables.ask(client, "ordersOf", {}))
    refused("unknown-attribute", lambda: tables.find(client, SHOP, {"customerId": "c1", "placedAt.gte": "2026"}).all())
    for call in (lambda: tables.ask(client, "ordersOf", {"customerId": "c1"}, limits=5), lambda: tables.find(client, SHOP, {}, wher=1)):
        try:
            call()
        except TypeError as error:
            assert "limits" in str(error) or "wher" in str(error), error
        else:
            raise AssertionError("an unknown option is accepted")


def pages_and_entities():
    answer = tables.ask(client, SHOP_EVERYTHING({"customerId": "c1"}))
    groups = answer.by_entity()
    assert {name: len(items) for name, items in groups.items()} == {"customer": 1, "order": 10}, groups
    page = next(tables.find(client, SHOP, {"customerId": "c1"}, entity="order").pages())
    assert page.next is None and page.requests == 1 and page.items_read == 10
    picked = tables.find(client, SHOP, {"customerId": "c1"}, select=["orderId"], entity="order")
    assert picked.first() == {"orderId": "o0"}
    refused("invalid-call", picked.by_entity)


def items_are_read_by_key():
    assert tables.get(client, SHOP, key(3)) == order(3, tags={"new"})
    assert tables.get(client, SHOP, key(77)) is None
    found = tables.batch_get(client, SHOP, [key(3), key(77), {"kind": "customer", "customerId": "c1"}, key(3)])
    assert found == [order(3, tags={"new"}), None, ShopCustomer(kind="customer", customerId="c1", name="Ann"), order(3, tags={"new"})]
    assert len([one for one in tables.batch_get(client, "shop", [key(number) for number in range(250)]) if one]) == 10


def tombstones_are_no_items():
    raw = {name: {"S": value} for name, value in tables.key_of(SHOP, key(50)).items()}
    client.put_item(TableName="shop", Item={**raw, "keyfold_tombstone": {"S": "x"}})
    assert tables.get(client, SHOP, key(50)) is None and tables.batch_get(client, SHOP, [key(50)]) == [None]
    client.delete_item(TableName="shop", Key=raw)


def attributes_that_only_the_key_contains_are_read_from_it():
    text = MANIFEST.read_text(encoding="utf-8").replace('customerId = "string"', 'customerId = { type = "string", from-key = true }')
    shop = keyfold.load(text)
    raw = {"pk": {"S": "customer:c2"}, "sk": {"S": "order:o1"}, "kind": {"S": "order"}, "orderId": {"S": "o1"}}
    client.put_item(TableName="shop", Item=raw)
    wanted = {"kind": "order", "customerId": "c2", "orderId": "o1"}
    assert shop.get(client, "shop", wanted) == wanted and shop.batch_get(client, "shop", [wanted]) == [wanted]
    assert shop.ask(client, "ordersOf", {"customerId": "c2"}).all() == [wanted]
    client.delete_item(TableName="shop", Key={"pk": raw["pk"], "sk": raw["sk"]})


class Throttled:
    """The client of a table that takes 7 writes and returns 7 items of a batch, and leaves the others."""

    def __init__(self):
        self.calls = 0

    def batch_write_item(self, RequestItems):
        self.calls += 1
        ((table, requests),) = RequestItems.items()
        client.batch_write_item(RequestItems={table: requests[:7]})
        return {"UnprocessedItems": {table: requests[7:]} if requests[7:] else {}}

    def batch_get_item(self, RequestItems, **more):
        self.calls += 1
        ((table, asked),) = RequestItems.items()
        got = client.batch_get_item(RequestItems={table: {**asked, "Keys": asked["Keys"][:7]}}, **more)
        left = asked["Keys"][7:]
        return {**got, "UnprocessedKeys": {table: {**asked, "Keys": left}} if left else {}}

    get_item = None


def batches_are_sent_again_until_nothing_is_left():
    throttled = Throttled()
    tables.batch_write(throttled, [tables.put(SHOP, order(number)) for number in range(40, 70)])
    assert throttled.calls == 5, throttled.calls
    found = tables.batch_get(throttled, SHOP, [key(number) for number in range(40, 70)])
    assert all(found) and throttled.calls == 10, throttled.calls
    tables.batch_write(client, [tables.delete(SHOP, key(number)) for number in range(40, 70)])


def updates_of_every_kind():
    tables.put_item(client, SHOP, order(20, notes=["a"], address={"city": "Bergen"}))
    changes = dict(
        set={"address.city": "Oslo"}, add={"visits": 2, "tags": {"x", "y"}}, append={"notes": ["b"]}, prepend={"notes2": [0]},
        set_if_absent={"price": 7, "currency": "NOK"}, remove=["placedAt"],
    )
    done = tables.update_item(client, SHOP, key(20), returning="new", entity="order", **changes)
    after = done["attributes"]
    assert (after["address"], after["visits"], after["tags"]) == ({"city": "Oslo"}, 2, {"x", "y"}), after
    assert (after["notes"], after["notes2"], after["price"], after["currency"]) == (["a", "b"], [0], 20, "NOK"), after
    assert "placedAt" not in after
    old = tables.update_item(client, SHOP, key(20), delete={"tags": {"x"}}, condition={"price": {">": 19}}, returning="old")
    assert old["attributes"]["tags"] == {"x", "y"}
    refused("item-attribute-never", lambda: tables.update(SHOP, key(20), set={"name": "Ann"}))
    refused("expectation-failed", lambda: tables.update_item(client, SHOP, key(20), set={"price": 1}, expecting={"price": 3}))
    assert tables.delete_item(client, SHOP, key(20), returning="old")["price"] == 20


def puts_have_conditions():
    failed("ConditionalCheckFailedException", lambda: tables.put_item(client, SHOP, order(1), if_absent=True))
    assert tables.put_item(client, SHOP, order(1, tags={"new"}), returning="old")["orderId"] == "o1"
    failed("ConditionalCheckFailedException", lambda: tables.put_item(client, SHOP, order(1), condition={"price": 7}))
    refused("invalid-call", lambda: tables.put(SHOP, order(1), expires=timedelta(days=1)))
    with_ttl = 'ttl = "gone"\n[tables.shop.attributes]\ngone = "number"\n'
    shop = keyfold.load(MANIFEST.read_text(encoding="utf-8").replace("[tables.shop.attributes]\n", with_ttl, 1))
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert shop.put("shop", order(1), expires=at)["Item"]["gone"] == int(at.timestamp())


def transactions_are_all_or_nothing():
    writes = [tables.put(SHOP, order(30)), tables.check(SHOP, key(3), expecting={"price": 3})]
    tables.transact(client, writes)
    assert tables.get(client, SHOP, key(30)) is not None
    wrong = [tables.delete(SHOP, key(30)), tables.check(SHOP, key(3), expecting={"price": 4})]
    failed("TransactionCanceledException", lambda: tables.transact(client, wrong))
    tables.transact(client, [tables.update(SHOP, key(30), set={"price": 31}, entity="order"), tables.delete(SHOP, key(9))])
    assert tables.get(client, SHOP, key(30)).price == 31 and tables.get(client, SHOP, key(9)) is None
    tables.transact(client, [tables.delete(SHOP, key(30)), tables.put(SHOP, order(9, tags={"new"}))], token="a" * 36)
    refused("invalid-call", lambda: tables.batch_write(client, [tables.put(SHOP, order(1), if_absent=True)]))
    refused("invalid-call", lambda: tables.transact(client, [{"TableName": "shop"}]))


def asyncio_has_the_same_functions():
    async def play():
        shop = keyfold.aio.load(MANIFEST)
        async with aiobotocore.session.get_session().create_client("dynamodb", **access) as of_aiobotocore:
            await shop.batch_write(of_aiobotocore, [shop.put(SHOP, order(number)) for number in range(40, 70)])
            found = await shop.batch_get(of_aiobotocore, SHOP, [key(number) for number in range(40, 71)])
            assert [one.orderId for one in found if one] == [f"o{number}" for number in range(40, 70)]
            assert (await shop.get(of_aiobotocore, SHOP, key(41))).price == 41
            answer = shop.ask(of_aiobotocore, SHOP_IN_PRICE_RANGE({"customerId": "c1", "price.gte": 60}))
            assert len(await answer.all()) == 10 and answer.units > 0
            assert set(await shop.find(of_aiobotocore, SHOP, {"customerId": "c1"}).by_entity()) == {"customer", "order"}
            assert (await answer.first()).orderId == "o60"
            await shop.update_item(of_aiobotocore, SHOP, key(41), add={"visits": 1})
            await shop.transact(of_aiobotocore, [shop.delete(SHOP, key(number)) for number in range(40, 70)])
            await shop.put_item(of_aiobotocore, SHOP, order(40))
            assert (await shop.delete_item(of_aiobotocore, SHOP, key(40), returning="old"))["orderId"] == "o40"

    asyncio.run(play())


if __name__ == "__main__":
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    schema = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    client.create_table(TableName="shop", AttributeDefinitions=attributes, KeySchema=schema, BillingMode="PAY_PER_REQUEST")
    fill()
    tests = [
        questions_are_answered_with_their_operators, mistakes_in_a_question_are_refused, pages_and_entities, items_are_read_by_key,
        tombstones_are_no_items, attributes_that_only_the_key_contains_are_read_from_it,
        batches_are_sent_again_until_nothing_is_left,
        updates_of_every_kind, puts_have_conditions, transactions_are_all_or_nothing, asyncio_has_the_same_functions,
    ]
    for test in tests:
        test()
    client.delete_table(TableName="shop")
    print(f"Python: {len(tests)} tests in a shop of two entities")
