"""The world: the state of all entities in columns, and the life cycle of rows from spawn to removal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import DuplicateNameError
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.limits import EXTENT, check_extent
from fleet_sim.base.request_budget import ENTITIES
from fleet_sim.base.spatial import quaternions
from fleet_sim.world.clock import Clock, RandomStreams
from fleet_sim.world.collision_rules import CollisionFilters, CollisionRules
from fleet_sim.world.columns import ColumnTable, FeatureColumns, column
from fleet_sim.world.entity_index import EntityIndex, FreeRows, HandleTable, PlaceSource
from fleet_sim.world.joints import JointPool, RobotColumns, WaypointPool
from fleet_sim.world.ports import ConnectedParts, PoseErrors, RobotRadio
from fleet_sim.world.routes import Routes
from fleet_sim.world.schema import BodyColumns, LookColumns, MaterialColumns, MotionColumns
from fleet_sim.world.shapes import BASE, RobotModel, ShapeCatalog
from fleet_sim.world.user_code import EntityEvents, EntityHooks, EventBus, FaultGuard

# Rules: what a feature adds to a world, and takes away again.


# Rules for which robots may not drive at present, checked whenever a robot is commanded to drive.


class DriveRule(ABC):
    """A reason why a robot may not drive, besides a fixed base and being carried. A feature adds one to the world.

    The rule only rejects commands; its feature must stop robots that are already driving. A feature that moves robots
    itself hears of stops by `stopped`.
    """

    reason: ClassVar[str]
    """The reason shown in acknowledgements and errors, e.g. "its battery is empty"."""
    ends_steps: ClassVar[bool] = False
    """Whether a step of several ticks ends before what it refuses changes."""

    def reason_of(self, row: int) -> str:
        """Return the reason for one robot that it refuses, where not all have the same."""
        return self.reason

    @abstractmethod
    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) may not drive now."""

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Called when `rows` (N,) were stopped: to `stay` where they are, or because what moved them has ended."""
        return


# Rules that lower the speed limits of robots for a step, such as those of zones, while their laws move them.


class SpeedRule(ABC):
    """A reason to drive slower for a step. Outside of the laws of motion robots have their own limits."""

    in_traffic: ClassVar[bool] = False
    """Whether it holds in the traffic of a site too, which reads the limits of zones from the site."""

    @abstractmethod
    def lower(self) -> None:
        """Lower the limits in `world.motion` where the rule holds."""

    @abstractmethod
    def restore(self) -> None:
        """Write back what `lower` found, bit for bit."""


# Drives: how bodies that an engine moves follow their laws of motion. A law plans the pose at the end of a step. For
# what an engine moves, the plan becomes velocities in the plane, which the engine's body gets before each substep;
# the engine alone moves it. Height and tilt are the engine's.


MANY_RAYS = 5_000
"""Rays from which on compiled code is loaded also in small worlds: in Python so many take as long as loading does."""
STRENGTH = 40.0, 1000.0
"""What a drive adds against friction and loads: at most this acceleration (m/s2), and about the vertical (rad/s2)."""


class DriveColumns(ColumnTable):
    """The drives of one step. Vectors are (x, y, turn): m/s in the world frame, rad/s about the vertical."""

    on_demand = True

    driven: Bools = column(bool, writer="motion", doc="a law moves it in this step, by its engine", hashed=False)
    ends: Bools = column(bool, writer="motion", doc="with this step its drive ends, at rest", hashed=False)
    mean: Floats = column(float, (3,), writer="motion", doc="mean velocity of the step", hashed=False)
    change: Floats = column(float, (3,), writer="motion", doc="by which it changes within the step", hashed=False)
    after: Floats = column(float, (3,), writer="motion", doc="velocity at the end of the step", hashed=False)
    missed: Floats = column(float, (3,), writer="engine", doc="mean velocity of the engine less `mean`", hashed=False)
    missed_before: Floats = column(float, (3,), writer="engine", doc="as `missed`, of the step before", hashed=False)
    lost: Floats = column(float, (3,), writer="engine", doc="taken by friction and loads in a substep", hashed=False)


class Twist(NamedTuple):
    """Velocities of base frames (N, 3) and angular velocities (N, 3), world frame."""

    linear: Floats
    angular: Floats


class DrivenSubsteps:
    """Gives the driven rows their velocities in the `count` substeps of `span` s of one step."""

    def __init__(self, table: DriveColumns, alive: Bools, count: int, span: float) -> None:
        self.rows: Rows = np.flatnonzero(table.driven & alive) if table.in_use else np.empty(0, np.int64)
        self._table, self._count = table, count
        self._most = tuple(strength * span for strength in STRENGTH)
        self._mean, self._change = table.mean[self.rows], table.change[self.rows]
        self._lost, self._missed = table.lost[self.rows], np.zeros((len(self.rows), 3))
        self._asked = self._sent = self._mean

    def begin(self, index: int, now: Twist) -> Twist:
        """Return the velocities to give before substep `index`, for those the engine has `now`.

        What the last substep took away, by friction or by a load that is pushed, is added to the velocity asked for.
        """
        if index == 0:
            self._lost, self._missed = self._table.lost[self.rows], np.zeros((len(self.rows), 3))
        else:
            self._look_back(now)
        # Evenly from the velocity before the step to that after it, in the middle of each substep.
        share = (index + 0.5) / self._count - 0.5
        self._asked = self._mean + share * self._change
        self._sent = self._asked + self._lost
        return _with_planar(now, self._sent)

    def end(self, now: Twist) -> Twist:
        """Note how the last substep went; return the velocities after the step: its means, so that they give its way.

        Whose drive ends stands.
        """
        rows, table = self.rows, self._table
        self._look_back(now)
        table.missed_before[rows] = table.missed[rows]
        table.lost[rows], table.missed[rows] = self._lost, self._missed / self._count
        return _with_planar(now, np.where(table.ends[rows][:, None], 0.0, self._mean + table.missed[rows]))

    def _look_back(self, now: Twist) -> None:
        """Note what the last substep took of the velocities sent, as far as a drive can add it, and of those asked."""
        planar = _planar(now)
        self._missed += planar - self._asked
        lost = self._sent - planar
        size = np.sqrt(lost[:, 0] * lost[:, 0] + lost[:, 1] * lost[:, 1])
        linear, angular = self._most
        lost[:, :2] *= (linear / np.maximum(size, linear))[:, None]
        lost[:, 2] = np.minimum(np.maximum(lost[:, 2], -angular), angular)
        self._lost = lost


def _planar(twist: Twist) -> Floats:
    return np.stack((twist.linear[:, 0], twist.linear[:, 1], twist.angular[:, 2]), axis=1)


def _with_planar(twist: Twist, planar: Floats) -> Twist:
    """Return `twist` with other velocities in the plane; the vertical velocity and the tilting stay."""
    linear, angular = twist.linear.copy(), twist.angular.copy()
    linear[:, :2], angular[:, 2] = planar[:, :2], planar[:, 2]
    return Twist(linear, angular)


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
        self.radio: RobotRadio | None = None
        """Carries what robots send; None: all of it comes at once."""
        self.pose_errors: PoseErrors | None = None
        """Says where robots believe to be; None: where they are."""
        self.drive_rules: list[DriveRule] = []
        self.speed_rules: list[SpeedRule] = []
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
        self.places: dict[str, PlaceSource] = {}
        """By the name of the section of the scenario that they are of."""
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
        self.compiled, self.rays_in_python = False, 0
        """Whether parts use compiled code, with equal results, and the rays cast in Python: see `CompiledCode`."""
        self.may_compile = True
        """Whether parts that are slow in Python may use compiled code in small worlds, too."""
        self.blocked_timeout = 0.0
        """How long robots stand before static bodies until they give up their goals, in s; 0: for ever."""
        self.extent = EXTENT
        """How far from the origin anything may be put along an axis, in m."""
        self.model_paths: tuple[str, ...] = ()
        """Folders searched first for robot models by name."""
        self.output_folder = ""
        """Where messages may write new files; empty: nowhere."""
        self.promised: set[Path] = set()
        """Files that a world from outside will write there."""
        self.next_id = 0
        """The object id of the next entity."""
        self._generations = 0
        self._rows: Rows = NO_ROWS
        self._rows_version = 0
        self.bounds_version = 0
        """Counts how often AABBs were recomputed."""

    def believed_poses(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return where `rows` believe to be, positions (N, 3) and orientations (N, 4): what they tell of themselves."""
        poses = self.position[rows], self.orientation[rows]
        return poses if self.pose_errors is None else self.pose_errors.believed(rows, *poses)

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

        For a request from outside it raises InvalidValueError where that is beyond its budget.

        The caller fills the columns and then calls `announce`.
        """
        # First, so that a name that is taken leaves the world as it was.
        self.index.check_new(names)
        count = len(names)
        ENTITIES.charge(count, len(self))
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
        if self.free_rows.resting:
            self.free_rows.end_step()

    def touch(self, rows: Rows | AnyArray | int) -> None:
        """Mark the poses of `rows`, or of one row, as changed. Every writer of poses must call it."""
        # One flag for each reader (the step, PyBullet, the bounds): each clears its own when it has caught up.
        self.moved[rows] = True
        self.bullet_behind[rows] = True
        self.bounds_behind[rows] = True
        if not self.in_step:
            self._tell_view(np.atleast_1d(rows))

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
        if not self.in_step and self.has_part("bodies"):
            self.bodies.pose_written(rows)

    def casts_compiled(self, rays: int) -> bool:
        """Return whether so many more rays are cast by compiled code: where steps use it, or many rays were cast."""
        if self.compiled:
            return True
        self.rays_in_python += rays
        return self.may_compile and self.rays_in_python >= MANY_RAYS and is_usable()

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
        for values in (self.velocity, self.angular_velocity, self.motion.body_linear, self.motion.body_angular):
            values[rows] = 0.0

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


# The state of a world as a value: taken for a checkpoint, and put back.


def save_world(world: World) -> dict[str, Any]:
    """Return a copy of all state of `world`, for a checkpoint."""
    return {
        "tables": {name: table.copy_arrays() for name, table in world.tables.items() if not table.transient},
        "names": list(world.index.names),
        "handles": world.handles.save(),
        "user_data": {row: dict(data) for row, data in world.user_data.items()},
        "free": world.free_rows.save(),
        "next_id": world.next_id,
        "waypoints": world.waypoints.save(),
        "joints": world.joints.save(),
        "random": world.random.save(),
        "entity_events": world.entity_events.save(),
        "hooks": world.hooks.save(),
    }


def spawned_since(world: World, saved: dict[str, Any]) -> Rows:
    """Return the rows of entities spawned after `save_world`."""
    body = saved["tables"]["body"]
    count = len(body["alive"])
    known_mask = np.zeros(world.capacity, np.bool_)
    known_mask[:count] = body["alive"] & (body["generation"] == world.generation[:count])
    return world.rows[~known_mask[world.rows]]


def restore_world(world: World, saved: dict[str, Any]) -> None:
    """Restore what `save_world` returned.

    Entities spawned since then are removed (listeners are called); entities removed since then live again, with
    their old handles, hooks and event handlers. Hooks and handlers of the others are not changed.
    """
    # Before anything is restored: listeners must see these entities with their own values.
    world.release(spawned_since(world, saved))
    kept = world.rows
    back = _restore_columns(world, saved["tables"])
    world.index.restore(saved["names"])
    world.handles.restore(saved["handles"], kept)
    world.user_data = {row: dict(data) for row, data in saved["user_data"].items()}
    world.free_rows.restore(saved["free"], len(saved["names"]), world.capacity)
    world.next_id = saved["next_id"]
    world.waypoints.restore(saved["waypoints"])
    world.joints.restore(saved["joints"])
    world.random.restore(saved["random"])
    world.entity_events.revive(back.tolist(), saved["entity_events"])
    world.hooks.revive(back.tolist(), saved["hooks"])
    # Increased, not restored: a cache may still hold the saved number, filled with what came after it.
    world.version += 1
    for listener in world.on_spawn:
        listener(back)
    # Bodies in the engine may have been made or changed since; all of them are brought up to date.
    if world.material.in_use:
        world.material.behind[world.rows] = True
    world.may_carry = True
    world.touch(world.rows)
    world.touch_joints(world.rows)


def _restore_columns(world: World, saved: dict[str, Any]) -> Rows:
    """Restore the columns of all tables; return the rows of entities that live again."""
    body = saved["body"]
    count = len(body["alive"])
    # Between release and restoring: a row whose later owner was just removed counts as dead here too.
    back = np.flatnonzero(body["alive"] & ~world.alive[:count])
    generations = world.generation.copy()
    for name, table in world.tables.items():
        if name in saved:
            table.restore_arrays(saved[name])
        elif not table.transient:
            # The table was added later: at the time of `save_world` all its rows had the defaults.
            table.clear_rows(np.arange(world.capacity))
    world.keep_generations(int(world.generation.max(initial=0)))
    dead_mask = ~world.alive
    # Rows that are dead again keep the higher number, so that handles of entities spawned since stay stale.
    world.generation[dead_mask] = generations[dead_mask]
    return back


# Rows that move in the plane, as arrays.


Copied = TypeVar("Copied", bound=AnyArray)


def read_only(copy: Copied) -> Copied:
    """Return a copy of columns such that writing into it, which would change nothing, raises ValueError."""
    copy.flags.writeable = False
    return copy


class PlanarRows:
    """How rows of a world look and move in the plane: arrays of the shape of `rows`, read again at each access.

    They cannot be written: they are copies.

    Headings are in (-pi, pi] rad from the x axis, counter-clockwise.
    """

    def __init__(self, columns: World, rows: Rows) -> None:
        self.columns = columns
        self.rows = rows

    @property
    def headings(self) -> Floats:
        """Which way they look, in rad."""
        # Of a list: quaternions are the last axis of what is read.
        return read_only(quaternions.yaws(self.columns.orientation[self.rows.reshape(-1)]).reshape(self.rows.shape))

    @property
    def linear(self) -> Floats:
        """Speeds along their headings, in m/s."""
        speeds: Floats = self.columns.motion.body_linear[self.rows, 0]
        return read_only(speeds)

    @property
    def angular(self) -> Floats:
        """Turning speeds, in rad/s, counter-clockwise."""
        turns: Floats = self.columns.motion.body_angular[self.rows, 2]
        return read_only(turns)

    @property
    def velocities(self) -> Floats:
        """Velocities (..., 2) in the world frame, in m/s."""
        velocities: Floats = self.columns.velocity[self.rows, :2]
        return read_only(velocities)


# Batteries as other parts see them: columns that are there once something has a battery, known by name only.


class EnergyColumns(Protocol):
    """The columns of batteries that other parts read or write: energies in J, power in W, voltage in V."""

    present: Bools
    energy: Floats
    full_energy: Floats
    low_energy: Floats
    charging: Bools
    power: Floats
    voltage: Floats
    stops_when_empty: Bools


def energy_columns(world: World) -> EnergyColumns | None:
    """Return the columns of batteries; None as long as nothing has one."""
    table = world.tables.get("battery")
    return None if table is None else cast(EnergyColumns, table)


def energy_columns_with(world: World, row: int) -> EnergyColumns | None:
    """Return the columns of batteries; None where the entity in `row` has none."""
    columns = energy_columns(world)
    return columns if columns is not None and columns.present[row] else None


# FeatureRows: the entities of one simulation that have a feature, as what runs the feature knows them.


FeatureTable = TypeVar("FeatureTable", bound=FeatureColumns)


class FeatureRows(Generic[FeatureTable]):
    """Base of what runs a feature: its columns, and the rows that have it."""

    def __init__(self, world: World, table: FeatureTable) -> None:
        self.world = world
        self.table = table
        """The columns of the feature."""

    @property
    def rows(self) -> Rows:
        """The rows of all that have the feature."""
        return self.table.among(self.world.rows)
