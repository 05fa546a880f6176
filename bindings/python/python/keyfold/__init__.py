"""Keyfold for Python: folded keys, writes, plans and answers of a manifest, over boto3.

The decisions are those of the Rust core; this module turns values into DynamoDB's and sends what the core says.
Items are those of boto3's tables: numbers are `int` or `Decimal`, binaries are `bytes`. With `plain=True`, items are those of
boto3's client, in DynamoDB's notation.
"""

from __future__ import annotations

import base64
import json
import random
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from decimal import Decimal
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from . import _core

__all__ = ["Keyfold", "KeyfoldError", "load"]

#: Attempts of one read while DynamoDB throttles, beyond boto3's own.
READ_ATTEMPTS_MAX = 5
#: Attempts of one batch.
BATCH_ATTEMPTS_MAX = 10
#: How many reads a query has under way at once.
CONCURRENCY = 8
#: How long what was read of the control table is good for.
READINESS_SECONDS = 5.0
CONTROL_TABLE = "keyfold-control"

_RETRYABLE = {
    "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
    "ServiceUnavailable", "TransactionConflictException",
}


class KeyfoldError(Exception):
    """A refusal of the core. `code` stays the same, whatever the message says; docs/errors.md lists the codes."""

    def __init__(self, code: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def load(manifest: str) -> "Keyfold":
    """Loads a manifest: the text of a keyfold.toml."""
    return Keyfold(manifest)


def _called(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except _core.Refused as refused:
        failure = json.loads(str(refused))
        raise KeyfoldError(failure["code"], failure["message"], failure.get("hint")) from None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Keyfold:
    """The tables of a manifest."""

    def __init__(self, manifest: str) -> None:
        self._tables = _called(_core.Tables, manifest)
        self._readiness: Dict[Any, Any] = {}

    def fold(self, table: str, item: Mapping[str, Any], *, plain: bool = False) -> Dict[str, Any]:
        """The item with its folded keys, and without folded keys that it should not have."""
        patch = json.loads(_called(self._tables.fold, table, _text(_typed_item(item, plain))))
        return _patched(item, patch, plain)

    def unfold(self, table: str, key: str, *, index: Optional[str] = None) -> Dict[str, Any]:
        """The parts of a folded key."""
        unfolded = json.loads(_called(self._tables.unfold, table, key, index))
        unfolded["values"] = _from_typed_item(unfolded["values"])
        return unfolded

    def key_of(self, table: str, attributes: Mapping[str, Any], *, plain: bool = False) -> Dict[str, Any]:
        """The primary key that these attributes make."""
        key = json.loads(_called(self._tables.key_of, table, _text(_typed_item(attributes, plain))))
        return _shown_item(key, plain)

    def entries_of(self, table: str, item: Mapping[str, Any], *, plain: bool = False) -> List[Dict[str, Any]]:
        """What each index holds of an item, or why it holds nothing."""
        entries: List[Dict[str, Any]] = json.loads(
            _called(self._tables.entries_of, table, _text(_typed_item(item, plain)))
        )
        for entry in entries:
            if "entry" in entry:
                entry["entry"] = _shown_item(entry["entry"], plain)
        return entries

    def put(
        self, table: str, item: Mapping[str, Any], *, if_absent: bool = False, plain: bool = False
    ) -> Dict[str, Any]:
        """The arguments of `put_item`. `if_absent`: only where no item has its key."""
        text = _text(_typed_item(item, plain))
        put = json.loads(_called(self._tables.put, table, text, if_absent))
        arguments = _shown(put["input"], plain)
        arguments["Item"] = _patched(item, put["patch"], plain)
        return arguments

    def update(
        self,
        table: str,
        key: Mapping[str, Any],
        *,
        set: Optional[Mapping[str, Any]] = None,
        remove: Sequence[str] = (),
        expecting: Optional[Mapping[str, Any]] = None,
        stored: Optional[Mapping[str, Any]] = None,
        plain: bool = False,
    ) -> Dict[str, Any]:
        """The arguments of `update_item`: attributes are set and removed, and folded keys made anew.

        Refused with `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have
        read it. An expected value of `None` means that the attribute must be absent.
        """
        updating = self._updating(table, key, set, remove, expecting, stored is not None, plain)
        following = json.loads(_called(updating.request))
        if following["operation"] == "GetItem":
            item = None if stored is None else _typed_item(stored, plain)
            _called(updating.was_read, _text(item))
            following = json.loads(_called(updating.request))
        return _shown(following["input"], plain)

    def _updating(self, table: str, key: Any, set: Any, remove: Any, expecting: Any, reading: bool, plain: bool) -> Any:
        typed = _raw_to_typed_item if plain else _to_typed_item
        asked = {"set": typed(set or {}), "remove": list(remove), "reading": reading, **_expected(expecting, typed)}
        return _called(self._tables.update, table, _text(typed(key)), _text(asked))

    def delete(
        self, table: str, key: Mapping[str, Any], *, expecting: Optional[Mapping[str, Any]] = None, plain: bool = False
    ) -> Dict[str, Any]:
        """The arguments of `delete_item`."""
        typed = _raw_to_typed_item if plain else _to_typed_item
        asked = _text(_expected(expecting, typed))
        return _shown(json.loads(_called(self._tables.delete, table, _text(typed(key)), asked)), plain)

    def plan(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """The plan of a request: its reads, its price, what else was considered, and the arguments of each read."""
        return json.loads(_called(self._tables.plan, _request(request)))

    def update_item(
        self,
        client: Any,
        table: str,
        key: Mapping[str, Any],
        *,
        set: Optional[Mapping[str, Any]] = None,
        remove: Sequence[str] = (),
        expecting: Optional[Mapping[str, Any]] = None,
        plain: bool = False,
    ) -> int:
        """Updates an item through a boto3 client. If its folded keys need what is not known, it is read, and written on condition
        that it has not changed. Returns the number of writes that it took."""
        updating = self._updating(table, key, set, remove, expecting, True, plain)
        while True:
            following = json.loads(_called(updating.request))
            arguments = _shown(following["input"], True)
            if following["operation"] == "GetItem":
                item = client.get_item(**arguments).get("Item")
                _called(updating.was_read, _text(_raw_to_typed_item(item) if item else None))
                continue
            try:
                client.update_item(**arguments)
                return int(updating.refused()) + 1
            except client.exceptions.ConditionalCheckFailedException as failed:
                found = failed.response.get("Item")
                _called(updating.was_refused, _text(_raw_to_typed_item(found) if found else None))
            _pause(updating.refused())

    def query(
        self, client: Any, request: Mapping[str, Any], *, control: str = CONTROL_TABLE, plain: bool = False
    ) -> Dict[str, Any]:
        """Answers a request through a boto3 client: one page of items. `page` of the answer, put into the request, asks for the
        next one. An index that a retrofit still fills is not read; `control` names the control table that says so."""
        text = _request(request)
        asking = _called(self._tables.question, text, self._rows(client, request.get("table"), control))
        kept: List[Mapping[str, Any]] = []
        pool: Optional[ThreadPoolExecutor] = None
        under_way: Dict[Any, Any] = {}
        try:
            while True:
                step = json.loads(_called(asking.step))
                if "answer" in step:
                    return _shown_answer(step["answer"], kept, plain)
                send = step["send"]
                # A single read needs no thread.
                if len(send) == 1 and not under_way:
                    _arrived(asking, send[0], _read(client, send[0]), kept)
                    continue
                if send and pool is None:
                    pool = ThreadPoolExecutor(max_workers=CONCURRENCY)
                for one in send:
                    assert pool is not None
                    under_way[pool.submit(_read, client, one)] = one
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    _arrived(asking, under_way.pop(future), future.result(), kept)
        finally:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def items(self, client: Any, request: Mapping[str, Any], **options: Any) -> Iterator[Dict[str, Any]]:
        """All pages of a request, item by item."""
        following: Optional[Mapping[str, Any]] = request
        while following is not None:
            answer = self.query(client, following, **options)
            yield from answer["items"]
            following = {**request, "page": answer["page"]} if "page" in answer else None

    def _rows(self, client: Any, table: Any, control: str) -> Optional[str]:
        """What the control table says of the retrofits into a request's table; nothing is read if none fills it."""
        if not isinstance(table, str):
            return None  # the core says what is wrong with such a request
        reads = json.loads(_called(self._tables.readiness_reads, table, control))
        if not reads:
            return None
        known = self._readiness.get((control, table))
        if known and time.monotonic() - known[0] < READINESS_SECONDS:
            return str(known[1])
        rows: List[Dict[str, Any]] = []
        for read in reads:
            try:
                head = client.get_item(**read["head"]).get("Item")
                segments = client.query(**read["segments"])
            except client.exceptions.ResourceNotFoundException:
                rows.append({})
                continue
            rows.append({
                "head": _raw_to_typed_item(head) if head else None,
                "segments": [_raw_to_typed_item(row) for row in segments.get("Items", [])],
                "more": "LastEvaluatedKey" in segments,
            })
        found = _text(rows)
        self._readiness[(control, table)] = (time.monotonic(), found)
        return found


def _arrived(asking: Any, sent: Mapping[str, Any], response: Dict[str, Any], kept: List[Mapping[str, Any]]) -> None:
    """Gives the core what it looks at of a response. The items stay here; each goes with its number."""
    names = sent["looksAt"]
    if names is None:
        response["items"] = [_raw_to_typed_item(item) for item in response["items"]]
    else:
        first = len(kept)
        kept.extend(response["items"])
        response["items"] = [
            {"": {"N": str(number)}, **{name: _raw_to_typed(item[name]) for name in names if name in item}}
            for number, item in enumerate(response["items"], first)
        ]
    _called(asking.arrived, sent["access"], _text(response))


def _shown_answer(answer: Dict[str, Any], kept: List[Mapping[str, Any]], plain: bool) -> Dict[str, Any]:
    """The core's answer with its items: those that were kept here, without what is not shown."""
    only, without = answer.pop("only"), answer.pop("without")

    def part(item: Mapping[str, Any]) -> Dict[str, Any]:
        shown = {name: item[name] for name in item if not name.startswith(without) and (only is None or name in only)}
        return shown if plain else _from_typed_item(shown)

    whole = _typed_to_raw_item if plain else _from_typed_item
    answer["items"] = [part(kept[item]) if isinstance(item, int) else whole(item) for item in answer["items"]]
    return answer


def _typed_item(item: Mapping[str, Any], plain: bool) -> Dict[str, Any]:
    return _raw_to_typed_item(item) if plain else _to_typed_item(item)


def _shown_item(item: Mapping[str, Any], plain: bool) -> Dict[str, Any]:
    return _typed_to_raw_item(item) if plain else _from_typed_item(item)


def _pause(attempt: int) -> None:
    time.sleep(random.random() * min(0.05 * 2 ** min(attempt, 16), 5.0))


def _retryable(error: Exception) -> bool:
    response: Mapping[str, Any] = getattr(error, "response", None) or {}
    return response.get("Error", {}).get("Code") in _RETRYABLE


def _read(client: Any, one: Dict[str, Any]) -> Dict[str, Any]:
    if one["operation"] == "BatchGetItem":
        return _read_items(client, one["input"])
    arguments = _shown(one["input"], True)
    send = client.query if one["operation"] == "Query" else client.scan
    for calls in range(1, READ_ATTEMPTS_MAX + 1):
        try:
            page = send(**arguments)
            break
        except Exception as error:
            if calls == READ_ATTEMPTS_MAX or not _retryable(error):
                raise
            _pause(calls - 1)
    last = page.get("LastEvaluatedKey")
    return {
        "items": page.get("Items", []),
        "count": page.get("Count", 0),
        "scanned": page.get("ScannedCount", 0),
        "lastKey": _raw_to_typed_item(last) if last else None,
        "units": page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0),
        "calls": calls,
    }


def _read_items(client: Any, arguments: Dict[str, Any]) -> Dict[str, Any]:
    ((table, asked),) = arguments["RequestItems"].items()
    asked["Keys"] = [_typed_to_raw_item(key) for key in asked["Keys"]]
    items: List[Any] = []
    units = 0.0
    for attempt in range(BATCH_ATTEMPTS_MAX):
        if attempt > 0:
            _pause(attempt - 1)
        try:
            got = client.batch_get_item(**arguments)
        except Exception as error:
            if attempt + 1 == BATCH_ATTEMPTS_MAX or not _retryable(error):
                raise
            continue
        items.extend(got.get("Responses", {}).get(table, []))
        units += sum(one.get("CapacityUnits", 0.0) for one in got.get("ConsumedCapacity", []))
        left = got.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        if not left:
            return {"items": items, "units": units}
        asked["Keys"] = left
    message = f"`BatchGetItem` on table `{table}` left {len(asked['Keys'])} undone after {BATCH_ATTEMPTS_MAX} attempts"
    raise KeyfoldError("unprocessed", message)


def _request(request: Mapping[str, Any]) -> str:
    """The request's text. Numbers are written so that they keep all their digits."""

    def exact(value: Any) -> Any:
        if isinstance(value, Decimal):
            return {"N": _digits(value)}
        raise TypeError(f"{type(value).__name__} is no value of a request")

    return json.dumps(request, default=exact, ensure_ascii=False)


def _expected(expecting: Optional[Mapping[str, Any]], typed: Any) -> Dict[str, Any]:
    expecting = expecting or {}
    present = {name: value for name, value in expecting.items() if value is not None}
    return {"expecting": typed(present), "absent": [name for name, value in expecting.items() if value is None]}


def _patched(item: Mapping[str, Any], patch: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    result = {**item, **_shown_item(patch["set"], plain)}
    for name in patch["remove"]:
        result.pop(name, None)
    return result


def _shown(arguments: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    for field in ("Key", "ExpressionAttributeValues", "ExclusiveStartKey"):
        if field in arguments:
            arguments[field] = _shown_item(arguments[field], plain)
    return arguments


def _digits(value: Any) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise TypeError("DynamoDB has no such number")
    return str(value)


def _base64(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")


def _is_bytes(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray, memoryview)) or type(value).__name__ == "Binary"


def _to_typed(value: Any) -> Dict[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, (int, Decimal)):
        return {"N": _digits(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, Mapping):
        return {"M": _to_typed_item(value)}
    if isinstance(value, (list, tuple)):
        return {"L": [_to_typed(one) for one in value]}
    if _is_bytes(value):
        return {"B": _base64(value)}
    if isinstance(value, (set, frozenset)):
        return _set_to_typed(value)
    if isinstance(value, float):
        raise TypeError("a float does not keep its digits: use Decimal")
    raise TypeError(f"{type(value).__name__} is no value of DynamoDB")


def _set_to_typed(value: Any) -> Dict[str, Any]:
    if not value:
        raise TypeError("DynamoDB has no empty sets")
    if all(isinstance(one, str) for one in value):
        return {"SS": list(value)}
    if all(isinstance(one, (int, Decimal)) and not isinstance(one, bool) for one in value):
        return {"NS": [_digits(one) for one in value]}
    if all(_is_bytes(one) for one in value):
        return {"BS": [_base64(one) for one in value]}
    raise TypeError("a set holds texts, or numbers, or bytes")


def _to_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _to_typed(value) for name, value in item.items()}


def _from_typed(value: Dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "N":
        return Decimal(content)
    if kind == "NULL":
        return None
    if kind == "M":
        return _from_typed_item(content)
    if kind == "L":
        return [_from_typed(one) for one in content]
    if kind == "B":
        return _bytes(content)
    if kind == "SS":
        return set(content)
    if kind == "NS":
        return {Decimal(one) for one in content}
    if kind == "BS":
        return {_bytes(one) for one in content}
    return content


def _bytes(content: Any) -> Any:
    """The core writes bytes as base64; boto3 has them as they are."""
    return base64.b64decode(content) if isinstance(content, str) else content


def _from_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _from_typed(value) for name, value in item.items()}


def _raw_to_typed(value: Mapping[str, Any]) -> Mapping[str, Any]:
    ((kind, content),) = value.items()
    if kind == "B" and not isinstance(content, str):
        return {"B": _base64(content)}
    if kind == "BS":
        return {"BS": [one if isinstance(one, str) else _base64(one) for one in content]}
    if kind == "L":
        return {"L": [_raw_to_typed(one) for one in content]}
    if kind == "M":
        return {"M": _raw_to_typed_item(content)}
    return value


def _raw_to_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _raw_to_typed(value) for name, value in item.items()}


def _typed_to_raw(value: Dict[str, Any]) -> Dict[str, Any]:
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": base64.b64decode(content)}
    if kind == "BS":
        return {"BS": [base64.b64decode(one) for one in content]}
    if kind == "L":
        return {"L": [_typed_to_raw(one) for one in content]}
    if kind == "M":
        return {"M": _typed_to_raw_item(content)}
    return value


def _typed_to_raw_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _typed_to_raw(value) for name, value in item.items()}
