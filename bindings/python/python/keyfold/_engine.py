"""What boto3 and aiobotocore share: requests as coroutines."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping as MappingABC
from typing import Any, Dict, Literal, Optional

from . import _core
from ._error import called
from ._io import Io
from ._model import Model
from ._tables import AnyTable
from ._values import from_typed_item, raw_to_typed_item, request_text, text
from ._work import answer, is_fresh, readiness_rows, shown_answer, update_item

CONTROL_TABLE = "keyfold-control"
#: The attributes that an update or a put returns: of the item before or after.
Returning = Literal["old", "new"]


class Engine(Model):
    """The tables of a manifest, with requests as coroutines over an `Io`."""

    async def _update_item(
        self, io: Io, table: AnyTable, updating: _core.Updating, returning: Optional[Returning], plain: bool
    ) -> Dict[str, Any]:
        done = await update_item(io, updating, None if returning is None else f"ALL_{returning.upper()}")
        attributes = done.pop("attributes")
        if attributes is not None:
            done["attributes"] = attributes if plain else from_typed_item(attributes)
        return done

    async def _query(self, io: Io, request: Any, control: str, plain: bool) -> Dict[str, Any]:
        asked = request_text(request)
        table = request.get("table") if isinstance(request, MappingABC) else None
        asking = called(self._tables.question, asked, await self._rows(io, table, control))
        found, kept = await answer(io, asking)
        return shown_answer(found, kept, plain)

    async def _rows(self, io: Io, table: Any, control: str) -> Optional[str]:
        """What the control table says of the retrofits into a request's table; nothing is read if none fills it."""
        if not isinstance(table, str):
            return None  # the core says what is wrong with such a request
        reads = json.loads(called(self._tables.readiness_reads, table, control))
        if not reads:
            return None
        known = self._readiness.get((control, table))
        if known and is_fresh(known[0]):
            return str(known[1])
        found = text(await readiness_rows(io, reads))
        self._readiness[(control, table)] = (time.monotonic(), found)
        return found
