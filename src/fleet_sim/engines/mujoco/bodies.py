"""The bodies of rows in one MuJoCo model: made anew where the rows have changed, written and read in one pass."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.spatial import quaternions
from fleet_sim.engines.mujoco.bound import Bound, Compiled, MujocoState, restore_state, return_free_memory
from fleet_sim.engines.mujoco.spec import SpecOptions, WorldPlan, WorldSpec, plan_world
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.columns import Scalars
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.shapes import BASE
from fleet_sim.world.world import DrivenSubsteps, Twist, World

# Fixtures: concave entities that stand still, whose plates are part of the model where they stand. MuJoCo finds what
# is near a body that cannot move many times faster than near one that may be put elsewhere.


_NOBODY: Ints = np.empty(0, np.int64)
_NOWHERE: Floats = np.empty((0, 7))
_NO_POSES: tuple[Floats, Floats] = np.empty((0, 3)), np.empty((0, 4))


class Fixtures:
    """Finds the fixtures of a world. What was put elsewhere once is none any more: that costs one compilation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.moved: set[int] = set()
        """Object ids of those that were put elsewhere."""
        self._ids, self._poses = _NOBODY, _NOWHERE
        self._rows: Rows = _NOBODY
        self._seen: tuple[bytes | int, ...] = ()
        self._concave: Bools = np.empty(0, np.bool_)

    def find(self, rows: Rows, driven_mask: Bools) -> tuple[Ints, Floats]:
        """Return the places (K,) in `rows` of all fixtures, and their poses (K, 7).

        Those of `driven_mask` (N,) are none. What was found at another pose the last time is none from now on.
        """
        world = self._world
        places = np.flatnonzero(self._concave_mask(rows) & ~driven_mask)
        self._rows = rows[places]
        if not len(places):
            self._ids, self._poses = _NOBODY, _NOWHERE
            return places, _NOWHERE
        ids = world.object_id[rows[places]]
        poses = np.concatenate((world.position[rows[places]], world.orientation[rows[places]]), axis=1)
        if ids.tobytes() != self._ids.tobytes() or poses.tobytes() != self._poses.tobytes():
            before = dict(zip(self._ids.tolist(), self._poses.tolist(), strict=True))
            now = zip(ids.tolist(), poses.tolist(), strict=True)
            self.moved.update(number for number, pose in now if before.get(number, pose) != pose)
            self._ids, self._poses = ids, poses
        if self.moved:
            kept_mask = ~np.isin(ids, list(self.moved))
            places, poses = places[kept_mask], poses[kept_mask]
        return places, poses

    def poses(self) -> tuple[Floats, Floats]:
        """Return positions (K, 3) and orientations (K, 4) of what `find` looked at the last time, as they are now."""
        if not len(self._rows):
            return _NO_POSES
        return self._world.position.take(self._rows, axis=0), self._world.orientation.take(self._rows, axis=0)

    def forget(self) -> None:
        """Forget what was where: all concave entities that stand still are fixtures again."""
        self.moved.clear()
        self._ids, self._poses = _NOBODY, _NOWHERE

    def _concave_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) are concave and stand still; found anew where anything has changed."""
        world = self._world
        columns = rows, world.shape_id, world.robots.model, world.dynamic, world.kind
        counts = len(world.models), len(world.shapes.concave)
        seen: tuple[bytes | int, ...] = (*[column.tobytes() for column in columns], *counts)
        if seen != self._seen:
            self._concave, self._seen = self._find_concave(rows), seen
        return self._concave

    def _find_concave(self, rows: Rows) -> Bools:
        """Return which of `rows` (N,) are fixed and have concave meshes, whose triangles stand still."""
        world = self._world
        # With shapes on one link only: others may have joints that move.
        models = [
            number
            for number, model in enumerate(world.models)
            if model.concave and all(piece.link == BASE for piece in model.collisions)
        ]
        if not world.shapes.concave and not models:
            return np.zeros(len(rows), np.bool_)
        concave = np.isin(world.shape_id[rows], world.shapes.concave) | np.isin(world.robots.model[rows], models)
        mask: Bools = concave & ~world.dynamic[rows] & (world.kind[rows] != KIND_AGENT)
        return mask


KEPT_MODELS = 4
"""Compiled models that are kept, so that a world that goes back to what it was need not compile again."""
MANY = 200
"""Bodies from which on the memory that compiling needed is returned to the system; that takes some ms."""
FEW = 64
"""Bodies up to which all are read back."""
_XYZW, _WXYZ = [1, 2, 3, 0], [3, 0, 1, 2]


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
        self._tables: tuple[Scalars, ...] = ()
        self._watched: tuple[AnyArray, ...] = ()
        """The columns that a model depends on, of the tables with these scalars."""
        self._made_from: tuple[bytes, ...] = ()
        self._seen: tuple[bytes | int, ...] = ()
        """What the world was like when the model in use was found to be the right one."""
        self.driven: set[int] = set()
        """Object ids of kinematic entities that are moved with a velocity though they are no agents."""
        self.fixtures = Fixtures(world)
        self.bound: Bound | None = None
        self._last: tuple[bytes, ...] = ()
        """What the columns held of dynamic rows when the data had the same, as bytes."""
        self._read: tuple[bytes, bytes] | None = None
        """Positions and velocities of free bodies in the data when the columns got them; None: not known."""

    @property
    def gravity(self) -> tuple[float, float, float]:
        """The gravity of the world, in m/s2."""
        return self._world.gravity

    # ---- the model ---------------------------------------------------------------------------------------------------

    def refresh(self) -> Bound:
        """Return the model of the present rows, compiled only where something that it depends on has changed."""
        world, rows = self._world, self._world.rows
        if self.bound is not None and self._now(rows) == self._seen:
            return self.bound
        driven_mask = self._driven_mask(rows)
        fixtures = self.fixtures.find(rows, driven_mask)
        sources = self._sources(rows, driven_mask, *fixtures)
        if self.bound is None or sources != self._made_from:
            self._bind(self._compiled(plan_world(world, rows, driven_mask, fixtures, self._exempt_links)), rows)
            self._made_from = sources
        # Not before: which poses count is found only now.
        self._seen = self._now(rows)
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
        self.bound, self._seen = bound, ()
        driven_mask = self._driven_mask(bound.rows)
        self._made_from = self._sources(bound.rows, driven_mask, *self.fixtures.find(bound.rows, driven_mask))
        self.note_read()

    def forget(self) -> None:
        """Forget the model, what was driven and what stood where; the next `refresh` makes it again."""
        self.bound, self._made_from, self._seen, self._last, self._read = None, (), (), (), None
        self.driven.clear()
        self.fixtures.forget()

    def _driven_mask(self, rows: Rows) -> Bools:
        world = self._world
        mask: Bools = world.kind[rows] == KIND_AGENT
        if self.driven:
            mask = mask | np.isin(world.object_id[rows], list(self.driven))
        return mask

    def _now(self, rows: Rows) -> tuple[bytes | int, ...]:
        """Return all that may make another model necessary; compared in each step."""
        world = self._world
        # Whole columns, with rows that nobody has: copying them takes less time than choosing rows. Pairs that must not
        # collide follow from who carries whom, and change with the version of the rules.
        columns = *self._columns(), world.kind, world.parent, *self.fixtures.poses()
        # Nobody is taken out of `driven` as long as there is a model.
        counts = len(self.driven), len(world.models), len(world.shapes.concave), world.collision_rules.version
        return (*counts, *_bytes_of(rows, *columns))

    def _sources(self, rows: Rows, driven_mask: Bools, fixed: Ints, poses: Floats) -> tuple[bytes, ...]:
        """Return all that the model depends on, as bytes."""
        return _bytes_of(rows, driven_mask, fixed, poses, *self._pairs(), *[column[rows] for column in self._columns()])

    def _pairs(self) -> tuple[Ints, Ints]:
        world = self._world
        return world.collision_rules.exempt_pairs(), world.collision_filters.enabled_pairs()

    def _columns(self) -> tuple[AnyArray, ...]:
        """Return the columns that the model depends on, looked up anew where a table has got other arrays."""
        world = self._world
        tables = world.scalars, world.robots.scalars, world.material.scalars
        if tables != self._tables:
            self._tables, self._watched = tables, self._find_columns()
        return self._watched

    def _find_columns(self) -> tuple[AnyArray, ...]:
        world, material, robots = self._world, self._world.material, self._world.robots
        columns: list[AnyArray] = [world.object_id, world.dynamic, world.mass, world.shape_id]
        columns += [world.collision_group, world.collision_mask, world.collision_mode]
        columns += [robots.model, robots.mimics, robots.self_collision]
        columns += [material.friction, material.rolling_friction, material.restitution]
        columns += [material.linear_damping, material.angular_damping]
        return tuple(columns)

    def _compiled(self, plan: WorldPlan) -> Compiled:
        """Return the compiled model of a plan; the KEPT_MODELS used last are kept."""
        compiled = self._kept.pop(plan, None)
        if compiled is None:
            compiled = WorldSpec(self._world, plan, self._options, self._arena).compile()
            if len(plan.rows) >= MANY:
                # Compiling needs as much memory again as the model and its data.
                return_free_memory()
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

    # ---- drives ------------------------------------------------------------------------------------------------------

    def drive(self, bound: Bound, driven: DrivenSubsteps, index: int | None) -> None:
        """Give driven rows their velocities before substep `index`; None: after the last one."""
        if not len(driven.rows):
            return
        data = bound.data
        # All that is driven has a free base.
        order = np.argsort(bound.free)
        places = order[np.searchsorted(bound.free[order], driven.rows)]
        turns = data.qpos[bound.free_q[places, 3:]][:, _XYZW]
        at = bound.free_v[places]
        now = Twist(data.qvel[at[:, :3]], quaternions.rotate(turns, data.qvel[at[:, 3:]]))
        wanted = driven.end(now) if index is None else driven.begin(index, now)
        local = quaternions.rotate(quaternions.conjugate(turns), wanted.angular)
        data.qvel[at] = np.concatenate((wanted.linear, local), axis=1)

    # ---- state -------------------------------------------------------------------------------------------------------

    def write_changed(self) -> bool:
        """Write the poses, velocities and joints of dynamic rows that are not those read last; return if any are."""
        bound, now = self.bound, self._values()
        assert bound is not None
        if _bytes_of(*now) == self._last:
            return False
        self._read = None
        position, orientation, linear, angular, seat, turn, joints, speeds = (
            (one != np.frombuffer(other).reshape(one.shape)) for one, other in zip(now, self._last, strict=True)
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
        data, spans = bound.data, bound.spans
        now = data.qpos[bound.free_q_span], data.qvel[bound.free_span]
        read = now[0].tobytes(), now[1].tobytes()
        # What sleeps has the same numbers. They are compared as bits: no zero may get another sign.
        any_moved = read != self._read
        if any_moved:
            self._read_free(now[0].reshape(-1, 7), now[1].reshape(-1, 6))
        if len(bound.slots):
            joints, angles, speeds = world.joints, data.qpos[spans.joint_q], data.qvel[spans.joint_v]
            changed = bound.joint_row[angles != joints.position[spans.slots]]
            joints.position[spans.slots], joints.velocity[spans.slots] = angles, speeds
            joints.effort[spans.slots] = efforts
            if len(changed):
                world.touch_joints(bound.with_joints if len(bound.with_joints) == 1 else np.unique(changed))
        if any_moved:
            self.note_read()
        else:
            # The columns of bodies are as they were noted the last time.
            self._last = (*self._last[:-2], *_bytes_of(*self._joint_values()))
        self._read = read
        return len(bound.dynamic)

    def _read_free(self, places: Floats, speeds: Floats) -> None:
        """Copy positions (F, 7) and velocities (F, 6) of free bodies to the columns, of those that have changed."""
        world, bound = self._world, self.bound
        assert bound is not None
        rows, at = bound.free, bound.spans.free
        # Of few it takes less time to write what has not changed than to find it.
        if self._read is not None and len(rows) > FEW:
            was = [np.frombuffer(values, np.int64) for values in self._read]
            changed_mask = (places.view(np.int64) != was[0].reshape(places.shape)).any(axis=1)
            changed_mask |= (speeds.view(np.int64) != was[1].reshape(speeds.shape)).any(axis=1)
            if not changed_mask.all():
                at = rows = rows[changed_mask]
                places, speeds = places[changed_mask], speeds[changed_mask]
        positions, turns = places[:, :3], places[:, 3:][:, _XYZW]
        # Of what only gets another speed, bounds need not be computed again.
        moved_mask = (positions != world.position[at]).any(1) | (turns != world.orientation[at]).any(1)
        world.position[at], world.orientation[at] = positions, turns
        world.velocity[at] = speeds[:, :3]
        world.angular_velocity[at] = quaternions.rotate(turns, speeds[:, 3:])
        world.touch(rows[moved_mask])

    def note_read(self) -> None:
        """Note that the data has what the columns hold of dynamic rows."""
        self._read = None
        self._last = _bytes_of(*self._values())

    def _values(self) -> tuple[Floats, ...]:
        """Return what the columns hold of dynamic rows; may be views."""
        world, bound = self._world, self.bound
        assert bound is not None
        free, seats = bound.spans.free, bound.spans.seats
        poses = world.position[free], world.orientation[free], world.velocity[free], world.angular_velocity[free]
        return (*poses, world.position[seats], world.orientation[seats], *self._joint_values())

    def _joint_values(self) -> tuple[Floats, Floats]:
        joints, bound = self._world.joints, self.bound
        assert bound is not None
        return joints.position[bound.spans.slots], joints.velocity[bound.spans.slots]


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
    # A list is filled faster than a tuple from a generator.
    return tuple([array.tobytes() for array in arrays])
