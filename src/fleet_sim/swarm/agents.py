"""Types of agents and objects: handles over rows of the core's world, with a controller and sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import StaleHandleError
from fleet_sim.swarm import unicycle
from fleet_sim.swarm.agent_config import (
    AgentConfig,
    DiffDriveConfig,
    MobileConfig,
    RegionConfig,
    StaticConfig,
    Team,
)
from fleet_sim.swarm.base import Sensor
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.groups import Group
from fleet_sim.swarm.regions import Region

if TYPE_CHECKING:
    from fleet_sim.swarm.world import RectangularWorld


class SwarmAgent:
    """One agent or object of a world: a handle over a row. Made by the world, see `RectangularWorld.spawn`.

    A subclass is a type of agent: `config_class` is what it is made from, `law` the motion law that moves it (None:
    nothing does), and `twists` says what its actions mean. One that overrides `step` is stepped one by one.
    """

    config_class: ClassVar[type[AgentConfig]] = AgentConfig
    law: ClassVar[str | None] = None

    def __init__(self, world: RectangularWorld, handle: Any, config: AgentConfig, group: Group) -> None:
        self.world = world
        self.handle = handle
        """The entity in the core: an Agent where it can move, else a SimObject."""
        self.row: int = handle.row
        self.config = config
        self.group = group
        self.controller: Any = None
        self.sensors: list[Any] = []

    # ---- where it is -------------------------------------------------------------------------------------------------

    def _require_alive(self) -> int:
        if not self.handle.is_alive:
            raise StaleHandleError(f"{type(self).__name__} {self.handle.last_label} was removed")
        return self.row

    @property
    def is_alive(self) -> bool:
        """Whether it is still there."""
        return bool(self.handle.is_alive)

    @property
    def position(self) -> Floats:
        """A copy of where it is (2,), in m."""
        place: Floats = self.world.columns.position[self._require_alive(), :2].copy()
        return place

    @position.setter
    def position(self, value: Any) -> None:
        self.place(value, self.angle)

    @property
    def x_pos(self) -> float:
        """Where it is along x, in m."""
        return float(self.world.columns.position[self._require_alive(), 0])

    @property
    def y_pos(self) -> float:
        """Where it is along y, in m."""
        return float(self.world.columns.position[self._require_alive(), 1])

    @property
    def angle(self) -> float:
        """Its heading in (-pi, pi] rad, counter-clockwise from the x axis."""
        x, y, z, w = self.world.columns.orientation[self._require_alive()].tolist()
        return float(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))

    @angle.setter
    def angle(self, value: float) -> None:
        self.place(self.position, value)

    def place(self, position: Any, angle: float) -> None:
        """Put it at `position` (2,) with the heading `angle`; raises InvalidValueError for what is not finite."""
        self.world.place(self._require_alive(), position, angle)

    @property
    def linear(self) -> float:
        """Its speed along its heading, in m/s."""
        return float(self.world.columns.motion.body_linear[self._require_alive(), 0])

    @property
    def angular(self) -> float:
        """Its turning speed, in rad/s."""
        return float(self.world.columns.motion.body_angular[self._require_alive(), 2])

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Its name, unique in the world."""
        return self.world.columns.names[self._require_alive()]

    @property
    def radius(self) -> float:
        """The radius of its disc, in m."""
        return float(self.world.swarm.agent_radius[self._require_alive()])

    @property
    def team(self) -> Team | None:
        """Its team, or None."""
        return self.world.team_named(int(self.world.swarm.team[self._require_alive()]))

    @property
    def touching(self) -> bool:
        """Whether it touched a wall, an object or another agent in this step."""
        return bool(self.world.swarm.touching[self._require_alive()])

    @property
    def halted(self) -> bool:
        """Whether it moves no more: at a goal, or disabled by a collision."""
        return bool(self.world.swarm.halted[self._require_alive()])

    @property
    def outline(self) -> Floats | None:
        """The corners (K, 2) of its polygon in the world frame, or None where it is a disc."""
        corners = self.config.outline
        if corners is None:
            return None
        cosine, sine = np.cos(self.angle), np.sin(self.angle)
        x, y = corners[:, 0], corners[:, 1]
        return self.position + np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1)

    def alone(self) -> Group:
        """Return a group of this agent alone."""
        return self.group.only(self.group.place_of(self._require_alive()))

    def __repr__(self) -> str:
        label = self.name if self.is_alive else f"{self.handle.last_label} (removed)"
        return f"<{type(self).__name__} {label}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> SwarmAgent:
        """A handle stays itself in a copy of what refers to it."""
        return self

    # ---- what it does ------------------------------------------------------------------------------------------------

    @classmethod
    def twists(cls, config: Any, actions: Floats) -> Floats:
        """Return what `actions` (N, 2) of agents with `config` mean: (N, 2) speeds in m/s and turns in rad/s."""
        return actions

    def step(self) -> None:
        """Take this agent through one step: controller, change of state, collisions, sensors."""
        self.world.step_alone(self)

    def remove(self) -> None:
        """Take it out of the world."""
        self.world.remove([self])

    def draw(self, canvas: Canvas) -> None:
        """Draw it: its polygon or its disc, with a line along its heading."""
        colour, outline = self.config.body_color, self.outline
        fill = colour if self.config.body_filled else None
        if outline is not None:
            canvas.polygon(outline, fill=fill, outline=colour)
            return
        canvas.circle(self.position, self.radius, fill=fill, outline=colour)
        if self.law is not None and self.radius > 0.0:
            ahead = np.array([np.cos(self.angle), np.sin(self.angle)]) * self.radius
            canvas.line(np.stack((self.position, self.position + ahead)), contrast(colour) if fill else colour)


class MazeAgent(SwarmAgent):
    """The unicycle: its actions are the speed along its heading in m/s and the turning speed in rad/s."""

    config_class = MobileConfig
    law = unicycle.UnicycleLaw.name

    def draw(self, canvas: Canvas) -> None:
        """Draw its trace, then itself."""
        trace = self.world.traces.of(self)
        if trace is not None and len(trace) > 1:
            canvas.line(trace, self.config.trace_color)  # type: ignore[attr-defined]
        super().draw(canvas)


UnicycleAgent = MazeAgent


class DiffDriveAgent(MazeAgent):
    """Two driven wheels: its actions are the speeds of the left and the right wheel in rad/s."""

    config_class = DiffDriveConfig

    @classmethod
    def twists(cls, config: DiffDriveConfig, actions: Floats) -> Floats:
        """Return speeds and turns (N, 2): the mean of the wheels' speeds, and their difference over the axle."""
        left, right = actions[:, 0] * config.wheel_radius, actions[:, 1] * config.wheel_radius
        return np.stack((0.5 * (left + right), (right - left) / config.axle_length), axis=1)


class StaticAgent(SwarmAgent):
    """Stands still: in a population, or as an object."""

    config_class = StaticConfig


StaticObject = StaticAgent


class DetectionRegion(SwarmAgent):
    """An object that others pass through and that knows who is inside it; see `detected`."""

    config_class = RegionConfig

    @property
    def region(self) -> Region:
        """Where it is."""
        outline = self.outline
        return Region(center=self.position, radius=self.radius) if outline is None else Region(outline)

    @property
    def detected(self) -> list[SwarmAgent]:
        """Return the agents of the population, of the teams and the name it looks for, that are inside now."""
        config, crowd = self.config, self.world.everyone
        assert isinstance(config, RegionConfig)
        mask = self.region.contains(crowd.positions)
        if config.target_teams is not None:
            mask &= np.isin(crowd.teams, [self.world.team_code(team) for team in config.target_teams])
        found = [self.world.agent_of(row) for row in crowd.rows[mask].tolist()]
        return [agent for agent in found if config.target_name in (None, agent.name)]


def contrast(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return white on dark colours and black on light ones."""
    red, green, blue = colour
    return (0, 0, 0) if 299 * red + 587 * green + 114 * blue > 150_000 else (255, 255, 255)


class SensorView:
    """A sensor of a whole group as one agent sees it: `current_state` is its own reading, all else is the sensor's."""

    def __init__(self, sensor: Sensor, agent: SwarmAgent, index: int) -> None:
        self._sensor, self.agent, self._index = sensor, agent, index

    @property
    def current_state(self) -> Any:
        """The last reading of this agent."""
        group = self.agent.group
        return group.readings[self._index][group.place_of(self.agent.row)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sensor, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> SensorView:
        return self


BUILT_IN: dict[str, type[Any]] = {
    "MazeAgent": MazeAgent,
    "UnicycleAgent": MazeAgent,
    "unicycle": MazeAgent,
    "DiffDriveAgent": DiffDriveAgent,
    "differential": DiffDriveAgent,
    "StaticAgent": StaticAgent,
    "StaticObject": StaticAgent,
    "static": StaticAgent,
    "DetectionRegion": DetectionRegion,
    "region": DetectionRegion,
}
