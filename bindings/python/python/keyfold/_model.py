"""The tables of a manifest: everything that needs no request."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _core
from ._error import called, invalid
from ._tables import AnyTable, table_id
from ._values import from_typed_item, mapping_of, request_text, shown_item, text, typed_item

#: How a compiled manifest of the npm package begins.
_COMPILED = b"keyfold"


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
        self._readiness: Dict[Any, Any] = {}

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

    def put(self, table: AnyTable, item: Any, *, if_absent: bool = False, plain: bool = False) -> Put:
        """The arguments of `put_item`. `if_absent`: only where no item has its key."""
        typed = text(typed_item(item, plain))
        put = json.loads(called(self._tables.put, table_id(table), typed, if_absent))
        return Put({**_shown(put["input"], plain), "Item": _patched(item, put["patch"], plain)}, plain)

    def update(
        self,
        table: AnyTable,
        key: Any,
        *,
        set: Optional[Mapping[str, Any]] = None,
        remove: Sequence[str] = (),
        expecting: Optional[Mapping[str, Any]] = None,
        stored: Optional[Any] = None,
        plain: bool = False,
    ) -> Update:
        """The arguments of `update_item`: attributes are set and removed, and folded keys made anew.

        Refused with `update-needs-reading` where that cannot be right without reading the item; `stored` is the item, if you have
        read it. An expected value of `None` means that the attribute must be absent.
        """
        updating = self._updating(table, key, set, remove, expecting, stored is not None, plain)
        following = json.loads(called(updating.request))
        if following["operation"] == "GetItem":
            item = None if stored is None else typed_item(stored, plain)
            called(updating.was_read, text(item))
            following = json.loads(called(updating.request))
        return Update(_shown(following["input"], plain), plain)

    def _updating(
        self, table: AnyTable, key: Any, set: Any, remove: Any, expecting: Any, reading: bool, plain: bool
    ) -> _core.Updating:
        changed = typed_item({} if set is None else set, plain, "`set`")
        asked = {"set": changed, "remove": list(remove), "reading": reading, **_expected(expecting, plain)}
        return called(self._tables.update, table_id(table), text(typed_item(key, plain, "the key")), text(asked))

    def delete(
        self, table: AnyTable, key: Any, *, expecting: Optional[Mapping[str, Any]] = None, plain: bool = False
    ) -> Delete:
        """The arguments of `delete_item`."""
        typed, asked = text(typed_item(key, plain, "the key")), text(_expected(expecting, plain))
        return Delete(_shown(json.loads(called(self._tables.delete, table_id(table), typed, asked)), plain), plain)

    def plan(self, request: Any) -> Dict[str, Any]:
        """The plan of a request: its reads, its price, what else was considered, and the arguments of each read."""
        plan: Dict[str, Any] = json.loads(called(self._tables.plan, request_text(request)))
        return plan


def _expected(expecting: Optional[Mapping[str, Any]], plain: bool) -> Dict[str, Any]:
    expecting = mapping_of({} if expecting is None else expecting, "`expecting`")
    present = {name: value for name, value in expecting.items() if value is not None}
    absent = [name for name, value in expecting.items() if value is None]
    return {"expecting": typed_item(present, plain, "`expecting`"), "absent": absent}


def _patched(item: Any, patch: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    result = {**mapping_of(item), **shown_item(patch["set"], plain)}
    for name in patch["remove"]:
        result.pop(name, None)
    return result


def _shown(arguments: Dict[str, Any], plain: bool) -> Dict[str, Any]:
    for field in ("Key", "ExpressionAttributeValues", "ExclusiveStartKey"):
        if field in arguments:
            arguments[field] = shown_item(arguments[field], plain)
    return arguments
