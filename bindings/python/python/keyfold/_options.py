"""The options of functions, as types: a misspelt one is an error of the type checker, and refused by name when it is called."""

from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, TypedDict, Union

from ._error import invalid
from ._io import CONTROL_TABLE

#: The attributes that a write returns: of the item before or after it.
Returning = Literal["old", "new"]


class Changes(TypedDict, total=False):
    """The changes of an update and its conditions. A name with a dot is a path inside a map."""

    #: Values to set.
    set: Mapping[str, Any]
    #: Attributes to remove.
    remove: Sequence[str]
    #: Values to set where the attribute is absent.
    set_if_absent: Mapping[str, Any]
    #: Numbers to add to numbers, and elements to add to sets.
    add: Mapping[str, Any]
    #: Elements to delete from sets.
    delete: Mapping[str, Any]
    #: Lists to add at the end of lists.
    append: Mapping[str, Sequence[Any]]
    #: Lists to add at the start of lists.
    prepend: Mapping[str, Sequence[Any]]
    #: Values that the item must have; `None` means absent.
    expecting: Mapping[str, Any]
    #: A condition on the item, in the form of a `where`.
    condition: Any
    #: The entity of the item: only its keys count then.
    entity: str


class Reading(TypedDict, total=False):
    """The options of an answer; docs/queries.md explains them."""

    order: Union[str, Sequence[str]]
    limit: int
    page: Optional[str]
    consistent: bool
    scan: bool
    count: bool
    sort_in_memory: int
    read_units_max: float
    explain: bool
    #: Show folded keys too.
    folded_keys: bool
    #: The name of the control table.
    control: str


_IN_REQUEST = {"sort_in_memory": "sortInMemory", "read_units_max": "readUnitsMax"}


def check(options: Mapping[str, Any], known: Any, function: str) -> None:
    """Refuses an option that a function does not have."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")


def request_with(request: Mapping[str, Any], options: Mapping[str, Any]) -> "dict[str, Any]":
    """A request with these options."""
    named = {_IN_REQUEST.get(name, name): value for name, value in options.items() if name not in ("folded_keys", "control")}
    return {**request, **named}


def paged(request: Mapping[str, Any], page: Optional[str]) -> Mapping[str, Any]:
    """A request for its next page; for its first if there is no token."""
    return request if page is None else {**request, "page": page}


def control_of(options: Mapping[str, Any]) -> str:
    control = options.get("control", CONTROL_TABLE)
    if not isinstance(control, str):
        raise invalid("`control` must be the name of a table")
    return control
