"""DeclaredAction: the base of actions whose parameters are declared once, as settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

from fleet_sim.actions.base import Action
from fleet_sim.arrays import Floats, as_floats
from fleet_sim.config.modes import ActionStatus
from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import check_fields, setting
from fleet_sim.settings.fields import fields_of

Numbers: TypeAlias = Sequence[float] | Floats


@dataclass(eq=False, repr=False)
class DeclaredAction(Action):
    """An action whose parameters are dataclass fields made by `setting`: type, range, unit and meaning in one place.

    The constructor checks them, and actions from files, JSON or messages are made by it too. They may be set until a
    robot has the action. A subclass is a dataclass
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

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter as if it had been given at first; raises AttributeError once a robot has the action."""
        state = vars(self)
        if "status" not in state or "_changing" in state or name not in fields_of(type(self)):
            super().__setattr__(name, value)
            return
        if self.status is not ActionStatus.NOT_STARTED or self._on_cancel is not None:
            kind = type(self).__name__
            raise AttributeError(f"{kind}.{name} counts until a robot has the action; cancel it and give another one")
        before = dict(state)
        # What follows from the parameters is made by `__post_init__`, so it is made anew.
        state.update({name: value, "_changing": True})
        try:
            self.__post_init__()
        except BaseException:
            state.clear()
            state.update(before)
            raise
        del state["_changing"]
        self.goal = before["goal"]


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
