"""What a group remembers per agent: the state of its components and the readings of its sensors, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Rows
from fleet_sim.core.random import Keys
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.crowd import Crowd, SwarmColumns


class GroupMemory(Crowd):
    """A crowd with memory: `readings[i]` (N, ...) are the last readings of sensor i; `state` that of components.

    See `Component.column`.
    """

    def __init__(self, columns: World, swarm: SwarmColumns, rows: Rows) -> None:
        super().__init__(columns, swarm, rows)
        self.readings: dict[int, AnyArray] = {}
        self.state: dict[str, AnyArray] = {}
        self._defaults: dict[str, Any] = {}
        self._numbers: dict[int, int] | None = None
        self._solos: dict[int, GroupMemory] = {}
        """Groups of one of its agents alone, by number: agents take turns in every step."""

    def forget_places(self) -> None:
        """Forget which agent is where: the arrays are others from now on."""
        self._numbers = None
        self._solos.clear()

    def lengthen(self, count: int) -> None:
        """Remember the defaults for `count` more agents."""
        for name, values in self.state.items():
            more = np.full((count, *values.shape[1:]), self._defaults[name], values.dtype)
            self.state[name] = np.concatenate((values, more))

    def remember(self, rows: Rows, state: dict[str, AnyArray], readings: dict[int, AnyArray]) -> None:
        """Remember copies of these for the agents in `rows`."""
        self.forget_places()
        self.rows = rows.copy()
        self.state = {name: values.copy() for name, values in state.items()}
        self.readings = {index: values.copy() for index, values in readings.items()}

    def keep_memory(self, mask: Bools) -> None:
        """Forget the agents outside `mask` (N,)."""
        self.forget_places()
        self.rows = self.rows[mask]
        self.state = {name: values[mask] for name, values in self.state.items()}
        self.readings = {index: values[mask] for index, values in self.readings.items()}

    def random_key(self, purpose: str) -> Keys | int:
        """Return the key of `purpose` for counter-based random numbers, or one for each agent (N,)."""
        return self.columns.random.key(purpose)

    def number_of(self, row: int) -> int:
        """Return the number of the agent with `row` in this group."""
        if self._numbers is None:
            # Made when first asked for: many worlds never ask.
            self._numbers = {member: number for number, member in enumerate(self.rows.tolist())}
        return self._numbers[row]

    def default_of(self, name: str) -> Any:
        """Return what agents that join remember under `name`."""
        return self._defaults.get(name, 0)

    @property
    def defaults(self) -> dict[str, Any]:
        """What agents that join remember, by name."""
        return dict(self._defaults)

    def take_defaults(self, defaults: dict[str, Any]) -> None:
        """Go back to `defaults`."""
        self._defaults = dict(defaults)

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        """Return the array (N, *shape) remembered under `name`, made at its first use; see `Component.column`."""
        known = self.state.get(name)
        if known is None:
            known = self.state[name] = np.full((len(self), *shape), default, dtype)
            self._defaults[name] = default
        return known

    def forget(self, slot: str, row: int) -> None:
        """Clear the state and readings of the part in `slot` of the agent in `row`."""
        number = self.number_of(row)
        for name, values in self.state.items():
            if name.startswith(f"{slot}."):
                values[number] = self.default_of(name)
        # Readings are numbered, not named: the slot of a sensor is its number.
        for index, values in self.readings.items():
            if slot == f"sensors[{index}]":
                values[number] = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> GroupMemory:
        """A group stays itself in a copy of what refers to it."""
        return self


def fitting(known: AnyArray, values: AnyArray) -> AnyArray:
    """Return the readings `known` (N, ...) as an array that takes `values` (K, ...) of some of them.

    That is `known` itself, unless their shape or type is another one; readings of another shape begin at 0.
    """
    same_shape = known.shape[1:] == values.shape[1:]
    if same_shape and np.can_cast(values.dtype, known.dtype):
        return known
    whole = np.zeros((len(known), *values.shape[1:]), values.dtype)
    if same_shape:
        whole[:] = known
    return whole


def one_each(values: Any, count: int, sensor: object) -> AnyArray:
    """Return `values` as an array of `count` readings of `sensor`; raises InvalidValueError for another number."""
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != count:
        name = type(sensor).__name__
        raise InvalidValueError(f"{name}.sense: expected one reading per agent ({count}), got shape {array.shape}")
    return array
