"""The work of several requests, as coroutines over an `Io`."""

from __future__ import annotations

import json
import time
from typing import Any, Coroutine, Dict, List, Mapping, Optional, Tuple, Type

from . import _core
from ._error import KeyfoldError, called, invalid
from ._io import BATCH_ATTEMPTS_MAX, READ_ATTEMPTS_MAX, RETRYABLE, Io, code_of, pause_before
from ._model import Check, Delete, Put, Update, Write
from ._values import (
    from_typed, raw_or_none, raw_to_typed, raw_to_typed_item, shown_item, text, typed_to_raw_item,
)

#: How long the rows of the control table are cached.
READINESS_SECONDS = 5.0

#: The most keys, items and writes of one request: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Limits.html
GET_KEYS_MAX = 100
WRITE_ITEMS_MAX = 25
TRANSACTION_ITEMS_MAX = 100

_TRANSACTED: Dict[Type[Write], str] = {Put: "Put", Update: "Update", Delete: "Delete", Check: "ConditionCheck"}
_METHODS = {"Query": "query", "Scan": "scan"}


def shown_arguments(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments of the core as those of a client."""
    for field in ("Key", "ExpressionAttributeValues", "ExclusiveStartKey"):
        if field in arguments:
            arguments[field] = typed_to_raw_item(arguments[field])
    return arguments


async def update_item(io: Io, updating: _core.Updating, returning: Optional[str]) -> Dict[str, Any]:
    """Sends an update; reads the item first if the core asks for that."""
    while True:
        following = json.loads(called(updating.request))
        arguments = shown_arguments(following["input"])
        if following["operation"] == "GetItem":
            got = await io.send("get_item", arguments)
            called(updating.was_read, text(raw_or_none(got.get("Item"))))
            continue
        if returning is not None:
            arguments["ReturnValues"] = returning
        try:
            response = await io.send("update_item", arguments)
            return {"attempts": updating.refused() + 1, "attributes": response.get("Attributes")}
        except Exception as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            found = getattr(error, "response", {}).get("Item")
            called(updating.was_refused, text(raw_or_none(found)))
        await io.sleep(pause_before(updating.refused()))


async def answer(io: Io, asking: _core.Asking) -> "tuple[Dict[str, Any], List[Mapping[str, Any]]]":
    """One page of an answer, as the core describes it, and the items that it refers to by number."""
    kept: List[Mapping[str, Any]] = []
    in_flight: Dict[Any, Any] = {}
    try:
        while True:
            step = json.loads(called(asking.step))
            if "answer" in step:
                return step["answer"], kept
            send = step["send"]
            # A single read needs no thread and no task.
            if len(send) == 1 and not in_flight:
                _arrived(asking, send[0], await _read(io, send[0]), kept)
                continue
            for one in send:
                in_flight[io.start(_read(io, one))] = one
            for done in await io.first(in_flight):
                _arrived(asking, in_flight.pop(done), done.result(), kept)
    finally:
        await io.close(in_flight)


def _arrived(asking: _core.Asking, sent: Mapping[str, Any], response: Dict[str, Any], kept: List[Any]) -> None:
    """Gives the core a response. Of items that stay here, with numbers from `first`, it reads the attributes that it needs."""
    items = response.pop("items")
    if sent["looksAt"] is None:
        response["items"] = [raw_to_typed_item(item) for item in items]
        called(asking.arrived, sent["access"], text(response))
    else:
        response["first"] = len(kept)
        kept.extend(items)
        called(asking.arrived_kept, sent["access"], text(response), items, _value_text)


def _value_text(value: Mapping[str, Any]) -> str:
    return text(raw_to_typed(value))


def shown_answer(
    found: Dict[str, Any], kept: List[Mapping[str, Any]], plain: bool, hidden: "frozenset[str]"
) -> Dict[str, Any]:
    """The core's answer with its items, without hidden attributes."""
    only, without = found.pop("only"), found.pop("without")
    # Most items of a page have the same attributes: for each set of names it is decided once which are shown.
    decided: Dict[Tuple[str, ...], List[str]] = {}

    def names_of(item: Mapping[str, Any]) -> List[str]:
        names = tuple(item)
        shown = decided.get(names)
        if shown is None:
            asked = [name for name in names if (name not in hidden if only is None else name in only)]
            shown = decided[names] = [name for name in asked if not name.startswith(without)]
        return shown

    def shown_of(item: Mapping[str, Any]) -> Dict[str, Any]:
        if plain:
            return {name: item[name] for name in names_of(item)}
        # `from_typed_item` of the part, without making that.
        return {
            name: value["S"] if "S" in (value := item[name]) else from_typed(value) for name in names_of(item)
        }

    def whole(item: Mapping[str, Any]) -> Dict[str, Any]:
        return shown_item({name: item[name] for name in names_of(item)}, plain)

    found["items"] = [shown_of(kept[item]) if isinstance(item, int) else whole(item) for item in found["items"]]
    return found


async def batch_get(io: Io, table: str, keys: List[Dict[str, Any]], consistent: bool) -> List[Mapping[str, Any]]:
    """The items with these keys, in any order."""
    def of(first: int) -> Dict[str, Any]:
        part = {"Keys": keys[first:first + GET_KEYS_MAX], "ConsistentRead": consistent}
        return {"RequestItems": {table: part}, "ReturnConsumedCapacity": "TOTAL"}

    reads = [_read_items(io, of(first)) for first in range(0, len(keys), GET_KEYS_MAX)]
    return [item for read in await _all(io, reads) for item in read["items"]]


async def batch_write(io: Io, writes: List[Tuple[Write, Dict[str, Any]]]) -> None:
    """Sends puts and deletes, 25 in a request."""
    requests: List[Tuple[str, Dict[str, Any]]] = []
    for write, arguments in writes:
        if not isinstance(write, (Put, Delete)) or "ConditionExpression" in arguments:
            raise invalid("a batch takes puts and deletes without conditions; use `transact` for the others")
        one = {"PutRequest": {"Item": arguments["Item"]}} if isinstance(write, Put) else {"DeleteRequest": {"Key": arguments["Key"]}}
        requests.append((arguments["TableName"], one))
    parts = [requests[first:first + WRITE_ITEMS_MAX] for first in range(0, len(requests), WRITE_ITEMS_MAX)]
    await _all(io, [_write_items(io, part) for part in parts])


async def _write_items(io: Io, requests: List[Tuple[str, Dict[str, Any]]]) -> None:
    left: Dict[str, List[Any]] = {}
    for table, request in requests:
        left.setdefault(table, []).append(request)
    for attempt in range(BATCH_ATTEMPTS_MAX):
        if attempt > 0:
            await io.sleep(pause_before(attempt - 1))
        try:
            left = (await io.send("batch_write_item", {"RequestItems": left})).get("UnprocessedItems", {})
        except Exception as error:
            if attempt + 1 == BATCH_ATTEMPTS_MAX or code_of(error) not in RETRYABLE:
                raise
        if not left:
            return
    table = next(iter(left))
    raise unprocessed("BatchWriteItem", table, sum(len(requests) for requests in left.values()))


async def transact(io: Io, writes: List[Tuple[Write, Dict[str, Any]]], token: Optional[str]) -> None:
    """Sends all writes or none."""
    if not 1 <= len(writes) <= TRANSACTION_ITEMS_MAX:
        raise invalid(f"a transaction has from 1 to {TRANSACTION_ITEMS_MAX} writes")
    items = [{_TRANSACTED[type(write)]: arguments} for write, arguments in writes]
    await io.send("transact_write_items", {"TransactItems": items, **({"ClientRequestToken": token} if token else {})})


async def _all(io: Io, works: List[Coroutine[Any, Any, Any]]) -> List[Any]:
    """The results of several works, in their order."""
    started = [io.start(work) for work in works]
    left = set(started)
    try:
        while left:
            for done in await io.first(left):
                done.result()
                left.discard(done)
        return [one.result() for one in started]
    finally:
        await io.close(left)


async def readiness_rows(io: Io, reads: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The rows of the control table that say which indexes a retrofit still fills."""
    rows: List[Dict[str, Any]] = []
    for read in reads:
        try:
            head = (await io.send("get_item", shown_arguments(read["head"]))).get("Item")
            segments = await io.send("query", shown_arguments(read["segments"]))
        except Exception as error:
            if code_of(error) != "ResourceNotFoundException":
                raise
            rows.append({})
            continue
        rows.append({
            "head": raw_or_none(head),
            "segments": [raw_to_typed_item(row) for row in segments.get("Items", [])],
            "more": "LastEvaluatedKey" in segments,
        })
    return rows


def is_fresh(read_at: float) -> bool:
    return time.monotonic() - read_at < READINESS_SECONDS


async def _read(io: Io, one: Dict[str, Any]) -> Dict[str, Any]:
    if one["operation"] == "BatchGetItem":
        return await _read_items(io, one["input"])
    arguments = shown_arguments(one["input"])
    for calls in range(1, READ_ATTEMPTS_MAX + 1):
        try:
            page = await io.send(_METHODS[one["operation"]], arguments)
            break
        except Exception as error:
            if calls == READ_ATTEMPTS_MAX or code_of(error) not in RETRYABLE:
                raise
            await io.sleep(pause_before(calls - 1))
    return {
        "items": page.get("Items", []),
        "count": page.get("Count", 0),
        "scanned": page.get("ScannedCount", 0),
        "lastKey": raw_or_none(page.get("LastEvaluatedKey")),
        "units": page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
        "calls": calls,
    }


async def _read_items(io: Io, arguments: Dict[str, Any]) -> Dict[str, Any]:
    ((table, asked),) = arguments["RequestItems"].items()
    asked["Keys"] = [typed_to_raw_item(key) for key in asked["Keys"]]
    items: List[Any] = []
    units = 0.0
    for attempt in range(BATCH_ATTEMPTS_MAX):
        if attempt > 0:
            await io.sleep(pause_before(attempt - 1))
        try:
            got = await io.send("batch_get_item", arguments)
        except Exception as error:
            if attempt + 1 == BATCH_ATTEMPTS_MAX or code_of(error) not in RETRYABLE:
                raise
            continue
        items.extend(got.get("Responses", {}).get(table, []))
        units += sum(one.get("CapacityUnits", 0.0) for one in got.get("ConsumedCapacity", []))
        left = got.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        if not left:
            return {"items": items, "units": units}
        asked["Keys"] = left
    raise unprocessed("BatchGetItem", table, len(asked["Keys"]))


def unprocessed(operation: str, table: str, left: int) -> KeyfoldError:
    message = f"`{operation}` on table `{table}` left {left} undone after {BATCH_ATTEMPTS_MAX} attempts"
    return KeyfoldError("unprocessed", message)
