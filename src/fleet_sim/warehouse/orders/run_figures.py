"""OrderRun: gathers the figures of a fleet that serves orders, for run files and reports.

It looks at the fleet in each step, in the phase OBSERVE, and is part of checkpoints. Figures have the names of those of
tasks, so that runs of both can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial.shapes import ROUND_KINDS
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.disturbances import cost_tables
from fleet_sim.warehouse.equipment.lift import LiftLines
from fleet_sim.warehouse.orders.order import FINAL, OrderColumns, OrderState, RobotState, Spent
from fleet_sim.warehouse.orders.orders import Orders
from fleet_sim.warehouse.orders.places import NO_PLACE
from fleet_sim.warehouse.orders.transport import STANDS
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.warehouse.traffic.columns import BROKEN, STOPPED, UNFIT, TrafficColumns
from fleet_sim.warehouse.traffic.figures import STATES as OF_TRAFFIC
from fleet_sim.warehouse.traffic.figures import (
    FigureCollector,
    RobotOutlines,
    Role,
    StateKind,
    outlines_of,
    percentiles,
    planning_of,
    summary_of,
    tell_starved,
)
from fleet_sim.warehouse.traffic.figures_file import Cell, Run, RunSource, RunTable, run_of
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.pipeline import Phase, System, any_span
from fleet_sim.world.world import energy_columns

NAME = "order_figures"
HELD = STOPPED | BROKEN | UNFIT
"""Reasons to stand that no order of passing ends."""
JOULES_PER_WATT_HOUR = 3600.0

LOADED, EMPTY, WAITING, BLOCKED, SERVING, CHARGING, IDLE, OUT, QUEUED = range(9)
_, *_STANDING, _RESTING = OF_TRAFFIC
STATES = (
    StateKind("driving_loaded", Role.MOVES),
    StateKind("driving_empty", Role.MOVES),
    *_STANDING,
    StateKind("charging", Role.WORKS),
    _RESTING,
    StateKind("out_of_energy", Role.WAITS),
    StateKind("queued", Role.QUEUES),
)
"""As those of all traffic, but that driving is told apart, and that robots charge and run empty."""

OF_PODS = {
    "lines_done": "lines_done",
    "items_picked": "items_picked",
    "pod_visits": "visits",
    "items_per_visit": "items_per_visit",
    "pod_fills": "fills",
    "items_filled": "items_filled",
    "station_idle_share": "station_idle_share",
    "orders_short": "orders_short",
    "refused_for_stock": "refused_for_stock",
    "storage_waits": "storage_waits",
    "pods_stranded": "stranded",
}
"""Figures of pods by the names that they have in run files."""
LEVELS = ("orders_waiting", "orders_open")
"""Orders that wait for a robot, or for a workstation; and all that have not ended."""
CHARGES = ("battery_mean_percent", "battery_least_percent")
"""The charge of the batteries of all robots, and of the emptiest."""
_COUNTED = ("submitted", "refused", "cancelled", "failed", "unreleased", "waiting")
_BEGUN = tuple(state for state in OrderState if state not in (*FINAL, OrderState.WAITING))

_BY_ROBOT_STATE = {
    RobotState.IDLE: IDLE,
    RobotState.EMPTY: EMPTY,
    RobotState.LOADED: LOADED,
    RobotState.SERVING: SERVING,
    RobotState.WAITING: WAITING,
    RobotState.CHARGING: CHARGING,
    RobotState.OUT: OUT,
}
_CODES = np.array([_BY_ROBOT_STATE[state] for state in RobotState])


_DONE = OrderState.DONE.code


def _rounded(*numbers: float) -> list[float]:
    return [round(number, 2) for number in numbers]


@compiled_step
def look_at(
    rows: Rows,
    robots: Ints,
    dt: float,
    velocity: Floats,
    position: Floats,
    orientation: Floats,
    state: Bytes,
    slowed: Bools,
    held: Bytes,
    queued: Bools,
    last: Floats,
    codes_of: Ints,
    codes: Ints,
) -> float:
    """Write what robots in `rows` (K,), with the numbers `robots`, do to `codes` (K,), and their poses to `last`.

    `held` may be empty, and `queued` (K,) are those that wait in queues. Returns how fast the fastest is in m/s.
    """
    fastest = 0.0
    for place in range(len(rows)):
        row, robot = rows[place], robots[place]
        vx, vy = velocity[row, 0], velocity[row, 1]
        fastest = max(fastest, np.sqrt(vx * vx + vy * vy))
        # From its last pose to this one: at the end of a step in which it came somewhere a robot may stand. Half of a
        # small turn is how far the quaternion goes.
        across, along = position[row, 0] - last[robot, 0], position[row, 1] - last[robot, 1]
        turn = 0.0
        for part in range(3):
            last[robot, part] = position[row, part]
        for part in range(4):
            turn = max(turn, abs(orientation[row, part] - last[robot, 3 + part]))
            last[robot, 3 + part] = orientation[row, part]
        code = codes_of[state[row]]
        if max(np.sqrt(across * across + along * along), 2.0 * turn) >= STANDS * dt:
            # What moves drives, also where it has nothing to do and gives way, or goes aside while it waits.
            code = LOADED if slowed[row] else EMPTY
        elif queued[place]:
            code = QUEUED
        elif code in (LOADED, EMPTY):
            # Robots that should drive and stand are told apart: blocked by something, or waiting for their turn.
            code = BLOCKED if len(held) and held[row] & HELD else WAITING
        codes[place] = code
    return float(fastest)


class OrderRun:
    """Gathers what the robots of `orders` do in `sim` from now on; an order is what tasks are in other runs."""

    def __init__(self, sim: MultiRobotSimulationCore, orders: Orders) -> None:
        """Raises DuplicateNameError where the orders of `sim` are watched already."""
        table = sim.world.tables["orders"]
        assert isinstance(table, OrderColumns)
        # Batteries come with the robots, which are there.
        self._levels = LEVELS if energy_columns(sim.world) is None else LEVELS + CHARGES
        self.collector = FigureCollector(orders.places.chart, states=STATES, levels=self._levels)
        self._sim, self._orders, self._table = sim, orders, table
        self._numbers: dict[int, int] = {}
        self._names: list[str] = []
        """Of the robots, by number."""
        self._version = -1
        self._ids: Ints = np.zeros(0, np.int64)
        self._discs: tuple[int, Floats, RobotOutlines] | None = None
        self._rows: Rows = np.zeros(0, np.int64)
        self._robots: Ints = np.zeros(0, np.int64)
        self._speed_max = 0.0
        self._last: Floats = np.zeros((0, 7))
        self._renew()
        points = orders.places.on_chart(sim.world.position[self._rows])
        self.collector.begin(self._robots, points, self._outlines())
        sim.pipeline.add(System(NAME, Phase.OBSERVE, self._look, span=any_span, each=self._look))
        sim.checkpoints.register_late(NAME, self)
        sim.events.note("order_changed", self._changed)
        sim.events.on("cleared", self.leave)

    def leave(self) -> None:
        """Gather no more."""
        self._sim.pipeline.remove(NAME)
        self._sim.events.off("order_changed", self._changed)
        self._sim.events.off("cleared", self.leave)

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Number new robots, and forget those that were removed."""
        world = self._sim.world
        if world.version == self._version:
            return
        self._version = world.version
        rows = self._table.among(world.rows)
        ids = world.object_id[rows]
        # Most of what comes and goes is loads.
        if np.array_equal(ids, self._ids):
            return
        self._ids = ids
        robots = np.array([self._number(row) for row in rows.tolist()], np.int64)
        # By number: the robots keep their order in all figures.
        order = np.argsort(robots, kind="stable")
        self._rows, self._robots = rows[order], robots[order]
        known = len(self._last)
        self._last = np.pad(self._last, ((0, len(self._numbers) - known), (0, 0)))
        new_mask = self._robots >= known
        self._last[self._robots[new_mask]] = self._poses(self._rows[new_mask])

    def _poses(self, rows: Rows) -> Floats:
        """Return positions and orientations (K, 7) of robots."""
        return np.column_stack((self._sim.world.position[rows], self._sim.world.orientation[rows]))

    def _number(self, row: int) -> int:
        number = self._numbers.setdefault(int(self._sim.world.object_id[row]), len(self._numbers))
        if number == len(self._names):
            self._names.append(self._sim.world.handles[row].name or f"robot {number}")
        return number

    def _charges(self) -> tuple[float, ...]:
        """Return the mean and the least charge in per cent, where the levels have them."""
        batteries = energy_columns(self._sim.world) if len(self._levels) > len(LEVELS) else None
        if batteries is None:
            return ()
        rows = self._rows[batteries.present[self._rows]]
        charges = 100.0 * batteries.energy[rows] / batteries.full_energy[rows]
        return (float(charges.mean()), float(charges.min())) if len(rows) else (0.0, 0.0)

    def _look(self, dt: float) -> None:
        """Note for this step what each robot does, how fast it is, and how many orders are open."""
        self._renew()
        world, rows, table = self._sim.world, self._rows, self._table
        places = self._orders.places
        points = places.on_chart(world.position[rows])
        if places.several:
            # Nobody drives from storey to storey on the chart, where they are side by side.
            before, now = self._last[self._robots, :3], world.position[rows]
            carried_mask = places.storeys(now) != places.storeys(before)
            self.collector.carried(self._robots[carried_mask], points[carried_mask])
        codes, queued = np.empty(len(rows), np.int64), self._orders.queued(rows)
        moving = world.velocity, world.position, world.orientation
        state, slowed, held = table.state, table.slowed, self._held()
        fastest = look_at(rows, self._robots, dt, *moving, state, slowed, held, queued, self._last, _CODES, codes)
        self._speed_max = max(self._speed_max, fastest)
        counts, waiting = self._orders.book.counts, self._orders.released_waiting
        levels = (waiting, waiting + sum(counts[state] for state in _BEGUN), *self._charges())
        starved = self.collector.observe(dt, self._robots, points, codes, levels, self._outlines())
        if len(starved):
            rows = self._rows[np.searchsorted(self._robots, starved)]
            tell_starved(self.collector, world, self._traffic(), rows)

    def _outlines(self) -> RobotOutlines:
        # In the world, as the chart has storeys side by side.
        rows, world, known = self._rows, self._sim.world, self._discs
        heights = world.position[rows, 2]
        # Of discs that stay on their floors only the places change.
        if known is not None and known[0] == world.version and np.array_equal(known[1], heights):
            return known[2]._replace(places=world.position[rows, :2])
        found = outlines_of(world, rows, self._table.radius[rows])
        is_round = np.isin(world.shape_kind[rows], ROUND_KINDS).all()
        self._discs = (world.version, heights, found) if is_round else None
        return found

    def _held(self) -> Bytes:
        """Return why robots may not drive, by row; nothing where none is in traffic. Those outside of it are 0."""
        table = self._sim.world.tables.get("traffic")
        return table.held if isinstance(table, TrafficColumns) else np.zeros(0, np.uint8)

    def _changed(self, order: str, before: OrderState, state: OrderState, robot: str) -> None:
        if state is OrderState.DONE:
            book = self._orders.book
            number = book.number(order)
            # From the release to the end, so with the time it waited.
            self.collector.tasks_ended(np.array([book.table.ended[number] - book.table.release[number]]))

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; see docs/reports.md."""
        told = self._orders.figures()
        orders, late, robots = told["orders"], told["lateness_s"], told["robots"]
        watched = energy_columns(self._sim.world) is not None
        return {
            **summary_of(self.collector, len(self._rows)),
            "collisions": self._sim.collisions.count,
            "speed_max": self._speed_max,
            **{f"orders_{name}": orders[name] for name in _COUNTED},
            **{f"{part}_time_s_mean": told[f"{part}_time_s"]["mean"] for part in ("waiting", "fetching", "carrying")},
            "orders_with_due": late["with_due"],
            **{f"orders_{name}": late[name] for name in ("late", "done_late", "overdue")},
            **percentiles("lateness_s", self._lateness(), mean=True),
            "driven_loaded_m": robots["driven_loaded_m"],
            "energy_wh": robots["energy_j"] / JOULES_PER_WATT_HOUR if watched else None,
            **{name: told["pods"][key] for name, key in OF_PODS.items() if "pods" in told},
            **{f"order_{spent}_s_mean": seconds for spent, seconds in self._spent().items()},
            **self._planning(),
        }

    def _spent(self) -> dict[Spent, float | None]:
        """Return what the time of an order that is done went into, in s: the mean of each part."""
        book = self._orders.book
        count = len(book)
        parts = self._orders.fleet.times.spent(count)
        # Pods bring its items to an order of lines: its time is not that of one robot.
        counted_mask = (book.table.state[:count] == OrderState.DONE.code) & (book.table.pick[:count] != NO_PLACE)
        flow = (book.table.ended - book.table.release)[:count]
        # All that no robot spent on it.
        parts[:, Spent.ASSIGNMENT.code] = flow - parts.sum(axis=1)
        means = parts[counted_mask].mean(axis=0).tolist() if counted_mask.any() else [None] * len(Spent)
        return dict(zip(Spent, means, strict=True))

    def tables(self) -> list[RunTable]:
        """Return what was counted by part of an order's time, station, charger, lift, kind of robots, and robot."""
        places = [self._of_stations("Stations"), self._of_stations("Chargers"), self._of_lifts()]
        tables = [self._of_orders(), *places, *self._of_robots()]
        return [table for table in tables if table.rows]

    def _of_orders(self) -> RunTable:
        spent = {part: seconds for part, seconds in self._spent().items() if seconds}
        whole = sum(spent.values())
        rows: list[tuple[Cell, ...]] = [
            (part.replace("_", " "), *_rounded(seconds, 100.0 * seconds / whole)) for part, seconds in spent.items()
        ]
        return RunTable("What the time of an order went into", ("part", "mean, s", "share, %"), rows)

    def _of_stations(self, heading: str) -> RunTable:
        """Return what happened at stations, or at chargers."""
        places, visits, simulated = self._orders.places, self._orders.fleet.times.visits, self.collector.simulated
        chargers = set(places.of_kind(StationKind.CHARGE))
        rows: list[tuple[Cell, ...]] = []
        for place in sorted(visits):
            at = visits[place]
            if (place in chargers) is (heading == "Chargers") and simulated:
                count = max(at.robots, 1)
                numbers = (3600.0 * at.robots / simulated, at.served / count, at.waited / count, at.longest_wait)
                rows.append((places.names[place], at.robots, *_rounded(*numbers, 100.0 * at.served / simulated)))
        columns = ("name", "visits", "per hour", "service, mean s", "wait, mean s", "longest wait, s", "in use, %")
        return RunTable(heading, columns, rows)

    def _of_lifts(self) -> RunTable:
        """Return how often robots rode in each lift, and how long they waited for it."""
        lines, rows = self._sim.world.routes.lifts, list[tuple[Cell, ...]]()
        lifts: Ints = self._sim.features.use("lift").rows if isinstance(lines, LiftLines) else NO_ROWS
        for lift in lifts.tolist():
            assert isinstance(lines, LiftLines)
            at = lines.figures(lift)
            numbers = (at["mean_wait_s"], at["longest_wait_s"], 100.0 * at["utilisation"])
            rows.append((self._sim.world.label(lift), int(at["trips"]), *_rounded(*numbers)))
        return RunTable("Lifts", ("name", "trips", "wait, mean s", "longest wait, s", "in use, %"), rows)

    def _of_robots(self) -> list[RunTable]:
        """Return what robots did, by kind and one by one; a kind is what names have before their number."""
        found, book = self.collector, self._orders.book
        names = self._names
        done = Counter(
            robot for robot, state in zip(book.robots, book.table.state.tolist(), strict=False) if state == _DONE
        )
        kinds = [re.sub(r"[_.]?\d+$", "", name) or name for name in names]
        seconds = np.stack([found.seconds_in(state.name)[: len(names)] for state in STATES], axis=1)
        columns = ("orders done", "driven, m", *(f"{state.name.replace('_', ' ')}, %" for state in STATES))
        rows: dict[str, list[tuple[Cell, ...]]] = {"kind": [], "robot": []}
        for heading, keys in (("kind", kinds), ("robot", names)):
            members: dict[str, list[int]] = {}
            for number, key in enumerate(keys):
                members.setdefault(key, []).append(number)
            for key, chosen in members.items():
                whole = float(seconds[chosen].sum()) or 1.0
                orders = sum(done[names[number]] for number in chosen)
                driven = found.driven[chosen].sum() / len(chosen)
                shares = (100.0 * seconds[chosen].sum(axis=0) / whole).tolist()
                row = (orders, *_rounded(float(driven), *shares))
                rows[heading].append((key, len(chosen), *row) if heading == "kind" else (key, *row))
        return [
            RunTable(
                "Kinds of robots", ("kind", "robots", "orders done", "driven each, m", *columns[2:]), rows["kind"]
            ),
            RunTable("Robots", ("robot", *columns), rows["robot"]),
        ]

    def _marks(self) -> list[tuple[str, str, float, float]]:
        """Return the stations, and the robots that are stuck, by name, kind and place on the chart."""
        places, found = self._orders.places, self.collector
        count = len(places.stations)
        spots = np.array([(*point, 0.0)[:3] for point in places.points[:count]], np.float64).reshape(-1, 3)
        marks = [
            (name, "station", *point)
            for name, point in zip(places.stations, places.on_chart(spots).tolist(), strict=True)
        ]
        stuck = set(found.standstill.stuck_ones().tolist())
        points = places.on_chart(self._sim.world.position[self._rows]).tolist()
        return marks + [
            (self._names[robot], "stuck", *point)
            for robot, point in zip(self._robots.tolist(), points, strict=True)
            if robot in stuck
        ]

    def run(self, title: str, about: Mapping[str, str], more: Mapping[str, float | None] | None = None) -> Run:
        """Return the run so far for a file; `more` are further figures, such as how long it took."""
        found = self.collector
        distributions = {
            "flow_time_s": found.flow_times,
            "lateness_s": self._lateness(),
            "past_due_s": self._past_due(),
            "waiting_s": found.waiting_times(),
            "driven_m": found.driven,
        }
        traffic = self._traffic()
        if traffic is not None:
            distributions["planning_ms"] = traffic.planning_times * 1e3
        return run_of(
            title,
            {**self.figures(), **(more or {})},
            found,
            about=about,
            distributions=distributions,
            tables=[*self.tables(), *cost_tables(self._sim)],
            marks=self._marks(),
        )

    def _past_due(self) -> Floats:
        """Return how long after their due time orders (K,) were done in s, negative before; those with a due time."""
        table, count = self._orders.book.table, len(self._orders)
        timed_mask = (table.state[:count] == OrderState.DONE.code) & np.isfinite(table.due[:count])
        return np.asarray(table.ended[:count][timed_mask] - table.due[:count][timed_mask])

    def _lateness(self) -> Floats:
        """Return by how much orders (K,) that are done were late in s, 0 for those in time; those with a due time."""
        return np.maximum(self._past_due(), 0.0)

    def _planning(self) -> dict[str, float | None]:
        traffic = self._traffic()
        return {} if traffic is None else planning_of(traffic)

    def _traffic(self) -> Traffic | None:
        traffic: Traffic | None = self._sim.extensions.find_manager("traffic")
        return traffic

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state, for a checkpoint."""
        return deepcopy(vars(self.collector)), dict(self._numbers), list(self._names), self._speed_max

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        figures, numbers, names, self._speed_max = saved
        self._numbers, self._names = dict(numbers), list(names)
        vars(self.collector).update(deepcopy(figures))
        self._last = np.zeros((0, 7))
        self._version, self._ids = -1, np.array([-1])
        self._renew()


def figure_source(sim: MultiRobotSimulationCore) -> RunSource | None:
    """Return what gathers the figures of `sim` from now on: of its tasks or its orders; None where it has neither."""
    tasks: RunSource | None = sim.extensions.find_manager("tasks")
    if tasks is not None:
        return tasks
    orders = sim.extensions.find_manager("orders")
    return None if orders is None else OrderRun(sim, orders)
