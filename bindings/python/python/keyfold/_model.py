"""The tables of a manifest: everything that needs no request."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _core
from ._error import KeyfoldError, called, invalid
from ._options import Changes, check
from ._tables import AnyTable, table_id
from ._values import from_typed_item, mapping_of, plain_json, request_text, shown_item, text, typed_item

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The instant of an expiry, how long until then, or its second since 1970.
Expires = Union[datetime, timedelta, int]

_CHANGES = {"set_if_absent": "setIfAbsent"}


class Write(Dict[str, Any]):
    """The arguments of one write. `plain`: in DynamoDB's notation, for a client; otherwise for a table of boto3."""

    def __init__(self, arguments: Mapping[str, Any], plain: bool) -> None:
        super().__init__(arguments)
        self.plain = plain


class Put(Write):
    """The arguments of `put_item`."""


class Update(Write):
    """The arguments of `update_item`."""


class Delete(Write):
    """The arguments of `delete_item`."""


class Check(Write):
    """A check of an item in a transaction."""


def manifest_text(manifest: Union[str, "os.PathLike[str]"]) -> str:
    """The text of a manifest, given as text or as the path of its file."""
    if isinstance(manifest, os.PathLike):
        return Path(manifest).read_text(encoding="utf-8")
    if isinstance(manifest, (bytes, bytearray)):
        hint = "pass the text of the manifest: only the npm package loads what it has compiled"
        raise invalid("the manifest must be a text or a path, not bytes", hint)
    return manifest


class Model:
    """The tables of a manifest."""

    def __init__(self, manifest: Union[str, "os.PathLike[str]"]) -> None:
        self._tables = called(_core.Tables, manifest_text(manifest))
        self._readiness: Dict[Tuple[str, str], Tuple[float, Optional[str]]] = {}
        self._descriptions: Dict[str, Dict[str, Any]] = {}

    def fold(self, table: AnyTable, item: Any, *, plain: bool = False) -> Dict[str, Any]:
        """The item with its folded keys, and without folded keys that it should not have."""
        patch = json.loads(called(self._tables.fold, table_id(table), text(typed_item(item, plain))))
        return _patched(item, patch, plain)

    def unfold(self, table: AnyTable, key: str, *, index: Optional[str] = None) -> Dict[str, Any]:
        """The parts of a folded key."""
        unfolded: Dict[str, Any] = json.loads(called(self._tables.unfold, table_id(table), key, index))
        unfolded["values"] = from_typed_item(unfolded["values"])
        return unfolded

    def key_of(self, table: AnyTable, attributes: Any, *, plain: bool = False) -> Dict[str, Any]:
        """The primary key that these attributes make."""
        typed = text(typed_item(attributes, plain, "the key"))
        return shown_item(json.loads(called(self._tables.key_of, table_id(table), typed)), plain)

    def entries_of(self, table: AnyTable, item: Any, *, plain: bool = False) -> List[Dict[str, Any]]:
        """What each index holds of an item, or why it holds nothing."""
        typed = text(typed_item(item, plain))
        entries: List[Dict[str, Any]] = json.loads(called(self._tables.entries_of, table_id(table), typed))
        for entry in entries:
            if "entry" in entry:
                entry["entry"] = shown_item(entry["entry"], plain)
        return entries

    def put(
        self,
        table: AnyTable,
        item: Any,
        *,
        if_absent: bool = False,
        expecting: Optional[Mapping[str, Any]] = None,
        condition: Any = None,
        expires: Optional[Expires] = None,
        plain: bool = False,
    ) -> Put:
        """The arguments of `put_item`. `if_absent`: only where no item has its key. `expecting` and `condition`: only over an item that
        fulfils them. `expires`: when DynamoDB may delete the item."""
        item = mapping_of(item)
        if expires is not None:
            item = {**item, **self._expiry(table, expires, plain)}
        asked = {"ifAbsent": if_absent, "condition": plain_json(condition), **_expected(expecting, plain)}
        typed = text(typed_item(item, plain))
        put = json.loads(called(self._tables.put_if, table_id(table), typed, text(asked)))
        return Put({**_shown(put["input"], plain), "Item": _patched(item, put["patch"], plain)}, plain)

    def _expiry(self, table: AnyTable, expires: Expires, plain: bool) -> Dict[str, Any]:
        attribute = self.description(table)["ttl"]
        if attribute is None:
            hint = "declare the attribute as `ttl` of the table"
            raise invalid(f"`expires`: table `{table_id(table)}` has no time to live", hint)
        at = datetime.now(timezone.utc) + expires if isinstance(expires, timedelta) else expires
        seconds = int(at.timestamp()) if isinstance(at, datetime) else at
        return {attribute: {"N": str(seconds)} if plain else seconds}

    def update(
        self,
        table: AnyTable,
        key: Any,
        *,
        stored: Optional[Any] = None,
        plain: bool = False,
        **changes: "Unpack[Changes]",
    ) -> Update:
        """The arguments of `update_item`: attributes are changed, and folded keys made anew.

        Refused with `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have
        read it. An expected value of `None` means that the attribute must be absent.
        """
        updating = self._updating(table, key, changes, stored is not None, plain)
        following = json.loads(called(updating.request))
        if following["operation"] == "GetItem":
            item = None if stored is None else typed_item(stored, plain)
            called(updating.was_read, text(item))
            following = json.loads(called(updating.request))
        return Update(_shown(following["input"], plain), plain)

    def _updating(
        self, table: AnyTable, key: Any, changes: Mapping[str, Any], reading: bool, plain: bool
    ) -> _core.Updating:
        check(changes, Changes, "update")
        asked: Dict[str, Any] = {"reading": reading, **_expected(changes.get("expecting"), plain)}
        for name in ("set", "set_if_absent", "add", "delete", "append", "prepend"):
            if name in changes:
                asked[_CHANGES.get(name, name)] = typed_item(changes[name], plain, f"`{name}`")
        asked["remove"] = list(changes.get("remove", ()))
        asked["condition"] = plain_json(changes.get("condition"))
        asked["entity"] = changes.get("entity")
        return called(self._tables.update, table_id(table), text(typed_item(key, plain, "the key")), text(asked))

    def delete(
        self,
        table: AnyTable,
        key: Any,
        *,
        expecting: Optional[Mapping[str, Any]] = None,
        condition: Any = None,
        plain: bool = False,
    ) -> Delete:
        """The arguments of `delete_item`."""
        asked = text({"condition": plain_json(condition), **_expected(expecting, plain)})
        typed = text(typed_item(key, plain, "the key"))
        return Delete(_shown(json.loads(called(self._tables.delete, table_id(table), typed, asked)), plain), plain)

    def check(
        self,
        table: AnyTable,
        key: Any,
        *,
        expecting: Optional[Mapping[str, Any]] = None,
        condition: Any = None,
        plain: bool = False,
    ) -> Check:
        """The arguments of a check in a transaction: the item must be as expected."""
        if not expecting and not condition:
            raise invalid("a check needs `expecting` or `condition`")
        return Check(self.delete(table, key, expecting=expecting, condition=condition, plain=plain), plain)

    def repair(self, table: AnyTable, image: Any, *, plain: bool = False) -> Optional[Update]:
        """The arguments of `update_item` that give a stored item the folded keys it should have, on condition that it has not changed;
        `None` if they are right. For consumers of a stream: `image` is the new image of a record."""
        repair = json.loads(called(self._tables.repair, table_id(table), text(typed_item(image, plain))))
        return None if repair is None else Update(_shown(repair, plain), plain)

    def described(self) -> List[Dict[str, Any]]:
        """What a writer must know of each table: its `id` and `name`, its `key`, the `folded` attributes, and their `inputs`."""
        described: List[Dict[str, Any]] = json.loads(called(self._tables.tables))
        return described

    def description(self, table: AnyTable) -> Dict[str, Any]:
        """One of `described`, by id or by name in DynamoDB."""
        name = table_id(table)
        if not self._descriptions:
            described = self.described()
            self._descriptions = {**{one["name"]: one for one in described}, **{one["id"]: one for one in described}}
        found: Optional[Dict[str, Any]] = self._descriptions.get(name)
        if found is None:
            raise KeyfoldError("unknown-table", f"the manifest declares no table `{name}`")
        return found

    def plan(self, request: Any) -> Dict[str, Any]:
        """The arguments of each read of a request, and their price. Nothing is read."""
        plan: Dict[str, Any] = json.loads(called(self._tables.plan, request_text(request)))
        return plan

    def explain(self, request: Any) -> Dict[str, Any]:
        """The plan in words: its reads, its price, and why no other table or index is used. Nothing is read."""
        explanation: Dict[str, Any] = json.loads(called(self._tables.explain, request_text(request)))
        return explanation


def _expected(expecting: Optional[Mapping[str, Any]], plain: bool) -> Dict[str, Any]:
    expecting = mapping_of({} if expecting is None else expecting, "`expecting`")
    present = {name: value for name, value in expecting.items() if value is not None}
    absent = [name for name, value in expecting.items() if value is None]
    return {"expecting": typed_item(present, plain, "`expecting`"), "absent": absent}


def _patched(item: Any, patch: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    folded = {name: {"S": text} for name, text in patch["set"].items()} if plain else patch["set"]
    result = {**mapping_of(item), **folded}
    for name in patch["remove"]:
        result.pop(name, None)
    return result


def _shown(arguments: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    for field in ("Key", "ExpressionAttributeValues", "ExclusiveStartKey"):
        if field in arguments:
            arguments[field] = shown_item(arguments[field], plain)
    return arguments
