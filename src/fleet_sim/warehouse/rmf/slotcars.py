"""All slotcars of a simulation: they follow paths from waypoint to waypoint, pause, dock, charge, and look out.

Each follows the waypoints that its fleet manager has sent: it turns first, then drives, and waits while something that
can move is right before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.limits import LARGEST_SIZE, LARGEST_SPEED
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.warehouse.equipment.fittings import fittings_mask
from fleet_sim.warehouse.rmf.chargers import Chargers
from fleet_sim.world import steering
from fleet_sim.world.checkpoint import check_alike, check_row
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, command
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import DriveRule, FeatureRows, World

# How slotcars drive: the speeds that they take next, of all at once.


TURN_FIRST = np.radians(5.0)
"""A slotcar that has to turn by more than this stands meanwhile."""
CREEP = 1e-4
"""Slower than this counts as standing."""


def next_rates(ways: Floats, rates: Floats, tops: Floats, usual: Floats, most: Floats, dt: float) -> Floats:
    """Return the rates (N,) after `dt` s, on `ways` (N,) that are left, with a sign, to come to rest at their ends.

    `tops` limit rates; `usual` accelerations are kept where they are enough, and `most` where they are not.
    """
    now = np.where(np.abs(rates) < CREEP, 0.0, rates)
    stop_mask = (ways == 0.0) | ((now != 0.0) & (np.signbit(now) != np.signbit(ways)))
    braked = now - np.copysign(np.minimum(np.abs(now), most * dt), now)
    # What it takes to come to rest just there, if it begins now.
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(ways == 0.0, 0.0, -now * now / (2.0 * np.where(ways == 0.0, 1.0, ways)))
    needed = np.copysign(np.minimum(np.abs(needed), most), needed)
    # No faster than a step leads to the end.
    change = np.copysign(np.minimum(np.abs(ways) / dt, tops), ways) - now
    usually = now + np.copysign(np.minimum(np.abs(change), usual * dt), change)
    return np.where(stop_mask, braked, np.where(np.abs(needed) >= usual, now + needed * dt, usually))


def turns_to(yaws: Floats, ways: Floats, reversible: Bools) -> tuple[Floats, Floats]:
    """Return by how much (N,) in rad to turn to drive along `ways` (N, 2), and whether forwards (1) or backwards."""
    turns = wrapped(trig.arctan2(ways[:, 1], ways[:, 0]) - yaws)
    back_mask = reversible & (np.abs(turns) > 0.5 * np.pi)
    turns = np.where(back_mask, wrapped(turns + np.pi), turns)
    # Right at its place a robot has no way that it could turn along.
    turns = np.where(trig.hypot(ways[:, 0], ways[:, 1]) < 1e-3, 0.0, turns)
    return turns, np.where(back_mask, -1.0, 1.0)


# What a slotcar does, where it is sent to, and how it is paused; the numbers are those of Open-RMF's messages.


class SlotcarMode(IntEnum):
    """What a slotcar does at present."""

    IDLE = 0
    CHARGING = 1
    MOVING = 2
    PAUSED = 3
    WAITING = 4
    EMERGENCY = 5
    GOING_HOME = 6
    DOCKING = 7
    ADAPTER_ERROR = 8
    CLEANING = 9
    PERFORMING_ACTION = 10
    ACTION_COMPLETED = 11


class Pause(IntEnum):
    """Whether a slotcar is to stand still."""

    IMMEDIATELY = 0
    AT_CHECKPOINT = 1
    RESUME = 2


@saved
class Waypoint(NamedTuple):
    """A place to go to: x, y in m and yaw in rad, when it is expected there, and how fast it may come there."""

    x: float
    y: float
    yaw: float = 0.0
    time: int = 0
    """In ns, as the request says it; it is told again, and nothing waits for it."""
    limit: float = 0.0
    """In m/s, of the way there; 0: none."""
    obeys: bool = False
    """Whether `limit` counts."""
    level: str = ""
    number: int = 0


# Actions that slotcars perform: they take carts along, and leave them.


CART_REACH = 1.0
"""A cart this near in m is attached."""
HARMLESS = "dispensable"
"""Objects with this in their names are carts, and in nobody's way."""


def perform(world: World, row: int, action: str) -> SlotcarMode:
    """Do what the slotcar in `row` is to perform; return its mode afterwards. What is unknown it leaves."""
    robot = world.handles[row]
    if action == "attach_cart":
        return SlotcarMode.ACTION_COMPLETED if _attach(world, row, robot) else SlotcarMode.IDLE
    if action == "detach_cart":
        for cart in robot.get_attached_objects():
            robot.detach_object(cart)
        return SlotcarMode.ACTION_COMPLETED
    return SlotcarMode.IDLE


def _attach(world: World, row: int, robot: Any) -> bool:
    """Attach the nearest cart; return whether there is one within reach, or one already."""
    if robot.get_attached_objects():
        return True
    names = world.index.names
    free = world.rows[world.parent[world.rows] == NO_ROW].tolist()
    rows = [one for one in free if HARMLESS in (names[one] or "").lower()]
    if not rows:
        return False
    offsets = world.position[rows] - world.position[row]
    gaps = np.sqrt((offsets * offsets).sum(axis=1))
    nearest = int(gaps.argmin())
    if gaps[nearest] > CART_REACH:
        return False
    robot.attach_object(world.handles[rows[nearest]], keep_world_pose=True)
    return True


# Commands to slotcars and chargers, each to one by its name.


class SlotcarCommand(Command):
    """Base of the commands that the feature `slotcar` carries out."""

    feature: ClassVar[str] = "slotcar"


@command("follow_waypoints")
class FollowWaypoints(SlotcarCommand):
    """Follow a path, whose first waypoint is where the robot is. The same task again changes nothing."""

    robot: str
    task: str
    path: tuple[Waypoint, ...]


@command("set_slotcar_mode")
class SetSlotcarMode(SlotcarCommand):
    """Take a mode; `action` is what is to be performed in that of the same name."""

    robot: str
    mode: int = int(SlotcarMode.IDLE)
    request: int = 0
    action: str = ""


@command("pause_slotcar")
class PauseSlotcar(SlotcarCommand):
    """Pause at once, or from the waypoint with the index `checkpoint` on, or go on."""

    robot: str
    pause: int = int(Pause.IMMEDIATELY)
    request: int = 0
    checkpoint: int = 0


@command("request_charge")
class RequestCharge(SlotcarCommand):
    """Keep a charger for a robot, which has `timeout` s to come, 0: no limit. The same request changes nothing."""

    charger: str
    robot: str
    fleet: str = ""
    request: str = ""
    timeout: float = 0.0


@command("cancel_charge")
class CancelCharge(SlotcarCommand):
    """End the charge that a request began, or give up the robot that it waits for."""

    charger: str
    request: str


@saved
@dataclass
class SlotcarTask:
    """What numbers cannot say of a slotcar: its task, the waypoints that are left, and the action it performs."""

    task: str = ""
    left: list[Waypoint] = field(default_factory=list)
    told: list[Waypoint] = field(default_factory=list)
    """What is left of the path as others see it: the old one, while a new one began too far away."""
    action: str = ""
    last: Waypoint | None = None

    def copy(self) -> SlotcarTask:
        """Return it with paths of its own."""
        return replace(self, left=self.left.copy(), told=self.told.copy())


# The columns of slotcars.


class SlotcarColumns(FeatureColumns):
    """Where each slotcar is on its path, what it does, and how it drives."""

    mode: Bytes = column(np.uint8, default=2, writer="Slotcars", doc="a SlotcarMode")
    mode_request: Ints = column(np.int64, writer="SetSlotcarMode", doc="number of the latest request for a mode")
    pause: Bytes = column(np.uint8, default=2, writer="PauseSlotcar", doc="a Pause")
    pause_request: Ints = column(np.int64, writer="PauseSlotcar", doc="number of the latest request to pause")
    checkpoint: Ints = column(np.int64, writer="PauseSlotcar", doc="index of the waypoint from which on it is paused")
    has_path: Bools = column(bool, writer="FollowWaypoints", doc="drives, or turns to the yaw of its last waypoint")
    at_end: Bools = column(bool, writer="Slotcars", doc="has passed all waypoints, and only turns")
    error: Bools = column(bool, writer="FollowWaypoints", doc="the latest path began too far away")
    rotating: Bools = column(bool, writer="Slotcars", doc="turned at a waypoint where it is paused")
    next_index: Ints = column(
        np.int64, writer="Slotcars", doc="index of the waypoint it drives to, as the path says it"
    )
    target: Floats = column(float, (2,), unit="m", frame="world", writer="Slotcars", doc="where it drives to")
    target_yaw: Floats = column(float, unit="rad", frame="world", writer="Slotcars", doc="yaw of that waypoint")
    limit: Floats = column(float, default=np.inf, unit="m/s", writer="Slotcars", doc="on the way there")
    # What is only told of them is no part of the hash: a run that is repeated has no node, which knows levels.
    level: Ints = column(
        np.int64, default=-1, writer="Slotcars", doc="number of the level it was on last, -1: none yet", hashed=False
    )
    sequence: Ints = column(
        np.int64, writer="the interface", doc="number of the state that was published last", hashed=False
    )

    speed: Floats = column(float, default=0.5, unit="m/s", writer="spawning")
    acceleration: Floats = column(float, default=0.25, unit="m/s2", writer="spawning")
    max_acceleration: Floats = column(float, default=0.75, unit="m/s2", writer="spawning")
    turn_speed: Floats = column(float, default=0.6, unit="rad/s", writer="spawning")
    turn_acceleration: Floats = column(float, default=1.5, unit="rad/s2", writer="spawning")
    max_turn_acceleration: Floats = column(float, default=2.0, unit="rad/s2", writer="spawning")
    stop_distance: Floats = column(float, default=0.75, unit="m", writer="spawning")
    stop_radius: Floats = column(float, default=0.75, unit="m", writer="spawning")
    reversible: Bools = column(bool, writer="spawning")


STATIC = CollisionMode.STATIC.code
CLOSE = 0.02
"""This near in m to a waypoint it counts as reached, or twice this far where it turned there."""
STILL = 0.01
"""Slower than this in m/s or rad/s a robot is stationary."""
LEVEL_REACH = 0.1
"""This near in m to the height of a level a robot is on it; between levels it stays on the last one."""


class OnPath(DriveRule):
    """A slotcar that follows a path is driven by that; who stops it, ends it."""

    reason = "it follows a path of its fleet manager"

    def __init__(self, slotcars: Slotcars) -> None:
        self._slotcars = slotcars

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` follow a path and have not come to its end."""
        table = self._slotcars.table
        refused: Bools = table.present[rows] & table.has_path[rows] & ~table.at_end[rows]
        return refused

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Let robots that are stopped leave their paths."""
        self._slotcars.forget_paths(rows)


class Slotcars(FeatureRows[SlotcarColumns], Stateful):
    """Drives slotcars in each step. `levels` are the heights of levels in m, `chargers` those of the building."""

    STATE = ("_tasks", "chargers")

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` are tasks of rows of the world, and chargers."""
        check_alike(self.save(), saved, "slotcars")
        for row in saved.values["_tasks"]:
            check_row(self.world, row)

    def __init__(self, world: World, table: SlotcarColumns) -> None:
        super().__init__(world, table)
        self.levels: dict[str, float] = {}
        self.chargers = Chargers(world)
        self.refused = 0
        """Requests that were refused, or were for nobody here."""
        self._tasks: dict[int, SlotcarTask] = {}
        world.drive_rules.append(OnPath(self))
        world.on_remove.append(self._removed)

    def tasks(self, row: int) -> SlotcarTask:
        """Return the task and the path of the slotcar in `row`."""
        return self._tasks.setdefault(row, SlotcarTask())

    def level_names(self, rows: Rows) -> list[str]:
        """Return the levels that `rows` are on, or were on last; "" before they were on any."""
        names = ["", *self.levels]
        return [names[number + 1] for number in self.table.level[rows].tolist()]

    def shown_modes(self, rows: Rows) -> list[int]:
        """Return the modes of `rows` as they are told: an error of the path counts most."""
        return np.where(self.table.error[rows], int(SlotcarMode.ADAPTER_ERROR), self.table.mode[rows]).tolist()

    # ---- paths -------------------------------------------------------------------------------------------------------

    def start_path(self, row: int, task: str, path: tuple[Waypoint, ...]) -> None:
        """Let the slotcar in `row` follow `path`; where that begins too far away it stays, and tells an error."""
        own, table = self.tasks(row), self.table
        own.task = task
        first, place = path[0], self.world.position[row]
        # A path that begins more than 1 m away is for another place.
        too_far = trig.hypot_of(first.x - float(place[0]), first.y - float(place[1])) > 1.0
        table.error[row] = too_far
        table.has_path[row], table.rotating[row] = True, False
        if too_far:
            yaw = float(quaternions.yaws(self.world.orientation[row : row + 1])[0])
            own.left = [Waypoint(float(place[0]), float(place[1]), yaw)]
            own.last = own.left[-1]
        else:
            own.left, own.last = list(path[1:]), path[-1]
            own.told = list(path[1:])
        self._aim(row)

    def forget_paths(self, rows: Rows) -> None:
        """Let `rows` follow no path any more."""
        table = self.table
        rows = rows[table.present[rows]]
        table.has_path[rows] = False
        for row in rows.tolist():
            own = self.tasks(row)
            own.left, own.told = [], []

    def _aim(self, row: int) -> None:
        """Write the next waypoint of the slotcar in `row` to its columns, or the yaw of the last."""
        own, table = self.tasks(row), self.table
        table.at_end[row] = not own.left
        goal = own.left[0] if own.left else own.last
        assert goal is not None
        table.target[row] = goal.x, goal.y
        table.target_yaw[row] = goal.yaw
        table.limit[row] = goal.limit if goal.obeys and goal.limit > 0.0 else np.inf
        table.next_index[row] = own.told[0].number if own.told else 0

    def _pass_waypoint(self, row: int) -> None:
        own = self.tasks(row)
        own.left.pop(0)
        # After an error the place that it stays at is no part of the path that is told.
        if own.told and not self.table.error[row]:
            own.told.pop(0)
        self._aim(row)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Decide what all slotcars do in this step, and at which speeds they drive."""
        rows, table = self.rows, self.table
        still = self._stationary(rows)
        at_charger = self.chargers.look(rows, still)
        if not len(rows):
            return
        self._find_levels(rows)
        self._take_modes(rows, still, at_charger)
        # Carried robots are moved by their carrier.
        rows = rows[table.has_path[rows] & (self.world.parent[rows] == NO_ROW)]
        if len(rows):
            self._drive(rows, dt)

    def _stationary(self, rows: Rows) -> Bools:
        world = self.world
        speed = trig.hypot(world.velocity[rows, 0], world.velocity[rows, 1])
        return np.asarray((speed < STILL) & (np.abs(world.angular_velocity[rows, 2]) < STILL))

    def _find_levels(self, rows: Rows) -> None:
        """Note the level that each of `rows` stands on; between two levels the last one stays."""
        heights = np.array(list(self.levels.values()))
        if len(heights):
            # Robots stand on the floor by their lowest points, or have their origins on it.
            origins = self.world.position[rows, 2]
            feet = origins - self.world.half_extents[rows, 2]
            gaps = np.minimum(np.abs(feet[:, None] - heights[None]), np.abs(origins[:, None] - heights[None]))
            nearest = gaps.argmin(axis=1)
            # The first level is the nearest one, wherever that is: who is on none would be on no map.
            on_mask = (gaps[np.arange(len(rows)), nearest] < LEVEL_REACH) | (self.table.level[rows] < 0)
            self.table.level[rows[on_mask]] = nearest[on_mask]

    def _take_modes(self, rows: Rows, still: Bools, charging: Bools) -> None:
        """Set the modes that follow from whether robots are charged and whether they move."""
        table = self.table
        modes = table.mode[rows]
        acting = np.flatnonzero(~charging & (modes == SlotcarMode.PERFORMING_ACTION))
        kept = (modes == SlotcarMode.DOCKING) | (modes == SlotcarMode.ACTION_COMPLETED)
        after = np.where(kept, modes, np.where(still, int(SlotcarMode.IDLE), int(SlotcarMode.MOVING)))
        after[charging] = int(SlotcarMode.CHARGING)
        for index in acting.tolist():
            after[index] = int(perform(self.world, int(rows[index]), self.tasks(int(rows[index])).action))
        conditions = conditions_of(self.world)
        if conditions is not None:
            stopped = conditions.emergency_stop[rows] > 0
            after[(conditions.faults[rows] != 0) | conditions.halted[rows]] = int(SlotcarMode.ADAPTER_ERROR)
            after[stopped] = int(SlotcarMode.EMERGENCY)
        table.mode[rows] = after

    def _drive(self, rows: Rows, dt: float) -> None:
        """Give `rows`, which have a path, the speeds of this step."""
        world, table = self.world, self.table
        ways = table.target[rows] - world.position[rows, :2]
        gaps = trig.hypot(ways[:, 0], ways[:, 1])
        close = ~table.at_end[rows] & (gaps < np.where(table.rotating[rows], 2.0 * CLOSE, CLOSE))
        now_mask, conditions = table.pause[rows] == Pause.IMMEDIATELY, conditions_of(world)
        if conditions is not None:
            now_mask = now_mask | conditions.halted[rows]
        paused = now_mask | (
            (table.pause[rows] == Pause.AT_CHECKPOINT) & (table.checkpoint[rows] <= table.next_index[rows])
        )
        # It may only turn at its waypoint until the pause ends.
        waits = close & paused
        table.rotating[rows] = waits
        for row in rows[close & ~paused].tolist():
            self._pass_waypoint(row)
        # Targets have changed where waypoints were passed.
        ways = table.target[rows] - world.position[rows, :2]
        yaws = quaternions.yaws(world.orientation[rows])
        turns, ahead = turns_to(yaws, ways, table.reversible[rows])
        stands = waits | table.at_end[rows]
        turns = np.where(stands, quaternions.wrapped(table.target_yaw[rows] - yaws), turns)
        # First it turns, then it drives.
        drives = ~stands & (np.abs(turns) < TURN_FIRST)
        lengths = np.where(drives, ahead * trig.hypot(ways[:, 0], ways[:, 1]), 0.0)
        blocked = drives & ~now_mask & self._in_the_way(rows, yaws)
        told = waits | now_mask if conditions is None else (waits | now_mask) & ~conditions.halted[rows]
        table.mode[rows[told]] = int(SlotcarMode.PAUSED)
        table.mode[rows[blocked]] = int(SlotcarMode.WAITING)
        # At once: no way is left in this step.
        lengths[now_mask | blocked] = 0.0
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        # State feedback: from how fast it really is, which is 0 before a closed door.
        tops = np.minimum(table.speed[rows], table.limit[rows]) * (1.0 if conditions is None else conditions.pace[rows])
        body = world.motion
        usual, most = table.acceleration[rows], table.max_acceleration[rows]
        linear[:, 0] = next_rates(lengths, body.body_linear[rows, 0], tops, usual, most, dt)
        usual, most = table.turn_acceleration[rows], table.max_turn_acceleration[rows]
        angular[:, 2] = next_rates(turns, body.body_angular[rows, 2], table.turn_speed[rows], usual, most, dt)
        steering.give_velocities(world, rows, linear, angular, 0.0)

    def _in_the_way(self, rows: Rows, yaws: Floats) -> Bools:
        """Return which of `rows` have something that can move in the area before them."""
        # Fixed things are on the map of the fleet manager: only what can move is looked out for.
        world, table = self.world, self.table
        free = (world.collision_mode[world.rows] != STATIC) & (world.parent[world.rows] == NO_ROW)
        others = world.rows[free & ~fittings_mask(world)[world.rows]]
        names = world.index.names
        others = others[[HARMLESS not in (names[row] or "").lower() for row in others.tolist()]]
        sines, cosines = trig.sin_cos(yaws)
        zone = world.position[rows].copy()
        zone[:, 0] += table.stop_distance[rows] * cosines
        zone[:, 1] += table.stop_distance[rows] * sines
        offsets = world.position[others][None] - zone[:, None]
        near = (offsets * offsets).sum(axis=2) < (table.stop_radius[rows] ** 2)[:, None]
        return np.asarray((near & (others[None] != rows[:, None])).any(axis=1))

    def _removed(self, rows: Rows) -> None:
        for row in rows.tolist():
            self._tasks.pop(row, None)


# What is written under `slotcar:` in the entry of a robot.


@dataclass
class SlotcarSettings(Checked):
    """How a robot follows the paths that a fleet manager sends."""

    speed: float = setting(0.5, low=0.01, high=LARGEST_SPEED, unit="m/s", doc="Speed at which it drives.")
    acceleration: float = setting(0.25, low=1e-3, high=1e3, unit="m/s^2", doc="At which it usually speeds up.")
    max_acceleration: float = setting(0.75, low=1e-3, high=1e3, unit="m/s^2", doc="At which it stops where it must.")
    turn_speed: float = setting(0.6, low=0.01, high=100.0, unit="rad/s", doc="Speed at which it turns.")
    turn_acceleration: float = setting(
        1.5, low=1e-3, high=1e3, unit="rad/s^2", doc="At which it usually starts to turn."
    )
    max_turn_acceleration: float = setting(2.0, low=1e-3, high=1e3, unit="rad/s^2", doc="At which it can stop turning.")
    stop_distance: float = setting(
        0.75, low=0.0, high=LARGEST_SIZE, unit="m", doc="Middle of the area before it that must be free."
    )
    stop_radius: float = setting(
        0.75, low=0.0, high=LARGEST_SIZE, unit="m", doc="Radius of that area; 0: it does not look out."
    )
    reversible: bool = setting(True, doc="Whether it also drives backwards.")
