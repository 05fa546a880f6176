"""Tables and questions as values that carry their types."""

from __future__ import annotations

from typing import Any, Callable, Generic, Mapping, Optional, TypeVar, Union

Item = TypeVar("Item")
Key = TypeVar("Key")
Input = TypeVar("Input")


class Table(Generic[Item, Key]):
    """A table of the manifest: its id, and the types of its items and keys. `keyfold types` writes one for each table.

    `make` makes an item of a dictionary that was read; without it, the dictionary is the item.
    """

    def __init__(self, id: str, make: Optional[Callable[[Mapping[str, Any]], Item]] = None) -> None:
        self.id = id
        self.make = make

    def key(self, key: Key) -> Key:
        """The key itself: the type checker checks it against this table's."""
        return key

    def item(self, item: Item) -> Item:
        """The item itself: the type checker checks it against this table's."""
        return item


class Question(Generic[Input, Item]):
    """A question of the manifest: its name, and the types of its input and of the items in its answer. Called with an input, it is
    what `ask` takes."""

    def __init__(self, name: str, make: Optional[Callable[[Mapping[str, Any]], Item]] = None) -> None:
        self.name = name
        self.make = make

    def __call__(self, input: Input) -> Asked[Item]:
        return Asked(self.name, input, self.make)


class Asked(Generic[Item]):
    """A question with its input."""

    def __init__(self, name: str, input: Any, make: Optional[Callable[[Mapping[str, Any]], Item]] = None) -> None:
        self.name = name
        self.input = input
        self.make = make


AnyTable = Union[str, Table[Any, Any]]


def table_id(table: AnyTable) -> str:
    return table.id if isinstance(table, Table) else table
