"""What boto3 and aiobotocore share: requests as coroutines."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping as MappingABC
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from . import _core
from ._answers import Page
from ._error import called, invalid
from ._io import Io
from ._model import Model, Write
from ._options import Reading, check, control_of, request_with
from ._tables import AnyTable, Asked, Table, table_id
from ._values import (
    comparable, from_typed_item, mapping_of, raw_to_typed_item, request_text, text, typed_item, typed_to_raw_item,
)
from ._work import answer, batch_get, batch_write, is_fresh, readiness_rows, shown_answer, transact, update_item

_TOMBSTONE = "keyfold_tombstone"
_OWN = "keyfold_"


class Engine(Model):
    """The tables of a manifest, with requests as coroutines over an `Io`."""

    async def _update_item(self, io: Io, updating: _core.Updating, returning: Any, plain: bool) -> Dict[str, Any]:
        done = await update_item(io, updating, _returned(returning))
        attributes = done.pop("attributes")
        if attributes is not None:
            done["attributes"] = attributes if plain else from_typed_item(attributes)
        return done

    async def _write(self, io: Io, operation: str, write: Write, returning: Any) -> Optional[Dict[str, Any]]:
        """Sends a put or a delete; the item of before, if it is asked for."""
        if returning not in (None, "old"):
            raise invalid("a put or a delete can only return the `old` item")
        arguments = {**_raw_arguments(write), **({"ReturnValues": "ALL_OLD"} if returning else {})}
        attributes = (await io.send(operation, arguments)).get("Attributes")
        return attributes if write.plain or not attributes else from_typed_item(attributes)

    async def _get(self, io: Io, table: AnyTable, key: Any, consistent: bool, folded_keys: bool, plain: bool) -> Any:
        raw = typed_to_raw_item(json.loads(self._typed_key(table, key, plain)))
        arguments = {"TableName": self.description(table)["name"], "Key": raw, "ConsistentRead": consistent}
        item = (await io.send("get_item", arguments)).get("Item")
        return None if item is None else self._shown(table, item, folded_keys, plain)

    async def _batch_get(
        self, io: Io, table: AnyTable, keys: Iterable[Any], consistent: bool, folded_keys: bool, plain: bool
    ) -> List[Any]:
        """The item of each key, or `None`, in the order of the keys."""
        names = self.description(table)["key"]
        asked = [json.loads(self._typed_key(table, key, plain)) for key in keys]
        by_key = {comparable(key, names): key for key in asked}
        raw = [typed_to_raw_item(key) for key in by_key.values()]
        found = await batch_get(io, self.description(table)["name"], raw, consistent)
        items = {comparable(raw_to_typed_item({name: item[name] for name in names}), names): item for item in found}

        def shown(key: Mapping[str, Any]) -> Any:
            item = items.get(comparable(key, names))
            return None if item is None else self._shown(table, item, folded_keys, plain)

        return [shown(key) for key in asked]

    async def _batch_write(self, io: Io, writes: Iterable[Write]) -> None:
        await batch_write(io, [(write, _raw_arguments(write)) for write in writes])

    async def _transact(self, io: Io, writes: Iterable[Write], token: Optional[str]) -> None:
        await transact(io, [(write, _raw_arguments(write)) for write in writes], token)

    def _typed_key(self, table: AnyTable, key: Any, plain: bool) -> str:
        return called(self._tables.key_of, table_id(table), text(typed_item(key, plain, "the key")))

    def _shown(self, table: AnyTable, item: Mapping[str, Any], folded_keys: bool, plain: bool) -> Any:
        """An item that was read, with the attributes that only its keys contain; `None` for a tombstone."""
        if _TOMBSTONE in item:
            return None
        hidden = frozenset() if folded_keys else self._hidden(table)
        shown = {name: value for name, value in item.items() if name not in hidden and not name.startswith(_OWN)}
        if self.description(table)["hasKeyParts"]:
            parts = called(self._tables.key_parts, table_id(table), text(raw_to_typed_item(item)))
            shown.update(typed_to_raw_item(json.loads(parts)))
        if plain:
            return shown
        make = table.make if isinstance(table, Table) else None
        return from_typed_item(shown) if make is None else make(from_typed_item(shown))

    def _hidden(self, table: AnyTable) -> "frozenset[str]":
        """The folded keys. A primary key that alone identifies its item's entity is shown: it cannot be made again without it."""
        described = self.description(table)
        if "hidden" not in described:
            folded, key = set(described["folded"]), set(described["key"])
            described["hidden"] = frozenset(folded - key if folded & key & set(described["entityInputs"]) else folded)
        hidden: "frozenset[str]" = described["hidden"]
        return hidden

    async def _query(self, io: Io, request: Any, control: str, folded_keys: bool, plain: bool) -> Dict[str, Any]:
        return (await self._asked(io, request, control, folded_keys, plain))[0]

    async def _asked(
        self, io: Io, request: Any, control: str, folded_keys: bool, plain: bool
    ) -> "Tuple[Dict[str, Any], List[Mapping[str, Any]]]":
        """An answer, and its items as they were read, typed."""
        asked = request_text(request)
        table = request.get("table") if isinstance(request, MappingABC) else None
        asking = called(self._tables.question, asked, await self._rows(io, table, control))
        found, kept = await answer(io, asking)
        read = [kept[item] if isinstance(item, int) else item for item in found["items"]]
        return shown_answer(found, kept, plain, frozenset() if folded_keys else self._hidden(str(table))), read


    async def _page(self, io: Io, request: Mapping[str, Any], of: Any, options: Mapping[str, Any]) -> Page[Any]:
        """One page of a request. `of`: the table or question whose items they are."""
        folded_keys = bool(options.get("folded_keys", False))
        found, read = await self._asked(io, request, control_of(options), folded_keys, False)
        make = of.make if isinstance(of, (Table, Asked)) and _is_whole(request, of) else None

        def entities() -> List[Optional[str]]:
            if request.get("select") is not None:
                raise invalid("an answer with `select` cannot be grouped by entity")
            typed = [text(raw_to_typed_item(item)) for item in read]
            return [json.loads(called(self._tables.entity_of, request["table"], item)) for item in typed]

        return Page(
            items=found["items"] if make is None else [make(item) for item in found["items"]],
            count=found["count"],
            units=found["consumedReadUnits"],
            items_read=found["itemsRead"],
            requests=found["requests"],
            next=found.get("page"),
            plan=found.get("plan"),
            _entities=entities,
        )

    def _of_question(self, asked: Asked[Any], options: Mapping[str, Any]) -> Dict[str, Any]:
        """The request of a question; a name is `question`, or `table.question` if several tables have one of that name."""
        check(options, Reading, "ask")
        if not isinstance(asked.name, str):
            raise invalid("the question must be a name, or a question with its input")
        table, _, question = asked.name.rpartition(".")
        values = request_text(mapping_of({} if asked.input is None else asked.input, "the input"))
        return request_with(json.loads(called(self._tables.asked, table, question, values)), options)

    def _of_table(
        self, table: AnyTable, where: Any, entity: Any, select: Any, options: Mapping[str, Any]
    ) -> Dict[str, Any]:
        check(options, Reading, "find")
        request: Dict[str, Any] = {"table": table_id(table)}
        for name, value in (("where", where), ("entity", entity), ("select", select)):
            if value is not None:
                request[name] = value
        return request_with(request, options)

    async def _rows(self, io: Io, table: Any, control: str) -> Optional[str]:
        """What the control table says of the retrofits into a request's table; nothing is read if none fills it."""
        if not isinstance(table, str):
            return None  # the core says what is wrong with such a request
        known = self._readiness.get((control, table))
        if known and (known[1] is None or is_fresh(known[0])):
            return known[1]
        reads = json.loads(called(self._tables.readiness_reads, table, control))
        found = text(await readiness_rows(io, reads)) if reads else None
        self._readiness[(control, table)] = (time.monotonic(), found)
        return found


def _is_whole(request: Mapping[str, Any], of: Any) -> bool:
    """Do the items of the answer have the type of the table or question? With `select`, only a question's do."""
    return isinstance(of, Asked) or request.get("select") is None


def _returned(returning: Any) -> Optional[str]:
    if returning not in (None, "old", "new"):
        raise invalid("`returning` must be `old` or `new`")
    return None if returning is None else f"ALL_{returning.upper()}"


def _raw_arguments(write: Write) -> Dict[str, Any]:
    """The arguments of a write for a client."""
    if not isinstance(write, Write):
        raise invalid("a write must be what `put`, `update`, `delete`, `check` or `repair` returned")
    arguments = dict(write)
    if not write.plain:
        for field in ("Item", "Key", "ExpressionAttributeValues"):
            if field in arguments:
                arguments[field] = typed_to_raw_item(typed_item(arguments[field], False))
    return arguments
