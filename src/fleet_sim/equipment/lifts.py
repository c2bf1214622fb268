"""All lifts of a simulation: they close their doors, go to a floor, and open them, with whoever stands inside.

A lift does one thing at a time: doors closed, cabin there, doors open. Calls wait in a queue; a session of a fleet
manager, or a robot on its route (`lift_lines.py`), has the lift to itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import Command
from fleet_sim.core.feature_rows import FeatureRows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.equipment.doors import Doors, command
from fleet_sim.equipment.fittings import fittings_mask
from fleet_sim.equipment.lift_columns import LiftColumns
from fleet_sim.equipment.lift_commands import CallLift, RequestLift
from fleet_sim.equipment.lift_plan import LiftPlan
from fleet_sim.equipment.profile import approach
from fleet_sim.errors import FleetSimError, InvalidValueError, StateFileError
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

MOST_CALLS = 1000
"""Calls that wait at a lift."""
STEP = 0.3
"""What stands this much in m above or below the floor of a cabin, stands on it."""


class LiftSession:
    """Whose a lift is, what it was asked for last, and who waits for it."""

    def __init__(self) -> None:
        self.name = ""
        self.kind = 1
        self.calls: deque[int] = deque()


class Lifts(FeatureRows[LiftColumns]):
    """Moves all cabins in each step, before doors and robots move."""

    def __init__(self, world: World, table: LiftColumns, doors: Doors) -> None:
        super().__init__(world, table)
        self.building = False
        """Whether `build_lift` is spawning one; nobody else can."""
        self.riders: dict[int, int] = {}
        """Robots that have a lift to themselves on their routes, by the row of the lift, see LiftLines."""
        self.refused = 0
        """Requests for what is unknown, or while the lift did something else."""
        self._doors = doors
        # Also of lifts that were removed: a reset, or a state, may bring them back.
        self._plans: dict[int, LiftPlan] = {}
        self._sessions: dict[int, LiftSession] = {}
        world.on_remove.append(self._removed)

    @property
    def rows(self) -> Rows:
        """The rows of the cabins."""
        rows = super().rows
        return rows[self._table.cabin[rows] == NO_ROW]

    def own(self, row: int, plan: LiftPlan, floor: int) -> None:
        """Take in the cabin in `row`, which is at a floor, and all its doors."""
        self._doors.table.lift[np.concatenate(plan.doors)] = row
        self._plans[row], self._sessions[row] = plan, LiftSession()
        self._table.floor[row] = self._table.goal[row] = floor
        self._table.height[row] = plan.heights[floor]

    def plan(self, row: int) -> LiftPlan:
        """Return the plan of the lift in `row`."""
        return self._plans[row]

    def session(self, row: int) -> LiftSession:
        """Return whose the lift in `row` is."""
        return self._sessions[row]

    def leaves(self, row: int, leaves: Rows) -> Rows:
        """Return which `leaves` in the plan of the lift in `row` live, and are of its doors still."""
        doors = self._doors.table
        living = doors.among(leaves[self._world.alive[leaves]])
        leaders = np.where(doors.leader[living] == NO_ROW, living, doors.leader[living])
        # The second leaf of a double door belongs to the lift of the first one.
        return np.asarray(living[doors.lift[leaders] == row])

    # ---- commands ----------------------------------------------------------------------------------------------------

    def call(self, row: int, floor: int) -> None:
        """Let the lift in `row` come to a floor, after those who called before; raises InvalidValueError."""
        calls = self._sessions[row].calls
        if len(calls) >= MOST_CALLS:
            raise InvalidValueError(f"{MOST_CALLS} calls wait for it already")
        # Who calls twice waits once.
        if floor not in calls:
            calls.append(floor)

    def request(self, row: int, floor: int, *, session: str, kind: int, is_open: bool, end: bool) -> None:
        """Send the lift in `row` to a floor for a session; raises InvalidValueError while it does something else.

        The same request again changes nothing. A session that ends leaves the lift to others.
        """
        own, table = self._sessions[row], self._table
        asked = (int(table.goal[row]), own.kind, own.name)
        # The same request comes again and again, as fleet managers repeat them.
        if (floor, kind, session) == asked:
            return
        if row in self.riders:
            raise InvalidValueError(f"it is taken by {self._world.label(self.riders[row])!r} on its route")
        if table.busy[row]:
            goal = self._plans[row].names[int(table.goal[row])]
            raise InvalidValueError(f"it is busy going to {goal!r} for {own.name!r}")
        own.name, own.kind = "" if end else session, kind
        # A session has the lift to itself: who called before has to call again.
        own.calls.clear()
        self.send(row, floor, is_open)

    def handle_call(self, order: CallLift) -> CommandAck:
        """Carry out a CallLift."""
        return self._handle(order, order.lift, lambda row: self.call(row, self._plans[row].floor(order.floor)))

    def handle_request(self, order: RequestLift) -> CommandAck:
        """Carry out a RequestLift."""

        def ask(row: int) -> None:
            floor = self._plans[row].floor(order.floor)
            self.request(row, floor, session=order.session, kind=order.kind, is_open=order.open, end=order.end)

        return self._handle(order, order.lift, ask)

    def _handle(self, order: Command, name: str, act: Callable[[int], None]) -> CommandAck:
        """Carry out a command to a lift by `act(row)`, which raises FleetSimError to refuse it; that is counted."""
        time = self._world.clock.time
        row = int(self._world.index.rows_named([name])[0])
        try:
            if not (self.rows == row).any():
                raise InvalidValueError("it is not a lift")
            act(row)
        except FleetSimError as error:
            self.refused += 1
            return CommandAck(order.command_id, order.source, time, (), {name: str(error)})
        return CommandAck(order.command_id, order.source, time, (name,))

    def send(self, row: int, floor: int, is_open: bool) -> None:
        """Send the lift in `row` to a floor, whoever has it."""
        self._table.goal[row], self._table.opens[row], self._table.busy[row] = floor, is_open, True

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move all lifts by one step."""
        for row in self.rows.tolist():
            # Calls wait while somebody has the lift to himself.
            if not self._table.busy[row] and self._sessions[row].calls and row not in self.riders:
                self._next_call(row)
            if self._table.busy[row]:
                self._go(row, dt)

    def _next_call(self, row: int) -> None:
        table = self._table
        if self._world.clock.time >= table.closes_at[row]:
            self._sessions[row].name = ""
            self.send(row, self._sessions[row].calls.popleft(), True)

    def _go(self, row: int, dt: float) -> None:
        """Go on with what the lift in `row` was told: doors closed, cabin there, doors as they are to be."""
        table, plan = self._table, self._plans[row]
        goal, floor = int(table.goal[row]), int(table.floor[row])
        if table.height[row] == plan.heights[goal]:
            table.floor[row] = goal
            if self._doors_at(row, goal, bool(table.opens[row])):
                table.busy[row] = False
                table.closes_at[row] = self._world.clock.time + table.dwell[row]
                self._world.events.emit("lift_arrived", lift=self._world.handles[row], floor=plan.names[goal])
        elif self._doors_at(row, floor, False):
            self._travel(row, float(plan.heights[goal]), dt)

    def _doors_at(self, row: int, floor: int, is_open: bool) -> bool:
        """Tell the doors of the lift in `row` at a floor to be open or closed; return whether they are."""
        rows = self.leaves(row, self._plans[row].doors[floor])
        command(self._doors.table, rows, is_open)
        return bool((self._doors.table.opening[rows] == float(is_open)).all())

    def _travel(self, row: int, goal: float, dt: float) -> None:
        """Move the cabin, all that belongs to it and all that stands in it towards a height."""
        table, world, plan = self._table, self._world, self._plans[row]
        one = np.array([row])
        before = float(table.height[row])
        # Before it moves: who stands in it now.
        riders = self._riders(row)
        heights, rates = approach(
            table.height[one], table.rate[one], np.array([goal]), table.speed[one], table.accel[one], dt
        )
        table.height[row], table.rate[row] = heights[0], rates[0]
        table.floor[row] = plan.nearest(float(heights[0]))
        shift = float(heights[0]) - before
        parts = table.among(world.rows)
        # The cabin, its walls, and who stands in it, all by the same shift.
        body = np.concatenate((one, parts[table.cabin[parts] == row], riders))
        self._shift(body, shift)
        leaves = self.leaves(row, plan.inner)
        # Doors know where they are closed, and that place goes along.
        self._doors.table.closed_position[leaves, 2] += shift
        self._shift(leaves, shift)

    def _shift(self, rows: Rows, shift: float) -> None:
        positions = self._world.position[rows].copy()
        positions[:, 2] += shift
        self._world.place(rows, positions, self._world.orientation[rows])

    def _riders(self, row: int) -> Rows:
        """Return the rows that stand in the cabin in `row`."""
        world = self._world
        rows = world.rows[(world.parent[world.rows] == NO_ROW) & ~fittings_mask(world)[world.rows]]
        return np.asarray(rows[self.inside_mask(row, world.position[rows])])

    def inside_mask(self, row: int, places: Floats) -> Bools:
        """Return which `places` (K, 3) are in the cabin in `row`, on its floor or in its inside above."""
        world, half = self._world, self._table.half[row]
        offsets = places - world.position[row]
        sine, cosine = trig.sin_cos_of(float(quaternions.yaws(world.orientation[row : row + 1])[0]))
        x, y = offsets[:, 0] * cosine + offsets[:, 1] * sine, offsets[:, 1] * cosine - offsets[:, 0] * sine
        # From the floor of the cabin, which is not its middle.
        above = places[:, 2] - self._table.height[row]
        return np.asarray((np.abs(x) <= half[0]) & (np.abs(y) <= half[1]) & (above >= -STEP) & (above <= 2.0 * half[2]))

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the sessions and the calls, by the name of the lift."""
        label = self._world.label
        return {label(row): [own.name, own.kind, list(own.calls)] for row, own in self._living()}

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        for row, own in self._living():
            own.name, own.kind, calls = saved.get(self._world.label(row), ("", 1, ()))
            own.calls = deque(calls)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` is of lifts with these floors."""
        for row, _ in self._living():
            name = self._world.label(row)
            if name not in saved:
                continue
            session, kind, calls = saved[name]
            floors = len(self._plans[row].names)
            if not (isinstance(session, str) and isinstance(kind, int) and all(0 <= call < floors for call in calls)):
                raise StateFileError(f"lift {name!r}: it has no such session or floors: {saved[name]!r}"[:200])

    def _living(self) -> list[tuple[int, LiftSession]]:
        return [(row, self._sessions[row]) for row in self.rows.tolist()]

    def _removed(self, rows: Rows) -> None:
        for row in rows[np.isin(rows, list(self._sessions))].tolist():
            self._sessions[row] = LiftSession()
