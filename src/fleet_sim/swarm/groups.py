"""Agents as arrays: a Crowd is a set of rows of the core's world, a Group a crowd with a controller and sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.core.columns import ColumnTable, column
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions

if TYPE_CHECKING:
    from fleet_sim.swarm.agent_config import AgentConfig
    from fleet_sim.swarm.agents import SwarmAgent
    from fleet_sim.swarm.base import Controller, Sensor
    from fleet_sim.swarm.world import RectangularWorld

NO_TEAM, NO_GROUP = -1, -1


class SwarmColumns(ColumnTable):
    """What a member of a swarm world has besides the columns of the core."""

    group: Ints = column(np.int64, default=NO_GROUP, writer="spawning", doc="index in RectangularWorld.groups")
    team: Ints = column(np.int64, default=NO_TEAM, writer="spawning", doc="code of a team; -1: none")
    agent_radius: Floats = column(float, unit="m", writer="spawning", doc="of the disc it collides and is seen as")
    collides: Bools = column(bool, writer="spawning", doc="is kept apart from others")
    grounded: Bools = column(bool, writer="spawning", doc="is not pushed by others")
    stop_on_collision: Bools = column(bool, writer="spawning")
    catastrophic: Bools = column(bool, writer="spawning", doc="is disabled by its first collision")
    stop_at_goal: Bools = column(bool, writer="spawning")
    previous: Floats = column(
        float, (2,), unit="m", frame="world", writer="commands", doc="where it was before it moved"
    )
    touching: Bools = column(bool, writer="collisions", doc="touched a wall, an object or another one in this step")
    halted: Bools = column(bool, writer="collisions, goals", doc="moves no more: at a goal, or disabled")


class Crowd:
    """Agents as arrays, one entry each in order of spawning. The arrays are taken anew at each access.

    Positions are (N, 2) in the world frame in m, headings in (-pi, pi] rad from the x axis, counter-clockwise.
    """

    def __init__(self, columns: World, swarm: SwarmColumns, rows: Rows) -> None:
        self.columns = columns
        self.swarm = swarm
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def positions(self) -> Floats:
        """Where they are (N, 2)."""
        places: Floats = self.columns.position[self.rows, :2]
        return places

    @property
    def headings(self) -> Floats:
        """Which way they look (N,)."""
        return quaternions.yaws(self.columns.orientation[self.rows])

    @property
    def linear(self) -> Floats:
        """Speeds along their headings (N,), in m/s."""
        speeds: Floats = self.columns.motion.body_linear[self.rows, 0]
        return speeds

    @property
    def angular(self) -> Floats:
        """Turning speeds (N,), in rad/s, counter-clockwise."""
        turns: Floats = self.columns.motion.body_angular[self.rows, 2]
        return turns

    @property
    def velocities(self) -> Floats:
        """Velocities (N, 2) in the world frame, in m/s."""
        velocities: Floats = self.columns.velocity[self.rows, :2]
        return velocities

    @property
    def radii(self) -> Floats:
        """Radii of their discs (N,), in m; 0 for a point."""
        return self.swarm.agent_radius[self.rows]

    @property
    def teams(self) -> Ints:
        """Codes of their teams (N,), see `RectangularWorld.team_code`; -1 for none."""
        return self.swarm.team[self.rows]

    @property
    def touching(self) -> Bools:
        """Whether they touched a wall, an object or another agent in this step (N,)."""
        return self.swarm.touching[self.rows]


class Group(Crowd):
    """The agents that share a type, a controller and sensors.

    `readings[i]` (N, ...) are the last readings of sensor i; `state` what components remember, see
    `Component.column`. A group of one agent of another group (`only`) reads and writes the same arrays.
    """

    def __init__(self, world: RectangularWorld, index: int, kind: type[SwarmAgent], config: AgentConfig) -> None:
        super().__init__(world.columns, world.swarm, NO_ROWS)
        self.world = world
        self.index = index
        self.kind = kind
        self.is_object = False
        """Whether its members are objects rather than of the population."""
        self.config: Any = config
        """What its agents were made from; where they start and what they look like may differ."""
        self.controller: Controller | None = None
        self.sensors: list[Sensor] = []
        self.agents: list[SwarmAgent] = []
        self.readings: dict[int, AnyArray] = {}
        self.state: dict[str, AnyArray] = {}
        self._defaults: dict[str, Any] = {}
        self._places: dict[int, int] | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The random stream of this group. Ask for it at each use: going back in time replaces it."""
        return self.world.rng(f"group {self.index}")

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        """Return the array (N, *shape) remembered under `name`, made at its first use; see `Component.column`."""
        known = self.state.get(name)
        if known is None:
            known = self.state[name] = np.full((len(self), *shape), default, dtype)
            self._defaults[name] = default
        return known

    @property
    def whole(self) -> Group:
        """The group these agents are of: itself, but for a group of one agent alone."""
        return self

    @property
    def places(self) -> Ints:
        """The place of each agent in the whole group (N,)."""
        return np.arange(len(self))

    def only(self, place: int) -> Group:
        """Return a group of the agent at `place` alone."""
        return _Single(self, place)

    def place_of(self, row: int) -> int:
        """Return the place of the agent with `row` in this group."""
        if self._places is None:
            self._places = {member: place for place, member in enumerate(self.rows.tolist())}
        return self._places[row]

    def note(self, index: int, values: AnyArray) -> None:
        """Keep the readings (N, ...) of sensor `index`; raises InvalidValueError unless there is one per agent."""
        self.readings[index] = _one_each(self, index, values)

    # ---- members come and go -----------------------------------------------------------------------------------------

    def join(self, agents: list[SwarmAgent]) -> None:
        """Take in new agents, after those that are there."""
        count = len(agents)
        self.agents += agents
        self._places = None
        self.rows = np.concatenate((self.rows, np.array([agent.row for agent in agents], np.int64)))
        for name, values in self.state.items():
            more = np.full((count, *values.shape[1:]), self._defaults[name], values.dtype)
            self.state[name] = np.concatenate((values, more))
        for place, sensor in enumerate(self.sensors):
            blank = sensor.blank(count)
            self.readings[place] = _joined(self.readings[place], blank) if place in self.readings else blank

    def set_members(
        self, rows: Rows, agents: list[SwarmAgent], state: dict[str, AnyArray], readings: dict[int, AnyArray]
    ) -> None:
        """Go back to these members, with what they remembered; the arrays are copied."""
        self._places = None
        self.rows, self.agents = rows.copy(), list(agents)
        self.state = {name: values.copy() for name, values in state.items()}
        self.readings = {place: values.copy() for place, values in readings.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> Group:
        """A group stays itself in a copy of what refers to it."""
        return self

    def keep(self, mask: Bools) -> None:
        """Let go of the agents outside `mask` (N,)."""
        self._places = None
        self.agents = [agent for agent, stays in zip(self.agents, mask.tolist(), strict=True) if stays]
        self.rows = self.rows[mask]
        self.state = {name: values[mask] for name, values in self.state.items()}
        self.readings = {place: values[mask] for place, values in self.readings.items()}


class _Single(Group):
    """One agent of a group; its arrays are slices of the group's."""

    def __init__(self, group: Group, place: int) -> None:
        Crowd.__init__(self, group.columns, group.swarm, group.rows[place : place + 1])
        self._group = group
        self._place = place
        self._slice = slice(place, place + 1)
        self.world, self.index, self.kind, self.config = group.world, group.index, group.kind, group.config
        self.controller, self.sensors = group.controller, group.sensors
        self.agents = group.agents[self._slice]
        self.readings = {index: values[self._slice] for index, values in group.readings.items()}
        self.state = {name: values[self._slice] for name, values in group.state.items()}

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        whole = self._group.column(name, shape, dtype=dtype, default=default)
        self.state[name] = whole[self._slice]
        return self.state[name]

    @property
    def whole(self) -> Group:
        return self._group

    @property
    def places(self) -> Ints:
        return np.array([self._place])

    def only(self, place: int) -> Group:
        return self

    def place_of(self, row: int) -> int:
        return 0

    def note(self, index: int, values: AnyArray) -> None:
        values = _one_each(self, index, values)
        readings = self._group.readings
        if readings[index].shape[1:] != values.shape[1:] or not np.can_cast(values.dtype, readings[index].dtype):
            whole = np.zeros((len(self._group), *values.shape[1:]), values.dtype)
            if readings[index].shape[1:] == values.shape[1:]:
                whole[:] = readings[index]
            readings[index] = whole
        readings[index][self._slice] = values
        self.readings[index] = readings[index][self._slice]


def _one_each(group: Group, index: int, values: Any) -> AnyArray:
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != len(group):
        name = type(group.sensors[index]).__name__
        raise InvalidValueError(f"{name}.sense: expected one reading per agent ({len(group)}), got shape {array.shape}")
    return array


def _joined(known: AnyArray, more: AnyArray) -> AnyArray:
    """Return readings `known` followed by `more`, blown up to their shape where there are any."""
    if not len(known):
        return more
    if more.shape[1:] != known.shape[1:]:
        more = np.zeros((len(more), *known.shape[1:]), known.dtype)
    return np.concatenate((known, more))
