"""DeclaredAction: the base of actions whose parameters are declared once, as settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

from fleet_sim.actions.base import Action
from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import check_fields, setting

Numbers: TypeAlias = Sequence[float] | Floats


@dataclass(eq=False, repr=False)
class DeclaredAction(Action):
    """An action whose parameters are dataclass fields made by `setting`: type, range, unit and meaning in one place.

    The constructor checks them, and actions from files, JSON or messages are made by it too. A subclass is a dataclass
    with `eq=False, repr=False` (an action is equal to itself only). It initialises its running state in
    `__post_init__`, after its base class; raises InvalidValueError.
    """

    _: KW_ONLY
    timeout: float | None = setting(None, low=0.0, unit="s", doc="Time after which the action fails; None: never.")

    def __post_init__(self) -> None:
        try:
            check_fields(self)
        except ConfigError as error:
            raise InvalidValueError(str(error)) from error
        # After the checks: the base class trusts its arguments.
        super().__init__(self.timeout)


def read_point(value: object) -> Floats | None:
    """Return a position (3,), or None for None; raises InvalidValueError."""
    return _numbers(value, 3)


def read_turn(value: object) -> Floats | None:
    """Return a quaternion (4,), not normalised, or None for None; raises InvalidValueError."""
    return _numbers(value, 4)


def _numbers(value: object, count: int) -> Floats | None:
    if value is None:
        return None
    try:
        return as_floats(value, (count,), "numbers")
    except InvalidValueError as error:
        raise InvalidValueError(f"must be {count} finite numbers, got {value!r}") from error


def as_given(value: object) -> object:
    """Return `value`: the reader of parameters that can be checked only against the robot, when the action starts."""
    return value
