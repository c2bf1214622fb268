"""Synchronises PyBullet with the columns, and defines which poses a query sees at each point of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Bytes, Floats, Rows
from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, StateError
from fleet_sim.base.params import PoseFlush
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.bodies import BulletBodies, EngineFilters
from fleet_sim.engines.bullet.client import NO_BODY, BulletClient
from fleet_sim.world.collision_rules import LinkPairs, no_links
from fleet_sim.world.ports import JointSensing, MeasuredJoint
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import PRISMATIC, REVOLUTE, Vector
from fleet_sim.world.world import World

# StagedPoses: what a query in phase 1 sees, which are the poses and joints from before the step.


class StagedPoses:
    """Copies of base poses and joints, taken at the beginning of a step, with what PyBullet lacks of them.

    The copies are valid for rows that still hold the entity that was there when they were taken.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._top = 0
        self._position: Floats = np.empty((0, 3))
        self._orientation: Floats = np.empty((0, 4))
        self._id = np.empty(0, np.int64)
        self._unwritten: Bools = np.empty(0, bool)
        self._joints: Floats = np.empty(0)
        self._unwritten_joints: Bools = np.empty(0, bool)

    @property
    def taken(self) -> bool:
        """Whether there are copies for this step."""
        return self._top >= 0

    def drop(self) -> None:
        """Have no copies: a query in phase 1 then has nothing that it could see."""
        self._top = -1

    def take(self) -> None:
        """Copy the poses and joints of all living rows."""
        world = self._world
        # Kept from step to step and only grown, as staging happens in each step.
        if len(self._position) < world.capacity:
            self._position = np.empty((world.capacity, 3))
            self._orientation = np.empty((world.capacity, 4))
            self._id = np.empty(world.capacity, np.int64)
            self._unwritten = np.empty(world.capacity, bool)
        rows = world.rows
        top = self._top = int(rows.max()) + 1 if len(rows) else 0
        # Copying whole slices is several times faster than indexing the rows that are behind.
        self._position[:top] = world.position[:top]
        self._orientation[:top] = world.orientation[:top]
        self._id[:top] = world.object_id[:top]
        self._unwritten[:top] = world.bullet_behind[:top]
        self._joints = world.joints.position[: world.joints.used].copy()
        self._unwritten_joints = world.robots.joints_behind[:top].copy()

    def known_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` were alive when the copies were taken."""
        known_mask: Bools = rows < self._top
        # A row taken by an entity spawned in this phase has another id than when poses were staged.
        known_mask[known_mask] = self._id[rows[known_mask]] == self._world.object_id[rows[known_mask]]
        return known_mask

    def poses(self, rows: Rows) -> tuple[Bools, Floats, Floats]:
        """Return which of `rows` are known, and their base poses then, (N, 3) and (N, 4).

        Other rows get the poses of the columns.
        """
        world = self._world
        positions, orientations = world.position[rows], world.orientation[rows]
        known_mask = self.known_mask(rows)
        known = rows[known_mask]
        positions[known_mask] = self._position[known]
        orientations[known_mask] = self._orientation[known]
        return known_mask, positions, orientations

    def joints(self, rows: Rows) -> tuple[Bools, Floats]:
        """Return which of `rows` are known, and the positions of all joints then, by slot."""
        return self.known_mask(rows), self._joints

    def unwritten(self, rows: Rows) -> Rows:
        """Return those of `rows` whose copied pose PyBullet does not have yet."""
        candidates = rows[rows < self._top]
        return candidates[self._unwritten[candidates]]

    def unwritten_joints(self, rows: Rows) -> Rows:
        """Return those of `rows` whose copied joints PyBullet does not have yet."""
        known = rows[self.known_mask(rows)]
        return known[self._unwritten_joints[known]]

    def note_poses(self, rows: Rows, known_mask: Bools, positions: Floats, orientations: Floats) -> None:
        """Note that PyBullet has these poses of `rows`; rows that moved since the copies stay behind."""
        world = self._world
        self._unwritten[rows[known_mask]] = False
        same_mask = (positions == world.position[rows]).all(1) & (orientations == world.orientation[rows]).all(1)
        world.bullet_behind[rows[same_mask]] = False

    def take_over(self, row: int) -> None:
        """Copy one row again: PyBullet was told something else of it, and has it already."""
        if row >= self._top:
            return
        world = self._world
        self._position[row], self._orientation[row] = world.position[row], world.orientation[row]
        self._unwritten[row] = self._unwritten_joints[row] = False
        slots = world.joints.of(world.robots, row)
        if slots.stop <= len(self._joints):
            self._joints[slots] = world.joints.position[slots]

    def note_joints(self, rows: Rows) -> None:
        """Note that PyBullet has the copied joints of `rows`."""
        robots = self._world.robots
        self._unwritten_joints[rows] = False
        # PyBullet now has positions from before this step: what has moved in it is behind again.
        robots.joints_behind[rows] = robots.joints_moved[rows]


# Forces and torques of the user, which last one step of the simulation.


class LastingForces:
    """Applies what pushes before each step of the engine, until the step of the simulation is over.

    PyBullet forgets forces after each of its steps, and a step of the simulation is several of them. Nothing is applied
    before: a body keeps a force that it was given, whatever state the engine is brought to.
    """

    def __init__(self, bodies: BulletBodies) -> None:
        self._bodies = bodies
        self.waiting: list[tuple[int, str, dict[str, Any]]] = []
        """Whose body is pushed, by which function of PyBullet, and its arguments."""
        self.enabled = False
        """Whether a simulation steps the engine; where the user does, forces are as long as PyBullet's own."""

    def add(self, subject: int, function: str, given: dict[str, Any]) -> None:
        """Push an entity by its object id, or the user's body `~subject`; without `posObj`, at the centre of mass."""
        self.waiting.append((subject, function, given))

    def apply(self) -> None:
        """Apply all of them, for one step of the engine."""
        client, table = self._bodies.client, self._bodies.table
        for subject, function, given in self.waiting:
            found = table.body[(table.owner == subject) & (table.body != NO_BODY)] if subject >= 0 else [~subject]
            if not len(found) or not self._bodies.exists(body := int(found[0])):
                continue
            if function == "applyExternalForce" and "posObj" not in given:
                # The body moves between steps of the engine, and the point is in world coordinates.
                given = {**given, "posObj": client.getBasePositionAndOrientation(body)[0]}
            getattr(client, function)(objectUniqueId=body, **given)


# Forces and torques that act in joints, as the engine's joint sensors measure them.


class JointReactions(JointSensing):
    """Enables the engine's sensors of the wanted joints, and reads them.

    The engine gives wrenches about the centre of mass and without what the motor applies; both are taken back. The
    numbers in `_wanted` say when the body was made whose sensor is enabled.
    """

    def __init__(self, bodies: BulletBodies) -> None:
        super().__init__(lambda rows: bodies.world.generation[rows])
        self._bodies = bodies

    def wants(self, row: int, joint: int) -> bool:
        """Return whether a joint of `row` is measured."""
        return (row, int(self._bodies.world.generation[row]), joint) in self._wanted

    def prepare(self) -> None:
        """Enable the engine's sensors of wanted joints, before its step."""
        if not self._wanted:
            return
        world, table = self._bodies.world, self._bodies.table
        for key, made in list(self._wanted.items()):
            if not world.is_live(key.row, key.generation):
                del self._wanted[key]
            elif table.body[key.row] != NO_BODY and made != table.made[key.row]:
                self._bodies.client.enableJointForceTorqueSensor(int(table.body[key.row]), key.joint, True)
                self._wanted[key] = int(table.made[key.row])

    def measure(self) -> None:
        """Read the wanted joints, after the engine's step."""
        if self._wanted or self._wrenches:
            world = self._bodies.world
            # Of those that the engine did not move it would give what it measured last.
            keys = [key for key, made in self._wanted.items() if made >= 0 and world.dynamic[key.row]]
            self._wrenches = {key: tuple(self._read(key)) for key in keys}

    def _read(self, key: MeasuredJoint) -> list[float]:
        """Return force (N) and torque (N m) between a joint's links, six numbers in the frame of the joint.

        PyBullet tells the reaction at the center of mass, without what the motor does; both are put right here.
        """
        client, world = self._bodies.client, self._bodies.world
        body, model = int(self._bodies.table.body[key.row]), world.models[int(world.robots.model[key.row])]
        _, _, reaction, applied = client.getJointState(body, key.joint)
        dynamics = client.getDynamicsInfo(body, key.joint)
        centre, turn = np.array(dynamics[3]), np.array([dynamics[4]])
        force, torque = (quaternions.rotate(turn, np.array([part]))[0] for part in (reaction[:3], reaction[3:]))
        axis, kind = model.axes[key.joint], int(model.joint_types[key.joint])
        if kind == PRISMATIC:
            force = force + applied * axis
        elif kind == REVOLUTE:
            torque = torque + applied * axis
        torque = torque + np.cross(centre, force)
        return [*force.tolist(), *torque.tolist()]


class Capture(NamedTuple):
    """The output of TinyRenderer, of height x width: colors (H, W, 4), its depth buffer, and its segments.

    A segment is the visible PyBullet body, -1 for none; with links, its upper eight bits hold the link plus one.
    """

    rgba: Bytes
    depth: npt.NDArray[np.float32]
    segments: npt.NDArray[np.int32]

    def colors(self) -> Bytes:
        """Return the colors (H, W, 3)."""
        rgb = np.empty((*self.rgba.shape[:2], 3), np.uint8)
        for channel in range(3):
            # Channel by channel: copying three of four bytes at a time takes twice as long.
            rgb[..., channel] = self.rgba[..., channel]
        return rgb

    def metres(self, near: float, far: float) -> npt.NDArray[np.float32]:
        """Return the depth in metres along the viewing axis; infinite without a segment."""
        # The inverse of the perspective projection: the buffer, in [0, 1], is not linear in the distance.
        metres = self.depth * np.float32(near - far)
        metres += np.float32(far)
        np.divide(np.float32(far * near), metres, out=metres)
        metres[self.segments < 0] = np.inf
        return metres


class BulletMirror:
    """Keeps one PyBullet world synchronised with the columns.

    With the policy "demand" nothing is imported, connected, made or written until a query needs it (`ensure`). With
    "step" every living row has a body and every changed pose is written in phase 2 of each step. Either way a query
    sees

    - outside a step, and from phase 2 on: the poses of the columns;
    - in phase 1: the poses the last step ended with (of entities spawned in this phase: those of the columns).

    With a window, and once the raw client id was handed out, queries can no longer be intercepted: from then on the
    policy is "step", and poses written outside a step are written to PyBullet at once.
    """

    def __init__(
        self,
        world: World,
        client: BulletClient,
        policy: PoseFlush = "demand",
        *,
        visuals: bool = True,
        inertia_from_file: bool = False,
        exempt_links: LinkPairs = no_links,
    ) -> None:
        """Bind to a world and a client; `exempt_links` tells which links of a robot do not push each other.

        Raises InvalidValueError for an unknown policy.
        """
        _check_policy(policy)
        self.world = world
        self.client = client
        self.bodies = BulletBodies(world, client, visuals=visuals, inertia_from_file=inertia_from_file)
        self.filters = EngineFilters(self.bodies, exempt_links)
        self.forces = LastingForces(self.bodies)
        self.reactions = JointReactions(self.bodies)
        self.policy = policy
        self.handed_out = False
        self.called_by_user = False
        """Whether the user has ever called PyBullet through `sim.bullet`."""
        self.keeps_previous = False
        """Whether poses are staged in each step with dynamic rows even if no query needs them; physics sets this."""
        self.on_gravity: Callable[[Vector], object] | None = None
        """Hears of another gravity."""
        self.read_back: Callable[[Rows], None] = lambda rows: None
        """Copies rows from the engine into the columns; physics sets it."""
        self.on_read: Callable[[Rows], object] | None = None
        """Hears of rows that were written through PyBullet outside a step: what they carry follows."""
        self.refused = ""
        """Why users may not use PyBullet here, where another engine moves the world; "" where they may."""
        self._any_told = False
        self.keeps_up = policy == "step" or client.gui
        """Whether each step writes poses that changed, of all rows or of those whose body somebody was told."""
        self._in_phase_1 = self._reading = False
        self.staged = StagedPoses(world)
        self._follow_population()

    def _follow_population(self) -> None:
        """Follow all that is spawned and removed from now on."""
        self.world.on_spawn.append(self._spawned)
        self.world.on_remove.append(self.bodies.remove)

    @property
    def live(self) -> bool:
        """Whether PyBullet may be read without going through the mirror."""
        return self.handed_out or self.client.gui

    @property
    def known_to_user(self) -> bool:
        """Whether the user may have numbers, things or settings of this engine, which emptying it would make void."""
        return self.live or self.called_by_user or self._any_told or bool(self.bodies.table.adopted.any())

    @property
    def engine_moves(self) -> bool:
        """Whether the engine has something to move: a dynamic entity, or bodies that the user made."""
        return bool(self.world.dynamic.any()) or self.has_others

    @property
    def has_others(self) -> bool:
        """Whether PyBullet holds bodies that stand for no entity, besides the floor: the user made them."""
        client = self.client
        # The floor is ours though it stands for no entity.
        own = self.bodies.count + (client.floor_id != NO_BODY)
        return client.connected and int(client.getNumBodies()) > own

    @property
    def eager(self) -> bool:
        """Whether every step writes every changed pose."""
        return self.policy == "step" or self.live

    def set_gravity(self, gravity: Vector) -> None:
        """Set the gravity of the world, in the engine too."""
        self.world.gravity = gravity
        self.client.set_gravity(gravity)
        if self.on_gravity is not None:
            self.on_gravity(gravity)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def begin_step(self, *, stage: bool = True) -> None:
        """Begin phase 1: until its end, queries of PyBullet see the present poses.

        `stage=False` skips copying the poses, for steps in which no code that may query runs in phase 1.
        """
        if self.keeps_up:
            self._keep_up()
        if stage or (self.keeps_previous and self.world.dynamic.any()):
            self.staged.take()
        else:
            self.staged.drop()
        self._in_phase_1 = True

    def flush(self) -> int:
        """Phase 2: end phase 1 and, if `eager`, write all changed poses. Returns how many."""
        self._in_phase_1 = False
        return self._keep_up() if self.keeps_up else 0

    def end_step(self) -> None:
        """End the step, also one that an error broke off: queries see the columns.

        What was written since phase 2, as by handlers of `post_step`, goes to PyBullet where somebody may look at it.
        """
        self._in_phase_1 = False
        if self.keeps_up:
            self._keep_up()

    def _keep_up(self) -> int:
        """Write what can be looked at without asking; returns how many poses."""
        if self.eager:
            return self._write(None)
        told = np.flatnonzero(self.bodies.table.told)
        return self._write(told[self.world.bullet_behind[told] | self.world.robots.joints_behind[told]])

    # ---- demand ------------------------------------------------------------------------------------------------------

    def ensure(self, rows: Rows | None = None) -> None:
        """Bring the bodies of `rows` (default: all living rows) to the poses that a query made now must see."""
        self.client.connect()
        if not self._in_phase_1:
            self._write(rows)
        elif self.eager:
            # All changed poses were written when the last step ended, and these are what phase 1 must show.
            self._make_missing(self.world.rows if rows is None else rows)
        else:
            self._write_staged(rows)

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of `row`, created and placed if needed; other rows are not written."""
        self.ensure(np.array([row], np.int64))
        return int(self.bodies.table.body[row])

    def body_id_for_user(self, row: int) -> int:
        """Return the PyBullet body of `row` to a caller who may use it later without asking again.

        From now on PyBullet keeps up with that row as it does with all of them after `hand_out`.
        """
        body = self.body_id(row)
        self.bodies.table.told[row] = self._any_told = self.keeps_up = True
        return body

    def row_of_body(self, body: int) -> int:
        """Return the row that PyBullet `body` stands for, NO_ROW for none. All bodies are made first.

        Without PyBullet installed there are no bodies, and so no row.
        """
        try:
            # Whose body it is does not depend on poses, so this must work in a step without staged ones.
            if self._in_phase_1 and not self.staged.taken:
                self.client.connect()
                self._make_missing(self.world.rows)
            else:
                self.ensure()
        except MissingDependencyError:
            return NO_ROW
        return int(self.rows_of_bodies([body])[0])

    def other_body(self, body: int) -> str:
        """Return what PyBullet `body` is that stands for no entity; "" where there is no such body."""
        if not self.client.connected or not self.bodies.exists(body) or self.rows_of_bodies([body])[0] != NO_ROW:
            return ""
        return "the floor" if body == self.client.floor_id else "a body of your own, which stands for no entity"

    def rows_of_bodies(self, bodies: object) -> Rows:
        """Return the rows of PyBullet `bodies`, -1 for bodies without an entity (the floor)."""
        return self.bodies.rows_of_bodies(np.asarray(bodies, np.int64))

    def capture(
        self, width: int, height: int, view_matrix: Any, projection: Any, *, links: bool, shadow: bool, lit_from: Any
    ) -> Capture:
        """Render an image with TinyRenderer and matrices in PyBullet's form: 16 numbers, column by column.

        Bodies are rendered as they are in the engine: call `ensure` before. Raises StateError if they were made
        without visual shapes.
        """
        client = self.client
        if not self.bodies.visuals:
            raise StateError(
                "the engine cannot draw this simulation: its bodies have no visual shapes (engine_visuals: false); "
                "use a camera sensor with OpenGL, or create the simulation with engine_visuals=True"
            )
        _, _, rgba, depth, segments = client.getCameraImage(
            width,
            height,
            view_matrix,
            projection,
            lightDirection=lit_from,
            shadow=int(shadow),
            renderer=client.ER_TINY_RENDERER,
            flags=client.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX if links else 0,
        )
        # A build of PyBullet without NumPy returns tuples.
        return Capture(
            np.reshape(np.asarray(rgba, np.uint8), (height, width, 4)),
            np.reshape(np.asarray(depth, np.float32), (height, width)),
            np.reshape(np.asarray(segments, np.int32), (height, width)),
        )

    def check_open(self) -> None:
        """Raise StateError where users may not use PyBullet."""
        if self.refused:
            raise StateError(self.refused)

    def hand_out(self) -> int:
        """Return the raw client id, for use with pybullet's own functions.

        Those calls cannot be intercepted, so from now on all bodies exist, each step writes all changed poses in phase
        2, and poses written outside a step are written to PyBullet at once.
        """
        self.check_open()
        self.ensure()
        # Only now: in phase 1 `ensure` still has to write the staged poses, which it skips once the mirror is eager.
        self.handed_out = self.keeps_up = True
        return self.client.id

    def pose_written(self, rows: Rows) -> None:
        """Mark poses of `rows` as changed from outside a step; inside a step it does nothing."""
        if self.world.in_step or self._reading:
            return
        if self.live:
            self._write(rows)
        elif self._any_told:
            self._write(rows[self.bodies.table.told[rows]])

    # ---- what PyBullet is told ---------------------------------------------------------------------------------------

    def write_now(self, row: int) -> None:
        """Bring the body of `row` to the columns, also in phase 1: what PyBullet is told next counts from there."""
        self._write(np.array([row], np.int64))

    def read_now(self, row: int) -> None:
        """Read `row`, which the engine moves and which was written in it, back into the columns."""
        rows = np.array([row], np.int64)
        # What comes from PyBullet is not written back to it.
        self._reading = True
        try:
            self.read_back(rows)
        finally:
            self._reading = False
        if self._in_phase_1:
            self.staged.take_over(row)
        if not self.world.in_step and self.on_read is not None:
            self.on_read(rows)

    # ---- whole world -------------------------------------------------------------------------------------------------

    def adopt(self, row: int, body: int) -> None:
        """Make `body`, created by the user in this client, the body of `row`; its pose is read into the columns."""
        self.check_open()
        self.bodies.adopt(row, body)
        self.world.touch(np.array([row], np.int64))
        self.world.bullet_behind[row] = False

    def reset(self) -> None:
        """Empty PyBullet. Bodies of living rows are created again when needed."""
        self.bodies.forget_all()
        self.client.reset()
        # Everything is behind now, not only what moved: the next query finds an empty engine.
        self.world.bullet_behind[self.world.rows] = True
        self.staged.drop()

    def reconcile(self) -> None:
        """Match the bodies to columns that were replaced as a whole, as after restoring a checkpoint."""
        table, world = self.bodies.table, self.world
        held = np.flatnonzero(table.body != NO_BODY)
        # A reused row stands for another entity now, whose body may have another shape.
        misfit_mask = ~world.alive[held] | (table.owner[held] != world.object_id[held])
        self.bodies.remove(held[misfit_mask])
        self.bodies.refresh_masses(held[~misfit_mask])
        world.bullet_behind[world.rows] = True
        if self.live:
            self._write(None)

    def close(self) -> None:
        """Unsubscribe from the world and disconnect."""
        # It may be closed twice.
        if self._spawned in self.world.on_spawn:
            self.world.on_spawn.remove(self._spawned)
            self.world.on_remove.remove(self.bodies.remove)
        self.bodies.forget_all()
        self.client.close()

    def _spawned(self, rows: Rows) -> None:
        if self.live:
            self.client.connect()
            self._make_missing(rows)

    # ---- writing: bodies come to the poses and joints of the columns, or to those before the step --------------------

    def _make_missing(self, rows: Rows) -> int:
        """Make the bodies that `rows` lack, at the poses of the columns; return how many."""
        missing = self.bodies.missing(rows)
        if len(missing):
            self._create(missing)
        return len(missing)

    def _create(self, rows: Rows) -> None:
        world = self.world
        self.bodies.create(rows, world.position[rows], world.orientation[rows])
        world.bullet_behind[rows] = False
        self.bodies.joints.write(rows, world.joints.position)
        world.robots.joints_behind[rows] = False

    def _write(self, rows: Rows | None) -> int:
        """Make missing bodies of `rows` (None: all) and write what is outdated; return how many poses."""
        world, bodies = self.world, self.bodies
        created = 0
        # Comparing counts is cheaper than looking at each row, and usually no body is missing.
        if rows is not None or bodies.count < len(world):
            created = self._make_missing(world.rows if rows is None else rows)
        if rows is None:
            behind = np.flatnonzero(world.bullet_behind)
            # Freed rows keep their flags until they are reused.
            behind = behind[bodies.table.body[behind] != NO_BODY]
        else:
            behind = rows[world.bullet_behind[rows]]
        if len(behind):
            bodies.refresh_masses(behind)
            bodies.refresh_materials(behind)
            bodies.refresh_colors(behind)
            bodies.write_poses(behind, world.position[behind], world.orientation[behind])
            world.bullet_behind[behind] = False
        self._write_joints(rows)
        return created + len(behind)

    def _write_joints(self, rows: Rows | None) -> None:
        """Write the outdated joints of `rows`."""
        flags = self.world.robots.joints_behind
        behind = np.flatnonzero(flags) if rows is None else rows[flags[rows]]
        behind = behind[self.bodies.table.body[behind] != NO_BODY]
        if len(behind):
            self.bodies.joints.write(behind, self.world.joints.position)
            flags[behind] = False

    def _write_staged(self, rows: Rows | None) -> None:
        """Like `_write`, with the poses from the beginning of the step; raises StateError where none were kept."""
        if not self.staged.taken:
            raise StateError(
                "PyBullet was queried in phase 1 of a step begun with stage=False; begin it with stage=True"
            )
        world, bodies = self.world, self.bodies
        rows = world.rows if rows is None else rows
        missing = bodies.missing(rows)
        if len(missing):
            known_mask, positions, orientations = self.staged.poses(missing)
            bodies.create(missing, positions, orientations)
            self.staged.note_poses(missing, known_mask, positions, orientations)
            self._write_staged_joints(missing[known_mask])
            fresh = missing[~known_mask]
            bodies.joints.write(fresh, world.joints.position)
            world.robots.joints_behind[fresh] = False
        behind = self.staged.unwritten(rows)
        if len(behind):
            known_mask, positions, orientations = self.staged.poses(behind)
            bodies.write_poses(behind, positions, orientations)
            self.staged.note_poses(behind, known_mask, positions, orientations)
        self._write_staged_joints(self.staged.unwritten_joints(rows))

    def _write_staged_joints(self, rows: Rows) -> None:
        """Write the joints of `rows`, alive when the step began, at their positions at that time."""
        if len(rows):
            self.bodies.joints.write(rows, self.staged.joints(rows)[1])
            self.staged.note_joints(rows)


def _check_policy(policy: str) -> None:
    if policy not in get_args(PoseFlush):
        raise InvalidValueError(f"pose_flush: expected one of {', '.join(get_args(PoseFlush))}, got {policy!r}")
