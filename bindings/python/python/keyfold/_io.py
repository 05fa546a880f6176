"""How requests are sent: by a client of boto3 with threads, or by one of aiobotocore with tasks.

Everything above this module is written once, as coroutines. Over boto3 no coroutine ever waits, so `run` runs it without an event loop.
"""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Coroutine, Dict, Iterable, List, Mapping, Optional, Protocol, TypeVar

from ._error import invalid
from ._values import from_typed_item, raw_to_typed_item, typed_item, typed_to_raw_item

Result = TypeVar("Result")

CONTROL_TABLE = "keyfold-control"
#: How many reads a query has in flight at once.
CONCURRENCY = 8
#: Attempts of one read while DynamoDB throttles, beyond those of the client.
READ_ATTEMPTS_MAX = 5
#: Attempts of one batch.
BATCH_ATTEMPTS_MAX = 10

RETRYABLE = {
    "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
    "ServiceUnavailable", "TransactionConflictException",
}


class Io(Protocol):
    """A client, and how to wait for several of its requests."""

    async def send(self, operation: str, arguments: Dict[str, Any]) -> Dict[str, Any]: ...
    async def sleep(self, seconds: float) -> None: ...
    def start(self, work: Coroutine[Any, Any, Any]) -> Any: ...
    async def first(self, started: Iterable[Any]) -> List[Any]: ...
    async def close(self, started: Iterable[Any]) -> None: ...


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("a coroutine over boto3 waits for nothing")


class Threads:
    """A client of boto3."""

    def __init__(self, client: Any) -> None:
        self._client, self._is_high_level = plain_client(client)
        self._pool: Optional[ThreadPoolExecutor] = None

    async def send(self, operation: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
        method = getattr(self._client, operation)
        if self._is_high_level:
            return _converted(method(**_converted(arguments, _python_item)), _raw_item)
        sent: Dict[str, Any] = method(**arguments)
        return sent

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def start(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=CONCURRENCY)
        return self._pool.submit(run, work)

    async def first(self, started: Iterable["Future[Any]"]) -> List["Future[Any]"]:
        done, _ = wait(started, return_when=FIRST_COMPLETED)
        return list(done)

    async def close(self, started: Iterable[Any]) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


class Tasks:
    """A client of aiobotocore."""

    def __init__(self, client: Any) -> None:
        self._client, self._is_high_level = plain_client(client)
        self._limit = asyncio.Semaphore(CONCURRENCY)

    async def send(self, operation: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
        method = getattr(self._client, operation)
        async with self._limit:
            if self._is_high_level:
                return _converted(await method(**_converted(arguments, _python_item)), _raw_item)
            sent: Dict[str, Any] = await method(**arguments)
            return sent

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        return asyncio.ensure_future(work)

    async def first(self, started: Iterable["asyncio.Task[Any]"]) -> List["asyncio.Task[Any]"]:
        done, _ = await asyncio.wait(list(started), return_when=asyncio.FIRST_COMPLETED)
        return list(done)

    async def close(self, started: Iterable["asyncio.Task[Any]"]) -> None:
        left = list(started)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def plain_client(client: Any) -> Any:
    """The client of a resource or table, and whether it converts values itself, as the client of a resource does."""
    # The class is asked: a client answers for a name that it lacks by an event and an error.
    if not hasattr(client, "get_item") or hasattr(type(client), "table_name"):
        of_resource = getattr(getattr(client, "meta", None), "client", None)
        if of_resource is None:
            hint = 'pass `boto3.client("dynamodb")`, a resource or a table'
            raise invalid(f"the client must be one of DynamoDB, but it is of type `{type(client).__name__}`", hint)
        client = of_resource
    events = getattr(getattr(client, "meta", None), "events", None)
    # boto3 registers the conversion under this name, and has no public way to ask for it.
    handlers = getattr(getattr(events, "_emitter", events), "_unique_id_handlers", {})
    return client, "dynamodb-attr-value-input" in handlers


def _python_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return from_typed_item(raw_to_typed_item(item))


def _raw_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return typed_to_raw_item(typed_item(item, False))


_ITEMS = {"Item", "Key", "ExclusiveStartKey", "LastEvaluatedKey", "ExpressionAttributeValues", "Attributes"}
_LISTS = {"Items", "Keys"}


def _converted(message: Mapping[str, Any], convert: Any) -> Dict[str, Any]:
    """A request or response with each of its items converted."""
    converted: Dict[str, Any] = {}
    for name, content in message.items():
        if name in _ITEMS:
            converted[name] = convert(content)
        elif name in _LISTS:
            converted[name] = [convert(item) for item in content]
        elif name == "Responses" and isinstance(content, dict):
            converted[name] = {table: [convert(item) for item in items] for table, items in content.items()}
        elif isinstance(content, dict):
            converted[name] = _converted(content, convert)
        elif isinstance(content, list):
            converted[name] = [_converted(one, convert) if isinstance(one, dict) else one for one in content]
        else:
            converted[name] = content
    return converted


def code_of(error: BaseException) -> Optional[str]:
    """The code of an error of DynamoDB."""
    response: Mapping[str, Any] = getattr(error, "response", None) or {}
    code: Optional[str] = response.get("Error", {}).get("Code")
    return code


def pause_before(attempt: int) -> float:
    """How long to wait before an attempt, in seconds."""
    return random.random() * min(0.05 * 2.0 ** min(attempt, 16), 5.0)
