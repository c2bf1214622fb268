"""What a command is: an immutable value that can be written as plain data, and the registry that reads it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from fleet_sim.core import command_values
from fleet_sim.core.command_values import field_types
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.registry import Registry, subclasses_of

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    # Read by type checkers only; Python 3.10 has none.
    def dataclass_transform(**_options: Any) -> Callable[[Any], Any]:
        return lambda function: function


# eq=False, here and in `command`: the generated `__eq__` fails on arrays and would hide the one below.
@dataclass(frozen=True, kw_only=True, eq=False)
class Command:
    """Base of all commands. `command_id` and `source` are returned in the acknowledgement."""

    between_steps: ClassVar[bool] = False
    """Whether the command is applied between two steps, never inside one."""

    feature: ClassVar[str] = ""
    """For commands of features: the feature that executes it; the simulation starts to use that feature."""

    command_id: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name, hint in field_types(type(self)).items():
            # Copied: the caller may still change the arrays it passed.
            object.__setattr__(self, name, command_values.frozen(getattr(self, name), hint))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(command_values.equal(getattr(self, name), getattr(other, name)) for name in field_types(type(self)))

    def __hash__(self) -> int:
        # Arrays have no hash. Equal commands still get equal hashes, which is all a hash must guarantee.
        return hash((type(self), self.command_id, self.source))

    @property
    def runs_code(self) -> bool:
        """Whether applying the command may run user code, which may read any state."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Return the command as plain data: its `type` and all fields that differ from their defaults.

        Raises InvalidValueError for a value that cannot be written, such as a function.
        """
        kind = type_of(type(self))
        data: dict[str, Any] = {"type": kind}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.default is MISSING or not command_values.equal(value, item.default):
                data[item.name] = command_values.plain(value, f"{kind}.{item.name}")
        return data

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Command:
        """Return the command in `data`, as written by `to_dict` or by hand.

        Raises UnknownNameError for an unknown type, and InvalidValueError for an invalid, unknown or missing key.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
            raise InvalidValueError(f"expected a mapping with the type of a command, got {data!r}")
        cls = COMMANDS.get(data["type"])
        hints, values = field_types(cls), dict(data)
        kind = values.pop("type")
        for key in values:
            if key not in hints:
                raise InvalidValueError(f"{kind}: unknown key {key!r}.{did_you_mean(str(key), hints)}")
        for item in fields(cls):
            if item.name not in values and item.default is MISSING:
                raise InvalidValueError(f"{kind}: {item.name!r} is missing")
        return cls(**{key: command_values.read(value, hints[key], f"{kind}.{key}") for key, value in values.items()})


COMMANDS = Registry("command", subclasses_of(Command), group="fleet_sim.command")
"""All commands that can be read from plain data, by type."""


_C = TypeVar("_C", bound=Command)


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
def command(name: str) -> Callable[[type[_C]], type[_C]]:
    """Make a subclass of Command, with its fields, one that logs know as `name`."""

    def made(cls: type[_C]) -> type[_C]:
        return COMMANDS.register(name)(dataclass(frozen=True, kw_only=True, eq=False)(cls))

    return made


def type_of(cls: type[Command]) -> str:
    """Return the registered name of a command class; raises InvalidValueError if it is not registered."""
    # Few classes, asked for only where commands are written: a search will do.
    for name, known in COMMANDS.registered().items():
        if known is cls:
            return name
    raise InvalidValueError(
        f"{cls.__name__} is no command that can be written; put @command('name') of fleet_sim.core.commands above it"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedCommand(Command):
    """Base of the commands for some robots or objects, by their `names`; the acknowledgement says who takes part."""

    names: tuple[str, ...]
