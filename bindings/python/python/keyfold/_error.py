"""The error of this package."""

from __future__ import annotations

import json
from typing import Any, Callable, Optional, Tuple, TypeVar

from . import _core

Result = TypeVar("Result")


class KeyfoldError(Exception):
    """A refusal of the core. `code` stays the same, whatever the message says; docs/errors.md lists the codes."""

    def __init__(self, code: str, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> Tuple[Any, ...]:
        # Exceptions are pickled with `args`, which hold the message only.
        return (KeyfoldError, (self.code, self.message, self.hint))


def called(call: Callable[..., Result], *arguments: Any) -> Result:
    """Calls the core. Its refusal is raised as a `KeyfoldError`."""
    try:
        return call(*arguments)
    except _core.Refused as refused:
        failure = json.loads(str(refused))
        raise KeyfoldError(failure["code"], failure["message"], failure.get("hint")) from None


def invalid(message: str, hint: Optional[str] = None) -> KeyfoldError:
    """The error of a call with invalid arguments."""
    return KeyfoldError("invalid-call", message, hint)
