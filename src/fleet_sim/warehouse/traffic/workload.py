"""Workload: a building with robots and their tasks, read from the files that people compare planners on."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Ints, Rows
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import resolve_config, write_file
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import MovementDirection, SimulationParams
from fleet_sim.base.settings import Checked, setting
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.grid import NO_CELL, Grid
from fleet_sim.warehouse.sites.map_formats import QUARTER, TICK, LeagueProblem, read_problem, read_tasks
from fleet_sim.warehouse.sites.reading import fail, read_json, read_site, read_text
from fleet_sim.warehouse.sites.section import build_walls
from fleet_sim.warehouse.sites.site import Site, StationKind
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.disturbances import DelaySettings
from fleet_sim.warehouse.traffic.problem import steps_to_rest
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.traffic import Traffic, offer_traffic
from fleet_sim.world.clock import purpose_key, uniforms
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# Tasks: where robots go, and where they go next when they have been there.


NO_TASK = -1


class NextGoals(NamedTuple):
    """Next goals (K,) of K robots as cells, NO_CELL where nothing is left; and which of them ended a task (K,)."""

    cells: Ints
    done_mask: Bools


class Tasks(ABC):
    """A source of goals for `robots` robots, numbered from 0. The same calls give the same goals."""

    def __init__(self, robots: int) -> None:
        self.robots = robots
        self._given: Ints = np.zeros(robots, np.int64)

    def next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return where `robots` (K,), each once, go from `cells` (K,): from their starts, later from their goals."""
        # A robot that has not been given anything yet cannot have ended a task.
        first_mask = self._given[robots] == 0
        goals = self._next(robots, np.asarray(cells, np.int64))
        self._given[robots] += 1
        return NextGoals(goals.cells, goals.done_mask & ~first_mask)

    def ends(self, robots: Ints) -> Bools:
        """Return which of `robots` (K,) end a task at their goals: what `next` says when it is asked there."""
        return np.ones(len(robots), bool)

    @abstractmethod
    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return the goals; the first `done_mask` of a robot is not looked at."""

    def _draws(self, key: int, robots: Ints, count: int | Ints, lane: int = 0) -> Ints:
        """Return for each robot a number (K,) below `count`, or its own of (K,): a function of its number and of how
        often it asked."""
        return np.asarray(uniforms(key, robots, self._given[robots], lane) * count, np.int64)


class RandomTasks(Tasks):
    """Each robot goes from one of `cells` (N,) to another, for ever; each goal is a task."""

    def __init__(self, robots: int, cells: Ints, seed: int) -> None:
        super().__init__(robots)
        self._cells = np.unique(cells)
        if len(self._cells) < 2:
            raise InvalidValueError(f"random goals need at least two cells to go to, got {len(self._cells)}")
        self._key = purpose_key(seed, "traffic.goals")

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        return NextGoals(self._drawn(robots, cells), np.ones(len(robots), bool))

    def _drawn(self, robots: Ints, cells: Ints) -> Ints:
        places = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        here_mask = self._cells[places] == cells
        # Nobody is sent to where it stands: its own place is left out, and those behind it move up.
        drawn = self._draws(self._key, robots, len(self._cells) - here_mask)
        return self._cells[drawn + (here_mask & (drawn >= places))]


class AlternatingTasks(Tasks):
    """Robots go back and forth between two kinds of cells, `ones` (N,) and `others` (M,), to a random one each time.

    From one of the ones a robot begins with the others and the other way round, from anywhere else with any of all
    cells. Each goal is a task, as in LSMART.
    """

    def __init__(self, robots: int, ones: Ints, others: Ints, seed: int) -> None:
        super().__init__(robots)
        self._kinds = (np.unique(ones), np.unique(others))
        if not all(map(len, self._kinds)):
            raise InvalidValueError("alternating goals need cells of both kinds")
        if len(np.intersect1d(*self._kinds)):
            raise InvalidValueError("alternating goals need two kinds of cells that have none in common")
        self._key = purpose_key(seed, "traffic.goals")

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Draw a goal of the other kind for each robot: from the first kind to the second, and back."""
        ones, others = self._kinds
        # A lane of its own, so that this question and the next ones get different numbers.
        # Where it is nowhere of both, a robot draws of all cells: the kinds count by their sizes.
        any_mask = self._draws(self._key, robots, len(ones) + len(others), lane=1) < len(ones)
        to_ones = np.where(np.isin(cells, others), True, np.where(np.isin(cells, ones), False, any_mask))
        of_ones = ones[self._draws(self._key, robots, len(ones))]
        of_others = others[self._draws(self._key, robots, len(others))]
        return NextGoals(np.where(to_ones, of_ones, of_others), np.ones(len(robots), bool))


class TaskList(Tasks):
    """Tasks from a list, each a row of cells that one robot visits in their order."""

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]]) -> None:
        super().__init__(robots)
        self._tasks = tasks
        self._task: Ints = np.full(robots, NO_TASK, np.int64)
        self._visited: Ints = np.zeros(robots, np.int64)

    def _next(self, robots: Ints, cells: Ints) -> NextGoals:
        """Return the next stop of each robot's task, or of one that it takes; NO_CELL where there is none for it."""
        goals = np.full(len(robots), NO_CELL, np.int64)
        done_mask = np.zeros(len(robots), bool)
        for place, robot in enumerate(robots.tolist()):
            if (task := int(self._task[robot])) != NO_TASK:
                # Arrived at one more of its stops.
                self._visited[robot] += 1
                done_mask[place] = self._visited[robot] >= len(self._stops(task))
                if done_mask[place]:
                    self._task[robot] = NO_TASK
                    self._ended()
        # Those who ended one are free together: all that is known by then is there for each.
        for place, robot in enumerate(robots.tolist()):
            if self._task[robot] == NO_TASK:
                self._task[robot], self._visited[robot] = self._take(robot, int(cells[place])), 0
            if (task := int(self._task[robot])) != NO_TASK:
                goals[place] = self._stops(task)[int(self._visited[robot])]
        return NextGoals(goals, done_mask)

    def ends(self, robots: Ints) -> Bools:
        """Return which of `robots` (K,) are at the last stops of their tasks."""
        stops = zip(self._task[robots].tolist(), self._visited[robots].tolist(), strict=True)
        return np.array([task != NO_TASK and visited + 1 >= len(self._stops(task)) for task, visited in stops], bool)

    def _stops(self, task: int) -> Sequence[int]:
        return self._tasks[task % len(self._tasks)]

    def _ended(self) -> None:
        """Note that a task has ended."""

    @abstractmethod
    def _take(self, robot: int, cell: int) -> int:
        """Return the next task of `robot`, which stands on `cell`; NO_TASK where there is none for it."""


class RevealedTasks(TaskList):
    """Tasks from a list, of which `revealed` are known at a time, those that robots have included.

    Where one ends the next of the list is revealed, after the last the first again, as the League of Robot Runners does
    since 2024. A robot that is free takes the one that begins nearest to it, along the rows and columns of a grid with
    `width` cells in a row; of equals the one that was revealed first. It stays where it is while others have all.
    """

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]], revealed: float, width: int) -> None:
        super().__init__(robots, tasks)
        self._width = width
        count = int(revealed * robots)
        if count < 1:
            raise InvalidValueError(f"numTasksReveal: {revealed:g} times {robots} robots is less than one task")
        self._open = list(range(count))
        """Numbers of the tasks that are known and that no robot has; those behind the last begin the list again."""
        self._revealed = count

    def _ended(self) -> None:
        """Reveal another one for each that ends."""
        self._open.append(self._revealed)
        self._revealed += 1

    def _take(self, robot: int, cell: int) -> int:
        if not self._open:
            return NO_TASK
        row, column = divmod(cell, self._width)
        firsts = np.array([self._stops(task)[0] for task in self._open])
        away = np.abs(firsts // self._width - row) + np.abs(firsts % self._width - column)
        return self._open.pop(int(away.argmin()))


class ListedTasks(TaskList):
    """Tasks from a list, each for one robot.

    With `in_turn` task i is for robot i modulo the number of robots (LoRR's "roundrobin"), else the next task goes to
    the next robot that is free, the lower numbers first. A robot for which none is left stays where it is.
    """

    def __init__(self, robots: int, tasks: Sequence[Sequence[int]], *, in_turn: bool) -> None:
        super().__init__(robots, tasks)
        self._in_turn = in_turn
        self._following: Ints = np.arange(robots) if in_turn else np.zeros(1, np.int64)
        """The next task of each robot, or of all."""

    def _take(self, robot: int, cell: int) -> int:
        own = robot if self._in_turn else 0
        task = int(self._following[own])
        if task >= len(self._tasks):
            return NO_TASK
        self._following[own] += self.robots if self._in_turn else 1
        return task


# Buildings with robots and tasks, as their files have them.


DWELL = 2.0
"""Seconds at a goal where the file does not say: what LSMART takes."""
TOUCH = 1e-3
"""How much shorter (m) the disc within a square is than half of it."""
AT_ONCE = 1000.0
"""The acceleration of robots that have their speed at once, in m/s^2 and rad/s^2."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Robots that start on the cells `starts` (R,) of `site` and stay `dwell` s at each goal that `tasks` gives."""

    name: str
    site: Site
    starts: Ints
    tasks: Tasks
    dwell: float
    kind: str
    """What the goals are, in words."""
    goals: Ints | None = None
    """With one task for each robot its goal (R,) as a cell."""
    league: LeagueProblem | None = None
    """What the file says, if it is a problem of the League of Robot Runners."""


def league_fleet(problem: LeagueProblem) -> dict[str, Any]:
    """Return the settings of the robots of a problem: never backwards, and as large and as fast as it says.

    With `agentSize` they keep a square of that size free around them, of the cells as they are, and with `agentCounter`
    they take so many ticks of 0.1 s for a cell of 1 m and for a quarter turn. The League knows no acceleration: they
    have their speed at once.
    """
    found: dict[str, Any] = {"backwards": False}
    if problem.agentSize is not None:
        # Squares may touch. The disc within one is shorter, so that rounding never makes a collision of it.
        found.update(radius=0.5 * problem.agentSize - TOUCH, margin=0.0)
    if problem.agentCounter is not None:
        each = problem.agentCounter * TICK
        found.update(speed=1.0 / each, turn_speed=QUARTER / each, timestep=0.5 * TICK)
        found.update(acceleration=AT_ONCE, turn_acceleration=AT_ONCE)
    return found


def league_traffic(problem: LeagueProblem, given: TrafficSettings, fleet: FleetSettings) -> TrafficSettings:
    """Return settings of the traffic with squares and delays as in a problem.

    Squares are kept by a `fleet` of the radius that the file says, and delays where `given` has none.
    """
    size, delays = problem.agentSize, problem.delayConfig
    if size is not None and fleet.radius == league_fleet(problem)["radius"]:
        given = replace(given, footprint="square", radius=0.5 * size)
    if delays is not None and delays.pDelay > 0.0 and given.disturbances.delays is None:
        held = DelaySettings(
            probability=delays.pDelay,
            shortest=delays.minDelay * TICK,
            longest=delays.maxDelay * TICK,
            tick=TICK,
            events="poisson" if delays.eventModel == "poisson" else "each",
            durations=delays.durationModel,
            mean=delays.gaussMeanRatio,
            deviation=delays.gaussStdRatio,
            seed=delays.seed,
        )
        given = replace(given, disturbances=replace(given.disturbances, delays=held))
    return given


def league_of(path: str | Path) -> LeagueProblem | None:
    """Return the problem of the League of Robot Runners in a file, None for any other file."""
    file = resolve_config(path)
    if file.suffix != ".json" or "mapFile" not in (content := _mapping(file)):
        return None
    return read_problem(file, content)


def read_workload(
    path: str | Path,
    *,
    robots: int | None = None,
    seed: int = 0,
    radius: float = 0.0,
    cell: float | None = None,
    level: str | None = None,
) -> Workload:
    """Return the workload in a file; raises ConfigError, and InvalidValueError for more robots than fit.

    A problem of the League of Robot Runners has robots and tasks; a `.scen` has a start and a goal for each robot. Any
    other site gets random starts, and goals between its workstations and its pick or drop stations, or random ones on
    all free cells where it has no such stations. Starts and goals are where a disc of `radius` m has room, in the
    largest part of the site. `robots` may be left out where the file says how many.
    """
    file = resolve_config(path)
    site = read_site(file, level=level, cell=cell, whole=True)
    grid = site.open_grid.clear_of(radius)
    league = league_of(file)
    if league is not None:
        return _of_robot_runners(file, league, site, grid, robots)
    if len(site.starts) and len(site.goals):
        return _of_scenario(file, site, grid, robots)
    if robots is None:
        raise InvalidValueError(f"{file}: say how many robots; the file does not")
    region = grid.largest_region()
    starts = _random_starts(region, robots, seed, file)
    tasks, kind = endless_tasks(site, region, robots, seed)
    return Workload(file.stem, site, starts, tasks, DWELL, kind)


def endless_tasks(site: Site, region: Ints, robots: int, seed: int, goals: str = "auto") -> tuple[Tasks, str]:
    """Return tasks without an end in `region` (K,) cells of `site`, and what they are in words.

    With `goals` "stations" they lead between workstations and pick or drop stations, with "random" anywhere; "auto"
    takes the stations where there are both. Raises InvalidValueError where there are not, or nowhere to go.
    """
    ones = _station_cells(site, [StationKind.WORKSTATION], region)
    # A cell with stations of both kinds counts as a workstation only.
    others = np.setdiff1d(_station_cells(site, (StationKind.PICK, StationKind.DROP), region), ones)
    if goals != "random" and len(ones) and len(others):
        kind = f"back and forth between {len(ones)} workstations and {len(others)} stations"
        return AlternatingTasks(robots, ones, others, seed), kind
    if goals == "stations":
        raise InvalidValueError(
            f"site {site.name!r} has {len(ones)} workstations and {len(others)} pick or drop stations in reach;"
            " goals between stations need some of both"
        )
    return RandomTasks(robots, region, seed), "random goals"


def _mapping(file: Path) -> Mapping[str, Any]:
    content = read_json(file)
    return content if isinstance(content, Mapping) else {}


def _of_robot_runners(file: Path, league: LeagueProblem, site: Site, grid: Grid, robots: int | None) -> Workload:
    """Return the workload of a problem of the League of Robot Runners, which has no time at a goal."""
    starts = _starts(site, robots, file)
    rows = read_tasks(file, site.grid)
    _check_reachable(grid, starts, np.unique(np.fromiter(chain.from_iterable(rows), np.int64)), file)
    revealed, strategy = league.revealed, league.taskAssignmentStrategy or "greedy"
    tasks: Tasks
    if revealed is None:
        tasks = ListedTasks(len(starts), rows, in_turn=strategy == "roundrobin")
        kind = f"{len(rows)} listed tasks, {strategy}"
    else:
        try:
            tasks = RevealedTasks(len(starts), rows, revealed, site.grid.width)
        except InvalidValueError as error:
            raise ConfigError(str(error), source=str(file)) from error
        kind = f"{len(rows)} listed tasks, {int(revealed * len(starts))} revealed at a time, the nearest first"
    return Workload(file.stem, site, starts, tasks, 0.0, kind, league=league)


def _of_scenario(file: Path, site: Site, grid: Grid, robots: int | None) -> Workload:
    starts = _starts(site, robots, file)
    goals = site.goals[: len(starts)]
    _check_reachable(grid, starts, goals, file, pairs=True)
    tasks = ListedTasks(len(starts), [[int(goal)] for goal in goals], in_turn=True)
    return Workload(file.stem, site, starts, tasks, 0.0, "one goal for each robot", goals)


def _starts(site: Site, robots: int | None, file: Path) -> Ints:
    try:
        return site.first_starts(robots)
    except InvalidValueError as error:
        raise InvalidValueError(f"{file}: {error}") from error


def _random_starts(region: Ints, robots: int, seed: int, file: Path) -> Ints:
    """Return `robots` cells of `region`, each once."""
    if robots > len(region):
        raise InvalidValueError(f"{file}: {robots} robots do not fit: the largest free part has {len(region)} cells")
    # Each cell has a random key, so the first robots get the same cells however many there are.
    order = np.argsort(uniforms(purpose_key(seed, "traffic.starts"), region, 0), kind="stable")
    return region[order[:robots]]


def _station_cells(site: Site, kinds: list[StationKind] | tuple[StationKind, ...], region: Ints) -> Ints:
    """Return the cells of the stations of `kinds` that are in `region`."""
    places = np.array([(station.x, station.y) for station in site.stations if station.kind in kinds]).reshape(-1, 2)
    return np.intersect1d(site.grid.cells_at(places), region)


def _check_reachable(grid: Grid, starts: Ints, goals: Ints, file: Path, *, pairs: bool = False) -> None:
    """Raise ConfigError where robots have no room, or cannot get to a goal: to that of their own in `pairs`."""
    regions = grid.regions()
    for what, cells in (("start", starts), ("goal", goals)):
        bad = np.flatnonzero(regions[cells] < 0)
        if len(bad):
            place = _place(int(cells[bad[0]]), grid)
            raise ConfigError(f"the {what} in {place} has no room for a robot", source=str(file))
    wanted = regions[starts] if pairs else regions[starts[:1]]
    if not pairs and len(np.unique(regions[starts])) > 1:
        raise ConfigError("the robots start in parts of the map that are not connected", source=str(file))
    bad = np.flatnonzero(regions[goals] != wanted)
    if len(bad):
        place = _place(int(goals[bad[0]]), grid)
        who = f"robot {bad[0]}" if pairs else "the robots"
        raise ConfigError(f"{who} cannot get to the goal in {place}: no way leads there", source=str(file))


def _place(cell: int, grid: Grid) -> str:
    row, column = divmod(cell, grid.width)
    return f"row {row}, column {column}"


# The settings of the robots of a run.


@dataclass
class FleetSettings(Checked):
    """The robots of a run, all alike: round, with a differential drive."""

    radius: float = setting(0.3, above=0.0, high=100.0, unit="m", doc="Radius of a robot.")
    speed: float = setting(2.0, above=0.0, high=100.0, unit="m/s", doc="Speed limit of a robot.")
    acceleration: float = setting(2.0, above=0.0, high=1000.0, unit="m/s^2", doc="Acceleration limit.")
    turn_speed: float = setting(3.0, above=0.0, high=100.0, unit="rad/s", doc="Speed limit of turning on the spot.")
    turn_acceleration: float = setting(6.0, above=0.0, high=1000.0, unit="rad/s^2", doc="Its acceleration limit.")
    backwards: bool = setting(False, doc="Whether robots drive backwards where that saves half a turn.")
    timestep: float = setting(0.1, low=0.001, high=1.0, unit="s", doc="Simulated time of a step.")
    margin: float = setting(0.02, low=0.0, high=1.0, unit="m", doc="What comes nearer than this has collided.")
    deadlock_after: float = setting(
        30.0, low=0.1, high=1e6, unit="s", doc="A standstill of all robots that lasts so long is a deadlock."
    )


# A fleet for a run: a simulation with the walls of a site, and equal robots on its cells.


HEIGHT = 0.3
WALL_HEIGHT = 1.0


def make_fleet(
    site: Site, starts: Ints, fleet: FleetSettings, traffic: TrafficSettings, seed: int
) -> tuple[MultiRobotSimulationCore, Traffic]:
    """Return a simulation with a robot on each of the cells `starts` (R,) of `site`, and their traffic.

    Close the simulation when done. Each step ends with a look for collisions, also with walls. Raises InvalidValueError
    for robots that do not fit.
    """
    params = SimulationParams(
        gui=False,
        monitor=False,
        target_rtf=0.0,
        timestep=fleet.timestep,
        seed=seed,
        collision_margin=fleet.margin,
        ignore_static_collision=False,
        # A run goes on to its end; going back to its start would only take memory.
        keep_initial_state=False,
    )
    sim = MultiRobotSimulationCore(params)
    build_walls(sim, site, WALL_HEIGHT)
    shape = ShapeParams("cylinder", radius=fleet.radius, height=HEIGHT)
    # By default they turn to where they drive, as the rules of the League have it.
    leads = MovementDirection.AUTO if fleet.backwards else MovementDirection.FORWARD
    controller = {
        "type": "differential",
        "default_direction": leads,
        "max_linear_vel": fleet.speed,
        "max_linear_accel": fleet.acceleration,
        "max_angular_vel": fleet.turn_speed,
        "max_angular_accel": fleet.turn_acceleration,
    }
    places = site.grid.positions(starts).tolist()
    entries = [
        AgentSpawnParams(
            shape,
            shape,
            Pose.from_yaw(x, y, 0.5 * HEIGHT, site.grid.origin[2]),
            name=f"robot_{number}",
            controller=controller,
            pickable=False,
        )
        for number, (x, y) in enumerate(places)
    ]
    robots = sim.spawn_all(entries)
    offered = offer_traffic(sim, site, traffic)
    offered.enroll(robots)
    return sim, offered


# Crew: the robots that were in a traffic when work began, as long as they are.


class Crew(Stateful):
    """Robots, numbered from 0 in the order they were enrolled: `robots` (K,) are left, in the rows `rows` (K,)."""

    STATE = ("rows", "robots", "_ids")

    def __init__(self, world: World, traffic: Traffic) -> None:
        table = world.tables["traffic"]
        assert isinstance(table, TrafficColumns)
        self.table = table
        self.rows: Rows = np.array(traffic.rows)
        self.robots: Ints = np.arange(len(self.rows))
        self.count = len(self.rows)
        self._world, self._version = world, -1
        self._ids: Ints = np.array(world.object_id[self.rows])

    def renew(self) -> None:
        """Forget robots that were removed or left the traffic."""
        if self._version == self._world.version:
            return
        self._version = self._world.version
        # A row that is free may be another robot's by now.
        stay_mask = self.table.present[self.rows] & (self._world.object_id[self.rows] == self._ids)
        if not stay_mask.all():
            self.rows, self.robots, self._ids = (part[stay_mask] for part in (self.rows, self.robots, self._ids))


# Files of paths as SMART writes them: a line is a robot, `Agent 0:(3,4)->(3,5)->`, with or without the time of each
# cell.

HEAD = re.compile(r"\s*Agent\s+(\d{1,9})\s*:")
PAIR = re.compile(r"\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9}(?:\.\d{1,9})?)\s*)?\)")
"""A cell as `(3,4)`, or with its time as `(3,4,12)`. Few digits: int() of a million of them takes seconds."""
MOST = 100_000_000
"""Cells over all robots and steps that a file of paths may have; the array of more would not fit in memory."""


def read_paths(path: str | Path, grid: Grid, starts: Ints) -> Ints:
    """Return the paths in a file as cells (R, T + 1): column t is where each robot is after t steps.

    A robot stays in its last cell. Each cell must be free in `grid`, and robot i begin on cell `starts[i]`; `starts`
    (S,) also tell whether the file has (column, row) or (row, column), as SMART writes both. Raises ConfigError naming
    the line, or the robot and step. Whether robots may drive the paths is checked when they are to.
    """
    file = Path(path)
    robots = [_robot(line, number, file) for number, line in enumerate(read_text(file).splitlines(), 1) if line.strip()]
    if not robots:
        fail(file, "it has no paths")
    for index, (number, agent, _) in enumerate(robots):
        if agent != index:
            fail(file, f"line {number}: expected agent {index}, got agent {agent}")
    if len(robots) > len(starts):
        fail(file, f"it has the paths of {len(robots)} robots, but there are {len(starts)} starts")
    pairs = [pairs for _, _, pairs in robots]
    longest = max(map(len, pairs))
    # Before the array is made, which one long path could make too large.
    if len(pairs) * longest > MOST:
        fail(file, f"it has {len(pairs)} robots and {longest} steps; at most {MOST} cells are read")
    first = np.array([own[0] for own in pairs])
    begins = np.stack(np.divmod(starts[: len(first)], grid.width)[::-1], axis=1)
    # The order that fits more starts; equal for both only on a symmetrical map, then x comes first, as in most files.
    fits = [int(np.count_nonzero((first == order).all(axis=1))) for order in (begins, begins[:, ::-1])]
    cells = np.empty((len(pairs), max(longest, 2)), np.int64)
    for robot, own in enumerate(pairs):
        found = _cells(own if fits[0] >= fits[1] else own[:, ::-1], robot, grid, file)
        # Who has arrived stays there, as plans have it.
        cells[robot, : len(found)], cells[robot, len(found) :] = found, found[-1]
        if found[0] != starts[robot]:
            given, wanted = (_cell_of(int(cell), grid) for cell in (found[0], starts[robot]))
            fail(file, f"robot {robot}, step 0: it begins in {given}, but the scenario starts it in {wanted}")
    return cells


def _robot(line: str, number: int, file: Path) -> tuple[int, int, Ints]:
    """Return the number of a line, of its agent, and the pairs (K, 2) of that; raises ConfigError."""
    head = HEAD.match(line)
    if head is None:
        fail(file, f"line {number}: expected `Agent <number>:` and cells, as SMART writes them, got {line[:60]!r}")
    # A separator may follow the last pair, as programs write it.
    pieces = line[head.end() :].strip().removesuffix("->").split("->")
    matches = [PAIR.fullmatch(piece.strip()) for piece in pieces]
    if None in matches:
        wrong = pieces[matches.index(None)].strip()[:60]
        fail(file, f"line {number}: expected cells such as (3,4)->(3,5), got {wrong!r}")
    found = [match.groups() for match in matches if match]
    times = [float(time) for *_, time in found if time]
    # With gaps or fractions nobody could say where a robot is meanwhile, so who passes first would be a guess.
    if times and times != list(range(len(found))):
        fail(file, f"line {number}: the times of agent {head[1]} must count 0, 1, 2, ... over all its cells")
    return number, int(head[1]), np.array([pair[:2] for pair in found], np.int64)


def _cells(pairs: Ints, robot: int, grid: Grid, file: Path) -> Ints:
    """Return the cells (K,) of pairs (column, row) of a robot; raises ConfigError for those that are not free."""
    columns, rows = pairs.T
    inside_mask = (columns >= 0) & (columns < grid.width) & (rows >= 0) & (rows < grid.height)
    cells = np.where(inside_mask, rows * grid.width + columns, -1)
    bad = np.flatnonzero(~grid.is_free(cells))
    if len(bad):
        step = int(bad[0])
        where = "blocked in" if inside_mask[step] else "outside of"
        size = f"the map, which has {grid.width} x {grid.height} cells"
        fail(file, f"robot {robot}, step {step}: column {columns[step]}, row {rows[step]} is {where} {size}")
    return cells


def _cell_of(cell: int, grid: Grid) -> str:
    row, column = divmod(cell, grid.width)
    return f"column {column}, row {row}"


def write_paths(path: str | Path, cells: Ints, grid: Grid) -> None:
    """Write the paths `cells` (R, T + 1) to a file, with (column, row)."""
    rows, columns = np.divmod(cells, grid.width)
    paths = zip(columns.tolist(), rows.tolist(), steps_to_rest(cells).tolist(), strict=True)
    lines = [
        f"Agent {robot}:" + "".join(f"({x},{y})->" for x, y in zip(xs[: last + 1], ys[: last + 1], strict=True))
        for robot, (xs, ys, last) in enumerate(paths)
    ]
    write_file(path, "\n".join(lines) + "\n")
