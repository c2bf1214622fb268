"""All slotcars of a simulation: they follow paths from waypoint to waypoint, pause, dock, charge, and look out.

Each follows the waypoints that its fleet manager has sent: it turns first, then drives, and waits while something that
can move is right before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core import steering
from fleet_sim.core.drive_rules import DriveRule
from fleet_sim.core.feature_rows import FeatureRows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.equipment.fittings import fittings_mask
from fleet_sim.errors import StateFileError
from fleet_sim.rmf.carts import HARMLESS, perform
from fleet_sim.rmf.chargers import Chargers
from fleet_sim.rmf.columns import SlotcarColumns
from fleet_sim.rmf.law import TURN_FIRST, next_rates, turns_to
from fleet_sim.rmf.states import Pause, SlotcarMode, Waypoint
from fleet_sim.rmf.task import SlotcarTask
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

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


class Slotcars(FeatureRows[SlotcarColumns]):
    """Drives slotcars in each step. `levels` are the heights of levels in m, `chargers` those of the building."""

    def __init__(self, world: World, table: SlotcarColumns) -> None:
        super().__init__(world, table)
        self.levels: dict[str, float] = {}
        self.chargers = Chargers(world)
        self.refused = 0
        """Requests that were refused, or were for nobody here."""
        self._tasks: dict[int, SlotcarTask] = {}
        world.drive_rules.add(OnPath(self))
        world.on_remove.append(self._removed)

    def tasks(self, row: int) -> SlotcarTask:
        """Return the task and the path of the slotcar in `row`."""
        return self._tasks.setdefault(row, SlotcarTask())

    def level_names(self, rows: Rows) -> list[str]:
        """Return the levels that `rows` are on, or were on last; "" before they were on any."""
        names = ["", *self.levels]
        return [names[number + 1] for number in self._table.level[rows].tolist()]

    def shown_modes(self, rows: Rows) -> list[int]:
        """Return the modes of `rows` as they are told: an error of the path counts most."""
        return np.where(self._table.error[rows], int(SlotcarMode.ADAPTER_ERROR), self._table.mode[rows]).tolist()

    # ---- paths -------------------------------------------------------------------------------------------------------

    def start_path(self, row: int, task: str, path: tuple[Waypoint, ...]) -> None:
        """Let the slotcar in `row` follow `path`; where that begins too far away it stays, and tells an error."""
        own, table = self.tasks(row), self._table
        own.task = task
        first, place = path[0], self._world.position[row]
        # A path that begins more than 1 m away is for another place.
        too_far = trig.hypot_of(first.x - float(place[0]), first.y - float(place[1])) > 1.0
        table.error[row] = too_far
        table.has_path[row], table.rotating[row] = True, False
        if too_far:
            yaw = float(quaternions.yaws(self._world.orientation[row : row + 1])[0])
            own.left = [Waypoint(float(place[0]), float(place[1]), yaw)]
            own.last = own.left[-1]
        else:
            own.left, own.last = list(path[1:]), path[-1]
            own.told = list(path[1:])
        self._aim(row)

    def forget_paths(self, rows: Rows) -> None:
        """Let `rows` follow no path any more."""
        table = self._table
        rows = rows[table.present[rows]]
        table.has_path[rows] = False
        for row in rows.tolist():
            own = self.tasks(row)
            own.left, own.told = [], []

    def _aim(self, row: int) -> None:
        """Write the next waypoint of the slotcar in `row` to its columns, or the yaw of the last."""
        own, table = self.tasks(row), self._table
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
        if own.told and not self._table.error[row]:
            own.told.pop(0)
        self._aim(row)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Decide what all slotcars do in this step, and at which speeds they drive."""
        rows, table = self.rows, self._table
        still = self._stationary(rows)
        at_charger = self.chargers.look(rows, still)
        if not len(rows):
            return
        self._find_levels(rows)
        self._take_modes(rows, still, at_charger)
        # Carried robots are moved by their carrier.
        rows = rows[table.has_path[rows] & (self._world.parent[rows] == NO_ROW)]
        if len(rows):
            self._drive(rows, dt)

    def _stationary(self, rows: Rows) -> Bools:
        world = self._world
        speed = trig.hypot(world.velocity[rows, 0], world.velocity[rows, 1])
        return np.asarray((speed < STILL) & (np.abs(world.angular_velocity[rows, 2]) < STILL))

    def _find_levels(self, rows: Rows) -> None:
        """Note the level that each of `rows` stands on; between two levels the last one stays."""
        heights = np.array(list(self.levels.values()))
        if len(heights):
            # Robots stand on the floor by their lowest points, or have their origins on it.
            origins = self._world.position[rows, 2]
            feet = origins - self._world.half_extents[rows, 2]
            gaps = np.minimum(np.abs(feet[:, None] - heights[None]), np.abs(origins[:, None] - heights[None]))
            nearest = gaps.argmin(axis=1)
            # The first level is the nearest one, wherever that is: who is on none would be on no map.
            on_mask = (gaps[np.arange(len(rows)), nearest] < LEVEL_REACH) | (self._table.level[rows] < 0)
            self._table.level[rows[on_mask]] = nearest[on_mask]

    def _take_modes(self, rows: Rows, still: Bools, charging: Bools) -> None:
        """Set the modes that follow from whether robots are charged and whether they move."""
        table = self._table
        modes = table.mode[rows]
        acting = np.flatnonzero(~charging & (modes == SlotcarMode.PERFORMING_ACTION))
        kept = (modes == SlotcarMode.DOCKING) | (modes == SlotcarMode.ACTION_COMPLETED)
        after = np.where(kept, modes, np.where(still, int(SlotcarMode.IDLE), int(SlotcarMode.MOVING)))
        after[charging] = int(SlotcarMode.CHARGING)
        for index in acting.tolist():
            after[index] = int(perform(self._world, int(rows[index]), self.tasks(int(rows[index])).action))
        table.mode[rows] = after

    def _drive(self, rows: Rows, dt: float) -> None:
        """Give `rows`, which have a path, the speeds of this step."""
        world, table = self._world, self._table
        ways = table.target[rows] - world.position[rows, :2]
        gaps = trig.hypot(ways[:, 0], ways[:, 1])
        close = ~table.at_end[rows] & (gaps < np.where(table.rotating[rows], 2.0 * CLOSE, CLOSE))
        now_mask = table.pause[rows] == Pause.IMMEDIATELY
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
        table.mode[rows[waits | now_mask]] = int(SlotcarMode.PAUSED)
        table.mode[rows[blocked]] = int(SlotcarMode.WAITING)
        # At once: no way is left in this step.
        lengths[now_mask | blocked] = 0.0
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        # State feedback: from how fast it really is, which is 0 before a closed door.
        tops = np.minimum(table.speed[rows], table.limit[rows])
        body = world.motion
        usual, most = table.acceleration[rows], table.max_acceleration[rows]
        linear[:, 0] = next_rates(lengths, body.body_linear[rows, 0], tops, usual, most, dt)
        usual, most = table.turn_acceleration[rows], table.max_turn_acceleration[rows]
        angular[:, 2] = next_rates(turns, body.body_angular[rows, 2], table.turn_speed[rows], usual, most, dt)
        steering.give_velocities(world, rows, linear, angular, 0.0)

    def _in_the_way(self, rows: Rows, yaws: Floats) -> Bools:
        """Return which of `rows` have something that can move in the area before them."""
        # Fixed things are on the map of the fleet manager: only what can move is looked out for.
        world, table = self._world, self._table
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

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the tasks by the names of the robots, and the chargers."""
        label = self._world.label
        tasks = {
            label(row): [
                own.task,
                own.action,
                *(list(map(tuple, part)) for part in (own.left, own.told, _one(own.last))),
            ]
            for row, own in self._tasks.items()
        }
        return {"tasks": tasks, "chargers": self.chargers.save()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` returned."""
        self._tasks.clear()
        for row in self.rows.tolist():
            own = self.tasks(row)
            given = saved["tasks"].get(self._world.label(row))
            if given is not None:
                own.task, own.action, left, told, last = given
                own.left, own.told = [Waypoint(*one) for one in left], [Waypoint(*one) for one in told]
                own.last = Waypoint(*last[0]) if last else None
        self.chargers.restore(saved["chargers"])

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError unless `saved` are tasks and chargers."""
        if not {"tasks", "chargers"} <= saved.keys():
            raise StateFileError("slotcars: it has no tasks and chargers")
        for name, given in saved["tasks"].items():
            if len(given) != 5 or any(len(one) != len(Waypoint._fields) for part in given[2:] for one in part):
                raise StateFileError(f"slotcar {name!r}: it has no such task: {given!r}"[:200])
        self.chargers.check_saved(saved["chargers"])

    def _removed(self, rows: Rows) -> None:
        for row in rows.tolist():
            self._tasks.pop(row, None)


def _one(waypoint: Waypoint | None) -> list[Waypoint]:
    return [] if waypoint is None else [waypoint]
