"""MujocoEngine: MuJoCo as the engine of a simulation, see `core.physics_engine`."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import StateError, StateFileError
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.mujoco import bound as bounds
from fleet_sim.engines.mujoco.bodies import MujocoBodies
from fleet_sim.engines.mujoco.bound import (
    IMPEDANCE,
    NO_PAIRS,
    ContactTable,
    RestingContacts,
    contact_law,
    contacts_of,
    keep_down,
    mix_surfaces,
    pairs_in_contact,
)
from fleet_sim.engines.mujoco.geoms import xyzw
from fleet_sim.engines.mujoco.movers import Movers, MujocoMotors
from fleet_sim.engines.mujoco.spec import SpecOptions
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.ports import Contact, JointSensing, MeasuredJoint
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import DrivenSubsteps, World

# What the solver made no numbers of: an unstable body is put back where it was, and the others go on.


LARGEST = 1e12
"""Coordinates (m, rad) and speeds beyond this count as broken."""


def mend_broken(world: World, bodies: MujocoBodies) -> None:
    """Put bodies and joints that are no numbers any more back to where the columns have them, at rest; count them.

    To be called before the columns are read back. A sum of squares tells most of the time that all is well.
    """
    bound = bodies.bound
    assert bound is not None
    data = bound.data
    # Of squares, which is faster. Written this way round because NaN is neither above nor below anything.
    if float(data.qpos.dot(data.qpos)) <= LARGEST**2 and float(data.qvel.dot(data.qvel)) <= LARGEST**2:
        return
    free_mask = _is_broken(data.qpos[bound.free_q]).any(1) | _is_broken(data.qvel[bound.free_v]).any(1)
    joint_mask = _is_broken(data.qpos[bound.joint_q]) | _is_broken(data.qvel[bound.joint_v])
    robots = bound.joint_row[joint_mask]
    # A robot is put back as a whole.
    rows = bound.free[free_mask | np.isin(bound.free, robots)]
    slots = bound.slots[np.isin(bound.joint_row, np.union1d(robots, rows))]
    world.velocity[rows] = world.angular_velocity[rows] = 0.0
    world.joints.velocity[slots] = 0.0
    bodies.write(rows, rows[:0], slots)
    # What is left of it, such as the accelerations that the solver starts from, would break the next step.
    state = bounds.state_of(bound)
    for numbers in (state.vector, state.accelerations):
        numbers[_is_broken(numbers)] = 0.0
    bounds.restore_state(bound, state)
    for row in np.union1d(rows, robots).tolist():
        world.guard.note(f"physics of {world.label(row)}", "became unstable; it was stopped where it was before")


def _is_broken(values: Floats) -> Bools:
    broken_mask: Bools = ~(np.abs(values) <= LARGEST)
    return broken_mask


# Drag: what slows down free bodies besides damping in proportion to their velocities.


def drag(bound: bounds.Bound, dt: float) -> None:
    """Add the part of the damping of free bodies that grows with the square of their speed, as in PyBullet.

    There a body at 1 m/s, or 1 rad/s, is slowed down twice as hard as in proportion, and a faster one harder still.
    Called between the velocities and the accelerations of a substep of `dt` s.
    """
    data, at = bound.data, bound.free_span
    moving = data.qvel[at]
    if not np.count_nonzero(moving):
        # All sleep.
        return
    # Of each body the linear and the angular velocity.
    velocities = moving.reshape(-1, 2, 3)
    squares = velocities * velocities
    # Component by component, so that the sum is the same in company as alone.
    speeds = np.sqrt(squares[:, :, 0] + squares[:, :, 1] + squares[:, :, 2])
    force = (bound.free_damping * velocities * speeds[:, :, None]).ravel()
    if not float(speeds.max()) * bound.drag_rate * dt < 0.5:
        # Never more than what stops it within the substep.
        most = np.abs(moving) * bound.free_inertia.ravel() / dt
        force = np.minimum(np.maximum(force, -most), most)
    data.qfrc_passive[at] -= force


def drag_links(bound: bounds.Bound, dt: float) -> None:
    """Slow down the links of robots, each by its own velocities, as PyBullet does; after the user's forces are applied.

    Their bases are free bodies, or stand still.
    """
    if len(bound.links):
        # No more than what stops them within the substep.
        _drag_links(*bound.drag_columns, 0.5 / dt)


@compiled_step
def _drag_links(
    links: Ints,
    roots: Ints,
    damping: Floats,
    mass: Floats,
    inertia: Floats,
    twists: Floats,
    places: Floats,
    centres: Floats,
    axes: Floats,
    out: Floats,
    most: float,
) -> None:
    """Write the drag of `links` (L,), of which `damping` (L, 2) is, into their rows of `out` (B, 6)."""
    for index in range(len(links)):
        body, root = links[index], roots[index]
        wx, wy, wz = twists[body, 0], twists[body, 1], twists[body, 2]
        # Velocities are those at the centre of mass of the robot.
        x = places[body, 0] - centres[root, 0]
        y = places[body, 1] - centres[root, 1]
        z = places[body, 2] - centres[root, 2]
        vx = twists[body, 3] + (wy * z - wz * y)
        vy = twists[body, 4] + (wz * x - wx * z)
        vz = twists[body, 5] + (wx * y - wy * x)
        rate = min(damping[index, 0] * (1.0 + math.sqrt(vx * vx + vy * vy + vz * vz)), most)
        force = -rate * mass[body]
        out[body, 0], out[body, 1], out[body, 2] = force * vx, force * vy, force * vz
        rate = min(damping[index, 1] * (1.0 + math.sqrt(wx * wx + wy * wy + wz * wz)), most)
        tx, ty, tz = 0.0, 0.0, 0.0
        for axis in range(3):
            ax, ay, az = axes[body, axis], axes[body, 3 + axis], axes[body, 6 + axis]
            # Its angular momentum about one of the main axes of its inertia.
            turn = -rate * inertia[body, axis] * (wx * ax + wy * ay + wz * az)
            tx, ty, tz = tx + turn * ax, ty + turn * ay, tz + turn * az
        out[body, 3], out[body, 4], out[body, 5] = tx, ty, tz


# Forces and torques of the user, which last one step of the simulation.


Numbers = tuple[float, ...]


@saved
class Push(NamedTuple):
    """What pushes an entity: a force in N, at a point or at the centre of mass, and a torque in N m; world frame."""

    row: int
    generation: int
    force: Numbers
    torque: Numbers
    point: Numbers | None


class MujocoForces:
    """Keeps what pushes until the step is over, and applies it in each substep."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.pushes: list[Push] = []

    def add(self, row: int, force: Numbers, torque: Numbers, point: Numbers | None) -> None:
        """Push the entity in `row` in the next step."""
        self.pushes.append(Push(row, int(self._world.generation[row]), force, torque, point))

    def apply(self, bound: bounds.Bound) -> None:
        """Apply all of them to a substep whose positions are known."""
        if not self.pushes:
            return
        data = bound.data
        data.xfrc_applied[:] = 0.0
        for push in self.pushes:
            found = np.flatnonzero(bound.rows == push.row)
            if not len(found) or not self._world.is_live(push.row, push.generation):
                continue
            body = int(bound.compiled.base[found[0]])
            force, torque = np.array(push.force), np.array(push.torque)
            if push.point is not None:
                torque = torque + np.cross(np.array(push.point) - data.xipos[body], force)
            data.xfrc_applied[body] += np.concatenate((force, torque))

    def clear(self, bound: bounds.Bound | None) -> None:
        """Forget them: the step is over."""
        if self.pushes:
            self.pushes.clear()
            if bound is not None:
                bound.data.xfrc_applied[:] = 0.0


# Forces and torques that act in joints, from MuJoCo's forces between bodies.


class MujocoReactions(JointSensing):
    """Measures in joints by MuJoCo's forces between bodies, which include motors."""

    def __init__(self, world: World) -> None:
        super().__init__(lambda rows: world.generation[rows])
        self._world = world

    def measure(self, bound: bounds.Bound) -> None:
        """Read the wanted joints, after the last substep."""
        if not self._wanted:
            return
        world = self._world
        self._wanted = {place: -1 for place in self._wanted if world.is_live(place.row, place.generation)}
        bounds.mujoco_module().mj_rnePostConstraint(bound.model, bound.data)
        found = {place: self._read(bound, place) for place in self._wanted if world.dynamic[place.row]}
        self._wrenches = {place: wrench for place, wrench in found.items() if wrench is not None}

    def _read(self, bound: bounds.Bound, place: MeasuredJoint) -> tuple[float, ...] | None:
        """Return force (N) and torque (N m) in a joint, in the frame of its child; None without the engine."""
        compiled, data = bound.compiled, bound.data
        at = np.flatnonzero(bound.rows == place.row)
        bodies = np.flatnonzero((compiled.body_place == at[0]) & (compiled.body_link == place.joint)) if len(at) else at
        if not len(bodies):
            return None
        body = int(bodies[0])
        torque, force = data.cfrc_int[body, :3], data.cfrc_int[body, 3:]
        # MuJoCo has them about the centre of mass of the whole tree, in the axes of the world.
        centre = data.subtree_com[bound.model.body_rootid[body]]
        torque = torque + np.cross(centre - data.xpos[body], force)
        back = quaternions.conjugate(np.array([xyzw(data.xquat[body])]))
        return tuple(np.concatenate([quaternions.rotate(back, part[None])[0] for part in (force, torque)]).tolist())


# Checkpoints of what MuJoCo has besides the columns, in memory and in state files.


@saved
@dataclass(frozen=True, eq=False)
class MujocoMoment:
    """A state of MuJoCo: its numbers, the contacts of what sleeps, and what is driven, was moved and is pushed.

    It is one of the `version` of MuJoCo, and of the entities with `ids` in the order of their bodies.
    """

    version: str
    ids: Ints
    state: bounds.MujocoState
    resting: ContactTable
    driven: tuple[int, ...]
    moved: tuple[int, ...]
    pushes: tuple[Push, ...]

    def check(self) -> None:
        """Raise StateFileError unless all arrays are of the kinds and shapes that MuJoCo's have, and finite."""
        state, resting, count = self.state, self.resting, len(self.resting.geoms)
        whole = self.ids, state.asleep, resting.geoms
        real = state.vector, state.accelerations, *resting[1:]
        right = (
            all(array.dtype == np.int64 for array in whole)
            and all(array.dtype == np.float64 and np.isfinite(array).all() for array in real)
            and [array.ndim for array in (self.ids, state.asleep, state.vector, state.accelerations)] == [1, 1, 1, 2]
            and [array.shape for array in resting] == [(count, 2), (count,), (count, 3), (count, 9), (count, 6)]
            and all(type(number) is int for number in (*state.waking, *self.driven, *self.moved))
            and all(type(push) is Push for push in self.pushes)
        )
        if not right:
            raise StateFileError("the engine's state is not as it was written")


@dataclass(eq=False, repr=False)
class MujocoCheckpoints:
    """Saves and restores MuJoCo with the world, so that a simulation with physics continues bit for bit as before."""

    _world: World
    _bodies: MujocoBodies
    _movers: Movers
    _forces: MujocoForces
    _resting: RestingContacts
    _models: WeakKeyDictionary[MujocoMoment, bounds.Bound] = field(default_factory=WeakKeyDictionary)
    """The model in use when a state was saved; of a state from a file there is none."""

    def save(self) -> MujocoMoment | None:
        """Return MuJoCo's state; None if it moves nothing, as the columns then hold the whole state."""
        world, bodies = self._world, self._bodies
        if not (world.physics and world.dynamic.any()):
            return None
        # What was changed from outside is written before the state is read.
        bound = bodies.refresh()
        bodies.write_changed()
        self._movers.settle(bound)
        driven, moved = tuple(sorted(bodies.driven)), tuple(sorted(bodies.fixtures.moved))
        state = bounds.state_of(bound)
        if not np.array_equal(bound.model.opt.gravity, bodies.gravity):
            # A model that is compiled where this is loaded has the new gravity, and would not see that it is new.
            state = state._replace(waking=tuple(range(bound.model.ntree)))
        version, pushes = bounds.mujoco_module().__version__, tuple(self._forces.pushes)
        made = MujocoMoment(version, bound.ids, state, self._resting.table, driven, moved, pushes)
        self._models[made] = bound
        return made

    def restore(self, saved: MujocoMoment | None) -> None:
        """Restore MuJoCo's state; the columns must be restored already."""
        bodies = self._bodies
        bodies.forget()
        self._movers.forget()
        self._forces.clear(None)
        self._resting.forget()
        if saved is None:
            return
        bodies.driven.update(saved.driven)
        bodies.fixtures.moved.update(saved.moved)
        self._forces.pushes.extend(saved.pushes)
        bound = self._models.get(saved)
        if bound is None:
            self._load(saved)
            return
        bounds.restore_state(bound, saved.state)
        bodies.take(bound)
        self._movers.settle(bound)
        self._resting.take(bound, saved.resting)

    def _load(self, stored: MujocoMoment) -> None:
        """Take over a state from a file into a model that is compiled anew; raises StateFileError for other bodies."""
        bound = self._bodies.refresh()
        if not np.array_equal(stored.ids, bound.ids):
            raise StateFileError("the engine's state is one of other bodies")
        bounds.check_state(bound, stored.state)
        # With other numbers MuJoCo would read beyond its arrays.
        geoms = stored.resting.geoms
        if len(geoms) and not 0 <= int(geoms.min()) <= int(geoms.max()) < bound.model.ngeom:
            raise StateFileError("the engine's state has contacts of other bodies")
        bounds.restore_state(bound, stored.state)
        self._movers.settle(bound)
        self._resting.take(bound, stored.resting)

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what is no state of MuJoCo."""
        if saved is None:
            return
        if not isinstance(saved, MujocoMoment):
            raise StateFileError("the state is one of another engine; read it with engine: bullet")
        here = bounds.mujoco_module().__version__
        if saved.version != here:
            raise StateFileError(
                f"the state was written with MuJoCo {saved.version}, and here is {here}: it would go on otherwise"
            )
        saved.check()


# Substeps of MuJoCo: its own stages, with our surfaces and motors between them.


log = logging.getLogger("fleet_sim.engines.mujoco")
_LEAST_FORCE = 1e-300
MOST_ARENA = 8 * 2**30
"""Bytes for contacts and constraints beyond which a world is refused."""


@dataclass(eq=False, repr=False)
class Substeps:
    """Makes the substeps of one step. `erp` is the part of an overlap that is corrected in a substep."""

    _bodies: MujocoBodies
    _movers: Movers
    _forces: MujocoForces
    _resting: RestingContacts
    _erp: float

    def awake(self, bound: bounds.Bound) -> bool:
        """Return whether anything moves, or may begin to."""
        return bool(bound.data.ntree_awake or bound.waking or self._gravity_changed(bound))

    def run(
        self, bound: bounds.Bound, motors: MujocoMotors, driven: DrivenSubsteps, count: int, dt: float
    ) -> tuple[bounds.Bound, MujocoMotors]:
        """Make `count` substeps of `dt`; return the model and motors in use, others where memory had to grow."""
        self._prepare(bound, dt)
        motors.prepare()
        # Kept to begin again from, should memory not be enough.
        before, resting = bounds.state_of(bound), self._resting.table
        left, full = count, _left_out(bound)
        while left:
            self._movers.drive(bound)
            self._bodies.drive(bound, driven, count - left)
            if self._substep(bound, motors, dt) and _left_out(bound) == full:
                # In each substep: a contact is gone in the one after its bodies fell asleep.
                self._resting.update(bound)
                left -= 1
                continue
            # What did not fit was left out, so all substeps are made again with more memory.
            left = count
            bound = self._grown(bound, before)
            self._movers.follow(bound)
            self._resting.take(bound, resting)
            motors = MujocoMotors(motors.world, bound)
            full = _left_out(bound)
            self._prepare(bound, dt)
            motors.prepare()
        self._bodies.drive(bound, driven, None)
        motors.measure()
        return bound, motors

    def _prepare(self, bound: bounds.Bound, dt: float) -> None:
        """Set what may have changed since the last step: time step, gravity, and what depends on both."""
        model = bound.model
        if self._gravity_changed(bound):
            # Both are changed, so that all that sleeps feels the new gravity.
            bound.compiled.gravity = tuple(self._bodies.gravity)
            model.opt.gravity[:] = self._bodies.gravity
            bound.wake(range(model.ntree))
        if bound.compiled.substep == dt:
            return
        bound.compiled.substep = model.opt.timestep = dt
        model.geom_solref[:] = contact_law(self._erp, dt)
        model.geom_solimp[:, :2] = IMPEDANCE
        for solref in (model.jnt_solref, model.eq_solref):
            # As stiff as a substep permits: twice its length is the least that is stable.
            solref[:, 0], solref[:, 1] = 2.0 * dt, 1.0

    def _gravity_changed(self, bound: bounds.Bound) -> bool:
        return bound.compiled.gravity != tuple(self._bodies.gravity)

    def _substep(self, bound: bounds.Bound, motors: MujocoMotors, dt: float) -> bool:
        """Make one substep; return False if MuJoCo broke off as there was too little memory for its contacts."""
        mujoco, model, data = bounds.mujoco_module(), bound.model, bound.data
        try:
            waking = bound.take_waking()
            if len(waking):
                # MuJoCo wakes up what a force acts on, however little.
                data.qfrc_applied[waking] = _LEAST_FORCE
            mujoco.mj_fwdPosition(model, data)
            if len(waking):
                data.qfrc_applied[waking] = 0.0
            if data.ncon and mix_surfaces(bound):
                # The constraints again, now of these contacts.
                mujoco.mj_makeConstraint(model, data)
                mujoco.mj_island(model, data)
                mujoco.mj_projectConstraint(model, data)
            mujoco.mj_fwdVelocity(model, data)
            drag(bound, dt)
            motors.aim(dt)
            self._forces.apply(bound)
            drag_links(bound, dt)
            if data.ncon:
                keep_down(bound, dt)
            mujoco.mj_step2(model, data)
        except mujoco.FatalError as error:
            if not bounds.is_lack_of_memory(error):
                raise StateError(f"MuJoCo cannot make this step: {error}") from error
            return False
        return True

    def _grown(self, bound: bounds.Bound, before: bounds.MujocoState) -> bounds.Bound:
        # Twice as much each time, up to a limit.
        if int(bound.model.narena) >= MOST_ARENA:
            raise StateError("MuJoCo has no room for the contacts of this world; spawn fewer dynamic bodies")
        log.debug("more memory for contacts: %d MB", 2 * int(bound.model.narena) // 2**20)
        return self._bodies.grow_arena(before)


def _left_out(bound: bounds.Bound) -> bytes:
    """Return how often MuJoCo had no room for contacts or constraints, to be compared: bytes are read in one call."""
    return bound.warnings[_kinds_of_lack()].tobytes()


@cache
def _kinds_of_lack() -> Ints:
    """Return the numbers of MuJoCo's warnings that there was no room for contacts, or for constraints."""
    kinds = bounds.mujoco_module().mjtWarning
    return np.array([int(kinds.mjWARN_CONTACTFULL), int(kinds.mjWARN_CNSTRFULL)])


NOTHING = (0.0, 0.0, 0.0)
NOBODY: Ints = np.empty(0, np.int64)


class MujocoEngine:
    """Steps the dynamic rows of a world with MuJoCo, which is loaded at the first step that has any.

    A body has the number of its entity, which it keeps: MuJoCo's own numbers change with every spawn.
    """

    name = "mujoco"
    restores_nonfinite_poses = True

    def __init__(
        self, world: World, options: SpecOptions, exempt_links: LinkPairs, *, substep: float, contact_erp: float
    ) -> None:
        """`exempt_links` returns the pairs of links of a row that do not push each other."""
        self._world = world
        self._substep = substep
        self._bodies = MujocoBodies(world, options, exempt_links)
        self._movers = Movers(world, self._bodies)
        self._forces = MujocoForces(world)
        self._resting = RestingContacts()
        self._substeps = Substeps(self._bodies, self._movers, self._forces, self._resting, contact_erp)
        self._motors: MujocoMotors | None = None
        self._dozing = NOBODY
        """Object ids of what is to fall asleep in the next step."""
        self.reactions = MujocoReactions(world)
        self.checkpoints = MujocoCheckpoints(world, self._bodies, self._movers, self._forces, self._resting)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """Begin a step of the simulation: what is kinematic sweeps from where it is now to where it is in `step`."""
        self._movers.begin_step()

    def step(self, dt: float) -> int:
        """Advance dynamic rows by `dt` seconds, in substeps, and read them back; return how many."""
        if not np.count_nonzero(self._world.dynamic):
            self._forces.clear(self._bodies.bound)
            return 0
        self._movers.find_driven()
        before = self._bodies.bound
        bound = self._bodies.refresh()
        changed = self._bodies.write_changed()
        if bound is not before:
            self._resting.forget()
        if self._motors is None or not self._motors.fits(bound):
            self._motors = MujocoMotors(self._world, bound)
        changed |= self._movers.start(bound, dt)
        # The tolerance keeps rounding from adding a substep where dt is a multiple of it.
        count = max(1, math.ceil(dt / self._substep - 1e-9))
        driven = DrivenSubsteps(self._world.drives, self._world.alive, count, dt / count)
        if not (changed or self._forces.pushes or len(driven.rows) or self._substeps.awake(bound)):
            return len(bound.dynamic)
        if len(driven.rows):
            bound.wake(self._trees(bound, driven.rows))
        bound, self._motors = self._substeps.run(bound, self._motors, driven, count, dt / count)
        mend_broken(self._world, self._bodies)
        self._movers.stop(bound)
        self.reactions.measure(bound)
        if len(self._dozing):
            # By itself MuJoCo would wait until they do not even tremble; what carries them would wake them up.
            trees = self._trees(bound, bound.rows[np.isin(bound.ids, self._dozing)])
            bounds.let_sleep(bound, trees, self._movers.standing(bound))
            self._resting.update(bound)
            self._dozing = NOBODY
        self._forces.clear(bound)
        efforts = self._motors.efforts
        # A sum of squares tells it in a third of the time; where it overflows, nothing is changed.
        if not float(efforts.dot(efforts)) < math.inf:
            efforts = np.nan_to_num(efforts, posinf=0.0, neginf=0.0)
        return self._bodies.read_back(efforts)

    # ---- contacts ----------------------------------------------------------------------------------------------------

    def contact_pairs(self, limit: float = math.inf) -> Rows:
        """Return the pairs of rows (M, 2) in contact in the last step, at most `limit` m apart: sorted, each once."""
        bound = self._bodies.bound
        return NO_PAIRS if bound is None else pairs_in_contact(self._world, bound, self._resting.table, limit)

    def contacts(self, row: int) -> list[Contact]:
        """Return the contacts of the entity in the last step, in the engine's order."""
        bound = self._bodies.bound
        return [] if bound is None else contacts_of(self._world, bound, self._resting.table, row)

    # ---- what pushes, and what sleeps --------------------------------------------------------------------------------

    def push(self, row: int, force: Floats, position: Floats | None) -> None:
        """Push the entity with `force` (3,) in N, world frame, for the next step; at its centre of mass or a point."""
        self._forces.add(row, tuple(force.tolist()), NOTHING, None if position is None else tuple(position.tolist()))
        self.wake_up(np.array([row]))

    def twist(self, row: int, torque: Floats) -> None:
        """Turn the entity with `torque` (3,) in Nm, world frame, for the next step."""
        self._forces.add(row, NOTHING, tuple(torque.tolist()), None)
        self.wake_up(np.array([row]))

    def put_to_sleep(self, rows: Rows) -> None:
        """Stop `rows`, which rest on each other; they sleep from the end of the next step on."""
        world = self._world
        world.velocity[rows] = world.angular_velocity[rows] = 0.0
        self._dozing = world.object_id[rows]

    def wake_up(self, rows: Rows) -> None:
        """Let sleeping `rows` move again."""
        bound = self._bodies.bound
        if bound is not None:
            bound.wake(self._trees(bound, rows))

    def _trees(self, bound: bounds.Bound, rows: Rows) -> Rows:
        bodies = bound.compiled.base[np.flatnonzero(np.isin(bound.rows, rows))]
        trees = bound.model.body_treeid[bodies[bodies >= 0]]
        return np.asarray(trees[trees >= 0], np.int64)

    # ---- numbers of bodies -------------------------------------------------------------------------------------------

    def body_id(self, row: int) -> int:
        """Return the number that users know the body of the entity by: its object id."""
        return int(self._world.object_id[row])

    def body_id_for_user(self, row: int) -> int:
        """As `body_id`."""
        return self.body_id(row)

    def row_of_body(self, body: int) -> int:
        """Return the row of the entity with a number of `body_id`, NO_ROW for none."""
        found = np.flatnonzero((self._world.object_id == body) & self._world.alive)
        return int(found[0]) if len(found) else NO_ROW

    def other_body(self, body: int) -> str:
        """Return "": only entities have numbers."""
        return ""

    def floor_id(self) -> int:
        """Return -1: the floor is not an entity, and has no number."""
        return -1

    def pose_written(self, rows: Rows) -> None:
        """Do nothing: the next step compares the columns with what it has."""

    def reset(self) -> None:
        """Forget all bodies and contacts; what the columns hold is made again when it is needed."""
        self._bodies.forget()
        self._movers.forget()
        self._forces.clear(None)
        self._resting.forget()
        self._motors = None
        self._dozing = NOBODY
