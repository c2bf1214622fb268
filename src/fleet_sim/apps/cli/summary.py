"""What became of a run: how fast it was, what collided, which actions failed and who did not arrive.

Robots that drove through walls are noted here, too, as runs do not report collisions with static bodies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import compile_seconds
from fleet_sim.base.params import ActionCause, ActionStatus, SimulationParams
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.robots import drive
from fleet_sim.robots.actions.action import FINAL
from fleet_sim.sensing.collision.bounds import shape_arrays
from fleet_sim.sensing.collision.broad import cross_pairs
from fleet_sim.sensing.collision.distances import distances_between
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

if TYPE_CHECKING:
    from fleet_sim.warehouse.traffic.figures_file import Run, RunSource


STANDING_THINGS = (("deadlocks", "deadlock"), ("starved", "time"), ("stuck_robots", "robot"))
STANDING = (*(name for name, _ in STANDING_THINGS), "longest_wait_s")
"""Figures of robots that stand on their way."""
MOST_NAMED = 5
"""Robots that are named in one list; of more, only the number is given."""
MOST_KEPT = 1000
"""Failures that are listed in files."""


class RunSummary:
    """Watches the actions of `sim` from now on and describes the run at its end; with `goals` it counts those too.

    `source` is what gathers figures in this run, if anything does; else the tasks of the scenario do, if it has any.
    """

    def __init__(self, sim: MultiRobotSimulationCore, *, goals: bool = False, source: RunSource | None = None) -> None:
        self._sim = sim
        self._source = source
        self._goals = 0 if goals else None
        if goals:
            # A goal is the end of a path, or the place that traffic sent a robot to.
            for event in ("arrived", "traffic_arrived"):
                sim.events.on(event, lambda **_: self._arrived())
        self._begin = sim.sim_time, sim.step_count
        """Where the run begins: a saved state is gone on with later than at 0."""
        self._compiled = compile_seconds()
        self._ended: Counter[ActionStatus] = Counter()
        self._failures: list[dict[str, str]] = []
        self._given_up = 0
        sim.events.on("action_completed", self._note)
        sim.events.on("goal_failed", self._note_goal)
        self._passages = WallPassages(sim.world)
        if sim.collisions.ignore_static:
            sim.events.on("post_step", lambda dt, sim_time: self._look(sim_time))

    def _look(self, sim_time: float) -> None:
        # Without checks no boxes are kept up to date, and nobody wants to know of collisions.
        if self._sim.collisions.schedule is not None:
            self._passages.look(sim_time)

    def _arrived(self) -> None:
        self._goals = (self._goals or 0) + 1

    def _note(self, agent: Any, action: Any, status: ActionStatus) -> None:
        self._ended[status] += 1
        if status is ActionStatus.FAILED:
            reason, cause = action.error_message or "no reason given", str(action.cause or ActionCause.FAILED)
            self._keep(agent, type(action).__name__, cause, reason, action.blocked_by or "")

    def _note_goal(self, agent: Any, cause: ActionCause, message: str) -> None:
        self._given_up += 1
        obstacle = agent.blocked_by
        self._keep(agent, "goal", str(cause), message, agent.world.label(obstacle.row) if obstacle else "")

    def _keep(self, agent: Any, what: str, cause: str, reason: str, blocked_by: str) -> None:
        if len(self._failures) < MOST_KEPT:
            named = {"robot": agent.name or "", "action": what, "cause": cause, "reason": reason}
            self._failures.append({**named, "blocked_by": blocked_by})

    def faults(self, *, whole: bool) -> list[str]:
        """Return what a user would not call a success, each in a few words.

        Robots on their way count where the run had its `whole` time, and work that ends: not orders, nor tasks.
        """
        self._look(self._sim.sim_time)
        find, guard = self._sim.extensions.find_manager, self._sim.guard
        traffic = find("traffic")
        late = [] if not whole or find("orders") or find("tasks") else self._busy()
        found = [
            (self._ended[ActionStatus.FAILED], "action", "failed"),
            (self._given_up, "goal", "given up"),
            (len(late), "robot", "short of the goal"),
            (len(self._passages.names), "robot", "inside static bodies"),
            (0 if traffic is None else traffic.figures()["refusals"], "plan", "refused"),
            (guard.total, "error", f"in {', '.join(sorted(guard.counts)[:MOST_NAMED])}"),
        ]
        texts = [f"{counted(number, thing)} {what}" for number, thing, what in found if number]
        return [text for text in (too_long_a_step(self._sim.params) if whole else "", *texts) if text]

    def lines(self, seconds: float) -> list[str]:
        """Return what happened, in lines; the run took `seconds` of real time."""
        self._look(self._sim.sim_time)
        return [self._speed(seconds), self._collisions(), *self._standing(), *self._orders(), *self._actions()]

    def figures(self, seconds: float) -> dict[str, str]:
        """Return the same as a line of a table: texts by their headings."""
        sim = self._sim
        return {
            "simulated": f"{sim.sim_time - self._begin[0]:.2f} s",
            "took": f"{seconds:.2f} s",
            **({"goals": str(self._goals)} if self._goals is not None else {}),
            "collisions": str(sim.collisions.count),
            **{status.value: str(self._ended[status]) for status in FINAL},
            "busy": str(len(self._busy())),
        }

    def numbers(self, seconds: float) -> dict[str, Any]:
        """Return the same as numbers, for files."""
        sim, simulated = self._sim, self._sim.sim_time - self._begin[0]
        compiling = compile_seconds() - self._compiled
        return {
            "simulated_s": simulated,
            "steps": sim.step_count - self._begin[1],
            "wall_s": seconds,
            "compile_s": compiling,
            # Without compiling, as the text says; a run of no time has no factor.
            "real_time_factor": simulated / (seconds - compiling) if seconds > compiling else None,
            "collisions": sim.collisions.count,
            "static_collisions": sim.collisions.static_count,
            "static_collisions_ignored": sim.collisions.ignore_static,
            "robots_through_walls": len(self._passages.names),
            **{f"actions_{status.value}": self._ended[status] for status in FINAL},
            "goals_failed": self._given_up,
            "busy": len(self._busy()),
            "failures": list(self._failures),
            **{name: value for name, value in self._gathered().items() if name in STANDING},
        }

    def _gathered(self) -> Mapping[str, float | None]:
        """Return the figures of the run; none where nobody gathers them."""
        run = self._gathered_run()
        return {} if run is None else run.figures

    def _gathered_run(self) -> Run | None:
        source: RunSource | None = self._source or self._sim.extensions.find_manager("tasks")
        return None if source is None else source.run("", {})

    def _standing(self) -> list[str]:
        """Return the lines about robots that stood on their way, and why the first ones starved."""
        run = self._gathered_run()
        if run is None:
            return []
        found = run.figures
        deadlocks, starved, stuck = (counted(int(found[name] or 0), thing) for name, thing in STANDING_THINGS)
        return [
            f"{deadlocks} of all robots, one starved {starved}, {stuck} stuck at the end,"
            f" longest wait {found['longest_wait_s'] or 0.0:.0f} s",
            *next(iter(run.about.values()), "").split("; ")[: MOST_NAMED if run.about else 0],
        ]

    def _speed(self, seconds: float) -> str:
        sim, (begin, first) = self._sim, self._begin
        simulated = sim.sim_time - begin
        compiling = compile_seconds() - self._compiled
        stepping = seconds - compiling
        factor = "at once"
        if stepping > 0:
            times = simulated / stepping
            factor = f"{times:{'.1f' if times >= 0.1 else '.1g'}} times real time"
        if compiling:
            factor += f", plus {compiling:.1f} s of one-time compilation"
        steps = counted(sim.step_count - first, "step")
        return (
            f"{counted(len(sim.agents), 'robot')}, {steps}, {simulated:.2f} s simulated in {seconds:.2f} s ({factor})"
        )

    def _collisions(self) -> str:
        """Return how many collisions there were, and what is not counted among them."""
        found = self._sim.collisions
        text = counted(found.count, "collision")
        # Without walls there is nothing to say about them.
        if not self._sim.world.collision_rules.static_mask()[self._sim.world.rows].any():
            return text
        if found.ignore_static:
            text += "; those with walls and other static bodies are not counted (ignore_static_collision)"
        else:
            text += f", {found.static_count} of them with walls and other static bodies"
        names = self._passages.names
        if names:
            text += f"\ninside static bodies: {listed(names)}; with block_on_collision robots stop in front of them"
        return text

    def _orders(self) -> list[str]:
        """Return the lines about orders; none where the scenario has no orders."""
        orders = self._sim.extensions.find_manager("orders")
        if orders is None:
            return []
        told = orders.figures()
        counts, rate, flow = told["orders"], told["throughput_per_hour"]["mean"], told["flow_time_s"]["p50"]
        parts = ", ".join(f"{number} {name}" for name, number in counts.items() if number and name != "submitted")
        lines = [f"{counted(counts['submitted'], 'order')}: {parts}" if parts else "no orders"]
        if flow is not None:
            lines.append(f"  {rate:.0f} done per hour, half of them within {flow:.0f} s")
        late = told["lateness_s"]
        if late["with_due"] or late["late"]:
            lines.append(
                f"  {late['late']} late: {late['done_late']} done late, {late['overdue']} open past their due time"
            )
        return lines

    def _actions(self) -> list[str]:
        """Return how actions ended, why the first ones failed, and which robots are still busy."""
        lines = []
        if self._ended:
            lines.append("actions: " + ", ".join(f"{number} {status.value}" for status, number in self._by_status()))
        if self._given_up:
            lines.append(f"goals that robots gave up: {self._given_up}")
        named = self._failures[:MOST_NAMED]
        lines += [f"  {one['robot']}: {one['action']} failed: {one['reason']}" for one in named]
        hidden = self._ended[ActionStatus.FAILED] + self._given_up - len(named)
        if hidden:
            lines.append(f"  and {hidden} more failed")
        busy = self._busy()
        if busy:
            lines.append(f"still busy at the end: {listed(busy)}")
        idle = [agent for agent in self._sim.agents if agent.blocked_by and agent.is_action_queue_empty()]
        if idle:
            lines.append(f"blocked at the end: {listed([(agent.name or '') + _obstacle(agent) for agent in idle])}")
        return lines

    def _busy(self) -> list[str]:
        """Return the names of robots with actions, with what keeps each from going on."""
        agents = [agent for agent in self._sim.agents if not agent.is_action_queue_empty()]
        return [(agent.name or "") + _obstacle(agent) for agent in agents]

    def _by_status(self) -> list[tuple[ActionStatus, int]]:
        return [(status, self._ended[status]) for status in ActionStatus if self._ended[status]]


def _obstacle(agent: Any) -> str:
    """Return what keeps a robot from going on, in brackets, or "" where nothing does."""
    action = agent.get_current_action()
    what = action.blocked_by if action is not None else agent.blocked_by and agent.world.label(agent.blocked_by.row)
    return f" (blocked by {what})" if what else ""


def too_long_a_step(params: SimulationParams) -> str:
    """Return that a step is longer than the whole run, or "" where it is not."""
    if not 0.0 < params.duration < params.timestep:
        return ""
    return f"a step of {params.timestep:g} s is longer than the run of {params.duration:g} s"


def counted(number: int, thing: str) -> str:
    """Return `number` and the name of the thing, as in "1 robot" and "2 robots"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def listed(names: list[str]) -> str:
    """Return `names`, or their number and the first of them if they are many."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{counted(len(names), 'robot')} ({', '.join(names[:MOST_NAMED])}, ...)"


# What each robot did in a run: goals, distance, waiting, collisions.


STANDS = 1e-3
"""Below this speed (m/s, and rad/s) a robot stands."""


class RobotFigures:
    """Adds up what the robots of `sim` do from now on; of robots that are removed, too.

    A goal is the end of a path, or the place that traffic sent a robot to. A robot waits while it has a goal, or a
    command to drive, and stands. Distances are from pose to pose in steps in which it has a velocity: a ride on another
    robot, a belt or a lift is no drive, and neither is a teleport between two steps.
    """

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._names: dict[int, str] = {}
        self._driven, self._waited = np.zeros(0), np.zeros(0)
        """By object id, which is not used again as rows are."""
        self._counts: Counter[tuple[int, str]] = Counter()
        self._blocked: dict[int, str] = {}
        """What the last goal of a robot failed for, by object id."""
        events = sim.events
        self._rows: Rows = NO_ROWS
        self._before: tuple[Ints, Floats, Bools] = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0, bool)
        """The object ids of the robots in these rows at the beginning of the step, places, and which had a velocity."""
        events.on("pre_step", self._begin)
        events.on("post_step", self._step)
        events.on("arrived", lambda agent: self._count(agent, "goals"))
        events.on("traffic_arrived", lambda agent, node: self._count(agent, "goals"))
        events.on("collision_started", self._collided)
        events.on("action_completed", self._ended)
        events.on("action_started", lambda agent, action: self._blocked.pop(agent.object_id, None))
        events.on("goal_failed", self._gave_up)

    def rows(self) -> list[dict[str, Any]]:
        """Return a line for each robot, by its number: its name and its figures."""
        self._meet()
        busy = {agent.object_id for agent in self._sim.agents if not agent.is_action_queue_empty()}
        label = self._sim.world.label
        stand = {agent.object_id: label(agent.blocked_by.row) for agent in self._sim.agents if agent.blocked_by}
        blocked = {**self._blocked, **stand}
        names = sorted(self._names.items())
        return [self._line(number, name, number in busy, blocked.get(number, "")) for number, name in names]

    def _line(self, number: int, name: str, busy: bool, blocked_by: str) -> dict[str, Any]:
        """Return the figures of one robot by column; `number` is its place in the fleet, in order of spawning."""
        # A robot that was spawned after the last step has not been added up.
        known = number < len(self._driven)
        return {
            "robot": name,
            "goals": self._counts[number, "goals"],
            "distance_m": float(self._driven[number]) if known else 0.0,
            "waiting_s": float(self._waited[number]) if known else 0.0,
            "collisions": self._counts[number, "collisions"],
            **{f"actions_{end}": self._counts[number, end] for end in ("completed", "failed", "cancelled")},
            "busy": busy,
            "blocked_by": blocked_by,
        }

    def _meet(self) -> None:
        for agent in self._sim.agents:
            self._names[agent.object_id] = agent.name or f"robot {agent.object_id}"

    def _begin(self, dt: float, sim_time: float) -> None:
        """Note where robots are before they move; those that are carried by others do not drive."""
        world = self._sim.world
        self._rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
        rows = self._rows
        moved_mask = np.asarray(world.velocity[rows].any(axis=1))
        self._before = world.object_id[rows], world.position[rows], moved_mask

    def _step(self, dt: float, sim_time: float) -> None:
        """Add up, by object id, how far robots drove in this step and whether they waited."""
        world = self._sim.world
        rows = world.rows[world.kind[world.rows] == KIND_AGENT]
        if not len(rows):
            return
        numbers = world.object_id[rows]
        size = int(numbers.max()) + 1
        if size > len(self._driven):
            self._driven, self._waited = grown(self._driven, size), grown(self._waited, size)
        if len(self._names) < len(self._sim.agents) or not set(numbers.tolist()) <= self._names.keys():
            self._meet()
        speeds = np.linalg.norm(world.velocity[rows], axis=1)
        self._add_ways()
        spins = np.linalg.norm(world.angular_velocity[rows], axis=1)
        waits_mask = drive.moving_mask(world, rows) & (speeds < STANDS) & (spins < STANDS)
        traffic = world.tables.get("traffic")
        if isinstance(traffic, TrafficColumns):
            waits_mask |= traffic.waiting[rows]
        self._waited[numbers] += waits_mask * dt

    def _add_ways(self) -> None:
        world, rows, (numbers, places, moved_mask) = self._sim.world, self._rows, self._before
        drove_mask = moved_mask | world.velocity[rows].any(axis=1)
        # A robot may have been removed in the step, and its row taken by another one.
        drove_mask &= world.alive[rows] & (world.object_id[rows] == numbers)
        ways = np.linalg.norm(world.position[rows[drove_mask]] - places[drove_mask], axis=1)
        self._driven[numbers[drove_mask]] += ways

    def _count(self, agent: Any, what: str) -> None:
        self._counts[agent.object_id, what] += 1

    def _collided(self, obj_a: Any, obj_b: Any) -> None:
        for one in (obj_a, obj_b):
            self._count(one, "collisions")

    def _ended(self, agent: Any, action: Any, status: ActionStatus) -> None:
        self._count(agent, status.value)
        if action.cause is ActionCause.BLOCKED:
            self._blocked[agent.object_id] = action.blocked_by or ""

    def _gave_up(self, agent: Any, cause: ActionCause, message: str) -> None:
        if agent.blocked_by:
            self._blocked[agent.object_id] = self._sim.world.label(agent.blocked_by.row)


def grown(values: Floats, size: int) -> Floats:
    """Return `values` and zeros after them; twice as many as needed, so that spawning stays cheap."""
    return np.concatenate([values, np.zeros(2 * size - len(values))])


_INTERVAL = 0.1
"""Seconds of simulated time between two looks: at 2 m/s a robot drives 0.2 m meanwhile."""
_CORE_HEIGHT, _CORE_RADIUS = 0.15, 0.1
"""Where a robot of links is certainly solid: height of the middle above its lowest point, and radius, in m."""
_LAST_SOLID = int(ShapeKind.CAPSULE)
_IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


class WallPassages:
    """The robots whose centre passed through a static box, cylinder, sphere or capsule.

    Only a ball in the middle of each robot is compared: robots that touch a wall, or stand on a static floor, are not
    found. Bodies of links, meshes and planes are not walls here. The state of the world is only read.
    """

    def __init__(self, world: World) -> None:
        self.names: list[str] = []
        """Names of the robots found so far, in the order in which they were found."""
        self._world = world
        # Object ids, which unlike rows are never given to another robot.
        self._ids: Ints = np.empty(0, np.int64)
        self._next = 0.0

    def look(self, sim_time: float) -> None:
        """Add the robots that are inside a wall now. Boxes of all bodies must be up to date."""
        # An interval of whole steps may end a rounding error early.
        if sim_time < self._next - 1e-9:
            return
        # At first those that stand, too: who begins inside of a wall need not drive.
        robots, world = self._robots(standing=self._next == 0.0), self._world
        self._next = sim_time + _INTERVAL
        if not len(robots):
            return
        kinds = world.shape_kind
        mask = world.collision_rules.static_mask() & world.alive & (kinds != ShapeKind.NONE) & (kinds <= _LAST_SOLID)
        walls = np.flatnonzero(mask)
        balls = self._middles(robots)
        reach = balls.radii[:, None]
        bounds = world.aabb_lower[walls], world.aabb_upper[walls]
        pairs = cross_pairs(balls.positions - reach, balls.positions + reach, *bounds, compiled=world.compiled)
        if len(pairs):
            self._note(robots, balls, pairs[:, 0], walls.take(pairs[:, 1]))

    def _note(self, robots: Rows, balls: ShapeArrays, first: Rows, walls: Rows) -> None:
        """Note those of `robots` whose ball overlaps its wall; pairs are (index of a robot, row of a wall)."""
        world = self._world
        rows, heights = robots.take(first), balls.positions[:, 2].take(first)
        # A wall rises above the middle of a robot, and begins below it; a floor does not.
        mask = (world.aabb_lower[walls, 2] < heights) & (world.aabb_upper[walls, 2] > heights)
        mask &= world.collision_rules.may_collide(np.stack((rows, walls), axis=1))
        first, rows, walls = first[mask], rows[mask], walls[mask]
        if not len(rows):
            return
        distances, _ = distances_between(
            balls.take(first), shape_arrays(world, walls), reach=0.0, compiled=world.compiled
        )
        with np.errstate(invalid="ignore"):
            inside = np.unique(rows[distances < 0.0])
        self._ids = np.append(self._ids, world.object_id[inside])
        self.names += [world.label(int(row)) for row in inside]

    def _robots(self, *, standing: bool) -> Rows:
        """Return the rows of robots that drive, or stand, that nothing carries, and that were not found yet."""
        world = self._world
        mask = world.alive & (world.kind == KIND_AGENT) & (world.parent == NO_ROW) & ~world.dynamic
        mask &= standing | (world.motion.control != 0)
        rows = np.flatnonzero(mask & (world.shape_kind != ShapeKind.NONE))
        return rows[~np.isin(world.object_id[rows], self._ids)] if len(self._ids) else rows

    def _middles(self, rows: Rows) -> ShapeArrays:
        """Return a ball in the middle of each of `rows`."""
        world = self._world
        lower, upper = world.aabb_lower[rows], world.aabb_upper[rows]
        positions, halves = 0.5 * (lower + upper), 0.5 * (upper - lower)
        radii = 0.9 * halves.min(axis=1)
        # The box of a robot with an arm may have its middle outside of it: its base is where its origin is.
        linked = np.flatnonzero(world.shape_kind[rows] > _LAST_SOLID)
        positions[linked, :2] = world.position[rows[linked], :2]
        positions[linked, 2] = lower[linked, 2] + np.minimum(_CORE_HEIGHT, halves[linked, 2])
        radii[linked] = np.minimum(_CORE_RADIUS, radii[linked])
        count = len(rows)
        kinds = np.full(count, ShapeKind.SPHERE, np.uint8)
        return ShapeArrays(kinds, positions, np.tile(_IDENTITY, (count, 1)), np.tile(radii[:, None], 3), radii)
