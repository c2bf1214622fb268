"""All doors of a simulation: they open and close, by command or for robots that come near."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.collision.bounds import shape_arrays
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.feature_rows import FeatureRows
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.recipients import Recipients
from fleet_sim.equipment.door_columns import DoorColumns
from fleet_sim.equipment.door_commands import MoveDoors
from fleet_sim.equipment.door_settings import DoorMode
from fleet_sim.equipment.doorway import near_mask, obstructed_mask
from fleet_sim.equipment.fittings import InFrame
from fleet_sim.equipment.profile import approach
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

STEPS_UP = 0.5
"""A robot this much in m below the foot of a door, or less, is on its floor."""
SHARE = 0.25
"""Share of its time in which a leaf speeds up, and again in which it slows down."""


def modes_of(table: DoorColumns, doors: Rows) -> list[DoorMode]:
    """Return what `doors` are at present."""
    ends = {0.0: DoorMode.CLOSED, 1.0: DoorMode.OPEN}
    return [ends.get(opening, DoorMode.MOVING) for opening in table.opening[doors].tolist()]


def command(table: DoorColumns, doors: Rows, is_open: bool) -> None:
    """Tell `doors` to open, and stay open, or to close. Said twice it changes nothing."""
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
        return leaves[self._table.leader[leaves] == NO_ROW]

    def modes(self, doors: Rows) -> list[DoorMode]:
        """Return what `doors` are at present."""
        return modes_of(self._table, doors)

    # ---- for robots on their way -----------------------------------------------------------------------------------

    def opening_for_robots(self) -> Rows:
        """Return the automatic doors; others open by commands only, and those of lifts where these stop."""
        leaders = self.rows
        return leaders[(self._table.automatic[leaders] > 0.0) & (self._table.lift[leaders] == NO_ROW)]

    def parts_of(self, passage: int) -> Rows:
        """Return the leaves of the door in the row `passage`."""
        return self._leaves_of(np.array([passage]))

    def poses_at(self, parts: Rows, opening: float) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and orientations (N, 4) of leaves of a door that is open by `opening`."""
        positions, yaws = self._poses(parts, np.full(len(parts), opening))
        return positions, quaternions.from_yaws(yaws)

    def reach(self, parts: Rows, opening: float, points: Floats, radius: float) -> Bools:
        """Return which `points` (N, 2) are nearer than `radius` m to leaves of a door that is open by `opening`."""
        shapes = shape_arrays(self._world, parts).at(*self.poses_at(parts, opening))
        return near_mask(shapes, points, radius)

    def are_open(self, passages: Rows) -> Bools:
        """Return which doors (N,) are open, wholly."""
        return np.asarray(self._table.opening[passages] == 1.0)

    def keep_open(self, passages: Rows, seconds: float = 0.0) -> None:
        """Let doors be open in the next step and for `seconds`, and then as long as after any robot (`hold`)."""
        table, clock = self._table, self._world.clock
        until = clock.time + seconds + table.hold[passages] + 1.5 * clock.seconds(1)
        table.asked_until[passages] = np.maximum(table.asked_until[passages], until)

    # ---- commands ----------------------------------------------------------------------------------------------------

    def move(self, order: MoveDoors) -> CommandAck:
        """Carry out a MoveDoors."""
        to = Recipients(self._world, order.names)
        to.keep(self._table.present[to.rows], "it is not a door")
        to.keep(self._table.leader[to.rows] == NO_ROW, "it is the second leaf of a door, which has another name")
        to.keep(self._table.lift[to.rows] == NO_ROW, "it is a door of a lift, which opens it where it stops")
        command(self._table, to.rows, bool(order.open))
        # What is not there was to be a door, not a robot.
        unknown = self._world.index.rows_named(order.names) < 0
        missing = {
            name: "there is no door of that name" for name, gone in zip(order.names, unknown, strict=True) if gone
        }
        rejected = {**to.rejected, **missing}
        return CommandAck(order.command_id, order.source, self._world.clock.time, to.names, rejected)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move all leaves by one step, and tell which doors came to be open, closed or moving."""
        leaders, table = self.rows, self._table
        if not len(leaders):
            return
        self._see_robots(leaders[table.automatic[leaders] > 0.0])
        goals = table.wanted[leaders].astype(np.float64)
        busy = leaders[(table.opening[leaders] != goals) | (table.rate[leaders] != 0.0)]
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
        world, table = self._world, self._table
        rows = self._leaves_of(leaders)
        openings = table.opening[np.where(table.leader[rows] == NO_ROW, rows, table.leader[rows])]
        table.opening[rows] = openings
        positions, yaws = self._poses(rows, openings)
        world.place(rows, positions, quaternions.from_yaws(yaws))

    def _leaves_of(self, leaders: Rows) -> Rows:
        leaves = self._table.among(self._world.rows)
        heads = np.where(self._table.leader[leaves] == NO_ROW, leaves, self._table.leader[leaves])
        return leaves[np.isin(heads, leaders)]

    def _poses(self, rows: Rows, openings: Floats) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and yaws (N,) of leaves that are open by `openings` (N,)."""
        table = self._table
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
        table = self._table
        leaves = self._leaves_of(busy[closing & table.guarded[busy]])
        held: Bools = np.zeros(len(busy), np.bool_)
        if len(leaves):
            stuck = leaves[obstructed_mask(self._world, table, leaves)]
            held = np.isin(busy, np.where(table.leader[stuck] == NO_ROW, stuck, table.leader[stuck]))
        return held

    def _see_robots(self, doors: Rows) -> None:
        """Open automatic `doors` that a robot is near to, and close those where nobody was for long enough."""
        if not len(doors):
            return
        world, table = self._world, self._table
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
        world = self._world
        after = self._table.opening[doors]
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
