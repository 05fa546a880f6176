"""A hook that folds what an application writes with boto3 or aiobotocore, without a change of its code.

    keyfold.hook.fold_writes(boto3.resource("dynamodb"), tables)

PutItem, BatchWriteItem and the puts of TransactWriteItems on tables of the manifest get the folded keys. An update that sets or removes
attributes of a folded key gets the new keys, if all their attributes are in the update or in the primary key; otherwise it is refused.
Updates that set folded keys themselves are left as they are. PartiQL statements that insert or update are refused.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from ._error import KeyfoldError
from ._io import plain_client
from ._model import Model

__all__ = ["fold_writes"]

_EVENT = "before-parameter-build.dynamodb"
_CLAUSE = re.compile(r"(?<![#:.\w])(SET|REMOVE|ADD|DELETE)(?=[\s#])", re.IGNORECASE)
_STATEMENT = re.compile(r"\s*(INSERT\s+INTO|UPDATE)\s+\"?([\w.-]+)", re.IGNORECASE)


def fold_writes(client: Any, tables: Model) -> None:
    """Folds every write of this client to a table of the manifest. `client` is a client, a resource or a table."""
    hook = _Hook(tables)
    of, _ = plain_client(client)
    # After the handlers of a resource, which turn values into DynamoDB's notation.
    of.meta.events.register_last(_EVENT, hook.called, unique_id="keyfold-fold-writes")


class _Part(NamedTuple):
    """One action of an update expression: `SET path = value`, `REMOVE path`, `ADD path value` or `DELETE path value`."""

    clause: str
    text: str
    path: str
    #: The placeholder of the value, if the action sets an attribute to just a value.
    value: Optional[str]


class _Hook:
    def __init__(self, tables: Model) -> None:
        self._tables = tables
        self._known = {table["name"]: table for table in tables.described()}

    def called(self, params: Dict[str, Any], model: Any, **_: Any) -> None:
        handler = getattr(self, f"_{model.name}", None)
        if handler is not None:
            handler(params)

    def _folded(self, table: str, item: Mapping[str, Any]) -> Mapping[str, Any]:
        name = table.rsplit("/", 1)[-1]  # an ARN names the table last
        return self._tables.fold(name, item, plain=True) if name in self._known else item

    def _PutItem(self, params: Dict[str, Any]) -> None:
        params["Item"] = self._folded(params["TableName"], params["Item"])

    def _BatchWriteItem(self, params: Dict[str, Any]) -> None:
        def folded(table: str, write: Dict[str, Any]) -> Dict[str, Any]:
            put = write.get("PutRequest")
            return {"PutRequest": {**put, "Item": self._folded(table, put["Item"])}} if put else write

        requests = params["RequestItems"].items()
        params["RequestItems"] = {table: [folded(table, write) for write in writes] for table, writes in requests}

    def _TransactWriteItems(self, params: Dict[str, Any]) -> None:
        def folded(write: Dict[str, Any]) -> Dict[str, Any]:
            if "Put" in write:
                put = write["Put"]
                return {"Put": {**put, "Item": self._folded(put["TableName"], put["Item"])}}
            if "Update" in write:
                update = dict(write["Update"])
                self._UpdateItem(update)
                return {"Update": update}
            return write

        params["TransactItems"] = [folded(write) for write in params["TransactItems"]]

    def _UpdateItem(self, params: Dict[str, Any]) -> None:
        table = self._known.get(params["TableName"].rsplit("/", 1)[-1])
        if table is None:
            return
        inputs, folded = set(table["inputs"]), set(table["folded"])
        if inputs & set(params.get("AttributeUpdates", {})):
            raise _unfolded(table["id"], "`AttributeUpdates`")
        names: Mapping[str, str] = params.get("ExpressionAttributeNames", {})
        expression = params.get("UpdateExpression", "")
        parts = _parts(expression)
        if expression and not parts:
            raise _unfolded(table["id"], "an update expression that cannot be read")
        roots = [_root(part.path, names) for part in parts]
        touched = [(part, root) for part, root in zip(parts, roots) if root in inputs]
        if not touched or folded & set(roots):
            return
        set_: Dict[str, Any] = {}
        remove: List[str] = []
        for part, root in touched:
            is_whole = "." not in part.path and "[" not in part.path
            if is_whole and part.clause == "SET" and part.value is not None:
                set_[root] = params["ExpressionAttributeValues"][part.value]
            elif is_whole and part.clause == "REMOVE":
                remove.append(root)
            else:
                raise _unfolded(table["id"], f"`{part.clause}` of attribute `{root}`")
        changed = self._tables.update(table["id"], params["Key"], set=set_, remove=remove, plain=True)
        _complete(params, parts, changed, folded)

    def _ExecuteStatement(self, params: Dict[str, Any]) -> None:
        found = _STATEMENT.match(params["Statement"])
        if found and found[2] in self._known:
            raise _unfolded(self._known[found[2]]["id"], f"`{found[1].split()[0].upper()}` of PartiQL")

    def _BatchExecuteStatement(self, params: Dict[str, Any]) -> None:
        for statement in params["Statements"]:
            self._ExecuteStatement(statement)

    def _ExecuteTransaction(self, params: Dict[str, Any]) -> None:
        for statement in params["TransactStatements"]:
            self._ExecuteStatement(statement)


def _unfolded(table: str, what: str) -> KeyfoldError:
    hint = "send it with `update_item` of Keyfold, or put the whole item"
    return KeyfoldError("update-bypasses-keys", f"{what} would leave folded keys of table `{table}` stale", hint)


def _complete(params: Dict[str, Any], parts: List[_Part], changed: Mapping[str, Any], folded: "set[str]") -> None:
    """Adds the folded keys to the update."""
    names, values = dict(params.get("ExpressionAttributeNames", {})), dict(params.get("ExpressionAttributeValues", {}))
    clauses: Dict[str, List[str]] = {}
    for part in parts:
        clauses.setdefault(part.clause, []).append(part.text)
    for number, part in enumerate(_parts(changed["UpdateExpression"])):
        attribute = _root(part.path, changed["ExpressionAttributeNames"])
        if attribute not in folded:
            continue
        name, value = f"#keyfold{number}", f":keyfold{number}"
        names[name] = attribute
        if part.value is not None:
            values[value] = changed["ExpressionAttributeValues"][part.value]
        clauses.setdefault(part.clause, []).append(f"{name} = {value}" if part.value else name)
    params["UpdateExpression"] = " ".join(f"{clause} {', '.join(texts)}" for clause, texts in clauses.items())
    params["ExpressionAttributeNames"] = names
    if values:
        params["ExpressionAttributeValues"] = values


def _parts(expression: str) -> List[_Part]:
    words = _CLAUSE.split(expression)
    parts: List[_Part] = []
    for clause, body in zip(words[1::2], words[2::2]):
        # A comma inside of a function splits it too; the parts are joined again as they were.
        for text in (part.strip() for part in body.split(",")):
            path, _, right = text.partition("=") if clause.upper() == "SET" else text.partition(" ")
            value = right.strip()
            is_value = clause.upper() == "SET" and re.fullmatch(r":\w+", value)
            parts.append(_Part(clause.upper(), text, path.strip(), value if is_value else None))
    return parts


def _root(path: str, names: Mapping[str, str]) -> str:
    root = re.split(r"[.\[]", path, maxsplit=1)[0]
    return names.get(root, root)
