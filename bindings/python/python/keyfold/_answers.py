"""Answers, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Awaitable, AsyncIterator, Callable, Dict, Generic, Iterator, List, Optional, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of an answer."""

    items: List[Item]
    #: The number of items; all there is with `count`.
    count: int
    #: The read units of this page.
    units: float
    #: The items that DynamoDB read for this page.
    items_read: int
    #: The requests for this page.
    requests: int
    #: Continues the answer: pass it as `page`. It holds key values in plain text: encrypt it before it leaves your service.
    next: Optional[str]
    #: The plan, if the request asked to explain it.
    plan: Optional[Dict[str, Any]]
    _entities: Callable[[], List[Optional[str]]] = field(repr=False, compare=False)

    def by_entity(self) -> Dict[Optional[str], List[Item]]:
        """The items of each entity; under `None` those of none."""
        groups: Dict[Optional[str], List[Item]] = {}
        for entity, item in zip(self._entities(), self.items):
            groups.setdefault(entity, []).append(item)
        return groups


class Answer(Generic[Item]):
    """All pages of an answer; each is read when it is needed. Iterate over it for the items."""

    def __init__(self, read: Callable[[Optional[str]], Page[Item]]) -> None:
        self._read = read
        #: The read units of all pages so far.
        self.units = 0.0

    def pages(self) -> Iterator[Page[Item]]:
        """Page by page."""
        following: Optional[str] = None
        while True:
            page = self._read(following)
            self.units += page.units
            yield page
            following = page.next
            if following is None:
                return

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from page.items

    def all(self) -> List[Item]:
        """The items of all pages."""
        return list(self)

    def first(self) -> Optional[Item]:
        """The first item; `None` if there is none."""
        return next(iter(self), None)

    def by_entity(self) -> Dict[Optional[str], List[Item]]:
        """The items of all pages, by entity."""
        return _merged(list(self.pages()))


class AsyncAnswer(Generic[Item]):
    """All pages of an answer; each is read when it is needed. Iterate over it with `async for`."""

    def __init__(self, read: Callable[[Optional[str]], Awaitable[Page[Item]]]) -> None:
        self._read = read
        #: The read units of all pages so far.
        self.units = 0.0

    async def pages(self) -> AsyncIterator[Page[Item]]:
        """Page by page."""
        following: Optional[str] = None
        while True:
            page = await self._read(following)
            self.units += page.units
            yield page
            following = page.next
            if following is None:
                return

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def all(self) -> List[Item]:
        """The items of all pages."""
        return [item async for item in self]

    async def first(self) -> Optional[Item]:
        """The first item; `None` if there is none."""
        async for item in self:
            return item
        return None

    async def by_entity(self) -> Dict[Optional[str], List[Item]]:
        """The items of all pages, by entity."""
        return _merged([page async for page in self.pages()])


def _merged(pages: List[Page[Item]]) -> Dict[Optional[str], List[Item]]:
    groups: Dict[Optional[str], List[Item]] = {}
    for page in pages:
        for entity, items in page.by_entity().items():
            groups.setdefault(entity, []).extend(items)
    return groups
