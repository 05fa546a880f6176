"""Keyfold for Python: folded keys, writes, plans and answers of a manifest, over boto3 or aiobotocore.

The decisions are those of the Rust core; this package turns values into DynamoDB's and sends what the core says.
Items are those of boto3's tables: numbers are `int` or `Decimal`, binaries are `bytes`. With `plain=True`, items are those of
boto3's client, in DynamoDB's notation. `keyfold.aio` has the same for aiobotocore.
"""

from __future__ import annotations

import os
from typing import Union

from ._error import KeyfoldError
from ._answers import Answer, AsyncAnswer, Page
from ._io import CONCURRENCY, CONTROL_TABLE
from ._keyfold import Keyfold
from ._model import Check, Delete, Put, Update, Write
from ._tables import Asked, Question, Table

__all__ = [
    "Answer", "Asked", "AsyncAnswer", "CONCURRENCY", "CONTROL_TABLE", "Check", "Delete", "Keyfold", "KeyfoldError", "Page", "Put",
    "Question", "Table", "Update", "Write", "__version__", "load",
]
__version__ = "0.1.0"


def load(manifest: Union[str, "os.PathLike[str]"]) -> Keyfold:
    """Loads a manifest: the text of a keyfold.toml, or its path."""
    return Keyfold(manifest)
