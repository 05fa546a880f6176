"""Values in three forms: of Python, of boto3's client (`{"B": bytes}`), and of the core (`{"B": base64}`, called typed here)."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping as MappingABC
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Dict, List, Mapping, Optional
from uuid import UUID

from ._error import invalid


#: A value as JSON.
text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def mapping_of(value: Any, what: str = "the item") -> Mapping[str, Any]:
    """An item as a mapping: a mapping itself, a dataclass, or a pydantic model. Fields of the latter two that are `None` are absent."""
    if isinstance(value, MappingABC):
        return value
    fields = _fields_of(value)
    if fields is None:
        raise invalid(f"{what} must be a mapping, a dataclass or a pydantic model, but it is of type `{type(value).__name__}`")
    return fields


def _fields_of(value: Any) -> Optional[Dict[str, Any]]:
    """The fields of a dataclass or a pydantic model, under the names that they have in DynamoDB."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: one for name, one in named.items() if one is not None}
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return None
    dumped: Dict[str, Any] = dump(by_alias=True, exclude_none=True)
    return dumped


def typed_item(item: Any, plain: bool, what: str = "the item") -> Dict[str, Any]:
    item = mapping_of(item, what)
    try:
        return raw_to_typed_item(item) if plain else _to_typed_item(item)
    except (AttributeError, KeyError, RecursionError) as error:
        raise invalid(f"{what} is not in DynamoDB's notation" if plain else f"{what} is nested too deeply") from error


def shown_item(item: Mapping[str, Any], plain: bool) -> Dict[str, Any]:
    return typed_to_raw_item(item) if plain else from_typed_item(item)


def _exact(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {"N": digits(value)}
    if _is_bytes(value):
        return {"B": _base64(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    scalar = _scalar(value)
    if scalar is not None:
        return scalar
    fields = _fields_of(value)
    if fields is not None:
        return fields
    raise TypeError(f"{type(value).__name__} cannot be a value in a request")


#: A request as JSON. Numbers are written so that they keep all their digits.
request_text = json.JSONEncoder(default=_exact, ensure_ascii=False).encode


def plain_json(value: Any) -> Any:
    """A condition as JSON whose numbers keep all their digits."""
    return None if value is None else json.loads(request_text(value))


def digits(value: Any) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise TypeError("DynamoDB cannot store this number")
    return str(value)


def _base64(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")


def _is_bytes(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray, memoryview)) or type(value).__name__ == "Binary"


def _scalar(value: Any) -> Optional[str]:
    """The text of an instant, a date or a UUID: types that pydantic models have and DynamoDB does not."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError("a datetime needs a time zone")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else None


def _to_typed(value: Any) -> Dict[str, Any]:
    if isinstance(value, Enum):
        return _to_typed(value.value)
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, (int, Decimal)):
        return {"N": digits(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, MappingABC):
        return {"M": _to_typed_item(value)}
    if isinstance(value, (list, tuple)):
        return {"L": [_to_typed(one) for one in value]}
    if _is_bytes(value):
        return {"B": _base64(value)}
    if isinstance(value, (set, frozenset)):
        return _set_to_typed(value)
    if isinstance(value, float):
        raise TypeError("a float does not keep its digits: use Decimal")
    scalar = _scalar(value)
    if scalar is not None:
        return {"S": scalar}
    fields = _fields_of(value)
    if fields is not None:
        return {"M": _to_typed_item(fields)}
    raise TypeError(f"{type(value).__name__} cannot be stored in DynamoDB")


def _set_to_typed(value: Any) -> Dict[str, Any]:
    if not value:
        raise TypeError("DynamoDB cannot store an empty set")
    if all(isinstance(one, str) for one in value):
        return {"SS": list(value)}
    if all(isinstance(one, (int, Decimal)) and not isinstance(one, bool) for one in value):
        return {"NS": [digits(one) for one in value]}
    if all(_is_bytes(one) for one in value):
        return {"BS": [_base64(one) for one in value]}
    raise TypeError("a set has only strings, only numbers or only bytes")


def _to_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _to_typed(value) for name, value in item.items()}


def from_typed(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "S":
        return content
    if kind == "N":
        return Decimal(content)
    if kind == "NULL":
        return None
    if kind == "M":
        return from_typed_item(content)
    if kind == "L":
        return [from_typed(one) for one in content]
    if kind == "B":
        return _bytes(content)
    if kind == "SS":
        return set(content)
    if kind == "NS":
        return {Decimal(one) for one in content}
    if kind == "BS":
        return {_bytes(one) for one in content}
    return content


def _bytes(content: Any) -> Any:
    """The core writes bytes as base64; boto3 has them as they are."""
    return base64.b64decode(content) if isinstance(content, str) else content


def from_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    # Most values are texts: a call for each would take most of the time.
    return {name: value["S"] if "S" in value else from_typed(value) for name, value in item.items()}


def raw_to_typed(value: Mapping[str, Any]) -> Mapping[str, Any]:
    ((kind, content),) = value.items()
    if kind == "S" or kind == "N":
        return value
    if kind == "B" and not isinstance(content, str):
        return {"B": _base64(content)}
    if kind == "BS":
        return {"BS": [one if isinstance(one, str) else _base64(one) for one in content]}
    if kind == "L":
        return {"L": [raw_to_typed(one) for one in content]}
    if kind == "M":
        return {"M": raw_to_typed_item(content)}
    return value


def raw_to_typed_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: raw_to_typed(value) for name, value in item.items()}


def raw_or_none(item: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """An item of a response for the core; `None` if there is none."""
    return raw_to_typed_item(item) if item else None


def _typed_to_raw(value: Mapping[str, Any]) -> Dict[str, Any]:
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": base64.b64decode(content)}
    if kind == "BS":
        return {"BS": [base64.b64decode(one) for one in content]}
    if kind == "L":
        return {"L": [_typed_to_raw(one) for one in content]}
    if kind == "M":
        return {"M": typed_to_raw_item(content)}
    return dict(value)


def typed_to_raw_item(item: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _typed_to_raw(value) for name, value in item.items()}


def comparable(key: Mapping[str, Any], names: List[str]) -> Any:
    """A typed key in a form in which equal keys are equal: `1` and `1.0` are one number."""
    return tuple(str(Decimal(key[name]["N"]).normalize()) if "N" in key[name] else str(key[name]) for name in names)
