"""The world: the state of all entities in columns, and the life cycle of rows from spawn to removal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Floats, Ints, Rows
from fleet_sim.core.clock import Clock
from fleet_sim.core.collision_filters import CollisionFilters
from fleet_sim.core.collision_rules import CollisionRules
from fleet_sim.core.columns import ColumnTable
from fleet_sim.core.connected_parts import ConnectedParts
from fleet_sim.core.drive_rules import DriveRules
from fleet_sim.core.drives import DriveColumns
from fleet_sim.core.entity_index import EntityIndex
from fleet_sim.core.events import EntityEvents, EventBus
from fleet_sim.core.faults import FaultGuard
from fleet_sim.core.free_rows import FreeRows
from fleet_sim.core.handle_table import HandleTable
from fleet_sim.core.hooks import EntityHooks
from fleet_sim.core.joints import JointPool, RobotColumns
from fleet_sim.core.look import LookColumns
from fleet_sim.core.places import PlaceSources
from fleet_sim.core.random import RandomStreams
from fleet_sim.core.robot_model import BASE, RobotModel
from fleet_sim.core.routes import Routes
from fleet_sim.core.schema import BodyColumns, MaterialColumns, MotionColumns
from fleet_sim.core.shapes import ShapeCatalog
from fleet_sim.core.speed_rules import SpeedRules
from fleet_sim.core.waypoints import WaypointPool
from fleet_sim.errors import DuplicateNameError
from fleet_sim.gate.bounds import EXTENT, check_extent

Table = TypeVar("Table", bound=ColumnTable)
RowListener = Callable[[Rows], None]


class World(ConnectedParts, BodyColumns):
    """Columns of all entities. An entity keeps its row while it lives; afterwards the row is reused.

    `on_spawn` is called with the rows after a spawn, `on_remove` before a removal, while the columns still hold the
    entities' values. Rows freed inside a step are not reused before the step has ended.
    """

    def __init__(self, clock: Clock, *, seed: int = 0, capacity: int = 64, guard: FaultGuard | None = None) -> None:
        super().__init__(capacity)
        self.clock = clock
        self.guard = guard or FaultGuard()
        self.events = EventBus(self.guard)
        self.entity_events = EntityEvents(self.guard)
        self.hooks = EntityHooks(clock, self.guard)
        self.random = RandomStreams(seed)
        self.collision_rules = CollisionRules(self)
        self.collision_filters = CollisionFilters(self, self.collision_rules)
        self.drive_rules = DriveRules()
        self.speed_rules = SpeedRules()
        self.motion = MotionColumns(capacity)
        self.robots = RobotColumns(capacity)
        self.material = MaterialColumns(capacity)
        self.look = LookColumns(capacity)
        self.drives = DriveColumns(capacity)
        own = {"motion": self.motion, "robots": self.robots, "material": self.material, "look": self.look}
        self.tables: dict[str, ColumnTable] = {"body": self, **own, "drives": self.drives}
        self._catalogue(capacity)
        self._begin()

    def _catalogue(self, capacity: int) -> None:
        """Make what the columns refer to by number, and what finds rows."""
        self.waypoints = WaypointPool()
        self.joints = JointPool()
        self.models: list[RobotModel] = []
        """The descriptions of all robots that were ever spawned, by number."""
        self.shapes = ShapeCatalog()
        self.index = EntityIndex(self)
        """Names and object ids of living entities; change names with `rename`."""
        self.handles = HandleTable(self, capacity)
        self.user_data: dict[int, dict[str, Any]] = {}
        self.on_spawn: list[RowListener] = []
        self.on_remove: list[RowListener] = []
        self.on_drive: list[Callable[[float], None]] = []
        """Called with dt when the robots have moved in a step, before anybody is told that one arrived."""
        self.free_rows = FreeRows(capacity)
        self.places = PlaceSources()
        self.routes = Routes()

    def _begin(self) -> None:
        """Set what holds of an empty world; a simulation changes it to what its settings say."""
        self.in_step = False
        self.physics = False
        """Whether bodies with mass are moved by the physics engine."""
        self.gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
        """In m/s2, whether or not there is physics: accelerometers feel it."""
        self.block_on_collision_default = False
        self.may_carry = True
        """Whether something may be attached to something else; `attachments` finds out and keeps it."""
        self.compiled, self.rays_on_arrays = False, 0
        """Whether parts use their compiled code, with equal results, and the rays cast without: see `CompiledCode`."""
        self.may_compile = True
        """Whether parts that are slow in Python may use compiled code in small worlds, too."""
        self.blocked_timeout = 0.0
        """How long robots stand before static bodies until they give up their goals, in s; 0: for ever."""
        self.extent = EXTENT
        """How far from the origin anything may be put along an axis, in m."""
        self.model_paths: tuple[str, ...] = ()
        """Folders searched first for robot models by name."""
        self.next_id = 0
        """The object id of the next entity."""
        self._generations = 0
        self._rows: Rows = NO_ROWS
        self._rows_version = 0
        self.bounds_version = 0
        """Counts how often AABBs were recomputed."""

    # ---- tables ----------------------------------------------------------------------------------------------------

    def add_table(self, name: str, cls: type[Table]) -> Table:
        """Add a feature table: it grows with the world and is hashed, saved and cleared with it."""
        if name in self.tables:
            raise DuplicateNameError(f"a column table named {name!r} exists already")
        table = cls(self.capacity)
        self.tables[name] = table
        return table

    def grow(self, capacity: int) -> None:
        """Enlarge all tables to `capacity` rows."""
        old = self.capacity
        super().grow(capacity)
        for table in self.tables.values():
            if table is not self:
                table.grow(capacity)
        self.index.grow(capacity)
        self.handles.grow(capacity)
        self.free_rows.grow(old, capacity)

    # ---- rows ------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """Rows of all living entities, in the order they were spawned."""
        if self._rows_version != self.version:
            rows = np.flatnonzero(self.alive)
            # By id and not by row: rows are reused, so their order depends on what was removed before.
            self._rows = rows[np.argsort(self.object_id[rows], kind="stable")]
            # One cached array for all callers: none of them may change it for the others.
            self._rows.flags.writeable = False
            self._rows_version = self.version
        return self._rows

    def __len__(self) -> int:
        return len(self.index)

    def allocate(self, names: Sequence[str | None]) -> Rows:
        """Allocate one row per name, with all columns at their defaults; raises DuplicateNameError.

        The caller fills the columns and then calls `announce`.
        """
        # First, so that a name that is taken leaves the world as it was.
        self.index.check_new(names)
        count = len(names)
        if count > len(self.free_rows):
            needed = self.capacity + count - len(self.free_rows)
            # Doubled, so that spawning one by one costs a constant time on average.
            self.grow(max(2 * self.capacity, needed))
        rows = self.free_rows.take(count)
        # Other rows hold the defaults already: writing would take memory for columns that nobody uses.
        again = self.free_rows.used_before(rows)
        if len(again):
            self._clear(again)
        self.alive[rows] = True
        self.object_id[rows] = np.arange(self.next_id, self.next_id + count)
        self.index.add(rows, names)
        self.next_id += count
        self.version += 1
        return rows

    def _clear(self, rows: Rows) -> None:
        # Cleared when taken and not when freed: who still holds a freed row in this step reads its last values.
        generations = self.generation[rows]
        for table in self.tables.values():
            table.clear_rows(rows)
        # Set back to 0, handles of earlier entities in these rows would seem valid again.
        self.generation[rows] = generations

    def announce(self, rows: Rows) -> None:
        """Notify listeners of `rows`, whose columns are now filled."""
        self.touch(rows)
        if not self.in_step:
            # It was put there, which is no motion: nobody was there before.
            self.moved[rows] = False
        for listener in self.on_spawn:
            listener(rows)

    def release(self, rows: Rows) -> None:
        """Remove the entities in `rows`: hooks and listeners are called while they still live, then rows are freed."""
        generations = self.generation[rows]
        # Plugins are destroyed here, and their code may remove more entities, also some of `rows`.
        if self.hooks:
            for row in rows.tolist():
                self.hooks.discard(row)
            rows, generations = self._still_live(rows, generations)
        if not len(rows):
            return
        for listener in self.on_remove:
            listener(rows)
        rows, _ = self._still_live(rows, generations)
        self.waypoints.discard(self.motion, rows)
        self.joints.release(self.robots, rows)
        for row, handle in self.handles.made(rows):
            # The label goes with the row, but a stale handle still has to say in its error which entity it was.
            handle.last_label = self.label(row)
        self.handles.forget(rows)
        self.index.discard(rows)
        if self.user_data or len(self.entity_events):
            for row in rows.tolist():
                self.user_data.pop(row, None)
                self.entity_events.discard(row)
        self.alive[rows] = False
        # Never decreased, not even by `restore`: a stale handle stays stale whatever happens to the row.
        self._generations += 1
        self.generation[rows] = self._generations
        # A system later in this step may still hold these rows; a new entity there would be taken for the old one.
        self.free_rows.give_back(rows, rest=self.in_step)
        self.version += 1

    def _still_live(self, rows: Rows, generations: Ints) -> tuple[Rows, Ints]:
        """Return the rows that were not removed by code called since."""
        live_mask = self.alive[rows] & (self.generation[rows] == generations)
        return rows[live_mask], generations[live_mask]

    def renew(self) -> None:
        """Start again after everything was removed: ids from 0 and random streams from their seed."""
        self.next_id = 0
        self.random.reseed(self.random.seed)

    def keep_generations(self, highest: int) -> None:
        """Go on from `highest` at least: generations that a state file brings along are never given again."""
        self._generations = max(self._generations, highest)

    def end_step(self) -> None:
        """Make rows freed during the step available again."""
        self.free_rows.end_step()

    def touch(self, rows: Rows | AnyArray | int) -> None:
        """Mark the poses of `rows`, or of one row, as changed. Every writer of poses must call it."""
        # One flag for each reader (the step, PyBullet, the bounds): each clears its own when it has caught up.
        self.moved[rows] = True
        self.bullet_behind[rows] = True
        self.bounds_behind[rows] = True
        if not self.in_step:
            self._tell_view(np.atleast_1d(rows))

    def touch_one(self, row: int) -> None:
        """Mark the pose of one row as changed, as `touch` does."""
        scalars = self.scalars
        scalars.moved[row] = scalars.bullet_behind[row] = scalars.bounds_behind[row] = True
        if not self.in_step:
            self._tell_view(np.array([row]))

    def touch_joints(self, rows: Rows | AnyArray, *, outline: bool = True) -> None:
        """Mark joints of `rows` as moved. Every writer of joint positions must call it.

        `outline=False`: only wheels turned, whose shapes are where they were.
        """
        self.robots.joints_moved[rows] = True
        self.robots.joints_behind[rows] = True
        if outline:
            self.robots.boxes_behind[rows] = True
            self.bounds_behind[rows] = True
        self._tell_view(rows)

    def _tell_view(self, rows: Rows | AnyArray) -> None:
        """Update the engine's view after a write outside a step; inside a step it is updated once, later."""
        if not self.in_step and self.parts.bodies is not None:
            self.parts.bodies.pose_written(rows)

    def model_of(self, row: int) -> RobotModel | None:
        """Return the description of the robot in `row`, None if it has none."""
        number = int(self.robots.model[row])
        return None if number < 0 else self.models[number]

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (N, 3), (N, 4) of `links` (N,) of `rows` (N,); link -1 is the base."""
        # Most attachments are to bases; these also work in a world without kinematics.
        if bool((links == BASE).all()):
            return self.position[rows], self.orientation[rows]
        return self.links.link_poses(rows, links)

    def place(self, rows: Rows, positions: Floats, orientations: Floats, *, preserve_velocity: bool = True) -> None:
        """Put `rows` at poses (N, 3), (N, 4), whatever they were doing: paths go on from there.

        Raises InvalidValueError for positions outside of the world.
        """
        check_extent(positions, self.extent)
        self.position[rows] = positions
        self.orientation[rows] = orientations
        self.motion.path_fresh[rows] = True
        if not preserve_velocity:
            self.rest(rows)
        self.touch(rows)

    def rest(self, rows: Rows) -> None:
        """Set all velocities of `rows` to zero; commands and goals are kept."""
        for column in (self.velocity, self.angular_velocity, self.motion.body_linear, self.motion.body_angular):
            column[rows] = 0.0

    # ---- one entity --------------------------------------------------------------------------------------------------

    def rename(self, row: int, name: str | None) -> None:
        """Rename the entity in `row`; raises DuplicateNameError."""
        if name != self.index.names[row]:
            self.index.rename(row, name)
            self.version += 1

    def label(self, row: int) -> str:
        """Return the entity's name, or `#id` if it has none."""
        return self.index.names[row] or f"#{self.object_id[row]}"

    def is_live(self, row: int, generation: int) -> bool:
        """Return whether the entity that was given `row` in `generation` is still alive."""
        scalars = self.scalars
        return bool(scalars.alive[row] and scalars.generation[row] == generation)
