"""Stops robots in front of obstacles: the motion of a step is shortened where a body would hit something."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.blocking import (
    KnownContacts,
    Measure,
    PairMask,
    PosedDistanceSolver,
    allowed_fractions,
)
from fleet_sim.sensing.collision.bounds import active_mask, shape_arrays, world_aabbs
from fleet_sim.sensing.collision.broad import cross_pairs
from fleet_sim.world.columns import Scalars
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

# Columns of path progress. A row that is held back gets its old values again, so that its law retries the same step.
# Comparing a column with a plain number is several times faster than with an enum member.
_PLANE, _SPHERE = int(ShapeKind.PLANE), int(ShapeKind.SPHERE)
_PROGRESS = ("waypoint", "phase", "turning", "reverse")
_FLAGS = ("moved", "bullet_behind", "bounds_behind")
_POSE = ControllerMode.POSE.code
_FEW = 512
"""Rows of worlds up to which comparing the whole state takes less time than a law."""


class _Start(NamedTuple):
    """The state of the world before `rows` moved."""

    rows: Rows
    positions: Floats
    orientations: Floats
    """Of all rows: what does not move is an obstacle where it stands."""
    progress: list[AnyArray]
    flags: list[Bools]


class _Standing(NamedTuple):
    """A step in which all that would move were held where they stood: while all is as then, they are held again."""

    inputs: list[bytes]
    movers: Rows
    fractions: Floats
    blockers: Rows
    state: bytes
    """All that the laws looked at before they would have moved them; empty where they look at more."""


class Blocked(NamedTuple):
    """What the motion of a step has come to, as rows."""

    arrived: Rows
    """Those that still have arrived."""
    newly: Rows
    """Those that stand before another obstacle than before."""
    overdue: Rows
    """Those that have stood before static bodies for as long as they wait for them."""


class BlockingSystem:
    """Stops rows with `block_on_collision` before they, or what they carry, touch something, at any speed.

    A blocked robot stands still and keeps its goal; it continues when the way is free.
    """

    def __init__(self, world: World, solve: PosedDistanceSolver, laws: tuple[int, ...] = ()) -> None:
        """`solve` measures pairs without a closed form; `laws` move rows by nothing but the state of the world."""
        self._world = world
        self._solve = solve
        self._laws = laws
        self._start: _Start | None = None
        self._standing: _Standing | None = None
        self._state, self._again = b"", False
        self._made_of: tuple[Scalars, Scalars] | None = None
        self._columns: list[memoryview] = []
        self._known = KnownContacts()
        self._joints = np.zeros(0)
        """Joint positions of the last step."""
        self._poses_of_joints = np.zeros(0)
        """By row: how often its joints had changed in a step."""

    def before(self, dt: float) -> bool:
        """Store the poses and path progress of the robots that may be blocked.

        Returns whether all stand and will be held again in a step of `dt` seconds, so that no law needs to move them.
        """
        world, motion = self._world, self._world.motion
        self._start, self._state, self._again = None, b"", False
        # Nothing is compared where somebody moved.
        if self._standing is not None and world.capacity <= _FEW:
            state = self._state_now(dt)
            if state == self._standing.state:
                self._again = True
                return True
            self._state = state if self._tells_all() else b""
        rows = np.flatnonzero(world.block_on_collision & world.alive & (motion.control != 0) & (world.parent == NO_ROW))
        if len(rows):
            progress = [getattr(motion, name)[rows] for name in _PROGRESS]
            flags = [getattr(world, name)[rows] for name in _FLAGS]
            self._start = _Start(rows, world.position.copy(), world.orientation.copy(), progress, flags)
        else:
            self._standing = None
        return False

    def after(self, arrived: Rows) -> Blocked:
        """Undo motion that would penetrate an obstacle; `arrived` are the rows at their goals but for that."""
        start, world, motion = self._start, self._world, self._world.motion
        free = Blocked(arrived, NO_ROWS, NO_ROWS)
        if self._again and self._standing is not None:
            return free._replace(overdue=self._overdue(self._standing.movers))
        if start is None:
            return free
        moved_mask = world.moved[start.rows]
        movers = start.rows[moved_mask]
        if len(movers) < len(moved_mask):
            # Who does not want to move is not blocked.
            motion.blocked_by[start.rows[~moved_mask]] = NO_ROW
            motion.blocked_since[start.rows[~moved_mask]] = np.inf
        if not len(movers):
            return free
        standing, again = self._standing, False
        inputs = self._inputs(start, movers) if standing is not None else []
        if standing is not None and standing.inputs == inputs:
            again, fractions, blockers = True, standing.fractions, standing.blockers
            # Who drives and is put back within the step leaves the state as it was, and drives all the same.
            is_all = np.count_nonzero(world.moved & (motion.control != 0)) == len(movers)
            self._standing = standing._replace(state=self._state if is_all else b"")
        else:
            fractions, blockers = self._fractions(start, np.flatnonzero(moved_mask))
            inputs = [] if fractions.any() else inputs or self._inputs(start, movers)
            self._standing = _Standing(inputs, movers, fractions, blockers, b"") if inputs else None
        before = motion.blocked_by[movers]
        motion.blocked_by[movers] = blockers
        held_mask = fractions < 1.0
        if not held_mask.any():
            motion.blocked_since[movers] = np.inf
            return free
        since = np.minimum(motion.blocked_since[movers], world.clock.time)
        motion.blocked_since[movers] = np.where(is_static(world, blockers), since, np.inf)
        held = movers[held_mask]
        self._hold(start, np.flatnonzero(moved_mask)[held_mask], None if again else fractions[held_mask])
        # Who stays blocked by the same obstacle is no news.
        newly = held[before[held_mask] != blockers[held_mask]]
        left = np.setdiff1d(arrived, held, assume_unique=True) if len(arrived) else arrived
        return Blocked(left, newly, self._overdue(held))

    def _overdue(self, held: Rows) -> Rows:
        """Return those of `held` that have stood before static bodies for as long as they wait for them."""
        motion = self._world.motion
        # The tolerance is for rounding.
        return held[self._world.clock.time - motion.blocked_since[held] >= motion.blocked_timeout[held] - 1e-9]

    def _tells_all(self) -> bool:
        """Return whether the state tells how far all rows get: no law looks at more, such as at the time."""
        world, motion = self._world, self._world.motion
        moving = motion.control.nonzero()[0]
        # Commands of velocities may end at a time.
        return bool(
            ((motion.control[moving] == _POSE) | (motion.command_expiry[moving] < 0)).all()
            and set(motion.law[moving].tolist()).issubset(self._laws)
            and not world.dynamic[moving].any()
        )

    def _state_now(self, dt: float) -> bytes:
        """Return the state of all rows before a step of `dt` seconds, in a form that is fast to compare."""
        world, motion, pool = self._world, self._world.motion, self._world.waypoints
        made_of = world.scalars, motion.scalars
        if made_of != self._made_of:
            self._made_of = made_of
            self._columns = [
                array.data
                for table in (world, motion)
                for name, spec, array in table.columns()
                if table.owns(name) and spec.dtype != object
            ]
        joints, used = world.joints, pool.used
        head = f"{dt} {pool.limited} {used} {joints.used} {world.collision_rules.version}".encode()
        points = pool.position[:used].data, pool.orientation[:used].data, pool.speed_limit[:used].data
        speeds = pool.pass_speed[:used].data, pool.braking[:used].data
        return b"".join((head, *self._columns, *points, *speeds, joints.position[: joints.used].data))

    def _inputs(self, start: _Start, movers: Rows) -> list[bytes]:
        """Return all that tells how far `movers` get, and what stops them, in a form that is fast to compare."""
        world = self._world
        columns: list[AnyArray] = [
            movers,
            world.position[movers],
            world.orientation[movers],
            start.positions,
            start.orientations,
            world.alive,
            world.object_id,
            world.shape_id,
            world.collision_mode,
            world.collision_group,
            world.collision_mask,
            world.parent,
            world.motion.whole_steps,
            world.block_on_collision,
            world.joints.position[: world.joints.used],
        ]
        if world.owns("parting_from"):
            columns.append(world.parting_from)
        return [str(world.collision_rules.version).encode(), *(column.tobytes() for column in columns)]

    def bodies_at(
        self, rows: Rows, positions: Floats, orientations: Floats, aligned_mask: Bools, slack: Floats
    ) -> Rows:
        """Return the static body (N,) that each of `rows`, with its base at a pose, is inside of; NO_ROW for none.

        Depths up to `slack` (N,) in m do not count. Outside of `aligned_mask` any heading counts: what is free at
        some heading is free. Planes and surfaces, as of terrain, have no inside.
        """
        world = self._world
        inside = np.full(len(rows), NO_ROW)
        bodies = np.flatnonzero(active_mask(world) & (world.shape_kind != _PLANE))
        surface_mask = np.isin(world.shape_id[bodies], list(world.shapes.concave))
        bodies = bodies[is_static(world, bodies) & ~surface_mask]
        if not len(bodies):
            return inside
        shapes = _shapes_at(world, rows, positions, orientations, aligned_mask)
        obstacles = shape_arrays(world, bodies)
        boxes = (world_aabbs(*bodies, compiled=world.compiled) for bodies in (shapes, obstacles))
        pairs = cross_pairs(*next(boxes), *next(boxes), compiled=world.compiled)
        of_rows = np.stack((rows[pairs[:, 0]], bodies[pairs[:, 1]]), axis=1)
        allowed = np.flatnonzero(world.collision_rules.may_collide(of_rows))
        pairs, of_rows = pairs[allowed], of_rows[allowed]
        measure = Measure(self._solve, world.compiled)
        gaps = measure(shapes.take(pairs[:, 0]), obstacles.take(pairs[:, 1]), of_rows, 0.0)
        deep = pairs[gaps < -slack[pairs[:, 0]]]
        # From behind, so that the first one stays.
        inside[deep[::-1, 0]] = bodies[deep[::-1, 1]]
        return inside

    def _fractions(self, start: _Start, places: Rows) -> tuple[Floats, Rows]:
        """Return, for the rows at `places` of `start`, the fraction of its motion each may make, and what stops it."""
        world = self._world
        movers = start.rows[places]
        before = shape_arrays(world, slice(None), start.positions, start.orientations)
        ends = shape_arrays(world, movers)
        positions, orientations = ends.positions, ends.orientations
        may_collide: PairMask = world.collision_rules.may_collide
        # Between the ends of a step a robot on a curve would be beside it.
        whole_mask, groups = world.motion.whole_steps[movers], None
        loads, carriers = _loads_of(world, movers)
        if len(loads):
            moved = self._moved_along(start, before, movers[carriers], loads)
            positions, orientations = np.concatenate((positions, moved[0])), np.concatenate((orientations, moved[1]))
            groups = np.concatenate((np.arange(len(movers)), carriers))
            group_of = np.full(world.capacity, NO_ROW)
            group_of[np.concatenate((movers, loads))] = groups

            def not_of_one_group(pairs: Ints) -> Bools:
                first, second = group_of[pairs[:, 0]], group_of[pairs[:, 1]]
                return world.collision_rules.may_collide(pairs) & ((first != second) | (first == NO_ROW))

            may_collide = not_of_one_group
            whole_mask = whole_mask[groups]
        fractions, blockers = allowed_fractions(
            before,
            np.concatenate((movers, loads)) if len(loads) else movers,
            positions,
            orientations,
            obstacle_mask=active_mask(world),
            may_collide=may_collide,
            whole_mask=whole_mask,
            groups=groups,
            solve=self._solve,
            compiled=world.compiled,
            known=self._known,
            identities=self._identities(),
        )
        return fractions[: len(movers)], blockers[: len(movers)]

    def _identities(self) -> Floats:
        """Return numbers (N, 3) of all rows that stay the same as long as a row is of one entity in one shape."""
        world, joints = self._world, self._world.joints
        before, now = self._joints, joints.position[: joints.used]
        if len(self._poses_of_joints) != world.capacity or len(before) != len(now):
            # Nothing is known of them.
            self._known, self._poses_of_joints = KnownContacts(), np.zeros(world.capacity)
        else:
            self._poses_of_joints[joints.robot[: joints.used][now != before]] += 1.0
        self._joints = now.copy()
        return np.column_stack([world.object_id, world.shape_id, self._poses_of_joints])

    def _moved_along(self, start: _Start, before: ShapeArrays, rows: Rows, loads: Rows) -> tuple[Floats, Floats]:
        """Return where the shapes of `loads`, now as `before`, are when their carriers `rows` are where they go."""
        world = self._world
        frames = start.positions[rows], start.orientations[rows]
        here = before.positions[loads], before.orientations[loads]
        positions, orientations = quaternions.compose(
            world.position[rows], world.orientation[rows], *quaternions.relative(*frames, *here)
        )
        # Exactly: what seems to turn by a rounding error is not measured as what goes straight.
        straight = np.flatnonzero((world.orientation[rows] == frames[1]).all(axis=1))
        positions[straight] = here[0][straight] + (world.position[rows] - frames[0])[straight]
        orientations[straight] = here[1][straight]
        return positions, orientations

    def _hold(self, start: _Start, places: Rows, fractions: Floats | None) -> None:
        """Move the rows at `places` of `start` by `fractions` of their motion only, None: not at all, and stop them."""
        world, motion = self._world, self._world.motion
        rows = start.rows[places]
        before, turned = start.positions[rows], start.orientations[rows]
        if fractions is None:
            world.position[rows], world.orientation[rows] = before, turned
            # They have not moved: nothing that depends on their poses is computed again.
            for name, flags in zip(_FLAGS, start.flags, strict=True):
                getattr(world, name)[rows] = flags[places]
        else:
            world.position[rows] = before + fractions[:, None] * (world.position[rows] - before)
            world.orientation[rows] = quaternions.slerp(turned, world.orientation[rows], fractions)
        for name, values in zip(_PROGRESS, start.progress, strict=True):
            getattr(motion, name)[rows] = values[places]
        # The robot is not where its law left it: pass speeds and directions are computed again.
        motion.path_fresh[rows] = True
        world.rest(rows)


def _shapes_at(world: World, rows: Rows, positions: Floats, orientations: Floats, aligned_mask: Bools) -> ShapeArrays:
    """Return the shapes of `rows` with their bases at poses; outside of `aligned_mask` a ball in them."""
    shapes, offsets = shape_arrays(world, rows), world.shape_position[rows]
    centres = positions + quaternions.rotate(orientations, offsets)
    turned = quaternions.multiply(orientations, world.shape_orientation[rows])
    free = np.flatnonzero(~aligned_mask)
    if not len(free):
        return shapes.at(centres, turned)
    kinds, radii = shapes.kinds.copy(), shapes.radii.copy()
    aside = np.sqrt(offsets[free, 0] ** 2 + offsets[free, 1] ** 2)
    centres[free, :2] = positions[free, :2]
    kinds[free], radii[free] = _SPHERE, np.maximum(shapes.half_extents[free].min(axis=1) - aside, 0.0)
    half = shapes.half_extents.copy()
    half[free] = radii[free, None]
    return ShapeArrays(kinds, centres, turned, half, radii)


def is_static(world: World, rows: Rows) -> Bools:
    """Return which of `rows` (N,), where NO_ROW is none, are static bodies: not robots, and carried by nobody."""
    static_mask = world.collision_rules.static_mask()[rows] & (world.kind[rows] != KIND_AGENT)
    mask: Bools = (rows != NO_ROW) & static_mask & (world.parent[rows] == NO_ROW)
    return mask


def _loads_of(world: World, carriers: Rows) -> tuple[Rows, Ints]:
    """Return what `carriers` carry, directly or not, that collides, and the places of their carriers."""
    if not world.may_carry:
        return NO_ROWS, NO_ROWS
    loads = np.flatnonzero((world.parent != NO_ROW) & active_mask(world))
    roots = world.parent[loads]
    while len(higher := np.flatnonzero(world.parent[roots] != NO_ROW)):
        roots[higher] = world.parent[roots[higher]]
    place_of = np.full(world.capacity, NO_ROW)
    place_of[carriers] = np.arange(len(carriers))
    places = place_of[roots]
    kept = np.flatnonzero(places != NO_ROW)
    return loads[kept], places[kept]
