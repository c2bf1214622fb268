"""Shapes of JSON messages: what each field may hold, and what it is called in the message.

A shape is declared once, with our own names for the fields. `read` checks a message and returns its values under our
names; `write` is the way back. A version of the standard that calls a field otherwise, or adds one, is a shape made
from the one before with `but`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fleet_sim.errors import InvalidValueError, brief

LONGEST_ID = 1000
"""Characters of an id or another text in a message."""
DEEPEST = 8
"""Of lists and objects in the value of a parameter."""


class MalformedMessage(InvalidValueError):
    """A message breaks its table: `where` names the field."""

    def __init__(self, where: str, reason: str) -> None:
        self.where, self.reason = where, reason
        super().__init__(f"{where}: {reason}" if where else reason)


class WireKind(Protocol):
    """What a field may hold."""

    def read(self, value: object, where: str) -> Any:
        """Return the value under our names; raises MalformedMessage."""

    def write(self, value: Any) -> Any:
        """Return a value as the message has it."""


@dataclass(frozen=True)
class WireText:
    """A text. `words` are the only ones allowed, where there are some: ours, and those of the message."""

    words: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object, where: str) -> str:
        """Return our word for the text."""
        if not isinstance(value, str) or len(value) > LONGEST_ID:
            raise MalformedMessage(where, f"expected a text of at most {LONGEST_ID} characters, got {brief(value)}")
        if not self.words:
            return value
        for ours, theirs in self.words.items():
            if value == theirs:
                return ours
        raise MalformedMessage(where, f"expected one of {', '.join(self.words.values())}, got {brief(value)}")

    def write(self, value: str) -> str:
        """Return the word of the message."""
        return self.words[value] if self.words else value


@dataclass(frozen=True)
class WireNumber:
    """A finite number from `low` to `high`; `whole` ones have no fraction."""

    low: float = -1e9
    high: float = 1e9
    whole: bool = False

    def read(self, value: object, where: str) -> float | int:
        """Return the number."""
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        # Compared before it is converted: a whole number may be too large for a float.
        if good and self.low <= value <= self.high and math.isfinite(value):  # type: ignore[operator,arg-type]
            if not self.whole:
                return float(value)  # type: ignore[arg-type]
            if value == int(value):  # type: ignore[call-overload]
                return int(value)  # type: ignore[call-overload]
        kind = "a whole number" if self.whole else "a number"
        raise MalformedMessage(where, f"expected {kind} from {self.low:g} to {self.high:g}, got {brief(value)}")

    def write(self, value: float) -> float | int:
        """Return the number, rounded to what a vehicle could know."""
        return int(value) if self.whole else round(float(value), 6)


@dataclass(frozen=True)
class WireTruth:
    """True or false."""

    def read(self, value: object, where: str) -> bool:
        """Return the value."""
        if not isinstance(value, bool):
            raise MalformedMessage(where, f"expected true or false, got {brief(value)}")
        return value

    def write(self, value: bool) -> bool:
        """Return the value."""
        return bool(value)


@dataclass(frozen=True)
class WireValue:
    """Any value of JSON but null, of bounded depth and with finite numbers: the value of a parameter."""

    objects: bool = True

    def read(self, value: object, where: str) -> Any:
        """Return the value."""
        if value is None or (isinstance(value, dict) and not self.objects):
            raise MalformedMessage(where, f"expected a text, number, truth value or list, got {brief(value)}")
        self._check(value, where, DEEPEST)
        return value

    def write(self, value: Any) -> Any:
        """Return the value."""
        return value

    def _check(self, value: object, where: str, depth: int) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            raise MalformedMessage(where, f"expected a finite number, got {value!r}")
        if isinstance(value, (list, dict)):
            if depth == 0:
                raise MalformedMessage(where, f"nested deeper than {DEEPEST} lists or objects")
            for item in value.values() if isinstance(value, dict) else value:
                self._check(item, where, depth - 1)


@dataclass(frozen=True)
class WireMany:
    """A list of at most `most` values of a kind."""

    kind: WireKind
    most: int = 1000
    least: int = 0

    def read(self, value: object, where: str) -> list[Any]:
        """Return the values."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            count = f"{len(value)} of them" if isinstance(value, list) else brief(value)
            raise MalformedMessage(where, f"expected a list of {self.least} to {self.most}, got {count}")
        return [self.kind.read(item, f"{where}[{index}]") for index, item in enumerate(value)]

    def write(self, value: Any) -> list[Any]:
        """Return the values as the message has them."""
        return [self.kind.write(item) for item in value]


@dataclass(frozen=True)
class WireField:
    """One field: what it holds, what the message calls it ("" as we do), and other names that are understood."""

    kind: WireKind
    required: bool = True
    wire: str = ""
    aliases: tuple[str, ...] = ()


def maybe(kind: WireKind, wire: str = "", *aliases: str) -> WireField:
    """Return a field that may be missing."""
    return WireField(kind, False, wire, aliases)


def each(kind: WireKind | WireField, *names: str) -> dict[str, WireKind | WireField]:
    """Return fields of one kind, to be taken over into a shape with `**`."""
    return dict.fromkeys(names, kind)


class WireShape:
    """An object with fields. Unknown keys of a message are left aside: the standard lets others add some."""

    def __init__(self, **fields: WireField | WireKind) -> None:
        self.fields = {name: item if isinstance(item, WireField) else WireField(item) for name, item in fields.items()}
        self._names = [(name, item.wire or name, item) for name, item in self.fields.items()]

    def but(
        self,
        *,
        removed: tuple[str, ...] = (),
        renamed: Mapping[str, str] | None = None,
        **changed: WireField | WireKind,
    ) -> WireShape:
        """Return this shape without some fields, with others called otherwise in messages, or with other kinds."""
        fields: dict[str, WireField | WireKind] = {}
        for name, item in self.fields.items():
            if name not in removed:
                fields[name] = replace(item, wire=(renamed or {}).get(name, item.wire))
        return WireShape(**(fields | changed))

    def read(self, value: object, where: str = "") -> dict[str, Any]:
        """Return the values of a message by our names; raises MalformedMessage."""
        if not isinstance(value, dict):
            raise MalformedMessage(where, f"expected an object, got {brief(value)}")
        found: dict[str, Any] = {}
        for name, wire, item in self._names:
            key = next((known for known in (wire, *item.aliases) if known in value), None)
            if key is not None:
                found[name] = item.kind.read(value[key], f"{where}.{key}" if where else key)
            elif item.required:
                raise MalformedMessage(f"{where}.{wire}" if where else wire, "is missing")
        return found

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message of values by our names; those that the version has no field for are left out."""
        written: dict[str, Any] = {}
        for name, wire, item in self._names:
            given = value.get(name)
            if given is not None:
                written[wire] = item.kind.write(given)
            elif item.required:
                raise InvalidValueError(f"a message needs {name!r}; given are {', '.join(value)}")
        return written
