"""The view that parts have of a world: agents, obstacles, time, keys and random numbers.

Controllers, sensors and metrics use a world as a `SwarmState`. The object they get is the whole world, so user code may
use more of it; the parts of this package do not, and so do not depend on how a world is assembled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_float, as_floats, as_whole
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.agent_columns import NO_TEAM, Crowd, SwarmColumns
from fleet_sim.swarm.agent_config import AgentConfig, Start, SwarmBody, Team, rows_of
from fleet_sim.swarm.canvas import Canvas, Color
from fleet_sim.swarm.parameters import Configured, PartRegistry, Vector, configured
from fleet_sim.swarm.world_config import RectangularWorldConfig
from fleet_sim.world.clock import RandomStreams

# Regions of the plane, for spawners, goals and detection regions.


GOAL_COLOR: Color = (40, 160, 70)


class Region:
    """A part of the plane, in m: a polygon with corners (K, 2), or a disc."""

    def __init__(self, points: Any = None, *, center: Any = None, radius: float | None = None) -> None:
        of_disc = [value is not None for value in (center, radius)]
        if any(of_disc) if points is not None else not all(of_disc):
            raise InvalidValueError("a region has either points (three or more) or a center and a radius")
        self.points = None if points is None else as_polygon(points, "points")
        self.radius = 0.0 if radius is None else as_float(radius, "radius in m", low=0.0)
        self.centre: Floats
        if self.points is None:
            self.centre = as_floats(center, (2,), "center")
        else:
            # The middle of the box, not the centroid: the circle around it needs to hold the polygon only, not to be
            # the smallest.
            self.centre = 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
            offsets = self.points - self.centre
            self.radius = float(np.sqrt((offsets * offsets).sum(axis=1)).max())

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The lower and upper corners (2,) of the region's box."""
        if self.points is None:
            return self.centre - self.radius, self.centre + self.radius
        return self.points.min(axis=0), self.points.max(axis=0)

    def contains(self, points: Floats) -> Bools:
        """Return which of `points` (N, 2) lie inside (N,)."""
        if self.points is None:
            x, y = points[:, 0] - self.centre[0], points[:, 1] - self.centre[1]
            return np.asarray(x * x + y * y <= self.radius * self.radius)
        return inside_polygon(points, self.points)

    def draw(self, canvas: Canvas, color: Color) -> None:
        """Draw the region's border."""
        if self.points is None:
            canvas.circle(self.centre, self.radius, outline=color)
        else:
            canvas.polygon(self.points, outline=color)


def read_corners(value: object) -> Floats | None:
    """Return the corners (K, 2) of a polygon, or None; raises ValueError."""
    return None if value is None else as_polygon(value, "corners")


def read_radius(value: object) -> float | None:
    """Return a radius in m, or None; raises ValueError."""
    return None if value is None else as_float(value, "radius in m", low=0.0)


@configured
class Goal(Configured, Region):
    """A place to be reached: a disc (`center`, `radius`) or a polygon (`points`)."""

    points: Any = setting(
        None, reader=read_corners, schema={"type": ["array", "null"]}, unit="m", doc="Corners of a polygon."
    )
    _: KW_ONLY
    center: Vector | None = setting(None, unit="m", doc="Centre of a disc.")
    radius: float = setting(
        None, reader=read_radius, schema={"type": ["number", "null"], "minimum": 0}, unit="m", doc="Radius of a disc."
    )
    name: str = setting("goal", doc="Its name.")
    color: Color = setting(GOAL_COLOR, low=0, high=255, doc="Red, green, blue.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        Region.__init__(self, self.points, center=self.center, radius=self.radius)


@configured
class AreaGoal(Goal):
    """A rectangle to be reached."""

    # Worked out from the settings below.
    points: Any = field(init=False, default=None)
    center: Vector | None = field(init=False, default=None)
    radius: Any = field(init=False, default=None)
    position: Vector = setting(unit="m", doc="Its lower left corner.")
    size: Vector = setting(unit="m", doc="Its width and height.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        self.points = rectangle(self.position, self.size)
        super().__post_init__()


@configured
class CylinderGoal(Goal):
    """A disc to be reached."""

    # Worked out from the settings below.
    points: Any = field(init=False, default=None)
    center: Vector | None = field(init=False, default=None)
    position: Vector = setting(unit="m", doc="Its centre.")
    radius: float = setting(reader=read_radius, schema={"type": "number", "minimum": 0}, unit="m", doc="Its radius.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        self.center = self.position
        super().__post_init__()


BUILT_IN: dict[str, type[Goal]] = {
    "Goal": Goal,
    "goal": Goal,
    "AreaGoal": AreaGoal,
    "area": AreaGoal,
    "CylinderGoal": CylinderGoal,
    "circle": CylinderGoal,
}

GOALS = PartRegistry("goal", Goal, BUILT_IN)


def as_polygon(points: Any, what: str) -> Floats:
    """Return the corners (K, 2) of a polygon; raises InvalidValueError for fewer than three."""
    corners = as_floats(points, (None, 2), what)
    if len(corners) < 3:
        raise InvalidValueError(f"{what}: a polygon has three corners or more, got {len(corners)}")
    return corners


def rectangle(corner: Any, size: Any) -> Floats:
    """Return the corners (4, 2), counter-clockwise, of a rectangle with its lower left `corner` and its `size`."""
    x, y = as_floats(corner, (2,), "position").tolist()
    width, height = as_floats(size, (2,), "size").tolist()
    return np.array([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])


def edges(polygon: Floats) -> Floats:
    """Return the sides of a polygon (K, 2) as segments (K, 4): x1, y1, x2, y2."""
    return np.hstack((polygon, np.roll(polygon, -1, axis=0)))


def inside_polygon(points: Floats, polygon: Floats) -> Bools:
    """Return which of `points` (N, 2) lie inside `polygon` (K, 2), of any shape (N,); borders may count either way."""
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), np.bool_)
    for x1, y1, x2, y2 in edges(polygon).tolist():
        # A level side never crosses the ray to the right, and would divide by 0.
        if y1 == y2:
            continue
        # Even-odd rule. The half-open comparison counts a corner for one of its two sides only.
        crosses_mask = (y1 > y) != (y2 > y)
        inside ^= crosses_mask & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
    return inside


Found = TypeVar("Found")


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

    population: Sequence[SwarmBody]
    objects: Sequence[SwarmBody]
    groups: Sequence[Any]

    def __init__(self, sim: MultiRobotSimulationCore, config: RectangularWorldConfig) -> None:
        self.sim = sim
        self.config = config
        self.columns = sim.world
        table = None if "swarm" in sim.checkpoints.parts else self.columns.tables.get("swarm")
        # That of a world that was cleared is used again.
        self.swarm = table if isinstance(table, SwarmColumns) else self.columns.add_table("swarm", SwarmColumns)
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

    def make_metric(self, spec: object) -> Metric:
        """Return a metric of this world that is not in its list."""
        raise NotImplementedError

    def values(self) -> dict[str, Any]:
        """Return what expressions over the world know by name."""
        raise NotImplementedError

    def named(self, name: str) -> object | None:
        """Return the agent, object, metric or list of that name, or None."""
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


# Metrics: they reduce the state of a world to a number at the end of each step.


HISTORY_SIZE = 100
"""Default number of values in the history of a metric; None keeps all."""


class Metric:
    """Reduces the state of the world to a number at the end of each step. Override `calculate`.

    `value_history` holds the last `history_size` values, or all of them where that is None.
    """

    def __init__(self, name: str | None = None, history_size: int | None = HISTORY_SIZE) -> None:
        self.name = name or type(self).__name__
        self.history_size = None if history_size is None else as_whole(history_size, "history_size")
        self.world: SwarmState | None = None
        self.value_history: deque[float] = deque(maxlen=self.history_size)

    def __setattr__(self, name: str, value: object) -> None:
        """Keep as many values as `history_size` says, also where it is set later."""
        if name == "history_size" and "value_history" in vars(self):
            value = None if value is None else as_whole(value, "history_size")
            self.value_history = deque(self.value_history, maxlen=value)
        super().__setattr__(name, value)

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on; called before the first step."""
        self.world = world

    def calculate(self) -> None:
        """Take an observation of `self.world` and pass its value to `set_value`."""
        raise NotImplementedError

    def set_value(self, value: float) -> None:
        """Note the value of this step."""
        self.value_history.append(float(value))

    @property
    def value(self) -> float:
        """The last value; NaN before the first."""
        return self.value_history[-1] if self.value_history else float("nan")

    @property
    def current_value(self) -> float:
        """Another name of `value`."""
        return self.value

    @property
    def average(self) -> float:
        """The mean of the history; NaN without one."""
        return float(np.mean(self.value_history)) if self.value_history else float("nan")

    def out_current(self) -> tuple[str, float]:
        """Return (name, last value)."""
        return self.name, self.value

    def out_average(self) -> tuple[str, float]:
        """Return (name, mean of the history)."""
        return self.name, self.average

    def reset(self) -> None:
        """Forget the history."""
        self.value_history.clear()


AbstractMetric = Metric
