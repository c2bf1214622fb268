"""Runs that compare planners: a workload driven for a while or a plan executed, with figures.

A plan of a file and one of a planner are driven alike, so that their figures can be compared. Compiling and planning
are no part of the time of a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import ConfigError, InvalidValueError, PlanError
from fleet_sim.base.files import resolve_config
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ROUND_KINDS
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.disturbances import cost_tables
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.map_formats import ends_of_scenario
from fleet_sim.warehouse.sites.reading import read_text
from fleet_sim.warehouse.sites.section import until_cleared
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic import figures as counting
from fleet_sim.warehouse.traffic.certificate import certified
from fleet_sim.warehouse.traffic.columns import BROKEN, STOPPED, UNFIT
from fleet_sim.warehouse.traffic.driving import NO_STAYS, NOT_SERVING, Stays, Trace, places_in, serve_rows
from fleet_sim.warehouse.traffic.figures_file import Run, run_of
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.planner import checked_plan
from fleet_sim.warehouse.traffic.planners.registry import make_planner
from fleet_sim.warehouse.traffic.planning import MOST_TICKS
from fleet_sim.warehouse.traffic.problem import Problem, sum_of_costs
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.warehouse.traffic.workload import (
    Crew,
    FleetSettings,
    Tasks,
    Workload,
    endless_tasks,
    league_fleet,
    league_traffic,
    make_fleet,
)
from fleet_sim.world.pipeline import Phase, System, any_span

# Outcome: what a run came to.


Progress = Callable[[float, float, int], None]
"""Called now and then with the simulated time, its end in s, and the tasks done so far."""


@dataclass(frozen=True)
class Outcome:
    """The figures of a run with everything else for its file; `stopped` says whether it was ended early by Ctrl-C.

    `refusal` is the reason of the last plan that was not driven, "" where all were.
    """

    run: Run
    stopped: bool = False
    refusal: str = ""


# The starts and goals of a scenario on a map that is given beside it.


def read_ends(path: str | Path, site: Site) -> tuple[Ints, Ints]:
    """Return the starts and goals (S,) of the `.scen` in `path` as cells of `site`; raises ConfigError.

    The map that the file names is not looked for: people keep the two in different folders.
    """
    file = resolve_config(path)
    if file.suffix.lower() != ".scen":
        raise ConfigError(f"starts and goals are read from .scen files, got {file.name!r}", source=str(file))
    starts, goals = ends_of_scenario(read_text(file), file, site.grid)
    for what, cells in (("start", starts), ("goal", goals)):
        free_mask = site.grid.is_free(cells)
        if not free_mask.all():
            row, column = divmod(int(cells[~free_mask][0]), site.grid.width)
            raise ConfigError(f"the {what} in column {column}, row {row} is blocked in the map", source=str(file))
    return starts, goals


# Steps a fleet to the end of a run, and measures how long that takes.


OURS = ("astar", "lacam", "pibt")
"""Planners that are compiled when they are first asked."""

SHOWN_EACH = 0.5
"""Seconds of wall time between two calls of a progress function."""


class Timing(NamedTuple):
    """Time of the clock on the wall and of the processor, in s, and whether Ctrl-C ended the run."""

    wall: float
    cpu: float
    stopped: bool

    def figures(self, simulated: float) -> dict[str, float | None]:
        """Return them as figures of a run in which `simulated` s passed."""
        factor = simulated / self.wall if self.wall > 0.0 else None
        return {"wall_s": self.wall, "cpu_s": self.cpu, "real_time_factor": factor}


def step_to(
    sim: MultiRobotSimulationCore,
    seconds: float,
    done: Callable[[], bool],
    tasks: Callable[[], int],
    progress: Progress | None,
) -> Timing:
    """Step until `seconds` are simulated or `done()`; return how long it took, and whether Ctrl-C ended it."""
    begin = shown = time.perf_counter()
    begin_cpu = time.process_time()
    stopped = False
    try:
        # The tolerance is for times like 0.1 s, whose multiples fall just short.
        while sim.sim_time < seconds - 1e-9 and not done():
            sim.runner.step_over(sim.clock.ticks(seconds) - sim.clock.tick)
            now = time.perf_counter()
            # By wall time: a fast run has thousands of steps between two looks.
            if progress is not None and now - shown >= SHOWN_EACH:
                shown = now
                progress(sim.sim_time, seconds, tasks())
    except KeyboardInterrupt:
        stopped = True
    return Timing(time.perf_counter() - begin, time.process_time() - begin_cpu, stopped)


def warm_up(planner: str = "pibt", settings: Mapping[str, object] | None = None) -> None:
    """Load the machine code that a run with `planner` uses: seconds at first, and no part of its planning.

    Planners of other packages are left alone: they may not expect a problem that nobody asked for.
    """
    site = Site("yard", Grid(np.ones((2, 3), bool)))
    # Robots in two corners that exchange places: that needs a plan, grants, and turns.
    sim, traffic = make_fleet(site, np.array([0, 5]), FleetSettings(), TrafficSettings(), 0)
    with sim:
        nodes = traffic.nodes(traffic.rows)
        traffic.send_rows(traffic.rows, nodes[::-1].copy())
        for _ in range(30):
            sim.step_once()
        if planner not in OURS:
            return
        made = make_planner(planner, traffic.network, **(settings or {}))
        # The time limit passes while code is loaded: whether there is a plan does not matter.
        with suppress(PlanError):
            made.plan(Problem(traffic.network, nodes, nodes[::-1].copy(), window=4, time_limit=1.0))


# Watch: looks at a fleet in every step, and turns what it saw into figures.


HELD = STOPPED | BROKEN | UNFIT
"""Reasons to stand that no order of passing ends."""


@compiled_step
def look_at(
    speeds: Floats,
    spins: Floats,
    places: Ints,
    rows: Rows,
    robots: Ints,
    held: Bytes,
    until: Ints,
    stay: int,
    active: Bools,
    begin: int,
    codes: Ints,
) -> float:
    """Write what robots do to `codes` (T, K), in each tick from `begin` on; return the highest speed.

    `speeds` and `spins` (T, N) are those of the traffic, in which the robots are at `places` (K,). By number: `until`
    when each serves a `stay` of so many ticks, and whether it is `active`.
    """
    fastest = 0.0
    for place in range(len(rows)):
        row, robot, one = rows[place], robots[place], places[place]
        stands = counting.IDLE
        if active[robot]:
            stands = counting.BLOCKED if held[row] & HELD else counting.WAITING
        for tick in range(len(codes)):
            speed = speeds[tick, one]
            fastest = max(fastest, speed)
            if until[robot] - stay <= begin + tick < until[robot]:
                codes[tick, place] = counting.SERVING
            elif speed > 0.0 or spins[tick, one] != 0.0:
                # Turning on the spot is driving, too: the robot does what it was told.
                codes[tick, place] = counting.DRIVING
            else:
                codes[tick, place] = stands
    return fastest


class Watch:
    """Figures of the robots of `crew`, gathered by `look` at the end of each step of the traffic."""

    def __init__(
        self, sim: MultiRobotSimulationCore, traffic: Traffic, crew: Crew, collector: counting.FigureCollector
    ) -> None:
        self.collector = collector
        self.speed_max = 0.0
        self._sim = sim
        self._traffic = traffic
        self._crew = crew
        self._known: tuple[int, Floats, counting.RobotOutlines] | None = None
        self._all: Ints = np.arange(0)
        collector.begin(crew.robots, sim.world.position[crew.rows, :2], self._outlines(crew.rows))

    def look(self, dt: float, trace: Trace, stays: Stays, done: Ints | None = None) -> None:
        """Look at all robots, as they moved in each tick (T,); `stays` says who serves at a goal, and who has a task.

        `done` (T,) is how many tasks ended in each tick.
        """
        crew, world, begin = self._crew, self._sim.world, self._sim.clock.tick + 1 - len(trace.speeds)
        rows, robots, places = crew.rows, crew.robots, places_in(trace, crew.rows)
        points = trace.places
        if isinstance(places, slice):
            if len(self._all) != len(rows):
                self._all = np.arange(len(rows))
            places = self._all
        else:
            rows, robots, places = (part[places >= 0] for part in (rows, robots, places))
            points = points[:, places]
        if crew.table.offset[rows].any():
            points = points - crew.table.offset[rows]
        codes = np.empty((len(points), len(rows)), np.int64)
        columns = crew.table.held, stays.until, stays.ticks, stays.active
        fastest = look_at(trace.speeds, trace.spins, places, rows, robots, *columns, begin, codes)
        self.speed_max = max(self.speed_max, fastest)
        outlines = self._outlines(rows)
        if outlines.halves.any():
            sines, cosines = trig.sin_cos(trace.yaws[:, places])
            outlines = outlines._replace(turns=np.stack((cosines, sines), axis=2))
        outlines = outlines._replace(places=points)
        starved = self.collector.observe_ticks(dt, robots, points, codes, (), outlines, done)
        if len(starved):
            rows = rows[np.searchsorted(robots, starved)]
            counting.tell_starved(self.collector, world, self._traffic, rows)

    def _outlines(self, rows: Rows) -> counting.RobotOutlines:
        """Return the outlines of robots, as their places were when they were looked for."""
        world, known = self._sim.world, self._known
        heights = world.position[rows, 2]
        if known is not None and known[0] == world.version and np.array_equal(known[1], heights):
            return known[2]
        found = counting.outlines_of(world, rows, self._crew.table.radius[rows])
        # Only discs that stay on their floors are the same whatever they carry.
        is_round = np.isin(world.shape_kind[rows], ROUND_KINDS).all()
        self._known = (world.version, heights, found) if is_round else None
        return found

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; None for a distance of robots where there is only one."""
        return {
            **counting.summary_of(self.collector, self._crew.count),
            "collisions": self._sim.collisions.count,
            "speed_max": self.speed_max,
        }

    def planning(self) -> dict[str, float | None]:
        """Return the figures of plans: how many, how many failed, and how long they took in ms."""
        return counting.planning_of(self._traffic)

    def distributions(self) -> dict[str, Floats]:
        """Return the values of which a run file keeps percentiles."""
        return {
            "flow_time_s": self.collector.flow_times,
            "waiting_s": self.collector.waiting_times(),
            "driven_m": self.collector.driven,
            "planning_ms": self._traffic.planning_times * 1e3,
        }


def nodes_of_cells(network: Network) -> Ints:
    """Return the node of each cell of the network's grid (H * W,), -1 where there is none.

    Raises InvalidValueError for a network of a roadmap: tasks and plans are on cells.
    """
    if network.grid is None:
        raise InvalidValueError("tasks lead to cells; let the traffic drive on the grid of the site (network: grid)")
    node_of = np.full(network.grid.count, -1)
    node_of[network.cells] = np.arange(len(network))
    return node_of


PLANNING_TIMES = ("planning_ms_p50", "planning_ms_p99", "planning_ms_max")
"""Figures that are one and the same where there is one plan."""


def drive_paths(
    site: Site,
    cells: Ints,
    goals: Ints,
    *,
    title: str,
    seconds: float = 3600.0,
    fleet: FleetSettings | None = None,
    seed: int = 0,
    planning_s: float | None = None,
    about: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    certificate: str | Path | None = None,
) -> Outcome:
    """Return the outcome of robots that drive the paths `cells` (R, T + 1) of `site`, until all have, at the longest.

    A task is to stand on the cell `goals[i]` (R,) at the end. It ends early with a deadlock, and after `seconds` of
    simulated time. Raises PlanError for paths that robots of this size may not drive.
    """
    robots = fleet or FleetSettings()
    # Before the clock of the run starts: compiling is no part of it.
    warm_up()
    sim, traffic = make_fleet(site, cells[:, 0], robots, TrafficSettings(policy="given", network="grid"), seed)
    with sim:
        crew = Crew(sim.world, traffic)
        traffic.drive_rows(crew.rows, _nodes(traffic.network, cells))
        collector = counting.FigureCollector(site.open_grid, deadlock_after=robots.deadlock_after)
        watch = Watch(sim, traffic, crew, collector)
        ends = _PathEnds(sim, crew, watch, cells[:, -1] == goals)
        traffic.watchers.append(ends.look)
        with certified(sim, traffic, certificate):
            timing = step_to(sim, seconds, ends.are_over, lambda: collector.tasks_done, progress)
        figures = {**watch.figures(), **timing.figures(collector.simulated), **_figures_of_plan(cells, planning_s)}
        # Without an end for each robot there is none for all.
        figures["makespan_s"] = round(ends.last, 6) if ends.there_mask.all() else None
        run = run_of(title, figures, collector, about=about or {}, distributions=watch.distributions())
    return Outcome(run, timing.stopped)


def _figures_of_plan(cells: Ints, planning_s: float | None) -> dict[str, float | None]:
    return {
        "plans": 0 if planning_s is None else 1,
        **dict.fromkeys(PLANNING_TIMES, None if planning_s is None else planning_s * 1e3),
        "sum_of_costs": sum_of_costs(cells),
    }


class _PathEnds:
    """Notes in each step which robots have come to the ends of their paths."""

    def __init__(self, sim: MultiRobotSimulationCore, crew: Crew, watch: Watch, right_mask: Bools) -> None:
        """`right_mask` (R,) tells whose path ends at its goal."""
        self._sim = sim
        self._crew = crew
        self._watch = watch
        self._right_mask = right_mask
        self.there_mask: Bools = np.zeros(len(right_mask), bool)
        self.last = 0.0
        """When the last one so far came, in s."""

    def look(self, dt: float, trace: Trace) -> None:
        """Look at all robots, at the end of a step."""
        # Counted once, at the first arrival: a robot that was pushed on is not counted again.
        came_mask = self._crew.table.arrived[self._crew.rows] & ~self.there_mask
        if came_mask.any():
            self.there_mask |= came_mask
            self.last = self._sim.sim_time
            right = np.flatnonzero(came_mask & self._right_mask)
            self._watch.collector.tasks_ended(np.full(len(right), self.last))
        nobody = np.full(len(self.there_mask), NOT_SERVING)
        self._watch.look(dt, trace, Stays(self._crew.rows, self._crew.robots, ~self.there_mask, nobody, 0))

    def are_over(self) -> bool:
        """Return whether nothing more will happen: all have come, or nobody can go on."""
        return bool(self.there_mask.all()) or self._watch.collector.standstill.deadlocks > 0


def _nodes(network: Network, cells: Ints) -> Ints:
    """Return the nodes of `cells` (R, T + 1); raises InvalidValueError where there is no room for the robots."""
    nodes = nodes_of_cells(network)[cells]
    bad = np.argwhere(nodes < 0)
    if len(bad):
        robot, step = bad[0].tolist()
        raise InvalidValueError(
            f"robot {robot}, step {step}: there is no room for a robot of this size in cell {cells[robot, step]}"
        )
    return nodes


def plan_scenario(
    site: Site,
    starts: Ints,
    goals: Ints,
    planner: str,
    settings: Mapping[str, object],
    *,
    radius: float,
    time_limit: float,
    seed: int,
) -> tuple[Ints, float]:
    """Return the paths (R, T + 1) as cells that `planner` finds to the end, and how long it took in s.

    Raises PlanError where it finds none, or one that robots may not drive.
    """
    warm_up(planner, settings)
    network = Network.of_grid(site, radius)
    node_of = nodes_of_cells(network)
    asked = Problem(network, node_of[starts], node_of[goals], window=0, time_limit=time_limit, seed=seed)
    made = make_planner(planner, network, **settings)
    begin = time.perf_counter()
    paths = checked_plan(made, asked)
    return network.cells[paths], time.perf_counter() - begin


# Work: robots in a traffic that go from task to task, and the figures of that.


TASKS = "tasks"


class Work:
    """Lets all robots that are in `traffic` now do `tasks` in `sim`; each stays `dwell` s at each goal.

    While it stays nobody takes its place: who has to pass there later waits. A task counts when the stay at its last
    goal ends. Raises InvalidValueError for a traffic on a roadmap, and where no way leads to a goal.
    """

    def __init__(
        self, sim: MultiRobotSimulationCore, traffic: Traffic, tasks: Tasks, dwell: float, deadlock_after: float
    ) -> None:
        self.traffic = traffic
        self.collector = counting.FigureCollector(traffic.site.open_grid, deadlock_after=deadlock_after)
        self._sim, self._tasks = sim, tasks
        self._crew = crew = Crew(sim.world, traffic)
        self._network = traffic.network
        self._node_of = nodes_of_cells(self._network)
        self._stays = Stays(
            crew.rows,
            crew.robots,
            np.ones(crew.count, bool),
            np.full(crew.count, NOT_SERVING),
            sim.clock.ticks(dwell) if dwell > 0.0 else 0,
        )
        self._since: Floats = np.zeros(crew.count)
        self._counted = NOT_SERVING
        """The last tick whose ends of stays are counted."""
        self._ended: list[int] = []
        """In which ticks tasks ended since robots were looked at."""
        self._watch = Watch(sim, traffic, crew, self.collector)
        self._send(crew.robots, crew.rows, self._network.cells[traffic.nodes(crew.rows)])
        # Goals are given before the traffic plans.
        sim.pipeline.add(System(TASKS, Phase.UPDATE, self.step, span=self._span), before="traffic")
        traffic.stays = self._stays
        traffic.between.append(self._count)
        traffic.watchers.append(self._look)
        sim.checkpoints.register_late(TASKS, self)

    def _span(self) -> int:
        """Return for how many ticks nobody has to look at robots: while none may come to be starved."""
        return any_span() if self.collector.standstill.is_calm(MOST_TICKS * self._sim.clock.dt) else 1

    def step(self, dt: float) -> None:
        """Let those who arrived stay, and send on those who stayed long enough, when the traffic may plan for them."""
        crew, clock = self._crew, self._sim.clock
        crew.renew()
        self.traffic.stays = self._stays = self._stays._replace(rows=crew.rows, robots=crew.robots)
        changed, _ = serve_rows(self._stays, clock.tick, crew.table.arrived, crew.table.held)
        if changed:
            self.traffic.floor.timing.changed = True
        self._counted = clock.tick - 1
        self._count()
        if self.traffic.may_plan:
            self._send_on(self._done_mask())

    def _done_mask(self) -> Bools:
        """Return which of the crew (K,) stayed long enough."""
        until = self._stays.until[self._crew.robots]
        return np.asarray((until >= 0) & (until <= self._sim.clock.tick))

    def _send_on(self, done_mask: Bools) -> None:
        if done_mask.any():
            crew = self._crew
            robots, rows = crew.robots[done_mask], crew.rows[done_mask]
            self._stays.until[robots] = NOT_SERVING
            self._send(robots, rows, self._network.cells[crew.table.goal[rows]])
            # The run may end here, and not with the next plan.
            self.traffic.ends_step = self.all_done

    def _count(self) -> None:
        """Count the tasks that ended by now, as robots stayed long enough."""
        tick, robots = self._sim.clock.tick, self._crew.robots
        until = self._stays.until[robots]
        ended_mask = (self._counted < until) & (until <= tick)
        self._counted = tick
        if not ended_mask.any():
            return
        robots, until = robots[ended_mask], until[ended_mask]
        order = np.argsort(until, kind="stable")
        done = order[self._tasks.ends(robots[order])]
        robots, ends = robots[done], until[done].tolist()
        times = np.array([self._sim.clock.seconds(end) for end in ends])
        # From when a robot had the task until then.
        self.collector.tasks_ended(times - self._since[robots])
        self._since[robots] = times
        self._ended += ends
        done_mask = self._done_mask()
        # Where nobody is on its way, these may have been the last tasks.
        if not (self._stays.active[self._crew.robots] & ~done_mask).any():
            self._send_on(done_mask)

    def _send(self, robots: Ints, rows: Ints, cells: Ints) -> None:
        """Ask the tasks for the next goals of robots that arrived, and send those that get one.

        `robots`, `rows` and `cells` are aligned: number, row and present cell of each. Raises InvalidValueError for a
        goal cell on which no robot has room.
        """
        goals = self._tasks.next(robots, cells)
        going_mask = goals.cells >= 0
        self._stays.active[robots] = going_mask
        if not going_mask.any():
            return
        nodes = self._node_of[goals.cells[going_mask]]
        # Not left to the traffic, which would name a node and not the cell of the task.
        if (nodes < 0).any():
            cell = int(goals.cells[going_mask][nodes < 0][0])
            raise InvalidValueError(f"there is no room for a robot at the goal in cell {cell}; choose a smaller radius")
        self.traffic.send_rows(rows[going_mask], nodes)

    def _look(self, dt: float, trace: Trace) -> None:
        # Robots may have been removed since goals were given.
        self._crew.renew()
        self._count()
        begin = self._sim.clock.tick + 1 - len(trace.speeds)
        done = np.bincount(np.array(self._ended, np.int64) - begin, minlength=len(trace.speeds))
        self._ended.clear()
        until, stay = self._stays.until[self._crew.robots], self._stays.ticks
        # Somebody was held or let go after the first tick.
        if stay and ((until > begin + stay) | (begin < until) & (until <= self._sim.clock.tick)).any():
            self.traffic.floor.timing.changed = True
        self._watch.look(dt, trace, self._stays, done)

    @property
    def delivered(self) -> int:
        """How many tasks are done."""
        return self.collector.tasks_done

    @property
    def all_done(self) -> bool:
        """Whether no robot has a task left."""
        return not self._stays.active[self._crew.robots].any()

    def leave(self) -> None:
        """Take it out of the simulation, as when its robots are gone."""
        self._sim.pipeline.remove(TASKS)
        self.traffic.stays = NO_STAYS
        self.traffic.between.remove(self._count)
        self.traffic.watchers.remove(self._look)

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; see docs/reports.md."""
        collector = self.collector
        speed = float(self._sim.world.motion.linear_limit[self.traffic.rows].max(initial=0.0))
        # A step of a plan is as long as it takes to cross a cell; sums of costs are counted in steps.
        step = self.traffic.site.grid.cell / speed if speed > 0.0 else 1.0
        return {
            **self._watch.figures(),
            **self._watch.planning(),
            "sum_of_costs": round(_on_the_way(collector) / step),
            "makespan_s": round(collector.simulated, 6),
        }

    def run(self, title: str, about: Mapping[str, str], more: Mapping[str, float | None] | None = None) -> Run:
        """Return the run so far for a file; `more` are further figures, such as how long it took."""
        figures = {**self.figures(), **(more or {})}
        distributions, tables = self._watch.distributions(), cost_tables(self._sim)
        return run_of(title, figures, self.collector, about=about, distributions=distributions, tables=tables)

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        arrays = (self._stays.until.copy(), self._since.copy(), self._stays.active.copy())
        return self._crew.save(), arrays, deepcopy(vars(self._tasks)), deepcopy(vars(self.collector))

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        crew, arrays, tasks, figures = saved
        self._crew.restore(crew)
        self._stays.until[:], self._since[:], self._stays.active[:] = arrays
        # In place: tasks and collector are held by others.
        vars(self._tasks).update(deepcopy(tasks))
        vars(self.collector).update(deepcopy(figures))


def _on_the_way(collector: counting.FigureCollector) -> float:
    """Return for how long robots were on their way to goals, summed over all, in s."""
    return float(sum(collector.seconds_in(state).sum() for state in ("driving", "waiting", "blocked")))


# Drives a workload for some time: robots that go from task to task by the plans of one planner.


def drive_workload(
    workload: Workload,
    seconds: float,
    *,
    fleet: FleetSettings | None = None,
    traffic: TrafficSettings | None = None,
    dwell: float | None = None,
    seed: int = 0,
    about: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    certificate: str | Path | None = None,
) -> Outcome:
    """Return the outcome of `seconds` of simulated time; it ends earlier when no robot has a task left.

    Robots of a problem of the League of Robot Runners are as its file says, unless a `fleet` is given.
    `dwell` is the stay at each goal in s, by default that of the workload. Raises InvalidValueError and ConfigError for
    what does not fit together, and PlanError where the planner never had a plan.
    """
    league, plans = workload.league, traffic or TrafficSettings()
    robots = fleet or (FleetSettings() if league is None else FleetSettings(**league_fleet(league)))
    if league is not None:
        plans = league_traffic(league, plans, robots)
    warm_up(plans.planner, plans.settings)
    sim, offered = make_fleet(workload.site, workload.starts, robots, plans, seed)
    with sim:
        stay = workload.dwell if dwell is None else dwell
        work = Work(sim, offered, workload.tasks, stay, robots.deadlock_after)
        with certified(sim, offered, certificate):
            timing = step_to(sim, seconds, lambda: work.all_done, lambda: work.collector.tasks_done, progress)
        told = offered.figures()
        refusal = str(told["last_refusal"])
        # Some plans may fail; if none succeeded, figures of standing robots would mislead.
        if not told["plans"] and told["refusals"]:
            raise PlanError(f"no robot was moved, as all {told['refusals']} plans failed: {refusal}")
        title = f"{workload.name}, {len(workload.starts)} robots, {plans.planner}"
        return Outcome(work.run(title, about or {}, timing.figures(work.collector.simulated)), timing.stopped, refusal)


# The section `tasks` of a scenario: robots of its traffic that go from goal to goal for ever.


NAME = "tasks"


@dataclass
class TasksSettings(Checked):
    """Where the robots of the traffic go."""

    goals: Literal["auto", "stations", "random"] = setting(
        "auto", doc="Between workstations and pick or drop stations, or random cells; auto: stations if there are."
    )
    dwell: float = setting(2.0, low=0.0, high=1e6, unit="s", doc="Stay at each goal.")
    seed: int | None = setting(None, low=0, high=2**62, doc="Of the goals; null: that of the simulation.")
    deadlock_after: float = setting(
        30.0, low=0.1, high=1e6, unit="s", doc="A standstill of all robots that lasts so long is a deadlock."
    )


def _open(sim: MultiRobotSimulationCore, settings: TasksSettings, source: str) -> None:
    """Give the robots of the traffic their first goals."""
    traffic = sim.extensions.find_manager("traffic")
    if traffic is None:
        raise ConfigError("needs a section 'traffic' above it in the file")
    offer_tasks(sim, traffic, settings)


def offer_tasks(sim: MultiRobotSimulationCore, traffic: Traffic, settings: TasksSettings | None = None) -> Work:
    """Let all robots that are in `traffic` now work; returns the Work, which is also the manager "tasks".

    Raises InvalidValueError where there is nowhere to go, and StateError where no robot takes part.
    """
    chosen = settings or TasksSettings()
    site, network = traffic.site, traffic.network
    if network.grid is None:
        raise InvalidValueError("tasks lead to cells; let the traffic drive on the grid of the site (network: grid)")
    # Of the cells that robots may stand on, not of all free ones: some are too narrow for them.
    mask = site.grid.free_mask.copy()
    mask.ravel()[:] = False
    mask.ravel()[network.cells[traffic.shared_nodes()]] = True
    # Goals on both sides of a wall could not all be reached.
    region = site.grid.with_free(mask).largest_region()
    seed = sim.params.seed if chosen.seed is None else chosen.seed
    tasks, _ = endless_tasks(site, region, len(traffic.rows), seed, chosen.goals)
    work = Work(sim, traffic, tasks, chosen.dwell, chosen.deadlock_after)
    until_cleared(sim, work, NAME, work.leave)
    return work


SECTION = SettingsSection(
    NAME,
    TasksSettings,
    _open,
    "Endless tasks for the robots of the traffic: they go from goal to goal, and stay a while at each.",
)
