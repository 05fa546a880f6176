"""Keyfold over aiobotocore or aioboto3: the functions of `keyfold.Keyfold` that send requests, as coroutines."""

from __future__ import annotations

import os
from typing import Any, AsyncIterator, Dict, Mapping, Optional, Sequence, Union

from ._engine import CONTROL_TABLE, Engine, Returning
from ._io import Io, Tasks
from ._tables import AnyTable

__all__ = ["AsyncKeyfold", "load"]


class AsyncKeyfold(Engine):
    """The tables of a manifest, over aiobotocore."""

    def _io(self, client: Any) -> Io:
        return Tasks(client)

    async def update_item(
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
        """Updates an item: see `Keyfold.update_item`."""
        updating = self._updating(table, key, set, remove, expecting, True, plain)
        return await self._update_item(self._io(client), table, updating, returning, plain)

    async def query(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, plain: bool = False
    ) -> Dict[str, Any]:
        """One page of an answer: see `Keyfold.query`."""
        return await self._query(self._io(client), request, control, plain)

    async def items(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, plain: bool = False
    ) -> AsyncIterator[Dict[str, Any]]:
        """All pages of a request, item by item."""
        following: Optional[Mapping[str, Any]] = request
        while following is not None:
            answer = await self.query(client, following, control=control, plain=plain)
            for item in answer["items"]:
                yield item
            following = {**request, "page": answer["page"]} if "page" in answer else None


def load(manifest: Union[str, "os.PathLike[str]"]) -> AsyncKeyfold:
    """Loads a manifest: the text of a keyfold.toml, or its path."""
    return AsyncKeyfold(manifest)
