"""What a retrofit should make of an item: docs/key-format.md in another language, and no line of Keyfold's.

Values are DynamoDB's JSON, as {"S": "text"}. Start with `Retrofit`.
"""

import re
from datetime import datetime, timedelta
from decimal import Decimal

KEY_BYTES = {"pk": 2048, "sk": 1024}
ITEM_BYTES = 400 * 1024
TYPES = {"string": "S", "number": "N", "boolean": "BOOL", "timestamp": "S", "date": "S"}
MASK = (1 << 64) - 1


class Misfit(Exception):
    """Why an item does not fit: attribute, reason, index."""

    def __init__(self, attribute, reason, index=None):
        super().__init__(attribute, reason, index)
        self.why = (attribute, reason, index)


class Absent(Exception):
    """The item has no such key."""


def parsed(template):
    """A template as a list of literals, attributes and at most one tail, which is a list again."""
    parts, rest = [], template
    while rest:
        if found := re.match(r"\{(\w+)(?:\|(\w+)(?::(\w+))?|:(\w+))?\}", rest):
            name, codec, count, width = found.groups()
            parts.append(("attribute", name, codec or width or "", int(count or 0)))
            rest = rest[found.end():]
        elif rest[0] == "[":
            parts.append(("tail", parsed(rest[1:-1])))
            rest = ""
        else:
            literal = re.match(r"[^{\[]+", rest)[0]
            parts.append(("literal", literal))
            rest = rest[len(literal):]
    return parts


def attributes_of(parts):
    for part in parts:
        if part[0] == "attribute":
            yield part[1]
        elif part[0] == "tail":
            yield from attributes_of(part[1])


def escaped(text, follows):
    """`%` and the character that can follow are written as their bytes."""
    if follows is None:
        return text
    return "".join("".join(f"%{byte:02X}" for byte in letter.encode()) if letter in ("%", follows) else letter for letter in text)


def instant(text):
    """A timestamp in UTC with milliseconds; None if it is none, or more precise."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?", text)
    if not found:
        return None
    seconds, fraction, zone = found[1], (found[2] or "").rstrip("0"), found[3]
    if len(fraction) > 3:
        return None
    try:
        at = datetime.fromisoformat(seconds)
    except ValueError:
        return None
    if zone and zone != "Z":
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:]))
        at = at - away if zone[0] == "+" else at + away
    return f"{at.isoformat()}.{fraction.ljust(3, '0')}Z"


def date(text):
    try:
        return text if datetime.strptime(text, "%Y-%m-%d").strftime("%Y-%m-%d") == text else None
    except ValueError:
        return None


def ordered(number):
    """Any number, so that texts have the order of values."""
    if number == 0:
        return "o"
    sign, digits, exponent = number.normalize().as_tuple()
    magnitude = len(digits) + exponent - 1 + 130
    text = f"{magnitude:03}" + "".join(map(str, digits))
    return "n" + "".join(str(9 - int(digit)) for digit in text) + "~" if sign else "p" + text + "!"


def shard(text, count):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, None):
        h ^= h >> 33
        h = h * factor & MASK if factor else h
    return str(h % count).rjust(len(str(count - 1)), "0")


class Table:
    def __init__(self, declared):
        self.name = declared["name"]
        self.attributes = {name: {"type": one} if isinstance(one, str) else one for name, one in declared.get("attributes", {}).items()}
        # Each folded key: its attribute, its index, its template.
        self.folded, self.keys = [], []
        for place, role in (("partition", "pk"), ("sort", "sk")):
            if place in declared:
                folds = "{" in declared[place]
                self.keys.append(role if folds else declared[place])
                if folds:
                    self.folded.append((role, None, role, parsed(declared[place])))
        for index, one in declared.get("indexes", {}).items():
            for place, role in (("partition", "pk"), ("sort", "sk")):
                if place in one:
                    self.folded.append((f"{index}_{role}", index, role, parsed(one[place])))

    def with_keys(self, natural):
        """The item with its folded keys; raises why it does not fit."""
        for name, declared in sorted(self.attributes.items()):
            if name not in natural and declared.get("required"):
                raise Misfit(name, "missing")
        item = dict(natural)
        for attribute, index, role, parts in self.folded:
            try:
                text = self.fold(parts, natural, index)
            except Absent:
                continue
            if not text:
                raise Misfit(attribute, "empty", index)
            if len(text.encode()) > KEY_BYTES[role]:
                raise Misfit(attribute, "too long", index)
            item[attribute] = {"S": text}
        for name, declared in sorted(self.attributes.items()):
            if name in natural and TYPES[declared["type"]] not in natural[name]:
                raise Misfit(name, "wrong type")
        if item_bytes(item) > ITEM_BYTES:
            raise Misfit(None, "too large")
        return item

    def fold(self, parts, item, index):
        text = ""
        for at, part in enumerate(parts):
            follow = parts[at + 1] if at + 1 < len(parts) else None
            if part[0] == "literal":
                text += part[1]
            elif part[0] == "attribute":
                text += self.part(part, item, self.follows(follow), index)
            else:
                text += self.tail(part[1], item, index)
        return text

    def tail(self, parts, item, index):
        own = [part[1] for part in parts if part[0] == "attribute"]
        deeper = [name for name in attributes_of(parts) if name not in own]
        if all(name in item for name in own):
            return self.fold(parts, item, index)
        for name in own + deeper:
            if name in item:
                # It is named itself, and a part before it is absent.
                raise Misfit(name, "gap before it", index)
        return ""

    @staticmethod
    def follows(part):
        """The character that can come after a part, if there is one."""
        while part and part[0] == "tail":
            part = part[1][0]
        return part[1][0] if part and part[0] == "literal" else None

    def part(self, part, item, follows, index):
        _, name, codec, count = part
        if name not in item:
            raise Absent
        declared = self.attributes[name]
        ((kind, value),) = item[name].items()
        timed, counted = declared["type"] in ("timestamp", "date"), codec == "number" or codec.isdigit()
        if kind not in (("S",) if timed else ("N",) if counted else ("S", "N")):
            raise Misfit(name, "wrong type", index)
        if declared["type"] == "timestamp":
            text = instant(value)
            if text is None:
                raise Misfit(name, "bad timestamp", index)
            return text
        if declared["type"] == "date":
            if date(value) is None:
                raise Misfit(name, "bad timestamp", index)
            return value
        if codec == "number":
            return ordered(Decimal(value))
        if codec.isdigit():
            number = Decimal(value)
            if number != number.to_integral_value() or number < 0 or number >= 10 ** int(codec):
                raise Misfit(name, "number out of width", index)
            return f"{int(number):0{int(codec)}}"
        if codec == "shard":
            return shard(value, count)
        if "values" in declared:
            if value not in declared["values"]:
                raise Misfit(name, "unlisted value", index)
            return value
        if codec == "lower":
            value = "".join(letter.lower() for letter in value)
        return escaped(value, follows)


def value_bytes(value):
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html, for the types that are used here."""
    ((kind, held),) = value.items()
    if kind == "S":
        return len(held.encode())
    if kind == "N":
        return len(str(held)) // 2 + 2
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "SS":
        return sum(len(one.encode()) for one in held)
    if kind == "L":
        return 3 + sum(1 + value_bytes(one) for one in held)
    return 3 + sum(1 + len(name.encode()) + value_bytes(one) for name, one in held.items())


def item_bytes(item):
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


class Retrofit:
    """A retrofit of the manifest."""

    def __init__(self, manifest, name):
        declared = manifest["retrofits"][name]
        self.name, self.in_place = name, declared["from"] == declared["to"]
        self.source, self.target = (Table(manifest["tables"][declared[end]]) for end in ("from", "to"))
        self.rename = declared.get("rename", {})
        self.set = {name: {"S": text} for name, text in declared.get("set", {}).items()}
        # The target's key is made of attributes: it can move, and two items can claim one.
        self.moves = self.target.keys != self.source.keys

    def of(self, natural):
        """The target's item for a source item; raises why it does not fit."""
        item = {self.rename.get(name, name): value for name, value in natural.items()}
        return self.target.with_keys({**item, **self.set})

    def back(self, item):
        """The source's item for a target item."""
        folded, names = {key[0] for key in self.target.folded}, {new: old for old, new in self.rename.items()}
        return {names.get(name, name): value for name, value in item.items() if name not in folded and name not in self.set}

    def key(self, item):
        return tuple(item[name]["S"] for name in self.target.keys)
