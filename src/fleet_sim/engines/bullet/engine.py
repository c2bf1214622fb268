"""BulletEngine: PyBullet as the engine of a simulation, see `core.physics_engine`."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.errors import StateFileError, brief
from fleet_sim.base.files import read_bytes, scratch_folder, to_read, to_write, write_file
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.bullet.client import NO_BODY, SUBSTEP, BulletClient
from fleet_sim.engines.bullet.handle import count_own
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.engines.bullet.models import RawMotor, is_motor
from fleet_sim.world.joints import RAW_MOTOR
from fleet_sim.world.ports import Contact, Vector
from fleet_sim.world.schema import UNIT_QUATERNION
from fleet_sim.world.state_files import Form
from fleet_sim.world.world import DrivenSubsteps, Twist

# Rigid-body physics: dynamic rows are moved by PyBullet and read back, kinematic rows push them.


Forced = list[tuple[int, list[int], list[float]]]
"""(body, joints, forces) of force-controlled motors."""

SWEEP_LIMIT = 1.0
"""Distance in one step (m) above which a kinematic body counts as teleported, not as driven."""


class BulletPhysics:
    """Steps PyBullet's dynamics by the simulation's dt, in substeps short enough to be stable.

    Kinematic rows that moved in this step get the velocity of that motion, so that they push and carry dynamic bodies,
    and end exactly at the pose in their columns.
    """

    def __init__(self, mirror: BulletMirror, *, substep: float = SUBSTEP) -> None:
        self.mirror = mirror
        self.world = mirror.world
        self.substep = substep
        mirror.keeps_previous = True
        mirror.forces.enabled = True
        mirror.read_back = self.read_back

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds; call it after phase 2. Returns the number of rows read back.

        Dynamic rows whose pose or velocity was written since the last step start from their columns. Does nothing where
        no entity is dynamic and the user made no body.
        """
        mirror = self.mirror
        if not mirror.engine_moves:
            mirror.forces.waiting.clear()
            return 0
        mirror.ensure()
        rows = self._dynamic_rows()
        bodies = mirror.bodies
        bodies.refresh_masses(self.world.rows)
        bodies.refresh_materials(self.world.rows)
        mirror.filters.refresh()
        mirror.reactions.prepare()
        movers, joint_movers = self._start_movers(dt), self._start_joint_movers(dt)
        # The tolerance keeps rounding from adding a substep where dt is a multiple of it.
        count = max(1, math.ceil(dt / self.substep - 1e-9))
        # PyBullet computes a motor's maximum impulse from the substep at the time of the command.
        mirror.client.set_timestep(dt / count)
        bodies.joints.send_commands(rows)
        driven = DrivenSubsteps(self.world.drives, self.world.alive, count, dt / count)
        self._run(count, bodies.joints.forced(rows), driven)
        bodies.met = True
        mirror.reactions.measure()
        if len(movers):
            # This removes the error of integration, and writing a pose also stops the body.
            bodies.write_poses(movers, self.world.position[movers], self.world.orientation[movers])
        if len(joint_movers):
            bodies.joints.write(joint_movers, self.world.joints.position)
        self.read_back(rows)
        return len(rows)

    def _run(self, count: int, forced: Forced, driven: DrivenSubsteps) -> None:
        """Make `count` substeps; PyBullet clears motor forces after each, so they are sent before each."""
        client = self.mirror.client
        step = client.stepSimulation
        for index in range(count):
            self.mirror.forces.apply()
            for body, joints, forces in forced:
                client.setJointMotorControlArray(body, joints, client.TORQUE_CONTROL, forces=forces)
            if len(driven.rows):
                self._drive(driven, index)
            step()
        if len(driven.rows):
            self._drive(driven, None)
        self.mirror.forces.waiting.clear()

    def _drive(self, driven: DrivenSubsteps, index: int | None) -> None:
        """Give the driven bodies their velocities before substep `index`; None: after the last one."""
        bodies, rows = self.mirror.bodies, driven.rows
        turns = bodies.read_poses(rows)[1] if bodies.with_offset else None
        now = Twist(*bodies.read_velocities(rows, turns))
        wanted = driven.end(now) if index is None else driven.begin(index, now)
        bodies.set_velocities(rows, *wanted, turns)

    def read_back(self, rows: Rows | None = None) -> None:
        """Copy poses and velocities of dynamic `rows` (all by default) from PyBullet into the columns."""
        world, bodies = self.world, self.mirror.bodies
        if rows is None:
            rows = self._dynamic_rows()
        if not len(rows):
            return
        positions, orientations = bodies.read_poses(rows)
        # Bodies at rest return the same numbers; their bounds need not be computed again.
        moved_mask = (positions != world.position[rows]).any(1) | (orientations != world.orientation[rows]).any(1)
        moved = rows[moved_mask]
        world.position[rows] = positions
        world.orientation[rows] = orientations
        world.velocity[rows], world.angular_velocity[rows] = bodies.read_velocities(rows)
        world.touch(moved)
        # `touch` has just set it, but these poses come from PyBullet itself.
        world.bullet_behind[rows] = False
        bodies.joints.read_back(rows[world.robots.motors[rows]])

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step: smaller row first, sorted, each pair once.

        Only contacts with a distance of at most `limit` metres are included (negative: penetration). Contacts with the
        floor or other bodies without an entity are not.
        """
        client = self.mirror.client
        if not client.connected:
            return np.empty((0, 2), np.int64)
        contacts = client.getContactPoints() or ()
        bodies = np.array([contact[1:3] for contact in contacts if contact[8] <= limit], np.int64).reshape(-1, 2)
        pairs = np.sort(self.mirror.rows_of_bodies(bodies), axis=1)
        return np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 0] != pairs[:, 1])], axis=0)

    def _dynamic_rows(self) -> Rows:
        rows = np.flatnonzero(self.world.dynamic & self.world.alive)
        return rows[self.mirror.bodies.table.body[rows] != NO_BODY]

    def _start_movers(self, dt: float) -> Rows:
        """Move kinematic rows that drove in this step back to their start, with the velocity to their end poses."""
        world, bodies = self.world, self.mirror.bodies
        rows = np.flatnonzero(world.moved & world.alive & ~world.dynamic)
        known_mask, positions, orientations = self.mirror.staged.poses(rows)
        travel = world.position[rows] - positions
        turn = quaternions.to_rotation_vectors(
            quaternions.multiply(world.orientation[rows], quaternions.conjugate(orientations))
        )
        drove_mask = known_mask & _within(travel, SWEEP_LIMIT) & (travel.any(1) | turn.any(1))
        movers = rows[drove_mask]
        if len(movers):
            bodies.write_poses(movers, positions[drove_mask], orientations[drove_mask])
            bodies.set_velocities(movers, travel[drove_mask] / dt, turn[drove_mask] / dt)
        return movers

    def _start_joint_movers(self, dt: float) -> Rows:
        """Set moved joints of kinematic rows back to their start, with the velocity to their end positions."""
        world, robots, joints = self.world, self.world.robots, self.world.joints
        rows = np.flatnonzero(robots.joints_moved & world.alive & ~(robots.motors & world.dynamic))
        if not len(rows):
            return rows
        known_mask, staged = self.mirror.staged.joints(rows)
        rows = rows[known_mask]
        count = len(staged)
        travel = joints.position[:count] - staged
        # A joint that moved faster than it can was set to its position, not driven.
        swept_mask = np.abs(travel) <= 2.0 * joints.max_velocity[:count] * dt
        start = np.where(swept_mask, staged, joints.position[:count])
        self.mirror.bodies.joints.write(rows, start, np.where(swept_mask, travel / dt, 0.0))
        return rows


def _within(vectors: Floats, limit: float) -> Bools:
    return np.asarray((vectors * vectors).sum(1) <= limit * limit)


# Checkpoints of engine state that is not in the columns: contacts and the impulses of the last step. PyBullet's own
# states lack the order in which contacts are solved, and motors; both are brought to what they were.


FAR, APART = 1e6, 1e3
"""In metres: a place far from everything, and a distance at which bodies do not meet there."""
PAIRS_PER_BODY = 8
"""Assumed maximum number of pairs of near bodies, per body."""
MOST_REMOVED = 200
"""Removed bodies after which going back to a saved state empties the engine, if there are no more than these to be made
again: PyBullet keeps 0.8 kB of each."""


class EngineState:
    """A state in the engine's memory, kept as long as this object lives."""

    def __init__(self, mirror: BulletMirror) -> None:
        client = mirror.client
        # What PyBullet counts of bodies, as those made elsewhere have no version here.
        self.epoch = client.epoch
        self.version = mirror.bodies.version
        self.forces = list(mirror.forces.waiting)
        self.motors = mirror.bodies.joints.raw_motors()
        self.bodies = int(client.getNumBodies())
        self.number = int(client.saveState())
        # Neither `self` nor the client, which knows the world that keeps states: both would be kept alive for ever.
        weakref.finalize(self, _forget, weakref.ref(client), client.epoch, self.number)


@dataclass(frozen=True, eq=False)
class StoredEngine:
    """A state of the engine from a file: its bytes, the rows in the order of their bodies, and the user's motors."""

    content: bytes
    order: Rows
    motors: dict[int, RawMotor]


def _forget(owner: weakref.ref[BulletClient], epoch: int, number: int) -> None:
    client = owner()
    if client is not None and client.connected and client.epoch == epoch:
        client.removeState(number)


class BulletCheckpoints:
    """Saves and restores the engine with the world, so that a simulation with physics continues bit for bit as before.

    This holds as long as no body was made or removed since the state was saved. Otherwise the engine is built again
    from the columns, as at the start of a run: going back to the start is exact in any case.
    """

    def __init__(self, mirror: BulletMirror) -> None:
        self._mirror = mirror

    def save(self) -> EngineState | None:
        """Return the engine's state; None if it moves nothing, as the columns then hold the whole state."""
        mirror, world = self._mirror, self._mirror.world
        if not (world.physics and mirror.engine_moves):
            return None
        mirror.ensure()
        self._prepare()
        state = EngineState(mirror)
        # Goes to the state just saved: the run that continues and the one restored later then solve contacts alike.
        self._go_to({"stateId": state.number})
        return state

    def _prepare(self) -> None:
        mirror, rows = self._mirror, self._mirror.world.rows
        # The engine has to have what the columns say before it is saved.
        mirror.bodies.refresh_masses(rows)
        mirror.bodies.refresh_materials(rows)
        mirror.filters.refresh()

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the engine's state is written in state files: as PyBullet writes it."""
        yield Form("engine", EngineState, self._written, _stored)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what is no state of the engine."""
        if saved is not None and not isinstance(saved, StoredEngine):
            raise StateFileError("the engine's state is not as it was written")

    def _written(self, state: EngineState) -> object:
        """Return the engine's state, which must be that of `state`, as it is when this was saved just now."""
        mirror, world = self._mirror, self._mirror.world
        if mirror.live or mirror.bodies.table.adopted[world.rows].any() or any(count_own(mirror)):
            raise StateFileError(
                "bodies or constraints were made with PyBullet's own functions, or its client was handed out: what was "
                "done there is in no file"
            )
        if mirror.forces.waiting:
            # A file has no forces: the next step would be another one.
            raise StateFileError("forces wait for the next step; save the state before they are applied")
        rows = world.rows
        # Bodies are made in this order when the state is read.
        rows = rows[np.argsort(mirror.bodies.table.body[rows], kind="stable")]
        with scratch_folder() as folder:
            mirror.client.saveBullet(str(to_write(file := folder / "state.bullet")))
            return read_bytes(file), rows, state.motors

    def _load(self, stored: StoredEngine) -> None:
        """Make all bodies anew, in the order that they had, and give them the engine's state from a file."""
        mirror, world = self._mirror, self._mirror.world
        if not np.array_equal(np.sort(stored.order), np.sort(world.rows)):
            raise StateFileError("the engine's state is one of other bodies")
        for slot in stored.motors:
            if slot >= world.joints.used or world.joints.control[slot] != RAW_MOTOR:
                raise StateFileError(f"the engine's state: there is no motor of the user's own in joint {slot}")
        mirror.bodies.joints.raw = dict(stored.motors)
        mirror.reset()
        mirror.forces.waiting.clear()
        mirror.ensure(stored.order)
        self._prepare()
        with scratch_folder() as folder:
            file = folder / "state.bullet"
            write_file(file, stored.content)
            try:
                self._go_to({"fileName": str(to_read(file))})
            except mirror.client.module.error as error:
                raise StateFileError(f"PyBullet does not take the engine's state back: {error}") from error
        self._catch_up()

    def restore(self, saved: Any) -> None:
        """Restore the engine's state; the columns must be restored already."""
        if isinstance(saved, StoredEngine):
            self._load(saved)
            return
        mirror = self._mirror
        mirror.forces.waiting[:] = () if saved is None else saved.forces
        mirror.reconcile()
        if saved is None:
            # Emptied at times only, as making all bodies anew takes long.
            if mirror.bodies.removed > max(MOST_REMOVED, mirror.bodies.count) and not mirror.known_to_user:
                mirror.reset()
            return
        # Motors are no part of PyBullet's states.
        mirror.bodies.joints.raw = dict(saved.motors)
        world = mirror.world
        world.joints.motor_behind[: world.joints.used] = True
        rebuilds = not (mirror.live or mirror.bodies.table.adopted.any() or mirror.has_others)
        if (
            saved.epoch == mirror.client.epoch
            and saved.version == mirror.bodies.version
            and saved.bodies == mirror.client.getNumBodies()
        ):
            # Filters first: changing a filter after the engine is restored would drop restored contacts.
            mirror.filters.refresh()
            self._go_to({"stateId": saved.number})
            self._catch_up()
        elif rebuilds:
            mirror.reset()
            # Makes all bodies and brings the engine to a definite order of contacts, as at the start of a run.
            self.save()

    def _catch_up(self) -> None:
        """Note that the engine has what the columns say of bodies that it moves."""
        mirror, world = self._mirror, self._mirror.world
        mirror.bodies.refresh_materials(world.rows[mirror.bodies.table.body[world.rows] != NO_BODY])
        rows = np.flatnonzero(world.dynamic & world.alive)
        world.bullet_behind[rows] = False
        world.robots.joints_behind[rows] = False
        # Motors are no part of the engine's states.
        world.joints.motor_behind[: world.joints.used] = True

    def _go_to(self, place: dict[str, Any]) -> None:
        """Bring the engine to a state in its memory or in a file: `place` are the arguments of restoreState.

        The result is the same whatever its present state is.

        Contacts are solved in the order in which bodies first met, which a saved state does not contain. So all bodies
        are moved apart first: after restoring, they meet again in the order of their ids.
        """
        bodies = self._mirror.bodies
        client = self._mirror.client
        with client.quiet():
            if bodies.met:
                self._take_apart()
            self._mirror.filters.renumber()
            client.restoreState(**place)
        bodies.met = True

    def _take_apart(self) -> None:
        """Move bodies far apart until the engine has dropped all its pairs of near bodies.

        The engine checks a tenth of its pairs, at least one, whenever something has moved. So the number of rounds
        grows with the logarithm of the number of pairs.
        """
        mirror, world = self._mirror, self._mirror.world
        client, table = mirror.client, mirror.bodies.table
        rows = world.rows
        # Enough to part all pairs: two of the others never collide.
        bodies = table.body[rows[(table.mass[rows] > 0.0) | table.model[rows]]].tolist()
        pairs = PAIRS_PER_BODY * len(bodies)
        for turn in range(int(20.0 + 10.0 * math.log(1.0 + pairs))):
            for index, body in enumerate(bodies):
                client.resetBasePositionAndOrientation(body, (APART * index, FAR + APART * turn, FAR), UNIT_QUATERNION)
            client.performCollisionDetection()


def _stored(saved: tuple[bytes, Rows, dict[int, RawMotor]]) -> StoredEngine:
    content, order, motors = saved
    is_array = isinstance(order, np.ndarray) and order.dtype == np.int64
    if not isinstance(content, bytes) or not is_array or not isinstance(motors, dict):
        raise StateFileError("the engine's state is not as it was written")
    for slot, motor in motors.items():
        if type(slot) is not int or slot < 0 or not isinstance(motor, dict) or not is_motor(motor):
            raise StateFileError(f"the engine's state: {brief(motor)} commands no motor")
    return StoredEngine(content, order, motors)


def _friction(point: Any) -> Vector:
    """Return the friction force (along the surface) of a PyBullet contact point."""
    first, first_way, second, second_way = point[10:14]
    x, y, z = (first * a + second * b for a, b in zip(first_way, second_way, strict=True))
    return x, y, z


SETTLING_SLEEP_THRESHOLD, RESTING = 1.0, 0.05
"""Sleep thresholds of the engine, sums of squared velocities (m/s, rad/s): while falling asleep, and later on."""


class BulletEngine:
    """Steps the dynamic rows of a mirror's world with PyBullet; bodies have PyBullet's numbers."""

    name = "bullet"
    restores_nonfinite_poses = False

    def __init__(self, mirror: BulletMirror, *, substep: float) -> None:
        self._mirror = mirror
        self._physics = BulletPhysics(mirror, substep=substep)
        self._dozing: list[int] = []
        """Bodies that fall asleep in the next step."""
        self.reactions = mirror.reactions
        self.checkpoints = BulletCheckpoints(mirror)

    def begin_step(self) -> None:
        """Do nothing: the mirror keeps the poses from the beginning of a step."""

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds, in substeps, and read them back; return how many."""
        count = self._physics.step(dt)
        if self._dozing:
            for body in self._dozing:
                self._mirror.client.changeDynamics(body, -1, sleepThreshold=RESTING)
            self._dozing.clear()
        return count

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step, at most `limit` m apart: sorted, each once."""
        return self._physics.contact_pairs(limit)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contact points of the entity in `row` in the last step of physics, in the engine's order."""
        mirror = self._mirror
        body = int(mirror.bodies.table.body[row])
        if body == NO_BODY or not mirror.client.connected:
            return []
        # Without `ensure`: these are the contacts of the last step, whatever was written since.
        points = mirror.client.getContactPoints(bodyA=body) or ()
        rows = mirror.rows_of_bodies([point[2] for point in points]).tolist()
        others = [None if row < 0 else mirror.world.handles[row] for row in rows]
        return [
            Contact(other, point[3], point[4], point[6], point[7], point[8], point[9], _friction(point))
            for other, point in zip(others, points, strict=True)
        ]

    # ---- what pushes, and what sleeps --------------------------------------------------------------------------------

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""
        mirror = self._mirror
        given = {"linkIndex": -1, "forceObj": force.tolist(), "flags": mirror.client.WORLD_FRAME}
        if position is not None:
            given["posObj"] = position.tolist()
        mirror.forces.add(int(mirror.world.object_id[row]), "applyExternalForce", given)

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""
        mirror = self._mirror
        given = {"linkIndex": -1, "torqueObj": torque.tolist(), "flags": mirror.client.WORLD_FRAME}
        mirror.forces.add(int(mirror.world.object_id[row]), "applyExternalTorque", given)

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop dynamic `rows` that rest on each other, so that they cost nothing until something touches them."""
        mirror, client = self._mirror, self._mirror.client
        mirror.ensure(rows)
        bodies = mirror.bodies.table.body[rows].tolist()
        for body in bodies:
            client.resetBaseVelocity(body, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            client.changeDynamics(
                body,
                -1,
                activationState=client.ACTIVATION_STATE_ENABLE_SLEEPING,
                sleepThreshold=SETTLING_SLEEP_THRESHOLD,
            )
            client.changeDynamics(body, -1, activationState=client.ACTIVATION_STATE_SLEEP)
        # They fall asleep in the next step. The high threshold is for it only: a high heap trembles that fast, but
        # later an object with that velocity really moves and must stay awake.
        self._dozing = bodies

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""
        mirror, client = self._mirror, self._mirror.client
        mirror.ensure(rows)
        for body in mirror.bodies.table.body[rows].tolist():
            client.changeDynamics(body, -1, activationState=client.ACTIVATION_STATE_WAKE_UP)

    # ---- numbers of bodies -------------------------------------------------------------------------------------------

    def body_id(self, row: int) -> int:
        """Return the PyBullet body of the entity, creating it if needed."""
        return self._mirror.body_id(row)

    def body_id_for_user(self, row: int) -> int:
        """As `body_id`, for users: PyBullet keeps up with that body from now on."""
        return self._mirror.body_id_for_user(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity that PyBullet `body` stands for, NO_ROW for none; all bodies are made first."""
        return self._mirror.row_of_body(body)

    def other_body(self, body: int) -> str:
        """Return what PyBullet `body` is that stands for no entity; "" where there is no such body."""
        return self._mirror.other_body(body)

    def floor_id(self) -> int:
        """Return the number of the floor's body, -1 for none."""
        self._mirror.client.connect()
        return int(self._mirror.client.floor_id)

    def pose_written(self, rows: Rows) -> None:
        """Mark poses of `rows` as changed from outside a step."""
        self._mirror.pose_written(rows)

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
        self._dozing.clear()
        self._mirror.reset()
