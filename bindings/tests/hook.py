"""Writes that know nothing of Keyfold get their folded keys from the hook: python hook.py MANIFEST ENDPOINT"""

import asyncio
import sys
from pathlib import Path

import aiobotocore.session
import boto3

import keyfold
import keyfold.aio
import keyfold.hook

tables = keyfold.load(Path(sys.argv[1]))
access = dict(endpoint_url=sys.argv[2], region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client, resource, plain = boto3.client("dynamodb", **access), boto3.resource("dynamodb", **access), boto3.client("dynamodb", **access)
NAME = "ResourceAccessAuditV2"
table = resource.Table(NAME)
EVENT = {"resourceId": "hook", "action": "viewed", "accessedBy": "joe1", "timestamp": "2017-03-01T08:00:00.000Z"}
TYPED = {name: {"S": value} for name, value in EVENT.items()}


def stored(id):
    return plain.get_item(TableName=NAME, Key={"id": {"S": id}}, ConsistentRead=True)["Item"]


def key_of(id):
    return stored(id).get("byResourceActionUser_pk", {}).get("S")


def refused(code, call):
    try:
        call()
    except keyfold.KeyfoldError as error:
        assert error.code == code, (error.code, error.message)
        return
    raise AssertionError(f"not refused with {code}")


def puts_are_folded():
    item = dict(EVENT, id="h1")
    table.put_item(Item=item)
    assert "byResourceActionUser_pk" not in item, "the caller's item is changed"
    client.put_item(TableName=NAME, Item={**TYPED, "id": {"S": "h2"}})
    with table.batch_writer() as batch:
        batch.put_item(Item=dict(EVENT, id="h3"))
    client.batch_write_item(RequestItems={NAME: [{"PutRequest": {"Item": {**TYPED, "id": {"S": "h4"}}}}]})
    client.transact_write_items(TransactItems=[{"Put": {"TableName": NAME, "Item": {**TYPED, "id": {"S": "h5"}}}}])
    assert [key_of(f"h{number}") for number in range(1, 6)] == ["hook-viewed-joe1"] * 5
    plain.put_item(TableName=NAME, Item={**TYPED, "id": {"S": "h6"}})
    assert key_of("h6") is None, "a client without the hook folds"


def updates_are_completed_or_refused():
    set_all = "SET resourceId = :r, #a = :a, accessedBy = :u, note = if_not_exists(note, :n) REMOVE gone ADD visits :one"
    arguments = dict(
        TableName=NAME, Key={"id": {"S": "h1"}}, UpdateExpression=set_all, ExpressionAttributeNames={"#a": "action"},
        ExpressionAttributeValues={":r": {"S": "hook2"}, ":a": {"S": "edited"}, ":u": {"S": "ann"}, ":n": {"S": "x"}, ":one": {"N": "1"}},
    )
    client.update_item(**arguments)
    after = stored("h1")
    assert key_of("h1") == "hook2-edited-ann" and after["note"] == {"S": "x"} and after["visits"] == {"N": "1"}, after
    assert after["byAction_pk"]["S"].startswith("edited."), after
    table.update_item(Key={"id": "h2"}, UpdateExpression="SET note = :n", ExpressionAttributeValues={":n": "SET action"})
    assert key_of("h2") == "hook-viewed-joe1" and stored("h2")["note"] == {"S": "SET action"}
    before = stored("h2")
    one = dict(Key={"id": "h2"}, UpdateExpression="SET accessedBy = :u", ExpressionAttributeValues={":u": "ann"})
    refused("update-needs-reading", lambda: table.update_item(**one))
    in_transaction = {"Update": {"TableName": NAME, **one, "ExpressionAttributeValues": {":u": {"S": "ann"}}, "Key": {"id": {"S": "h2"}}}}
    refused("update-needs-reading", lambda: client.transact_write_items(TransactItems=[in_transaction]))
    computed = dict(UpdateExpression="SET accessedBy = if_not_exists(accessedBy, :u)", ExpressionAttributeValues={":u": "ann"})
    refused("update-bypasses-keys", lambda: table.update_item(Key={"id": "h2"}, **computed))
    legacy = {"accessedBy": {"Value": "ann", "Action": "PUT"}}
    refused("update-bypasses-keys", lambda: table.update_item(Key={"id": "h2"}, AttributeUpdates=legacy))
    statement = f'UPDATE "{NAME}" SET accessedBy=\'ann\' WHERE id=\'h2\''
    refused("update-bypasses-keys", lambda: client.execute_statement(Statement=statement))
    assert stored("h2") == before


def the_packages_own_writes_are_left_as_they_are():
    tables.update_item(client, "audit", {"id": "h3"}, set={"accessedBy": "ann"})
    assert key_of("h3") == "hook-viewed-ann"
    update = tables.update("audit", {"id": "h3"}, set={"accessedBy": "joe1"}, stored=table.get_item(Key={"id": "h3"})["Item"])
    resource.Table(update.pop("TableName")).update_item(**update)
    assert key_of("h3") == "hook-viewed-joe1"


def other_tables_are_left_as_they_are():
    plain.create_table(
        TableName="Other", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )
    client.put_item(TableName="Other", Item={"id": {"S": "1"}, "action": {"S": "anything"}})
    client.update_item(TableName="Other", Key={"id": {"S": "1"}}, UpdateExpression="REMOVE #a", ExpressionAttributeNames={"#a": "action"})
    assert plain.get_item(TableName="Other", Key={"id": {"S": "1"}})["Item"] == {"id": {"S": "1"}}
    plain.delete_table(TableName="Other")


def a_stale_item_is_repaired():
    image = stored("h6")
    repair = tables.repair("audit", image, plain=True)
    plain.update_item(**repair)
    assert key_of("h6") == "hook-viewed-joe1"
    assert tables.repair("audit", stored("h6"), plain=True) is None


def aiobotocore_has_the_hook():
    async def play():
        async with aiobotocore.session.get_session().create_client("dynamodb", **access) as of_aiobotocore:
            keyfold.hook.fold_writes(of_aiobotocore, keyfold.aio.load(Path(sys.argv[1])))
            await of_aiobotocore.put_item(TableName=NAME, Item={**TYPED, "id": {"S": "h7"}})

    asyncio.run(play())
    assert key_of("h7") == "hook-viewed-joe1"


if __name__ == "__main__":
    keyfold.hook.fold_writes(client, tables)
    keyfold.hook.fold_writes(table, tables)
    tests = [
        puts_are_folded, updates_are_completed_or_refused, the_packages_own_writes_are_left_as_they_are, other_tables_are_left_as_they_are,
        a_stale_item_is_repaired, aiobotocore_has_the_hook,
    ]
    for test in tests:
        test()
    print(f"Python: {len(tests)} tests of the hook")
