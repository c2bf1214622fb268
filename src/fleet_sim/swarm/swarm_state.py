"""The view that parts have of a world: agents, obstacles, time, keys and random numbers.

Controllers, sensors and metrics use a world as a `SwarmState`. The object they get is the whole world, so user code may
use more of it; the parts of this package do not, and so do not depend on how a world is assembled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_float, as_floats
from fleet_sim.core.random import RandomStreams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions
from fleet_sim.swarm.agent_config import AgentConfig, Team
from fleet_sim.swarm.crowd import NO_TEAM, Crowd, SwarmColumns
from fleet_sim.swarm.regions import Goal, edges, rectangle
from fleet_sim.swarm.swarm_body import Start, SwarmBody, rows_of
from fleet_sim.swarm.world_config import RectangularWorldConfig

Found = TypeVar("Found")


class ControlledRows(Protocol):
    """A group as members of other groups see it: its members and their controller."""

    rows: Rows

    @property
    def controller(self) -> object | None:
        """The controller of the group, or None."""


class Measured(Protocol):
    """A metric as other metrics see it."""

    name: str

    @property
    def value(self) -> float:
        """The last value; NaN before the first."""

    def calculate(self) -> None:
        """Take an observation."""

    def reset(self) -> None:
        """Forget the history."""


class WorldContents(Protocol):
    """What metrics ask a world for; see `contents.py`."""

    def make_metric(self, spec: object) -> Measured:
        """Return a metric of this world that is not in its list."""

    def values(self) -> dict[str, Any]:
        """Return what expressions over the world know by name."""

    def named(self, name: str) -> object | None:
        """Return the agent, object, metric or list of that name, or None."""


class WorldRandom(np.random.Generator):
    """The random stream of a world, from its seed; called with a purpose it returns the stream for that purpose."""

    def __init__(self, streams: RandomStreams) -> None:
        super().__init__(streams.stream("swarm world").bit_generator)
        self._streams = streams

    def __call__(self, purpose: str) -> np.random.Generator:
        """Return the random stream for `purpose`."""
        return self._streams.stream(f"swarm {purpose}")


class SwarmState:
    """The state of a rectangular world, in the columns of its simulation.

    Arrays are read again at each access, except those that only change when agents are added, removed or placed.
    """

    squares: int = 1
    """Number of worlds side by side in these columns, of which none sees another; see `squares/`."""
    population: Sequence[SwarmBody]
    objects: Sequence[SwarmBody]
    groups: Sequence[ControlledRows]
    contents: WorldContents

    def __init__(self, sim: MultiRobotSimulationCore, config: RectangularWorldConfig) -> None:
        self.sim = sim
        self.config = config
        self.columns = sim.world
        self.swarm = self.columns.add_table("swarm", SwarmColumns)
        self.goals: list[Goal] = []
        self.keys: set[str] = set()
        """The keys held down in the window, such as "w" or "up"; empty without one."""
        self.steps = 0
        """The number of completed steps."""
        self.in_progress = False
        """Whether a step is under way that `steps` does not count yet."""
        self.team_order: list[Team] = []
        """The teams that were heard of, in the order of their numbers."""
        self.teams: set[Team | None] = {None}
        """The teams of all who were there, and of whom spawners will put there."""
        self._cached: dict[str, object] = {}
        # Asked for several times in a step, and so not in the dict.
        self._collidable: Rows | None = None
        self._polygons: list[Floats] | None = None

    # ---- time and chance ---------------------------------------------------------------------------------------------

    @property
    def dt(self) -> float:
        """The length of a step, in s."""
        return self.columns.clock.dt

    @property
    def time(self) -> float:
        """Simulated time of the completed steps, in s."""
        return self.columns.clock.seconds(self.steps)

    @property
    def total_steps(self) -> int:
        """The number of steps that were begun: inside a step it counts that step, as RobotSwarmSimulator does."""
        return self.steps + self.in_progress

    @property
    def seed(self) -> int:
        """The seed of the random streams."""
        return self.columns.random.seed

    @property
    def rng(self) -> WorldRandom:
        """The random stream of the world; `rng("purpose")` is another one, for that purpose alone.

        Ask for either at each use: going back in time replaces them.
        """
        return WorldRandom(self.columns.random)

    # ---- who is there ------------------------------------------------------------------------------------------------

    @property
    def everyone(self) -> Crowd:
        """The population as arrays, in its order."""
        return Crowd(self.columns, self.swarm, self._cache("population rows", lambda: rows_of(self.population)))

    @property
    def things(self) -> Crowd:
        """The objects as arrays, in their order."""
        return Crowd(self.columns, self.swarm, self._cache("object rows", lambda: rows_of(self.objects)))

    @property
    def collidable_rows(self) -> Rows:
        """The rows of all discs that are kept apart."""
        known = self._collidable
        if known is None:
            known = self._collidable = self._find_collidable()
        return known

    def _find_collidable(self) -> Rows:
        rows = rows_of([*self.population, *self.objects])
        return rows[self.swarm.collides[rows]]

    def team_code(self, team: Team | None) -> int:
        """Return the number that stands for `team` in arrays; -1 for None."""
        if team is None:
            return NO_TEAM
        if team not in self.team_order:
            self.team_order.append(team)
        return self.team_order.index(team)

    def team_named(self, code: int) -> Team | None:
        """Return the team that `code` stands for."""
        return None if code == NO_TEAM else self.team_order[code]

    # ---- what stands in the way --------------------------------------------------------------------------------------

    @property
    def size(self) -> Floats:
        """Width and height (2,), in m; NumPy refuses to write into it, as a world keeps its size."""
        size = np.array(self.config.size)
        size.flags.writeable = False
        return size

    @property
    def polygons(self) -> list[Floats]:
        """The polygons (K, 2) of objects that agents collide with."""
        known = self._polygons
        if known is None:
            known = self._polygons = self._find_polygons()
        return known

    def _find_polygons(self) -> list[Floats]:
        static = (thing for thing in self.objects if thing.config.collides and thing.law is None)
        return [outline for thing in static if (outline := thing.outline) is not None]

    @property
    def walls(self) -> Floats:
        """The walls that agents collide with as segments (W, 4): x1, y1, x2, y2 of the border and of polygons."""
        return self._segments(self.config.collide_walls)

    @property
    def detectable_walls(self) -> Floats:
        """The walls that sensors see, as segments (W, 4): polygons, and the border where `detectable_walls` says so."""
        return self._segments(self.config.detectable_walls)

    def _segments(self, border: bool) -> Floats:
        def find() -> Floats:
            frame = rectangle((0.0, 0.0), self.config.size)
            return np.concatenate([np.empty((0, 4)), *map(edges, [frame] * border + self.polygons)])

        return self._cache(f"segments {border}", find)

    # ---- what is done to the world ---------------------------------------------------------------------------------

    def place(self, row: int, position: object, angle: float) -> None:
        """Put the agent or object in `row` at `position` (2,) with heading `angle`."""
        target = self.columns.position[row].copy()
        target[:2] = as_floats(position, (2,), "position")
        # Being put elsewhere is no way that it came.
        self.swarm.previous[row] += target[:2] - self.columns.position[row, :2]
        orientation = quaternions.from_yaws(np.array([as_float(angle, "angle in rad")]))
        self.columns.place(np.array([row]), target[None], orientation)
        # Walls of polygons are remembered where they were.
        self.forget_cached()

    def remove(self, bodies: Iterable[SwarmBody]) -> None:
        """Take agents or objects out of the world."""
        self.sim.remove_rows(rows_of([body for body in bodies if body.is_alive]))

    def press_key(self, key: str) -> None:
        """Note that `key` is held down from now on; controllers such as HumanController look at `keys`."""
        self.keys.add(key)

    def release_key(self, key: str) -> None:
        """Note that `key` is held down no more."""
        self.keys.discard(key)

    def release_all_keys(self) -> None:
        """Note that no key is held down, as where the window is closed or another one is typed in."""
        self.keys.clear()

    def start_of(self, config: AgentConfig, name: str | None = None) -> Start:
        """Return where an agent made from `config` starts: the middle of the world where that does not say."""
        shift = config.shift
        # Corners that stay in place are in the frame of the world.
        middle = np.zeros(2) if shift.any() else 0.5 * self.size
        position = middle if config.position is None else np.array(config.position)
        return Start(position + shift, config.angle, name or config.name)

    def furnish(self, body: SwarmBody) -> None:
        """Make the controller and the sensors of an agent that is in no world yet."""
        raise NotImplementedError

    def give_controller(self, body: SwarmBody, spec: object) -> None:
        """Give an agent another controller: what `agent.controller = ...` does."""
        raise NotImplementedError

    def give_sensors(self, body: SwarmBody, specs: Sequence[object]) -> None:
        """Give an agent other sensors: what changes of `agent.sensors` do."""
        raise NotImplementedError

    def step_row(self, row: int) -> None:
        """Take the agent in `row` through controller, change of state and sensors: what `SwarmAgent.step` does."""
        raise NotImplementedError

    # ---- what was found ----------------------------------------------------------------------------------------------

    def forget_cached(self) -> None:
        """Clear the cache of rows, polygons and walls."""
        self._cached.clear()
        self._collidable = self._polygons = None

    def _cache(self, name: str, find: Callable[[], Found]) -> Found:
        # Cleared by `forget_cached` whenever somebody comes, goes or is put elsewhere.
        if name not in self._cached:
            self._cached[name] = find()
        found: Found = self._cached[name]  # type: ignore[assignment]  # each name is always found by one function
        return found
