"""The functions that send requests, over a client of boto3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, overload

from ._answers import Answer
from ._engine import Engine
from ._io import CONTROL_TABLE, Io, Threads, run
from ._model import Expires, Write
from ._options import Changes, Reading, Returning, paged
from ._tables import AnyTable, Asked, Item, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Keyfold"]


class Keyfold(Engine):
    """The tables of a manifest, over boto3. A client is a client of boto3, a resource or a table of it."""

    def _io(self, client: Any) -> Io:
        return Threads(client)

    @overload
    def ask(self, client: Any, question: Asked[Item], **options: Unpack[Reading]) -> Answer[Item]: ...
    @overload
    def ask(
        self, client: Any, question: str, input: Any = None, **options: Unpack[Reading]
    ) -> Answer[Dict[str, Any]]: ...
    def ask(self, client: Any, question: Any, input: Any = None, **options: Any) -> Answer[Any]:
        """Answers a question of the manifest. The input has a value for each parameter: `{"customer": "c1", "placed.gte": "2026-01"}`.
        With types: `ask(client, SHOP_ORDERS_OF({"customer": "c1"}))`."""
        asked: Asked[Any] = question if isinstance(question, Asked) else Asked(question, input)
        request, io_of = self._of_question(asked, options), self._io
        return Answer(lambda page: run(self._page(io_of(client), paged(request, page), asked, options)))

    @overload
    def find(
        self, client: Any, table: Table[Item, Any], where: Any = None, *, entity: Any = None, **options: Unpack[Reading]
    ) -> Answer[Item]: ...
    @overload
    def find(
        self, client: Any, table: AnyTable, where: Any = None, *, entity: Any = None, select: Optional[Sequence[str]] = None,
        **options: Unpack[Reading],
    ) -> Answer[Dict[str, Any]]: ...
    def find(
        self, client: Any, table: Any, where: Any = None, *, entity: Any = None, select: Any = None, **options: Any
    ) -> Answer[Any]:
        """Answers a request about one table. With `select`, items are dictionaries of the selected attributes."""
        request, io_of = self._of_table(table, where, entity, select, options), self._io
        return Answer(lambda page: run(self._page(io_of(client), paged(request, page), table, options)))

    @overload
    def get(
        self, client: Any, table: Table[Item, Any], key: Any, *, consistent: bool = False, folded_keys: bool = False, plain: Literal[False] = False
    ) -> Optional[Item]: ...
    @overload
    def get(
        self, client: Any, table: str, key: Any, *, consistent: bool = False, folded_keys: bool = False, plain: bool = False
    ) -> Optional[Dict[str, Any]]: ...
    def get(
        self, client: Any, table: Any, key: Any, *, consistent: bool = False, folded_keys: bool = False, plain: bool = False
    ) -> Any:
        """The item with this key, given as the key itself or as the attributes that make it; `None` if there is none."""
        return run(self._get(self._io(client), table, key, consistent, folded_keys, plain))

    @overload
    def batch_get(
        self, client: Any, table: Table[Item, Any], keys: Iterable[Any], *, consistent: bool = False, folded_keys: bool = False,
        plain: Literal[False] = False,
    ) -> List[Optional[Item]]: ...
    @overload
    def batch_get(
        self, client: Any, table: str, keys: Iterable[Any], *, consistent: bool = False, folded_keys: bool = False, plain: bool = False
    ) -> List[Optional[Dict[str, Any]]]: ...
    def batch_get(
        self, client: Any, table: Any, keys: Iterable[Any], *, consistent: bool = False, folded_keys: bool = False, plain: bool = False
    ) -> Any:
        """The item of each key, or `None`, in the order of the keys."""
        return run(self._batch_get(self._io(client), table, keys, consistent, folded_keys, plain))

    def put_item(
        self,
        client: Any,
        table: AnyTable,
        item: Any,
        *,
        if_absent: bool = False,
        expecting: Optional[Mapping[str, Any]] = None,
        condition: Any = None,
        expires: Optional[Expires] = None,
        returning: Optional[Literal["old"]] = None,
        plain: bool = False,
    ) -> Optional[Dict[str, Any]]:
        """Puts an item: see `put`. Returns the item that it replaced, if `returning` asks for it."""
        write = self.put(
            table, item, if_absent=if_absent, expecting=expecting, condition=condition, expires=expires, plain=plain
        )
        return run(self._write(self._io(client), "put_item", write, returning))

    def delete_item(
        self,
        client: Any,
        table: AnyTable,
        key: Any,
        *,
        expecting: Optional[Mapping[str, Any]] = None,
        condition: Any = None,
        returning: Optional[Literal["old"]] = None,
        plain: bool = False,
    ) -> Optional[Dict[str, Any]]:
        """Deletes an item. Returns it, if `returning` asks for it."""
        write = self.delete(table, key, expecting=expecting, condition=condition, plain=plain)
        return run(self._write(self._io(client), "delete_item", write, returning))

    def update_item(
        self,
        client: Any,
        table: AnyTable,
        key: Any,
        *,
        returning: Optional[Returning] = None,
        plain: bool = False,
        **changes: Unpack[Changes],
    ) -> Dict[str, Any]:
        """Updates an item. If its folded keys need what is not known, it is read, and written on condition that it has not changed.
        Returns the number of `attempts`, and with `returning` the item's `attributes` of before or after."""
        updating = self._updating(table, key, changes, True, plain)
        return run(self._update_item(self._io(client), updating, returning, plain))

    def batch_write(self, client: Any, writes: Iterable[Write]) -> None:
        """Sends what `put` and `delete` returned, without conditions, 25 in a request; sends again what DynamoDB leaves over."""
        run(self._batch_write(self._io(client), writes))

    def transact(self, client: Any, writes: Iterable[Write], *, token: Optional[str] = None) -> None:
        """Sends what `put`, `update`, `delete` and `check` returned, all or nothing. `token` makes a repetition harmless."""
        run(self._transact(self._io(client), writes, token))

    def query(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, folded_keys: bool = False, plain: bool = False
    ) -> Dict[str, Any]:
        """Answers a request: one page of items. `page` of the answer, put into the request, asks for the next one.

        Folded keys are hidden without `folded_keys`. An index that a retrofit still fills is not read; `control` names the control table
        that says so."""
        return run(self._query(self._io(client), request, control, folded_keys, plain))

    def items(
        self, client: Any, request: Any, *, control: str = CONTROL_TABLE, folded_keys: bool = False, plain: bool = False
    ) -> Iterator[Dict[str, Any]]:
        """All pages of a request, item by item."""
        following: Optional[Mapping[str, Any]] = request
        while following is not None:
            answer = self.query(client, following, control=control, folded_keys=folded_keys, plain=plain)
            yield from answer["items"]
            following = paged(request, answer["page"]) if "page" in answer else None
