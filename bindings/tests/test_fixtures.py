"""The fixtures of `keyfold.testing`: pytest -o keyfold_command=KEYFOLD -o keyfold_manifest=MANIFEST test_fixtures.py"""

import pytest

EVENT = {"id": "1", "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1", "timestamp": "2017-03-01T08:00:00Z"}


@pytest.mark.parametrize("id", ["1", "2"])
def test_each_test_starts_with_empty_tables(keyfold_client, keyfold_tables, id):
    assert keyfold_client.scan(TableName="ResourceAccessAuditV2")["Count"] == 0
    keyfold_tables.put_item(keyfold_client, "audit", {**EVENT, "id": id})
    answer = keyfold_tables.ask(keyfold_client, "getEvent", {"id": id})
    assert [event["id"] for event in answer] == [id]


def test_another_client_can_be_made(keyfold_local):
    import boto3

    assert "ResourceAccessAuditV2" in boto3.client("dynamodb", **keyfold_local.access).list_tables()["TableNames"]
