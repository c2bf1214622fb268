"""Parameters of parts, declared once: range, unit and meaning for the constructor, configurations and the JSON schema.

A part is a dataclass whose fields are settings:

    @documented
    @dataclass(eq=False, repr=False)
    class Forward(Configured, Controller):
        speed: float = setting(0.3, low=0, unit="m/s", doc="Along the heading.")

The constructor takes them by keyword and checks them, and so does an assignment later. `__post_init__` is the place
for what goes across several.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean
from fleet_sim.settings import setting
from fleet_sim.settings.fields import NO_RULES, Setting, fields_of
from fleet_sim.settings.reader import Where, convert
from fleet_sim.settings.types import as_number, describe, shown
from fleet_sim.swarm.component import OWNERS, Component
from fleet_sim.swarm.swarm_body import SwarmBody
from fleet_sim.swarm.written import same, type_entry

Cls = TypeVar("Cls", bound=type[Any])
Vector = tuple[float, float]

_MADE = "_is_made"
"""Marks parts whose constructor is done, and constructors that take the parameters and nothing else."""


class Configured:
    """Base of parts that declare their parameters as settings.

    A parameter that is set later is checked as in the constructor: where that would refuse it, together with the
    others as they are, InvalidValueError is raised and nothing changes. The same where it would have no effect.
    """

    follows: ClassVar[tuple[str, ...]] = ()
    """Attributes that `__post_init__` makes of parameters, and which follow where one of these is set later."""

    _given: dict[str, Any]

    def __post_init__(self) -> None:
        """Check what was given; raises InvalidValueError naming the class, the parameter and what is allowed."""
        # As it was given, to be written into files again; see `as_config_dict`.
        self._given = {name: getattr(self, name) for name in fields_of(type(self))}
        for name, field in fields_of(type(self)).items():
            try:
                value = convert(field.hint, getattr(self, name), field.rules, Where(path=name))
            except ConfigError as error:
                raise InvalidValueError(f"{type(self).__name__}: {error}") from error
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        # Not before the constructor is done, which checks all of them.
        if _MADE in own and name in own["_given"]:
            self._set_later(name, value)
        else:
            super().__setattr__(name, value)

    def settled(self) -> Collection[str]:
        """Return the parameters that would have no effect any more; to set one of them is refused."""
        return ()

    def _set_later(self, name: str, value: Any) -> None:
        """Set a parameter of a part that is made, and what follows from it."""
        if name in self.settled():
            raise self.refuse(f"`{name}` cannot be set any more: it has been used already; make another one")
        if not hasattr(type(self).__init__, _MADE) or not isinstance(self, Component):
            # Only the range is known of a part whose constructor takes other things too.
            field = fields_of(type(self))[name]
            try:
                super().__setattr__(name, convert(field.hint, value, field.rules, Where(path=name)))
            except ConfigError as error:
                raise InvalidValueError(f"{type(self).__name__}: {error}") from error
            return
        # One made anew is checked as a whole, and tells what `__post_init__` makes of the value.
        fresh = type(self)(**{**self.values_beside(name), name: value})
        for known in self._given:
            made = getattr(fresh, known)
            if known == name or not same(made, getattr(self, known)):
                super().__setattr__(known, made)
        for known in self.follows:
            made = getattr(fresh, known)
            # What was kept stays, as far as there is room for it now.
            super().__setattr__(known, deque(getattr(self, known), made.maxlen) if isinstance(made, deque) else made)

    def values_beside(self, name: str) -> dict[str, Any]:
        """Return the parameters as they are now, for one like this with another `name`."""
        return {known: getattr(self, known) for known in self._given}

    def as_config_dict(self) -> dict[str, Any]:
        """Return the entry of a configuration that makes a part like this one, with the values it has now."""
        fresh = type(self)(**self._given)
        now = {name: getattr(self, name) for name in self._given}
        # Parameters may go together, as two actions given as one list: all as given, or all as they are now.
        values = self._given if all(same(value, getattr(fresh, name)) for name, value in now.items()) else now
        defaults = {field.name: field.default for field in dataclasses.fields(fresh)}  # type: ignore[arg-type]  # it is one
        changed = {name: value for name, value in values.items() if not same(value, defaults[name])}
        return {"type": type_entry(type(self)), **changed}

    def refuse(self, message: str) -> InvalidValueError:
        """Return the error for parameters that do not go together, to be raised."""
        return InvalidValueError(f"{type(self).__name__}: {message}")


def documented(cls: Cls) -> Cls:
    """Give the constructor of a dataclass the meaning of each parameter as its documentation.

    That of a controller or a sensor also takes the agent it is made for, anywhere or as `agent` or `parent`.
    """
    # The constructor that dataclass makes has no text of its own.
    lines = []
    for field in dataclasses.fields(cls):
        rules: Setting = field.metadata.get("setting", NO_RULES)
        unit = f" [{rules.unit}]" if rules.unit else ""
        lines.append(f"`{field.name}`: {rules.doc}{unit}")
    made = _with_owner(cls.__init__) if issubclass(cls, Component) else cls.__init__
    cls.__init__ = _noting(made)
    cls.__init__.__doc__ = "\n".join(lines)
    return cls


def _noting(constructor: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that notes when the part is made: from then on, parameters are checked when they are set."""

    @functools.wraps(constructor)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        constructor(self, *args, **kwargs)
        vars(self)[_MADE] = True

    setattr(init, _MADE, True)
    return init


def _with_owner(constructor: Callable[..., None]) -> Callable[..., None]:
    """Make a constructor take the agent that it is for, by position or as `agent` or `parent`."""

    @functools.wraps(constructor)
    def init(self: Component, *args: Any, **kwargs: Any) -> None:
        named = [kwargs.pop(name, None) for name in OWNERS]
        owners = {id(value): value for value in (*args, *named) if isinstance(value, SwarmBody)}
        strange = [value for value in named if value is not None and not isinstance(value, SwarmBody)]
        if strange or len(owners) > 1:
            raise InvalidValueError(
                f"{type(self).__name__}: `agent` and `parent` are the one agent it is made for,"
                f" got {[*strange, *owners.values()]}"
            )
        constructor(self, *(value for value in args if not isinstance(value, SwarmBody)), **kwargs)
        self.agent = next(iter(owners.values()), None)

    return init


def unbounded_setting(default: float, doc: str, *, unit: str) -> Any:
    """Return the setting of a number of 0 or more that may be infinite, such as how far a sensor reaches."""
    rules = Setting(low=0.0, unit=unit)

    def read(value: object) -> float:
        number = math.inf if value == math.inf else as_number(float, value, rules)
        if number is None:
            raise ValueError(f"must be {describe(float, rules)}, or infinite, got {shown(value)}")
        return float(number)

    return setting(default, reader=read, schema={"type": "number", "minimum": 0}, unit=unit, doc=doc)


def choice_setting(default: str | None, names: Sequence[str | None], doc: str) -> Any:
    """Return the setting of one of `names`; the error for an unknown one names the closest."""

    def read(value: object) -> str | None:
        if value in names:
            return value  # type: ignore[return-value]  # it is one of `names`
        known = [str(name) for name in names if name is not None]
        raise ValueError(f"unknown name {value!r}.{did_you_mean(str(value), known)}")

    return setting(default, reader=read, schema={"enum": list(names)}, doc=doc)


def team_setting(doc: str) -> Any:
    """Return the setting of a team to look for; None looks for all."""
    return setting(None, doc=f"{doc}; null: all.")


def seed_setting(what: str) -> Any:
    """Return the setting of a component's own seed."""
    return setting(None, low=0, doc=f"Seed of {what}; null: the world's.")


def file_setting(default: Any, doc: str) -> Any:
    """Return the setting of a file, given as text or as a Path; without a default it is required."""

    def read(value: object) -> Path | None:
        if isinstance(value, (str, Path)) and str(value):
            return Path(value)
        if value is None and default is None:
            return None
        raise ValueError(f"must be the path of a file, got {shown(value)}")

    kinds = ["string", "null"] if default is None else ["string"]
    return setting(default, reader=read, schema={"type": kinds}, doc=doc)
