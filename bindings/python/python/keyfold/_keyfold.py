"""The functions that send requests, over a client of boto3."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional, Sequence

from ._engine import CONTROL_TABLE, Engine, Returning
from ._io import Io, Threads, run
from ._tables import AnyTable

__all__ = ["CONTROL_TABLE", "Keyfold"]


class Keyfold(Engine):
    """The tables of a manifest, over boto3. A client is a client of boto3, a resource or a table of it."""

    def _io(self, client: Any) -> Io:
        return Threads(client)

    def update_item(
        self,
        client: Any,
        table: AnyTable,
        key: Any,
        *,
        set: Optional[Mapping[str, Any]] = None,
        remove: Sequence[str] = (),
        expecting: Optional[Mapping[str, Any]] = None,
        returning: Optional[Returning] = None,
        plain: bool = False,
    ) -> Dict[str, Any]:
        """Updates an item. If its folded keys need what is not known, it is read, and written on condition that it has not changed.
        Returns the number of `attempts`, and with `returning` the item's `attributes` of before or after."""
        updating = self._updating(table, key, set, remove, expecting, True, plain)
        return run(self._update_item(self._io(client), table, updating, returning, plain))

    def query(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, plain: bool = False
    ) -> Dict[str, Any]:
        """Answers a request: one page of items. `page` of the answer, put into the request, asks for the next one.

        An index that a retrofit still fills is not read; `control` names the control table
        that says so."""
        return run(self._query(self._io(client), request, control, plain))

    def items(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, plain: bool = False
    ) -> Iterator[Dict[str, Any]]:
        """All pages of a request, item by item."""
        following: Optional[Mapping[str, Any]] = request
        while following is not None:
            answer = self.query(client, following, control=control, plain=plain)
            yield from answer["items"]
            following = {**request, "page": answer["page"]} if "page" in answer else None
