"""The values, clients and errors that Python programs have: python python.py MANIFEST ENDPOINT"""

import asyncio
import pickle
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Optional

import aiobotocore.session
import boto3
from pydantic import BaseModel, Field

import keyfold
import keyfold.aio

manifest, endpoint = Path(sys.argv[1]), sys.argv[2]
tables = keyfold.load(manifest)
access = dict(endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client = boto3.client("dynamodb", **access)
resource = boto3.resource("dynamodb", **access)
EVENT = {"id": "1", "resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1", "timestamp": "2017-03-01T08:00:00Z"}


def raised(kind, call, *parts):
    try:
        call()
    except kind as error:
        assert all(part in str(error) for part in parts), (str(error), parts)
        return error
    raise AssertionError(f"raised no {kind.__name__}")


class Action(Enum):
    VIEWED = "viewed"


@dataclass
class Event:
    id: str
    resourceId: str
    action: Action
    accessedBy: str
    timestamp: datetime
    resourceName: Optional[str] = None


class Model(BaseModel):
    id: str
    resource: str = Field(alias="resourceId")
    action: Action
    accessedBy: str
    timestamp: datetime
    resourceName: Optional[str] = None


def dataclasses_and_models_are_items():
    when = datetime(2017, 3, 1, 8, tzinfo=timezone.utc)
    wanted = tables.put("audit", EVENT)["Item"]["byResourceActionUser_pk"]
    model = Model(id="1", resourceId="123bbb", action=Action.VIEWED, accessedBy="joe1", timestamp=when)
    for item in (Event("1", "123bbb", Action.VIEWED, "joe1", when), model):
        put = tables.put("audit", item)
        assert put["Item"]["byResourceActionUser_pk"] == wanted and "resourceName" not in put["Item"], put
        assert tables.key_of("audit", item) == {"id": "1"}
    raised(TypeError, lambda: tables.put("audit", {**EVENT, "timestamp": datetime(2017, 3, 1)}), "time zone")


def other_objects_are_refused():
    for item in (object(), [("id", "1")], "id", 7, None, Event, Model):
        for call in (tables.put, tables.fold, tables.key_of, tables.entries_of, tables.delete):
            error = raised(keyfold.KeyfoldError, lambda: call("audit", item), "must be a mapping")
            assert error.code == "invalid-call", error.code
    raised(keyfold.KeyfoldError, lambda: tables.put("audit", {"id": "1"}, plain=True), "DynamoDB's notation")


def an_error_can_be_pickled():
    error = raised(keyfold.KeyfoldError, lambda: tables.update("audit", {"id": "1"}, set={"action": "viewed"}))
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.message, again.hint) == (error.code, error.message, error.hint) and again.hint
    assert str(again) == str(error)


def every_client_of_boto3_works():
    put = tables.put("audit", {**EVENT, "id": "clients"})
    resource.Table(put.pop("TableName")).put_item(**put)
    table = resource.Table("ResourceAccessAuditV2")
    request = {"table": "audit", "where": {"id": "clients"}, "consistent": True}
    wanted = tables.query(client, request)
    for one in (resource, resource.meta.client, table, table.meta.client):
        assert tables.query(one, request) == wanted, one
        updated = tables.update_item(one, "audit", {"id": "clients"}, set={"action": "edited"}, returning="new")
        assert updated["attributes"]["byResourceActionUser_pk"] == "123bbb-edited-joe1", updated
        tables.update_item(one, "audit", {"id": "clients"}, set={"action": "viewed"})
    s3 = boto3.client("s3", **access)
    for one in (None, "dynamodb", s3, boto3):
        raised(keyfold.KeyfoldError, lambda: tables.query(one, request), "the client must be one of DynamoDB")


def unknown_options_are_refused_by_name():
    raised(TypeError, lambda: tables.put("audit", EVENT, ifAbsent=True), "ifAbsent")
    raised(TypeError, lambda: tables.update("audit", {"id": "1"}, sets={}), "sets")
    raised(TypeError, lambda: tables.ask(client, "getEvent", {"id": "1"}, limits=5), "limits")
    raised(TypeError, lambda: tables.query(client, {"table": "audit"}, limit=5), "limit")
    raised(TypeError, lambda: next(tables.items(client, {"table": "audit"}, pages=5)), "pages")


def a_compiled_manifest_is_refused():
    raised(keyfold.KeyfoldError, lambda: keyfold.load(b"keyfold\0\1"), "not bytes")


def asyncio_gives_the_same_answers():
    async def ask():
        asynchronous = keyfold.aio.load(manifest)
        async with aiobotocore.session.get_session().create_client("dynamodb", **access) as of_aiobotocore:
            await asynchronous.update_item(of_aiobotocore, "audit", {"id": "clients"}, set={"action": "deleted"})
            several = {"table": "audit", "where": {"id": {"in": ["clients", "none"]}}}
            fan_out = {"table": "audit", "where": {"accessedBy": {"in": ["joe1", "ann"]}, "action": {"in": ["deleted", "viewed"]}}, "order": "timestamp"}
            for request in (several, fan_out):
                found = [item async for item in asynchronous.items(of_aiobotocore, request)]
                assert found == list(tables.items(client, request)) and found, request

    asyncio.run(ask())


if __name__ == "__main__":
    tests = [
        dataclasses_and_models_are_items, other_objects_are_refused, an_error_can_be_pickled, every_client_of_boto3_works,
        unknown_options_are_refused_by_name, a_compiled_manifest_is_refused, asyncio_gives_the_same_answers,
    ]
    for test in tests:
        test()
    print(f"Python: {len(tests)} tests of values, clients and errors")
