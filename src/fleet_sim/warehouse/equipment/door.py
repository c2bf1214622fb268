"""Doors: they open and close, by command or for robots that come near.

The key `door` of an object's entry, which `setup.cfg` declares as a feature, makes it a leaf; `building.py` builds
whole doors. A door is named after its leading leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.limits import LARGEST_EXTENT, LARGEST_SIZE
from fleet_sim.base.params import Mode
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ShapeArrays
from fleet_sim.robots.drive import Recipients
from fleet_sim.robots.sim_object import FeatureHandle
from fleet_sim.sensing.collision.bounds import active_mask, shape_arrays, world_aabbs
from fleet_sim.warehouse.equipment.fittings import STATIC, InFrame, approach, fittings_mask
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, command
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import FeatureRows, World

NARROWEST = 0.05
"""The narrowest passage in m."""


class DoorKind(Mode):
    """How a door opens: its leaf slides or swings; `double` ones have two leaves that part in the middle."""

    SLIDING = "sliding"
    DOUBLE_SLIDING = "double_sliding"
    SWING = "swing"
    DOUBLE_SWING = "double_swing"

    @property
    def is_double(self) -> bool:
        """Whether it has two leaves."""
        return self in (DoorKind.DOUBLE_SLIDING, DoorKind.DOUBLE_SWING)

    @property
    def swings(self) -> bool:
        """Whether its leaves turn."""
        return self in (DoorKind.SWING, DoorKind.DOUBLE_SWING)


class DoorMode(Mode):
    """What a door is at present."""

    CLOSED = "closed"
    MOVING = "moving"
    OPEN = "open"


@dataclass(kw_only=True)
class DoorMotion(Checked):
    """How a door moves, as its leaves and whole doors are told."""

    time: float = time_setting(3.0, low=0.05, doc="From closed to open.")
    open: bool = setting(False, doc="Whether it is open at first.")
    automatic: float = setting(
        0.0, low=0.0, high=LARGEST_EXTENT, unit="m", doc="Robots this near on its floor open it; 0: by commands only."
    )
    hold: float = time_setting(2.0, doc="How long it stays open when no robot is near any more.")
    guarded: bool = setting(True, doc="Whether it waits to close while a body is in its way.")


@dataclass
class DoorLeafSettings(DoorMotion):
    """A leaf: an object that moves between the pose it is spawned at, where it is closed, and another one."""

    slide: float = setting(
        0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="How far it slides along its own x axis to be open."
    )
    swing: float = setting(0.0, low=-math.pi, high=math.pi, unit="rad", doc="How far it turns to be open.")
    hinge: float = setting(
        0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Where on its x axis it turns; 0: about its origin."
    )


@dataclass
class DoorSettings(DoorMotion):
    """A door in the passage between two points."""

    name: str = setting(doc="Unique name; the second leaf of a double one is called <name>_b.")
    begin: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="One end: single leaves have their hinge there."
    )
    end: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="The other end: single leaves slide away from it."
    )
    kind: DoorKind = setting(DoorKind.SLIDING, doc="How it opens.")
    floor: float = setting(0.0, low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Height of the floor there.")
    height: float = setting(2.2, above=0.0, high=LARGEST_SIZE, unit="m", doc="How tall it is.")
    thickness: float = setting(0.05, above=0.0, high=10.0, unit="m", doc="Of its leaves.")
    degrees: float = setting(90.0, low=1.0, high=180.0, unit="deg", doc="How far leaves swing.")
    direction: int = setting(
        1, low=-1, high=1, doc="1: leaves swing to the left, seen from begin to end; -1: to the right."
    )
    ratio: float = setting(
        1.0, low=0.01, high=100.0, doc="Width of the leaf at `end` by that of the one at `begin`, of a double door."
    )
    color: tuple[float, float, float, float] = setting(
        (0.55, 0.36, 0.2, 1.0), low=0.0, high=1.0, doc="Red, green, blue and opacity."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < NARROWEST:
            raise InvalidValueError(
                f"begin and end: they are {self.width:g} m apart; a passage has {NARROWEST:g} m or more"
            )
        if self.direction == 0:
            raise InvalidValueError("direction: must be 1 or -1, got 0")

    @property
    def width(self) -> float:
        """Width of the passage in m."""
        return trig.hypot_of(self.end[0] - self.begin[0], self.end[1] - self.begin[1])


Entries = list[DoorSettings]


@dataclass
class DoorsSettings(Checked):
    """The doors of a scenario."""

    site: bool = setting(True, doc="Whether the doors that the site describes are built.")
    time: float = time_setting(3.0, low=0.05, doc="`time` of the doors of the site.")
    automatic: float = setting(0.0, low=0.0, high=LARGEST_EXTENT, unit="m", doc="`automatic` of the doors of the site.")
    list: Entries = setting(factory=lambda: [], doc="More doors.")


@command("move_doors")
class MoveDoors(Command):
    """Open doors, or close them (`open=False`), by their names."""

    feature: ClassVar[str] = "door"

    names: tuple[str, ...]
    open: bool = True


class DoorColumns(FeatureColumns):
    """Where each leaf is between closed and open, and where that is. Leaves with a leader move as it does."""

    opening: Floats = column(float, writer="Doors", doc="0 closed, 1 open")
    rate: Floats = column(float, unit="1/s", writer="Doors", doc="change of `opening`")
    wanted: Bools = column(bool, writer="MoveDoors, DoorHandle, Doors", doc="is to be open")
    called: Bools = column(bool, writer="MoveDoors, DoorHandle", doc="was told to be open, and stays so")
    held: Bools = column(bool, writer="Doors", doc="waits to close, as something is in its way")
    stuck: Bools = column(bool, writer="disturbances", doc="does not move", hashed=False)
    leader: Ints = column(int, default=NO_ROW, writer="build_door", reference=True, doc="leaf of the same door")
    lift: Ints = column(int, default=NO_ROW, writer="build_lift", reference=True, doc="the lift that commands it")
    open_until: Floats = column(float, unit="s", writer="Doors", doc="an automatic door stays open until then")
    asked_until: Floats = column(float, unit="s", writer="Doors", doc="robots asked it to be open until then")

    closed_position: Floats = column(float, (3,), unit="m", frame="world", writer="spawning, Lifts", doc="when closed")
    closed_yaw: Floats = column(float, unit="rad", frame="world", writer="spawning", doc="when closed")
    slide: Floats = column(float, unit="m", frame="body", writer="spawning", doc="along x to be open")
    swing: Floats = column(float, unit="rad", writer="spawning", doc="to be open")
    hinge: Floats = column(float, unit="m", frame="body", writer="spawning", doc="on x")
    time: Floats = column(float, default=1.0, unit="s", writer="spawning", doc="from closed to open")
    automatic: Floats = column(float, unit="m", writer="spawning", doc="opens for robots this near; 0: never")
    hold: Floats = column(float, unit="s", writer="spawning", doc="stays open when nobody is near any more")
    guarded: Bools = column(bool, writer="spawning", doc="waits to close while a body is in its way")


class DoorHandle(FeatureHandle[DoorColumns]):
    """A handle of one door, by its leaf. Raises StaleHandleError once the leaf was removed."""

    feature = "door"

    @property
    def _row(self) -> int:
        row = self._owner.row
        leader = int(self._part.leader[row])
        return row if leader == NO_ROW else leader

    @property
    def name(self) -> str:
        """The name of the door."""
        return self._owner.world.label(self._row)

    @property
    def opening(self) -> float:
        """How far it is open: 0 closed, 1 open."""
        return float(self._part.opening[self._row])

    @property
    def mode(self) -> DoorMode:
        """Whether it is open, closed or moving."""
        return modes_of(self._part, np.array([self._row]))[0]

    @property
    def is_held(self) -> bool:
        """Whether it waits to close, as a body is in its way."""
        return bool(self._part.held[self._row])

    def open(self) -> None:
        """Open it; it stays open until `close`."""
        set_wanted(self._part, np.array([self._row]), True)

    def close(self) -> None:
        """Close it; an automatic one opens again for robots."""
        set_wanted(self._part, np.array([self._row]), False)

    def __repr__(self) -> str:
        return f"<DoorHandle {self.name!r}: {self.mode}>"


STEPS_UP = 0.5
"""A robot this much in m below the foot of a door, or less, is on its floor."""
SHARE = 0.25
"""Share of its time in which a leaf speeds up, and again in which it slows down."""


def modes_of(table: DoorColumns, doors: Rows) -> list[DoorMode]:
    """Return what `doors` are at present."""
    ends = {0.0: DoorMode.CLOSED, 1.0: DoorMode.OPEN}
    return [ends.get(opening, DoorMode.MOVING) for opening in table.opening[doors].tolist()]


def set_wanted(table: DoorColumns, doors: Rows, is_open: bool) -> None:
    """Let `doors` open, and stay open, or close. A second time it changes nothing."""
    table.called[doors] = table.wanted[doors] = is_open
    table.open_until[doors] = 0.0


class Doors(FeatureRows[DoorColumns]):
    """Moves all leaves in each step. A door is named after its leading leaf."""

    def __init__(self, world: World, table: DoorColumns) -> None:
        super().__init__(world, table)
        world.collision_rules.add(InFrame(world))

    @property
    def rows(self) -> Rows:
        """The leading leaves of all doors."""
        leaves = super().rows
        return leaves[self.table.leader[leaves] == NO_ROW]

    def modes(self, doors: Rows) -> list[DoorMode]:
        """Return what `doors` are at present."""
        return modes_of(self.table, doors)

    # ---- for robots on their way -----------------------------------------------------------------------------------

    def opening_for_robots(self) -> Rows:
        """Return the automatic doors; others open by commands only, and those of lifts where these stop."""
        leaders = self.rows
        return leaders[(self.table.automatic[leaders] > 0.0) & (self.table.lift[leaders] == NO_ROW)]

    def parts_of(self, passage: int) -> Rows:
        """Return the leaves of the door in the row `passage`."""
        return self._leaves_of(np.array([passage]))

    def poses_at(self, parts: Rows, opening: float) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and orientations (N, 4) of leaves of a door that is open by `opening`."""
        positions, yaws = self._poses(parts, np.full(len(parts), opening))
        return positions, quaternions.from_yaws(yaws)

    def reach(self, parts: Rows, opening: float, points: Floats, radius: float) -> Bools:
        """Return which `points` (N, 2) are nearer than `radius` m to leaves of a door that is open by `opening`."""
        shapes = shape_arrays(self.world, parts).at(*self.poses_at(parts, opening))
        return near_mask(shapes, points, radius)

    def are_open(self, passages: Rows) -> Bools:
        """Return which doors (N,) are open, wholly."""
        return np.asarray(self.table.opening[passages] == 1.0)

    def keep_open(self, passages: Rows, seconds: float = 0.0) -> None:
        """Let doors be open in the next step and for `seconds`, and then as long as after any robot (`hold`)."""
        table, clock = self.table, self.world.clock
        until = clock.time + seconds + table.hold[passages] + 1.5 * clock.seconds(1)
        table.asked_until[passages] = np.maximum(table.asked_until[passages], until)

    # ---- commands ----------------------------------------------------------------------------------------------------

    def move(self, order: MoveDoors) -> Recipients:
        """Carry out a MoveDoors."""
        # What is not there was to be a door, not a robot.
        to = Recipients(self.world, order.names, "there is no door of that name")
        to.keep(self.table.present[to.rows], "it is not a door")
        to.keep(self.table.leader[to.rows] == NO_ROW, "it is the second leaf of a door, which has another name")
        to.keep(self.table.lift[to.rows] == NO_ROW, "it is a door of a lift, which opens it where it stops")
        set_wanted(self.table, to.rows, bool(order.open))
        return to

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move all leaves by one step, and tell which doors came to be open, closed or moving."""
        leaders, table = self.rows, self.table
        if not len(leaders):
            return
        self._see_robots(leaders[table.automatic[leaders] > 0.0])
        goals = table.wanted[leaders].astype(np.float64)
        busy = leaders[((table.opening[leaders] != goals) | (table.rate[leaders] != 0.0)) & ~table.stuck[leaders]]
        if not len(busy):
            return
        before, goals = table.opening[busy], table.wanted[busy].astype(np.float64)
        speeds = 1.0 / ((1.0 - SHARE) * table.time[busy])
        after, rates = approach(before, table.rate[busy], goals, speeds, speeds / (SHARE * table.time[busy]), dt)
        # Where something is in the way a door stands still, and goes on when that is gone.
        held = self._held(busy, after < before)
        table.held[busy] = held
        table.opening[busy] = np.where(held, before, after)
        table.rate[busy] = np.where(held, 0.0, rates)
        self.place(busy)
        self._tell(busy, before)

    def place(self, leaders: Rows) -> None:
        """Write the poses of all leaves of the doors in `leaders`, as far open as these are."""
        world, table = self.world, self.table
        rows = self._leaves_of(leaders)
        openings = table.opening[np.where(table.leader[rows] == NO_ROW, rows, table.leader[rows])]
        table.opening[rows] = openings
        positions, yaws = self._poses(rows, openings)
        world.place(rows, positions, quaternions.from_yaws(yaws))

    def _leaves_of(self, leaders: Rows) -> Rows:
        leaves = self.table.among(self.world.rows)
        heads = np.where(self.table.leader[leaves] == NO_ROW, leaves, self.table.leader[leaves])
        return leaves[np.isin(heads, leaders)]

    def _poses(self, rows: Rows, openings: Floats) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and yaws (N,) of leaves that are open by `openings` (N,)."""
        table = self.table
        closed = table.closed_yaw[rows]
        yaws = closed + openings * table.swing[rows]
        sines, cosines = trig.sin_cos(closed)
        turned_sines, turned_cosines = trig.sin_cos(yaws)
        slides, hinges = openings * table.slide[rows], table.hinge[rows]
        positions = table.closed_position[rows].copy()
        # From the middle to the hinge as it was, and from there back as it is turned.
        positions[:, 0] += slides * cosines + hinges * (cosines - turned_cosines)
        positions[:, 1] += slides * sines + hinges * (sines - turned_sines)
        return positions, yaws

    def _held(self, busy: Rows, closing: Bools) -> Bools:
        """Return which of the doors in `busy` must wait to close."""
        table = self.table
        leaves = self._leaves_of(busy[closing & table.guarded[busy]])
        held: Bools = np.zeros(len(busy), np.bool_)
        if len(leaves):
            stuck = leaves[obstructed_mask(self.world, table, leaves)]
            held = np.isin(busy, np.where(table.leader[stuck] == NO_ROW, stuck, table.leader[stuck]))
        return held

    def _see_robots(self, doors: Rows) -> None:
        """Open automatic `doors` that a robot is near to, and close those where nobody was for long enough."""
        if not len(doors):
            return
        world, table = self.world, self.table
        robots = world.rows[(world.kind[world.rows] == KIND_AGENT) & (world.parent[world.rows] == NO_ROW)]
        now = world.clock.time
        offsets = world.position[robots][None] - table.closed_position[doors][:, None]
        reach = table.automatic[doors][:, None]
        half = world.half_extents[doors, 2][:, None]
        level = (offsets[:, :, 2] >= -half - STEPS_UP) & (offsets[:, :, 2] <= half)
        near = (level & (offsets[:, :, 0] ** 2 + offsets[:, :, 1] ** 2 <= reach * reach)).any(axis=1)
        seen = doors[near]
        table.open_until[seen] = now + table.hold[seen]
        table.wanted[doors] = near | table.called[doors] | (now < table.open_until[doors])
        table.wanted[doors] |= now < table.asked_until[doors]

    def _tell(self, doors: Rows, before: Floats) -> None:
        """Emit the events of doors that left an end, or came to one."""
        world = self.world
        after = self.table.opening[doors]
        for event, mask in (
            ("door_moving", ((before == 0.0) | (before == 1.0)) & (after != before)),
            ("door_opened", (after == 1.0) & (before != 1.0)),
            ("door_closed", (after == 0.0) & (before != 0.0)),
        ):
            if world.events.has_handlers(event):
                for row in doors[mask].tolist():
                    # An earlier handler may have removed it.
                    if world.alive[row]:
                        world.events.emit(event, door=world.handles[row])


ROOM = 0.02
"""A body this near in m to the way of a leaf is in its way."""


def obstructed_mask(world: World, table: DoorColumns, leaves: Rows) -> Bools:
    """Return which of `leaves` (L,) have a body in the area that they sweep to close.

    Bodies count by their boxes; static ones and parts of doors and lifts never count. A swinging leaf sweeps the square
    that has it as a side, from its hinge on.
    """
    obstructed: Bools = np.zeros(len(leaves), np.bool_)
    mask = active_mask(world) & ~fittings_mask(world) & (world.collision_mode != STATIC) & (world.parent == NO_ROW)
    bodies = np.flatnonzero(mask)
    if not len(bodies):
        return obstructed
    lower, upper = world_aabbs(*shape_arrays(world, bodies), compiled=world.compiled)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    for index, leaf in enumerate(leaves.tolist()):
        place, sides, height = _swept(world, table, leaf)
        near = np.abs(middle - place)
        tall_mask = near[:, 2] < half[:, 2] + height
        sine, cosine = trig.sin_cos_of(float(table.closed_yaw[leaf]))
        x, y = middle[:, 0] - place[0], middle[:, 1] - place[1]
        along, across = np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)
        # A body turned into the frame of the leaf takes at most this much of its axes.
        wide = half[:, 0] * abs(cosine) + half[:, 1] * abs(sine)
        deep = half[:, 0] * abs(sine) + half[:, 1] * abs(cosine)
        hit = tall_mask & (along < sides[0] + wide + ROOM) & (across < sides[1] + deep + ROOM)
        obstructed[index] = bool(hit.any())
    return obstructed


def _swept(world: World, table: DoorColumns, leaf: int) -> tuple[Floats, tuple[float, float], float]:
    """Return middle (3,), half sides along and across the closed leaf, and half height of what it sweeps, in m."""
    length, width, height = world.half_extents[leaf].tolist()
    place = table.closed_position[leaf].copy()
    swing = float(table.swing[leaf])
    if swing == 0.0:
        return place, (length, width), height
    sine, cosine = trig.sin_cos_of(float(table.closed_yaw[leaf]))
    # It turns to the left of its x axis where its hinge is behind it and the turn is positive.
    side = (1.0 if swing > 0.0 else -1.0) * (-1.0 if table.hinge[leaf] > 0.0 else 1.0)
    place[0] -= side * length * sine
    place[1] += side * length * cosine
    return place, (length, length + width), height


def near_mask(shapes: ShapeArrays, points: Floats, radius: float) -> Bools:
    """Return which `points` (N, 2) are nearer than `radius` m to one of the upright boxes `shapes`, seen from above."""
    near: Bools = np.zeros(len(points), np.bool_)
    lower, upper = world_aabbs(*shapes)
    yaws = quaternions.yaws(shapes.orientations)
    for index in range(len(shapes.kinds)):
        around = (points > lower[index, :2] - radius) & (points < upper[index, :2] + radius)
        close = np.flatnonzero(around.all(axis=1))
        x, y = (points[close] - shapes.positions[index, :2]).T
        sine, cosine = trig.sin_cos_of(float(yaws[index]))
        along, across = np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)
        half = shapes.half_extents[index]
        gaps = np.maximum(along - half[0], 0.0) ** 2 + np.maximum(across - half[1], 0.0) ** 2
        near[close] |= gaps < radius * radius
    return near


class DoorFeature(Feature[DoorLeafSettings, DoorColumns]):
    """Leaves of doors: `door:` in an object's entry, `sim.features.use("door")` is the Doors."""

    doc = "Makes the object the leaf of a door, closed where it is spawned."
    settings = DoorLeafSettings
    table = DoorColumns

    def values(self, settings: DoorLeafSettings) -> Mapping[str, Any]:
        """Return the columns of a leaf with `settings`: their own, but for `open`, which says where it begins."""
        values = dict(super().values(settings))
        is_open = values.pop("open")
        return {"opening": float(is_open), "wanted": is_open, "called": is_open, **values}

    def start(self, host: FeatureHost, table: DoorColumns) -> Doors:
        """Move leaves before robots, which then are blocked by what is there now."""
        doors = Doors(host.world, table)
        host.world.routes.passages = doors
        host.pipeline.add(System("doors", Phase.UPDATE, doors.step), before="motion")
        host.dispatcher.handle(MoveDoors, doors.move)
        return doors

    def enter(self, part: Doors, table: DoorColumns, rows: Rows) -> None:
        """Take the present poses of `rows` for closed ones; raises InvalidValueError for what cannot be a leaf."""
        world = part.world
        for row in rows.tolist():
            if world.kind[row] == KIND_AGENT or world.dynamic[row]:
                raise InvalidValueError(
                    f"{world.label(row)!r} moves by itself; a leaf of a door is an object of mass 0"
                )
            if world.collision_mode[row] == STATIC:
                raise InvalidValueError(
                    f"{world.label(row)!r} is static; a leaf of a door moves: normal_3d, or disabled"
                )
        table.closed_position[rows] = world.position[rows]
        table.closed_yaw[rows] = quaternions.yaws(world.orientation[rows])
        part.place(rows)

    def handle(self, entity: Any, table: DoorColumns) -> DoorHandle:
        """Return the DoorHandle of `entity`."""
        return DoorHandle(entity, table)

    def details(self, table: DoorColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how far it is open."""
        share = float(table.opening[row])
        state = {0.0: "closed", 1.0: "open"}.get(share, f"{100.0 * share:.0f} % open")
        return [("door", state + (", waits for what is in its way" if table.held[row] else ""))]


FEATURE = DoorFeature()
