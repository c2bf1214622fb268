"""Lifts: they close their doors, go to a floor, and open them, with whoever stands inside.

A lift does one thing at a time: doors closed, cabin there, doors open. Calls wait in a queue; a session of a fleet
manager, or a robot on its route (`LiftLines`), has the lift to itself. `building.py` builds lifts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateFileError, unknown_name
from fleet_sim.base.limits import LARGEST_EXTENT, LARGEST_SIZE, LARGEST_SPEED
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.robots.sim_object import FeatureHandle
from fleet_sim.warehouse.equipment.door import Doors, set_wanted
from fleet_sim.warehouse.equipment.fittings import approach, fittings_mask
from fleet_sim.world.checkpoint import check_alike, check_row
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, CommandAck, command
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.routes import LiftStop
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import FeatureRows, World


@dataclass(kw_only=True)
class LiftCabinSettings(Checked):
    """How the cabin of a lift moves."""

    speed: float = setting(2.0, low=0.01, high=LARGEST_SPEED, unit="m/s", doc="Largest speed of the cabin.")
    accel: float = setting(1.0, low=0.01, high=1e3, unit="m/s^2", doc="How fast the cabin speeds up and slows down.")
    dwell: float = time_setting(3.0, doc="How long its doors stay open after a call, if others wait.")


@dataclass
class LiftFloorSettings(Checked):
    """A floor that a lift goes to."""

    name: str = setting(doc="Name of the level.")
    height: float = setting(low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Height of its floor.")
    doors: list[str] | None = setting(None, doc="Doors that open there; null: all of the lift.")


@dataclass
class LiftDoorSettings(Checked):
    """A door of a lift, in the frame of the cabin, whose origin is its middle."""

    name: str = setting(doc="Unique in the lift.")
    x: float = setting(0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Middle of the door.")
    y: float = setting(0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Middle of the door.")
    width: float = setting(1.0, low=0.05, high=LARGEST_SIZE, unit="m", doc="Width of the passage.")


Floors = list[LiftFloorSettings]
Ways = list[LiftDoorSettings]


@dataclass
class LiftSettings(LiftCabinSettings):
    """A lift: a cabin that goes between floors, with doors of its own and doors in front of it."""

    name: str = setting(doc="Unique name.")
    position: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Middle of the cabin."
    )
    floors: Floors = setting(doc="The floors it goes to.")
    doors: Ways = setting(doc="Its doors.")
    yaw: float = setting(0.0, low=-6.2832, high=6.2832, unit="rad", doc="How it is turned.")
    width: float = setting(2.0, low=0.1, high=LARGEST_SIZE, unit="m", doc="Along its own x axis.")
    depth: float = setting(2.0, low=0.1, high=LARGEST_SIZE, unit="m", doc="Along its own y axis.")
    height: float = setting(2.2, low=0.1, high=LARGEST_SIZE, unit="m", doc="Of the cabin.")
    initial: str | None = setting(None, doc="Floor where it is at first; null: the first one.")
    door_time: float = time_setting(3.0, low=0.05, doc="Its doors take this to open.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, names in (("floors", [f.name for f in self.floors]), ("doors", [d.name for d in self.doors])):
            if not names:
                raise InvalidValueError(f"{what}: lift {self.name!r} has none; it needs one at least")
            name, times = Counter(names).most_common(1)[0]
            if times > 1:
                raise InvalidValueError(f"{what}: {times} of lift {self.name!r} are named {name!r}")
        known = [door.name for door in self.doors]
        for floor in self.floors:
            for name in floor.doors or ():
                if name not in known:
                    raise InvalidValueError(
                        f"floors: {floor.name!r} has no door {name!r}; there are {', '.join(known)}"
                    )
        if self.initial is not None and self.initial not in [floor.name for floor in self.floors]:
            raise InvalidValueError(f"initial: lift {self.name!r} has no floor {self.initial!r}")


Entries = list[LiftSettings]


@dataclass
class LiftsSettings(Checked):
    """The lifts of a scenario."""

    list: Entries = setting(factory=lambda: [], doc="Lifts.")


@command("call_lift")
class CallLift(Command):
    """Call a lift to a floor, where it opens its doors, after those who called before."""

    feature: ClassVar[str] = "lift"

    lift: str
    floor: str


@command("request_lift")
class RequestLift(Command):
    """Send a lift to a floor for a session, as a fleet manager does; refused while it does something else.

    `end` ends the session.
    """

    feature: ClassVar[str] = "lift"

    lift: str
    floor: str
    session: str = ""
    kind: int = 1
    open: bool = True
    end: bool = False


class LiftColumns(FeatureColumns):
    """Where cabins are and what they do. Rows with a cabin are its walls."""

    cabin: Ints = column(int, default=NO_ROW, writer="build_lift", reference=True, doc="cabin that it is a wall of")
    height: Floats = column(float, unit="m", frame="world", writer="Lifts", doc="of the floor of the cabin")
    rate: Floats = column(float, unit="m/s", writer="Lifts", doc="change of `height`")
    floor: Ints = column(int, writer="Lifts", doc="number of the floor it is at, or was at last")
    goal: Ints = column(int, writer="Lifts", doc="number of the floor it was sent to")
    opens: Bools = column(bool, writer="Lifts", doc="its doors are to be open there")
    busy: Bools = column(bool, writer="Lifts", doc="has not done yet what it was told")
    stuck: Bools = column(bool, writer="disturbances", doc="does not move", hashed=False)
    closes_at: Floats = column(float, unit="s", writer="Lifts", doc="goes on to the next call from then on")

    speed: Floats = column(float, default=1.0, unit="m/s", writer="spawning")
    accel: Floats = column(float, default=1.0, unit="m/s2", writer="spawning")
    dwell: Floats = column(float, unit="s", writer="spawning", doc="doors stay open for this long if others wait")
    half: Floats = column(float, (3,), default=1.0, unit="m", frame="body", writer="build_lift", doc="of the cabin")


class Entrance(NamedTuple):
    """A door of a lift: `middle` (2,) on the edge of the cabin, `outward` (2,) across it, `width` in m; world frame."""

    middle: Floats
    outward: Floats
    width: float


@dataclass(frozen=True, eq=False)
class LiftPlan:
    """The floors (F,) of a lift by name and height, and its doors.

    `doors[i]` are the leading leaves of the doors in front of the cabin on floor i, and of those of the cabin that open
    with them. `inner` are all leaves of the cabin, which move with it. `entrances[i]` is the widest door of floor i.
    Leaves are rows: one that was removed is in its row again after a reset. `Lifts.leaves` knows which live.
    """

    names: tuple[str, ...]
    heights: Floats
    doors: tuple[Rows, ...]
    inner: Rows
    entrances: tuple[Entrance, ...]

    def floor(self, name: str) -> int:
        """Return the number of the floor called `name`; raises UnknownNameError with the closest one."""
        if name not in self.names:
            raise unknown_name("floor", name, self.names)
        return self.names.index(name)

    def nearest(self, height: float) -> int:
        """Return the number of the floor that is the nearest to `height` in m."""
        return int(np.abs(self.heights - height).argmin())


MOST_CALLS = 1000
"""Calls that wait at a lift."""
STEP = 0.3
"""What stands this much in m above or below the floor of a cabin, stands on it."""


@saved
@dataclass
class LiftSession:
    """Whose a lift is, what it was asked for last, and who waits for it."""

    name: str = ""
    kind: int = 1
    calls: deque[int] = field(default_factory=deque)

    def copy(self) -> LiftSession:
        """Return it with calls of its own."""
        return replace(self, calls=self.calls.copy())


class Lifts(FeatureRows[LiftColumns], Stateful):
    """Moves all cabins in each step, before doors and robots move."""

    STATE = ("_sessions", "riders")

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` is of lifts with these floors."""
        check_alike(self.save(), saved, "lifts")
        sessions, riders = (saved.values[name] for name in self.STATE)
        for row in (*sessions, *riders, *riders.values()):
            check_row(self.world, row)
        for row, session in sessions.items():
            floors = len(self._plans[row].names) if row in self._plans else 0
            if not all(type(call) is int and 0 <= call < floors for call in session.calls):
                raise StateFileError(f"lift {self.world.label(row)!r}: it is called to floors that it has not")

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
        return rows[self.table.cabin[rows] == NO_ROW]

    def own(self, row: int, plan: LiftPlan, floor: int) -> None:
        """Take in the cabin in `row`, which is at a floor, and all its doors."""
        self._doors.table.lift[np.concatenate(plan.doors)] = row
        self._plans[row], self._sessions[row] = plan, LiftSession()
        self.table.floor[row] = self.table.goal[row] = floor
        self.table.height[row] = plan.heights[floor]

    def plan(self, row: int) -> LiftPlan:
        """Return the plan of the lift in `row`."""
        return self._plans[row]

    def session(self, row: int) -> LiftSession:
        """Return whose the lift in `row` is."""
        return self._sessions[row]

    def round_trip(self, row: int) -> float:
        """Return how long in s the lift in `row` takes to come from its farthest floor, and to go back there."""
        table, plan = self.table, self._plans[row]
        rise, speed, accel = float(np.ptp(plan.heights)), float(table.speed[row]), float(table.accel[row])
        travel = rise / speed + speed / accel if rise > speed * speed / accel else 2.0 * float(np.sqrt(rise / accel))
        return 2.0 * travel + 4.0 * float(self._doors.table.time[plan.inner].max(initial=0.0))

    def leaves(self, row: int, leaves: Rows) -> Rows:
        """Return which `leaves` in the plan of the lift in `row` live, and are of its doors still."""
        doors = self._doors.table
        living = doors.among(leaves[self.world.alive[leaves]])
        leaders = np.where(doors.leader[living] == NO_ROW, living, doors.leader[living])
        # The second leaf of a double door belongs to the lift of the first one.
        return np.asarray(living[doors.lift[leaders] == row])

    def fittings(self) -> Rows:
        """Return all parts of lifts and of their doors."""
        doors, rows = self._doors.table, self.world.rows
        leaves = doors.among(rows)
        leaders = np.where(doors.leader[leaves] == NO_ROW, leaves, doors.leader[leaves])
        return np.concatenate((self.table.among(rows), leaves[doors.lift[leaders] != NO_ROW]))

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
        own, table = self._sessions[row], self.table
        asked = (int(table.goal[row]), own.kind, own.name)
        # The same request comes again and again, as fleet managers repeat them.
        if (floor, kind, session) == asked:
            return
        if row in self.riders:
            raise InvalidValueError(f"it is taken by {self.world.label(self.riders[row])!r} on its route")
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
        time = self.world.clock.time
        row = int(self.world.index.rows_named([name])[0])
        try:
            if not (self.rows == row).any():
                raise InvalidValueError("it is not a lift")
            act(row)
        except FleetSimError as error:
            self.refused += 1
            return order.ack(time, (), {name: str(error)})
        return order.ack(time, (name,))

    def send(self, row: int, floor: int, is_open: bool) -> None:
        """Send the lift in `row` to a floor, whoever has it."""
        self.table.goal[row], self.table.opens[row], self.table.busy[row] = floor, is_open, True

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move all lifts by one step."""
        for row in self.rows.tolist():
            # Calls wait while somebody has the lift to himself.
            if not self.table.busy[row] and self._sessions[row].calls and row not in self.riders:
                self._next_call(row)
            if self.table.busy[row] and not self.table.stuck[row]:
                self._go(row, dt)

    def _next_call(self, row: int) -> None:
        table = self.table
        if self.world.clock.time >= table.closes_at[row]:
            self._sessions[row].name = ""
            self.send(row, self._sessions[row].calls.popleft(), True)

    def _go(self, row: int, dt: float) -> None:
        """Go on with what the lift in `row` was told: doors closed, cabin there, doors as they are to be."""
        table, plan = self.table, self._plans[row]
        goal, floor = int(table.goal[row]), int(table.floor[row])
        if table.height[row] == plan.heights[goal]:
            table.floor[row] = goal
            if self._doors_at(row, goal, bool(table.opens[row])):
                table.busy[row] = False
                table.closes_at[row] = self.world.clock.time + table.dwell[row]
                self.world.events.emit("lift_arrived", lift=self.world.handles[row], floor=plan.names[goal])
        elif self._doors_at(row, floor, False):
            self._travel(row, float(plan.heights[goal]), dt)

    def _doors_at(self, row: int, floor: int, is_open: bool) -> bool:
        """Tell the doors of the lift in `row` at a floor to be open or closed; return whether they are."""
        rows = self.leaves(row, self._plans[row].doors[floor])
        set_wanted(self._doors.table, rows, is_open)
        return bool((self._doors.table.opening[rows] == float(is_open)).all())

    def _travel(self, row: int, goal: float, dt: float) -> None:
        """Move the cabin, all that belongs to it and all that stands in it towards a height."""
        table, world, plan = self.table, self.world, self._plans[row]
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
        positions = self.world.position[rows].copy()
        positions[:, 2] += shift
        self.world.place(rows, positions, self.world.orientation[rows])

    def _riders(self, row: int) -> Rows:
        """Return the rows that stand in the cabin in `row`."""
        world = self.world
        rows = world.rows[(world.parent[world.rows] == NO_ROW) & ~fittings_mask(world)[world.rows]]
        return np.asarray(rows[self.inside_mask(row, world.position[rows])])

    def inside_mask(self, row: int, places: Floats) -> Bools:
        """Return which `places` (K, 3) are in the cabin in `row`, on its floor or in its inside above."""
        world, half = self.world, self.table.half[row]
        offsets = places - world.position[row]
        sine, cosine = trig.sin_cos_of(float(quaternions.yaws(world.orientation[row : row + 1])[0]))
        x, y = offsets[:, 0] * cosine + offsets[:, 1] * sine, offsets[:, 1] * cosine - offsets[:, 0] * sine
        # From the floor of the cabin, which is not its middle.
        above = places[:, 2] - self.table.height[row]
        return np.asarray((np.abs(x) <= half[0]) & (np.abs(y) <= half[1]) & (above >= -STEP) & (above <= 2.0 * half[2]))

    def _removed(self, rows: Rows) -> None:
        for row in rows[np.isin(rows, list(self._sessions))].tolist():
            self._sessions[row] = LiftSession()


class LiftHandle(FeatureHandle[Lifts]):
    """A handle of one lift, by its cabin. Raises StaleHandleError once that was removed."""

    feature = "lift"

    @property
    def name(self) -> str:
        """Its name."""
        return self._owner.world.label(self._owner.row)

    @property
    def floors(self) -> tuple[str, ...]:
        """The floors it goes to."""
        return self._part.plan(self._owner.row).names

    @property
    def floor(self) -> str:
        """The floor it is at; between two, the nearer one."""
        row = self._owner.row
        return self._part.plan(row).names[int(self._part.table.floor[row])]

    @property
    def destination(self) -> str:
        """The floor it was sent to."""
        row = self._owner.row
        return self._part.plan(row).names[int(self._part.table.goal[row])]

    @property
    def height(self) -> float:
        """Height of the floor of its cabin in m."""
        return float(self._part.table.height[self._owner.row])

    @property
    def is_busy(self) -> bool:
        """Whether it is still on its way, or its doors are."""
        return bool(self._part.table.busy[self._owner.row])

    @property
    def calls(self) -> tuple[str, ...]:
        """The floors where it is waited for, in the order in which it will come."""
        row = self._owner.row
        names = self._part.plan(row).names
        return tuple(names[floor] for floor in self._part.session(row).calls)

    @property
    def figures(self) -> Mapping[str, float]:
        """`trips` of robots on their routes, `mean_wait_s` and `longest_wait_s` until they had it, and `utilisation`:
        the share of time that they had it."""
        lines = self._owner.world.routes.lifts
        assert isinstance(lines, LiftLines)
        return lines.figures(self._owner.row)

    def call(self, floor: str) -> None:
        """Let it come to `floor`, after those who called before; raises UnknownNameError."""
        row = self._owner.row
        self._part.call(row, self._part.plan(row).floor(floor))

    def __repr__(self) -> str:
        return f"<LiftHandle {self.name!r} at {self.floor!r}>"


ROOM = 0.1
"""Between a robot in front of a lift and the leaves of its doors, in m."""
WIDEST = 3.0
"""A robot whose middle is farther away than this in m from one that gets in or out is not in its way."""


@saved
class WaitingPlace(NamedTuple):
    """Where a robot with a footprint of `radius` m waits for a lift, on a floor of that."""

    floor: int
    x: float
    y: float
    radius: float


@saved
class LiftService(NamedTuple):
    """What a lift did for robots: how many rode, how long in s they had it, and waited, in all and at most."""

    trips: int = 0
    taken: float = 0.0
    waited: float = 0.0
    longest: float = 0.0


class LiftLines(Stateful):
    """Who waits for which lift, in the order in which they asked first, and where (a LiftLine).

    A robot has a lift to itself from when it comes for it until it has left it: calls wait that long, and requests are
    refused. It takes it when nobody else has a session with it.
    """

    STATE = ("_lines", "_places", "_asked", "_taken", "_service")

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` names rows of the world."""
        check_alike(self.save(), saved, "lift_lines")
        lines, places, asked, taken, service = (saved.values[name] for name in self.STATE)
        pairs = [row for pair in (*places, *asked) for row in pair]
        for row in (*lines, *(row for line in lines.values() for row in line), *pairs, *taken, *service):
            check_row(self._world, row)

    def __init__(self, world: World, lifts: Lifts) -> None:
        self._world, self._lifts = world, lifts
        self._lines: dict[int, list[int]] = {}
        self._places: dict[tuple[int, int], WaitingPlace] = {}
        self._asked: dict[tuple[int, int], float] = {}
        """Since when in s robots wait for a lift."""
        self._taken: dict[int, float] = {}
        """Since when in s its rider has a lift."""
        self._service: dict[int, LiftService] = {}
        world.on_remove.append(self._removed)

    # ---- figures -----------------------------------------------------------------------------------------------------

    def figures(self, lift: int) -> dict[str, float]:
        """Return how many robots rode in a lift, how long in s they waited, and for what share of time they had it."""
        done, now = self._service.get(lift, LiftService()), self._world.clock.time
        taken = done.taken + (now - self._taken[lift] if lift in self._taken else 0.0)
        return {
            "trips": done.trips,
            "mean_wait_s": done.waited / max(done.trips, 1),
            "longest_wait_s": done.longest,
            "utilisation": taken / now if now > 0.0 else 0.0,
        }

    def expected_wait(self, lift: int, robot: int, before: int = 0) -> float:
        """Return how long in s those before a robot that comes now will have a lift, if as long as others before.

        These are those in its line, or `before` if that are more.
        """
        line = {*self._lines.get(lift, ()), *(who for where, who in self._places if where == lift)} - {robot}
        done = self._service.get(lift, LiftService())
        each = done.taken / done.trips if done.trips else self._lifts.round_trip(lift)
        return max(len(line), before) * each

    def fittings(self) -> Rows:
        """Return the parts of all lifts and of their doors."""
        return self._lifts.fittings()

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def keep_place(self, lift: int, robot: int, place: WaitingPlace) -> None:
        """Keep a place to wait at for a robot, until it leaves the line."""
        self._places[lift, robot] = place

    def places(self, lift: int, floor: int, robot: int) -> list[WaitingPlace]:
        """Return the places on a floor of a lift that are kept for others than `robot`."""
        return [
            place
            for (where, who), place in self._places.items()
            if where == lift and who != robot and place.floor == floor
        ]

    def line(self, lift: int) -> tuple[int, ...]:
        """Return the robots that wait for a lift or have it, by row."""
        return tuple(self._lines.get(lift, ()))

    # ---- riding ------------------------------------------------------------------------------------------------------

    def ask(self, stop: LiftStop, robot: int) -> bool:
        """Return whether a lift is at a stop for the robot in row `robot`, open, and nobody else in the way.

        Otherwise it comes as soon as it can. Raises InvalidValueError where there is no such lift.
        """
        return self.comes(stop, robot)[1] and self._is_clear(*stop, robot)

    def comes(self, stop: LiftStop, robot: int) -> tuple[bool, bool]:
        """Return whether the robot in row `robot` has a lift, and whether that is at a stop for it, and open.

        Otherwise it comes as soon as it can. Raises InvalidValueError where there is no such lift.
        """
        lift, floor = stop
        if lift not in self._lifts.rows:
            raise InvalidValueError("the lift on its route was removed")
        line = self._lines.setdefault(lift, [])
        # Who asks again keeps its place in the line.
        if robot not in line:
            line.append(robot)
            self._asked[lift, robot] = self._world.clock.time
        table = self._lifts.table
        # First the lift has to be this robot's, then it has to stand still.
        if self._lifts.riders.get(lift) != robot and not self._takes(lift, robot):
            return False, False
        if not table.busy[lift] and (table.goal[lift] != floor or not table.opens[lift]):
            self._lifts.send(lift, floor, True)
        return True, not table.busy[lift]

    def _takes(self, lift: int, robot: int) -> bool:
        """Let a robot have a lift, if it is its turn; return whether it was."""
        own, inside = self._lifts.session(lift), self._stands_in(lift, robot)
        rider = self._lifts.riders.get(lift)
        if rider is not None:
            # Nobody can get in before who stands in the cabin got out.
            if not inside or self._stands_in(lift, rider):
                return False
        else:
            # First who called it, then who is first in the line, or must get out before others get in.
            awaited = own.name or own.calls or self._lifts.table.busy[lift]
            turn = inside or self._lines[lift][0] == robot
            if awaited or not turn or self._world.clock.time < self._lifts.table.closes_at[lift]:
                return False
        self._end_ride(lift)
        self._lifts.riders[lift] = robot
        now, done = self._world.clock.time, self._service.get(lift, LiftService())
        waited = now - self._asked.pop((lift, robot), now)
        self._taken[lift] = now
        self._service[lift] = done._replace(waited=done.waited + waited, longest=max(done.longest, waited))
        own.name = f"route of {self._world.label(robot)}"
        return True

    def leave(self, lift: int, robot: int) -> None:
        """Leave the lift to others; nothing happens where the robot does not wait for it or ride in it."""
        self._places.pop((lift, robot), None)
        self._asked.pop((lift, robot), None)
        if robot in self._lines.get(lift, ()):
            self._lines[lift].remove(robot)
        # Only its own rider gives it back: a session of a fleet manager stays.
        if self._lifts.riders.get(lift) == robot:
            self._end_ride(lift)
            del self._lifts.riders[lift]
            self._lifts.session(lift).name = ""

    def _end_ride(self, lift: int) -> None:
        """Count a ride that ends, if there is one."""
        if lift in self._taken:
            done = self._service[lift]
            taken = done.taken + self._world.clock.time - self._taken.pop(lift)
            self._service[lift] = done._replace(trips=done.trips + 1, taken=taken)

    def _stands_in(self, lift: int, robot: int) -> bool:
        return bool(self._lifts.inside_mask(lift, self._world.position[robot : robot + 1])[0])

    def _is_clear(self, lift: int, floor: int, robot: int) -> bool:
        """Return whether no other robot is in the cabin, or where a robot gets in and out of it."""
        world, plan = self._world, self._lifts.plan(lift)
        rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
        rows = rows[rows != robot]
        above = world.position[rows, 2] - plan.heights[floor]
        # On this floor or in the cabin; robots on other storeys are in nobody's way.
        rows = rows[(above >= -STEP) & (above <= 2.0 * self._lifts.table.half[lift, 2])]
        radius = footprint_radius(world, robot)
        begin, end = world.position[lift, :2], outside(plan.entrances[floor], radius)
        away = distances_to_lines(world.position[rows, :2], begin, end) - radius
        # Footprints are asked for near ones only, as each is computed.
        near = rows[away < WIDEST]
        return all(
            float(gap) > footprint_radius(world, row)
            for row, gap in zip(near.tolist(), away[away < WIDEST], strict=True)
        )

    def _removed(self, rows: Rows) -> None:
        """Forget the lines of lifts in `rows`, and take robots in `rows` out of all lines."""
        for row in rows.tolist():
            self._lines.pop(row, None)
            self._lifts.riders.pop(row, None)
            self._taken.pop(row, None)
            self._service.pop(row, None)
            self._asked = {key: time for key, time in self._asked.items() if row not in key}
            for lift, robot in list(self._places):
                if row in (lift, robot):
                    del self._places[lift, robot]
            for lift in list(self._lines):
                self.leave(lift, row)


def outside(entrance: Entrance, radius: float) -> Floats:
    """Return the place (2,) of a robot with a footprint of `radius` m in front of the doors of a floor."""
    return entrance.middle + (radius + 2.0 * ROOM) * entrance.outward


class LiftFeature(Feature[LiftCabinSettings, LiftColumns]):
    """Lifts: the section `lifts`, `build_lift` in Python; `sim.features.use("lift")` is the Lifts."""

    doc = "Part of a lift; the section `lifts` builds them."
    settings = LiftCabinSettings
    table = LiftColumns

    def start(self, host: FeatureHost, table: LiftColumns) -> Lifts:
        """Move cabins before doors and robots."""
        lifts = Lifts(host.world, table, host.world.features.use("door"))
        host.pipeline.add(System("lifts", Phase.UPDATE, lifts.step), before="doors")
        host.dispatcher.handle(CallLift, lifts.handle_call)
        host.dispatcher.handle(RequestLift, lifts.handle_request)
        host.checkpoints.register_late("lifts", lifts)
        lines = LiftLines(host.world, lifts)
        host.world.routes.lifts = lines
        host.checkpoints.register_late("lift_lines", lines)
        return lifts

    def enter(self, part: Lifts, table: LiftColumns, rows: Rows) -> None:
        """Take in what `build_lift` spawns; raises InvalidValueError for anything else."""
        if not part.building:
            raise InvalidValueError("a lift has floors and doors; add it to the section `lifts`, or call build_lift")

    def handle(self, entity: Any, table: LiftColumns) -> LiftHandle:
        """Return the LiftHandle of `entity`."""
        return LiftHandle(entity, entity.world.features.use("lift"))

    def details(self, table: LiftColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say where the cabin is and where it goes; of its walls, too."""
        cabin = row if table.cabin[row] == NO_ROW else int(table.cabin[row])
        goes = f", goes to {table.goal[cabin]}" if table.goal[cabin] != table.floor[cabin] else ""
        return [("lift", f"at floor {table.floor[cabin]}{goes}")]


FEATURE = LiftFeature()
