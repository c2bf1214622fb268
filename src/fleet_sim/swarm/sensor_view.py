"""SensorView: the sensor of a whole group as one of its agents sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from fleet_sim.arrays import AnyArray
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.component import Component

SensorT = TypeVar("SensorT", bound=Component)


class ReadingKeeper(Protocol):
    """A group as views see it: it keeps the readings (N, ...) of its sensors, by their number."""

    @property
    def readings(self) -> Mapping[int, AnyArray]:
        """The last readings of each sensor."""

    def number_of(self, row: int) -> int:
        """Return the number of the agent with `row`, which is its place in the readings."""


class Member(Protocol):
    """An agent as views see it."""

    row: int

    @property
    def group(self) -> ReadingKeeper:
        """The group it belongs to at present."""


class SensorView(Generic[SensorT]):
    """A sensor of a whole group as one agent sees it: `current_state` is its own reading, all else is the sensor's.

    Nothing can be assigned: it would act on every agent of the group. Raises InvalidValueError.
    """

    sensor: SensorT
    agent: Member
    _index: int

    def __init__(self, sensor: SensorT, agent: Member, index: int) -> None:
        # Past __setattr__, which refuses all assignments.
        vars(self).update(sensor=sensor, agent=agent, _index=index)

    def __setattr__(self, name: str, value: object) -> None:
        # Silently setting it for all agents, or for none, would both be wrong.
        kind = type(self.sensor).__name__
        raise InvalidValueError(
            f"{kind}.{name}: this sensor serves all agents of a group; give the agent one of its own,"
            f" agent.sensors[{self._index}] = {kind}(...), or set `agent.sensors[{self._index}].sensor.{name}` for all"
        )

    @property
    def current_state(self) -> Any:
        """The last reading of this agent."""
        group = self.agent.group
        return group.readings[self._index][group.number_of(self.agent.row)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sensor, name)

    # `vars` would come back through `__setattr__`, which refuses; so it is made again from its parts.
    def __reduce__(self) -> tuple[Any, ...]:
        return SensorView, (self.sensor, self.agent, self._index)

    def __deepcopy__(self, memo: dict[int, Any]) -> SensorView[SensorT]:
        # Who copies an agent wants its sensor, not one of another group.
        return self
