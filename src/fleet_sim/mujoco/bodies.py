"""The bodies of rows in one MuJoCo model: made anew where the rows have changed, written and read in one pass."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows, span_of
from fleet_sim.core.collision_rules import LinkPairs
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.mujoco.compiled import Compiled
from fleet_sim.mujoco.fixtures import Fixtures
from fleet_sim.mujoco.module import mujoco_module
from fleet_sim.mujoco.plans import WorldPlan, plan_world
from fleet_sim.mujoco.spec import SpecOptions, WorldSpec
from fleet_sim.mujoco.state import MujocoState, restore_state
from fleet_sim.spatial import quaternions

KEPT_MODELS = 4
"""Compiled models that are kept, so that a world that goes back to what it was need not compile again."""
_XYZW, _WXYZ = [1, 2, 3, 0], [3, 0, 1, 2]


class Bound:
    """A compiled model whose places are `rows` (N,) of the world, with data of its own.

    All index arrays are of rows: `free` (F,), `seats` (S,) and `slots` (J,) of joints in the table of joints.
    """

    def __init__(self, world: World, compiled: Compiled, rows: Rows) -> None:
        self.compiled = compiled
        self.model = compiled.model
        self.data = mujoco_module().MjData(compiled.model)
        self.rows = rows
        self.ids: Ints = world.object_id[rows]
        place = compiled.free[:, 0]
        self.free: Rows = rows[place]
        self.free_q: Ints = compiled.free[:, 1][:, None] + np.arange(7)
        self.free_v: Ints = compiled.free[:, 2][:, None] + np.arange(6)
        self.free_span = span_of(self.free_v.ravel())
        self.free_inertia: Floats = _inertias(compiled)
        """Masses and inertias (F, 6) that their velocities have."""
        self.seats: Rows = rows[compiled.seats[:, 0]]
        self.slots: Ints = world.robots.joint_start[rows[compiled.joints[:, 0]]] + compiled.joints[:, 1]
        self.joint_q, self.joint_v = compiled.joints[:, 2], compiled.joints[:, 3]
        self.dynamic: Rows = np.unique(np.concatenate((self.free, self.seats)))
        robots: Rows = rows[compiled.joints[:, 0]]
        self.with_joints: Rows = np.unique(robots)
        self.joint_row: Rows = robots
        self.waking: set[int] = set()
        """Trees of bodies that wake up in the next substep, should they sleep."""

    def wake(self, trees: Ints | range) -> None:
        """Wake up `trees` in the next substep; what is written, pushed or touched wakes up by itself."""
        self.waking.update(trees if isinstance(trees, range) else trees.tolist())

    def take_waking(self) -> Ints:
        """Return the first velocity (K,) of each tree that is to wake up, which then need not be told again."""
        if not self.waking:
            return NO_ROWS
        trees = [tree for tree in self.waking if self.data.tree_asleep[tree] >= 0]
        self.waking.clear()
        return np.asarray(self.model.tree_dofadr[trees], np.int64)

    def rows_of_bodies(self, world: World, bodies: Ints) -> Rows:
        """Return the rows (any shape) of bodies; -1 for the floor, -2 for entities that are gone."""
        places = self.compiled.body_place[bodies]
        rows = np.where(places >= 0, self.rows[places], -1)
        gone_mask = (places >= 0) & ((world.object_id[rows] != self.ids[places]) | ~world.alive[rows])
        return np.where(gone_mask, -2, rows)


class MujocoBodies:
    """Makes the model of a world when it is needed, and moves state between the columns and its data.

    The columns are what a model is made from: poses, velocities and joints survive a change of rows, and so do the
    forces from which the solver starts.
    """

    def __init__(self, world: World, options: SpecOptions, exempt_links: LinkPairs) -> None:
        self._world = world
        self._exempt_links = exempt_links
        self._options = options
        self._arena = 0
        self._kept: dict[WorldPlan, Compiled] = {}
        self._made_from: tuple[bytes, ...] = ()
        self.driven: set[int] = set()
        """Object ids of kinematic entities that are moved with a velocity though they are no agents."""
        self.fixtures = Fixtures(world)
        self.bound: Bound | None = None
        self._last: tuple[Floats, ...] = ()
        self._last_bytes: tuple[bytes, ...] = ()
        self._read: Floats | None = None
        """Positions and velocities (F, 13) of free bodies in the data when the columns got them; None: not known."""

    @property
    def gravity(self) -> tuple[float, float, float]:
        """The gravity of the world, in m/s2."""
        return self._world.gravity

    # ---- the model ---------------------------------------------------------------------------------------------------

    def refresh(self) -> Bound:
        """Return the model of the present rows, compiled only where something that it depends on has changed."""
        world, rows = self._world, self._world.rows
        driven_mask = self._driven_mask(rows)
        fixtures = self.fixtures.find(rows, driven_mask)
        sources = self._sources(rows, driven_mask, *fixtures)
        if self.bound is None or sources != self._made_from:
            self._bind(self._compiled(plan_world(world, rows, driven_mask, fixtures, self._exempt_links)), rows)
            self._made_from = sources
        assert self.bound is not None
        return self.bound

    def grow_arena(self, state: MujocoState) -> Bound:
        """Compile again with twice the memory for contacts, and go on from `state`."""
        assert self.bound is not None
        before = self.bound
        self._arena = 2 * int(before.model.narena)
        self._kept.clear()
        driven_mask = self._driven_mask(before.rows)
        fixtures = self.fixtures.find(before.rows, driven_mask)
        plan = plan_world(self._world, before.rows, driven_mask, fixtures, self._exempt_links)
        after = self.bound = Bound(self._world, self._compiled(plan), before.rows)
        restore_state(after, state)
        return after

    def take(self, bound: Bound) -> None:
        """Go on with a model that was bound before, and whose rows are there again."""
        self.bound = bound
        driven_mask = self._driven_mask(bound.rows)
        self._made_from = self._sources(bound.rows, driven_mask, *self.fixtures.find(bound.rows, driven_mask))
        self.note_read()

    def forget(self) -> None:
        """Forget the model, what was driven and what stood where; the next `refresh` makes it again."""
        self.bound, self._made_from, self._last, self._last_bytes = None, (), (), ()
        self.driven.clear()
        self.fixtures.forget()

    def _driven_mask(self, rows: Rows) -> Bools:
        world = self._world
        mask: Bools = world.kind[rows] == KIND_AGENT
        if self.driven:
            mask = mask | np.isin(world.object_id[rows], list(self.driven))
        return mask

    def _sources(self, rows: Rows, driven_mask: Bools, fixed: Ints, poses: Floats) -> tuple[bytes, ...]:
        """Return all that the model depends on, as bytes: they are compared in each step."""
        world, material, robots = self._world, self._world.material, self._world.robots
        columns: list[AnyArray] = [world.object_id, world.dynamic, world.mass, world.shape_id]
        columns += [world.collision_group, world.collision_mask, world.collision_mode]
        columns += [robots.model, robots.mimics, robots.self_collision]
        columns += [material.friction, material.rolling_friction, material.restitution]
        columns += [material.linear_damping, material.angular_damping]
        pairs = world.collision_rules.exempt_pairs(), world.collision_filters.enabled_pairs()
        return _bytes_of(rows, driven_mask, fixed, poses, *pairs, *(column[rows] for column in columns))

    def _compiled(self, plan: WorldPlan) -> Compiled:
        """Return the compiled model of a plan; the KEPT_MODELS used last are kept."""
        compiled = self._kept.pop(plan, None)
        if compiled is None:
            compiled = WorldSpec(self._world, plan, self._options, self._arena).compile()
        # Last in, last out: the ones used longest ago go first.
        self._kept[plan] = compiled
        while len(self._kept) > KEPT_MODELS:
            del self._kept[next(iter(self._kept))]
        return compiled

    def _bind(self, compiled: Compiled, rows: Rows) -> None:
        before, after = self.bound, Bound(self._world, compiled, rows)
        self.bound = after
        self.write(after.free, after.seats, after.slots)
        if before is not None:
            _keep_warmstart(before, after)
        self.note_read()

    # ---- state -------------------------------------------------------------------------------------------------------

    def write_changed(self) -> bool:
        """Write the poses, velocities and joints of dynamic rows that are not those read last; return if any are."""
        bound, now = self.bound, self._values()
        assert bound is not None
        if _bytes_of(*now) == self._last_bytes:
            return False
        self._read = None
        position, orientation, linear, angular, seat, turn, joints, speeds = (
            (one != other) for one, other in zip(now, self._last, strict=True)
        )
        bodies = position.any(1) | orientation.any(1) | linear.any(1) | angular.any(1)
        self.write(bound.free[bodies], bound.seats[seat.any(1) | turn.any(1)], bound.slots[joints | speeds])
        return True

    def write(self, free: Rows, seats: Rows, slots: Ints) -> None:
        """Write the columns of dynamic rows with a free base, of those with a fixed one, and of joints."""
        world, bound = self._world, self.bound
        assert bound is not None
        data = bound.data
        chosen = np.flatnonzero(np.isin(bound.free, free))
        at = bound.free[chosen]
        turns = world.orientation[at]
        data.qpos[bound.free_q[chosen, :3]] = world.position[at]
        data.qpos[bound.free_q[chosen, 3:]] = turns[:, _WXYZ]
        data.qvel[bound.free_v[chosen, :3]] = world.velocity[at]
        # MuJoCo has the angular velocity of a free body in its own frame.
        local = quaternions.rotate(quaternions.conjugate(turns), world.angular_velocity[at])
        data.qvel[bound.free_v[chosen, 3:]] = local
        held = np.flatnonzero(np.isin(bound.seats, seats))
        mocap = bound.compiled.seats[held, 1]
        data.mocap_pos[mocap] = world.position[bound.seats[held]]
        data.mocap_quat[mocap] = world.orientation[bound.seats[held]][:, _WXYZ]
        jointed = np.flatnonzero(np.isin(bound.slots, slots))
        data.qpos[bound.joint_q[jointed]] = world.joints.position[bound.slots[jointed]]
        data.qvel[bound.joint_v[jointed]] = world.joints.velocity[bound.slots[jointed]]

    def read_back(self, efforts: Floats) -> int:
        """Copy poses, velocities and joints of dynamic rows to the columns; `efforts` (J,) are of the joints."""
        world, bound = self._world, self.bound
        assert bound is not None
        data = bound.data
        now = np.concatenate((data.qpos[bound.free_q], data.qvel[bound.free_v]), axis=1)
        any_moved = self._read_free(now)
        angles, speeds = data.qpos[bound.joint_q], data.qvel[bound.joint_v]
        if len(bound.slots):
            joints = world.joints
            changed = bound.joint_row[angles != joints.position[bound.slots]]
            joints.position[bound.slots], joints.velocity[bound.slots] = angles, speeds
            joints.effort[bound.slots] = efforts
            world.touch_joints(changed if len(changed) < 2 else np.unique(changed))
        if any_moved:
            self.note_read()
        else:
            # The columns of bodies are as they were noted the last time.
            self._last = (*self._last[:-2], angles, speeds)
            self._last_bytes = (*self._last_bytes[:-2], angles.tobytes(), speeds.tobytes())
        self._read = now
        return len(bound.dynamic)

    def _read_free(self, now: Floats) -> bool:
        """Copy positions and velocities (F, 13) of free bodies to the columns; return False if none has changed."""
        world, bound = self._world, self.bound
        assert bound is not None
        rows = bound.free
        if self._read is not None:
            # What sleeps has the same numbers. They are compared as bits: no zero may get another sign.
            changed = np.flatnonzero((now.view(np.int64) != self._read.view(np.int64)).any(axis=1))
            rows, now = rows[changed], now[changed]
            if not len(rows):
                return False
        positions, turns = now[:, :3], now[:, 3:7][:, _XYZW]
        # Of what only gets another speed, bounds need not be computed again.
        moved_mask = (positions != world.position[rows]).any(1) | (turns != world.orientation[rows]).any(1)
        world.position[rows], world.orientation[rows] = positions, turns
        world.velocity[rows] = now[:, 7:10]
        world.angular_velocity[rows] = quaternions.rotate(turns, now[:, 10:])
        world.touch(rows[moved_mask])
        return True

    def note_read(self) -> None:
        """Note that the data has what the columns hold of dynamic rows."""
        self._read = None
        self._last = self._values()
        self._last_bytes = _bytes_of(*self._last)

    def _values(self) -> tuple[Floats, ...]:
        world, bound = self._world, self.bound
        assert bound is not None
        free, seats, joints = bound.free, bound.seats, world.joints
        poses = world.position[free], world.orientation[free], world.velocity[free], world.angular_velocity[free]
        return (*poses, world.position[seats], world.orientation[seats], joints.position[bound.slots],
                joints.velocity[bound.slots])  # fmt: skip


def _inertias(compiled: Compiled) -> Floats:
    model, bodies = compiled.model, compiled.base[compiled.free[:, 0]]
    masses = np.repeat(model.body_subtreemass[bodies][:, None], 3, axis=1)
    return np.concatenate((masses, model.body_inertia[bodies]), axis=1)


def _keep_warmstart(before: Bound, after: Bound) -> None:
    """Let the solver start from the accelerations of bodies and joints that were there before."""
    for ids, other, own, theirs in (
        (before.ids[before.compiled.free[:, 0]], after.ids[after.compiled.free[:, 0]], before.free_v, after.free_v),
        (_joint_keys(before), _joint_keys(after), before.joint_v[:, None], after.joint_v[:, None]),
    ):
        _, was, now = np.intersect1d(ids, other, assume_unique=True, return_indices=True)
        after.data.qacc_warmstart[theirs[now]] = before.data.qacc_warmstart[own[was]]


def _joint_keys(bound: Bound) -> Ints:
    """Return a number (J,) for each joint: of its entity, and which of its joints."""
    joints = bound.compiled.joints
    return bound.ids[joints[:, 0]] * 4096 + joints[:, 1]


def _bytes_of(*arrays: AnyArray) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in arrays)
