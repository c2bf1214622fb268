"""The systems that move agents: rows pass to their laws, or as velocities to the engine that moves their bodies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.params import ControllerMode, MotionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.robots.motion.driving import DIFFERENTIAL, OMNI, advance
from fleet_sim.robots.motion.evasion import CLEARANCE, AvoidanceScene, unicycle_speeds
from fleet_sim.robots.motion.laws import drives_by_motors, motion_law, motion_law_index
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities
from fleet_sim.robots.motion.rows import linear_any_way
from fleet_sim.world import steering
from fleet_sim.world.joints import AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION, keep_freed_memory
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

IDLE = ControllerMode.IDLE.code


class MotionSystem:
    """Moves every living agent that follows a path or a velocity command, grouped by motion law.

    Attached rows, rows of law 0 and idle rows are not changed.
    """

    name = "motion"

    def __init__(self, among: Rows | None = None) -> None:
        """`among` are the rows, ascending, that can move at all, where these are few; each is left to its own law."""
        keep_freed_memory()
        self._among = among
        self._all = NO_ROWS

    def run(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows that arrived in it, in ascending order.

        An arrived row is idle and at rest, has `reached` set, and has no path any more.
        """
        return self.settle(world, self.advance(world, dt))

    def settle(self, world: World, done: Rows) -> Rows:
        """End the paths of the rows that arrived, and return them."""
        # Their paths are of no use any more, and their waypoints are free for others.
        if len(done):
            world.waypoints.discard(world.motion, done)
            world.motion.control[done] = IDLE
            world.motion.reached[done] = True
        return done

    def advance(self, world: World, dt: float) -> Rows:
        """Move agents by one step; return the rows at the end of their paths, in ascending order."""
        # Robots of the traffic are driven by that: often there are no others.
        if world.compiled and not np.count_nonzero(world.motion.control != IDLE):
            return NO_ROWS
        rows = self._rows(world)
        if not len(rows):
            return NO_ROWS
        ended, left = advance(world, rows, dt, omni=OMNI, differential=DIFFERENTIAL)
        if not len(left):
            return ended
        arrived = [ended]
        for law, rows in _by_law(left, world.motion.law[left]):
            arrived.append(motion_law(law).step(world, rows, dt))
        done: Rows = np.sort(np.concatenate(arrived))
        return done

    def _rows(self, world: World) -> Rows:
        """Return rows that may move, ascending: machine code finds out faster by itself which do."""
        if self._among is not None:
            return self._among[world.motion.control.take(self._among) != IDLE]
        if not world.compiled:
            return world.motion.control.nonzero()[0]
        if len(self._all) != world.capacity:
            self._all = np.arange(world.capacity)
        return self._all


def _by_law(rows: Rows, laws: Bytes) -> list[tuple[int, Rows]]:
    """Return (law, its rows) in order of the laws."""
    # Fleets of one law are the usual case, and need no sorting.
    first = int(laws[0])
    if np.count_nonzero(laws == first) == len(rows):
        return [(first, rows)]
    return [(index, rows[laws == index]) for index in np.flatnonzero(np.bincount(laws)).tolist()]


# Joint motion: all moving joints of all robots are advanced in one call. A joint moves to its target at its maximum
# velocity and ends exactly there, or keeps a velocity until it reaches a limit of its range, or follows a curve in
# time as fast as it can. Joints driven by motors are left to the physics engine.


CHUNK = 16384
"""Joints advanced at once, few enough that the temporary arrays stay in the processor's cache."""


def advance_joints(world: World, dt: float) -> Rows:
    """Advance all moving joints by `dt` seconds; return the rows whose last joint reached its target in this step.

    A joint that arrived is at rest, exactly at its target. The motion of a joint does not depend on which others move.
    Rows are in ascending order.
    """
    joints = world.joints
    if not joints.used:
        return NO_ROWS
    slots = np.flatnonzero(joints.moving[: joints.used])
    if not len(slots):
        return NO_ROWS
    arrived = [_advance(world, slots[at : at + CHUNK], dt) for at in range(0, len(slots), CHUNK)]
    steering.follow(world)
    owners = joints.robot[slots]
    # The slots of a robot are contiguous, so equal owners are adjacent.
    movers = owners[np.flatnonzero(np.diff(owners, prepend=-1))]
    world.touch_joints(movers)
    ended = np.concatenate(arrived)
    return _settled(world, ended) if len(ended) else NO_ROWS


def _advance(world: World, slots: Ints, dt: float) -> Ints:
    """Move the joints in `slots`; return those that reached their targets."""
    joints = world.joints
    position, limit = joints.position[slots], joints.max_velocity[slots]
    control = joints.control[slots]
    velocity_mask, curve_mask = control == AT_VELOCITY, control == ON_CURVE
    goal, speed = joints.target[slots], limit
    if velocity_mask.any():
        command = joints.command[slots]
        # A joint at a velocity heads for its limit, so it stops there by the same rule as at a target.
        bounds = np.where(command > 0.0, joints.upper[slots], joints.lower[slots])
        goal = np.where(velocity_mask, bounds, goal)
        speed = np.where(velocity_mask, np.abs(command), limit)
    if curve_mask.any():
        goal = np.where(curve_mask, curve_positions(world, slots, world.clock.time + dt), goal)
    left, reach = goal - position, speed * dt
    # With a target a whole number of steps away, the last step may be short by rounding.
    there_mask = np.abs(left) <= reach * (1.0 + 1e-9)
    joints.position[slots] = np.where(there_mask, goal, position + np.copysign(reach, left))
    # A joint that reached its point of a curve is not at rest there: the curve goes on.
    joints.velocity[slots] = np.where(there_mask, np.where(curve_mask, left / dt, 0.0), np.copysign(speed, left))
    there_mask &= ~curve_mask
    ended = slots[there_mask]
    joints.moving[ended] = False
    if not velocity_mask.any():
        return ended
    stopped = slots[there_mask & velocity_mask]
    joints.control[stopped] = HOLD
    joints.target[stopped] = joints.position[stopped]
    return slots[there_mask & ~velocity_mask]


def curve_positions(world: World, slots: Ints, time: float) -> Floats:
    """Return the positions of the curves of the joints in `slots` at a simulation time, within the joint limits."""
    joints = world.joints
    u = np.clip((time - joints.curve_begin[slots]) / joints.curve_span[slots], 0.0, 1.0)
    value = joints.curve_2[slots] + u * joints.curve_3[slots]
    value = joints.curve_0[slots] + u * (joints.curve_1[slots] + u * value)
    return np.clip(value, joints.lower[slots], joints.upper[slots])


def _settled(world: World, ended: Ints) -> Rows:
    """Return the rows of the joints `ended` that have no other joint moving to a target."""
    joints = world.joints
    rows = np.unique(joints.robot[ended])
    slots = joints.slots(world.robots, rows)
    busy_mask = joints.moving[slots] & (joints.control[slots] == TO_POSITION)
    if not busy_mask.any():
        return rows
    return rows[~np.isin(rows, joints.robot[slots[busy_mask]])]


IDLE, POSE = ControllerMode.IDLE.code, ControllerMode.POSE.code
NEAR, ALIGNED = 1e-3, 1e-3
"""How near (m) to where its law stops, and how well turned (rad), a robot must be by its engine to have arrived."""
NOISE = (0.02, 0.02, 0.1)
"""Deviations (m/s, m/s, rad/s) below which a velocity is as planned: laws tell by exact zeros what stands."""
_FLAGS = ("moved", "bullet_behind", "bounds_behind")


_Begun = tuple[Rows, tuple[Floats, Floats, Floats, Floats], tuple[Bools, ...], Floats, Floats]
"""Rows with their state before the laws: by the engine, flags, headings, and velocities as laws see them."""


class EngineDriven:
    """Turns the motion that laws plan for bodies of the engine into drives: `begin` before the laws, `end` after."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: _Begun | None = None

    def begin(self) -> None:
        """Let the laws see robots of the engine upright, with the velocities they planned."""
        world, motion, table = self._world, self._world.motion, self._world.drives
        self._begun = None
        rows = self._rows() if world.physics else NO_ROWS
        if table.in_use and np.count_nonzero(table.driven):
            self._let_go(rows)
        if not len(rows):
            return
        table.use()
        new = rows[~table.driven[rows]]
        headings = quaternions.yaws(world.orientation[rows])
        # Who was not driven until now goes on as it moves.
        self._take_twist(new, world.velocity[new], world.angular_velocity[new])
        table.lost[new] = table.missed[new] = 0.0
        engine = world.position[rows], world.orientation[rows], world.velocity[rows], world.angular_velocity[rows]
        sine, cosine = trig.sin_cos(headings)
        ahead, aside, turn = motion.body_linear[rows, 0], motion.body_linear[rows, 1], motion.body_angular[rows, 2]
        velocities = np.stack((cosine * ahead - sine * aside, sine * ahead + cosine * aside, turn), axis=1)
        flags = tuple(getattr(world, name)[rows] for name in _FLAGS)
        self._begun = rows, engine, flags, headings, velocities
        world.orientation[rows] = quaternions.from_yaws(headings)
        world.velocity[rows] = velocities * (1.0, 1.0, 0.0)
        world.angular_velocity[rows] = velocities * (0.0, 0.0, 1.0)
        for row in rows[motion.control[rows] == POSE].tolist():
            self._flatten_path(row)

    def end(self, ended: Rows, dt: float) -> Rows:
        """Hand what was planned over to the engine; return which of `ended` have arrived.

        Those of the engine have where it had them before this step; others need one step more.
        """
        begun, world, table, motion = self._begun, self._world, self._world.drives, self._world.motion
        if begun is None:
            return ended
        (rows, engine, flags, headings, velocities), self._begun = begun, None
        way = np.empty((len(rows), 3))
        way[:, :2] = (world.position[rows] - engine[0])[:, :2]
        way[:, 2] = quaternions.wrapped(quaternions.yaws(world.orientation[rows]) - headings)
        planned = np.concatenate((world.velocity[rows, :2], world.angular_velocity[rows, 2:]), axis=1)
        table.mean[rows] = way / dt
        table.change[rows], table.after[rows] = planned - velocities, planned
        table.driven[rows] = True
        world.position[rows], world.orientation[rows], world.velocity[rows], world.angular_velocity[rows] = engine
        for name, values in zip(_FLAGS, flags, strict=True):
            getattr(world, name)[rows] = values
        far_mask = np.sqrt(way[:, 0] * way[:, 0] + way[:, 1] * way[:, 1]) > NEAR
        far_mask |= (np.abs(way[:, 2]) > ALIGNED) & motion.align_final[rows]
        arrived: Rows = ended[~np.isin(ended, rows[far_mask])] if len(ended) else ended
        table.ends[rows] = np.isin(rows, arrived) | (motion.control[rows] == IDLE)
        return arrived

    def read_back(self) -> None:
        """Let the laws go on with the velocities they planned, less what the engine did not do of them."""
        world, table = self._world, self._world.drives
        if not table.in_use:
            return
        rows = np.flatnonzero(table.driven & world.alive)
        if not len(rows):
            return
        # What lasts for two steps: shaking takes and gives.
        one, other = table.missed[rows], table.missed_before[rows]
        missed = np.where(np.abs(one) < np.abs(other), one, other)
        missed[(one * other < 0.0) | (np.abs(missed) < NOISE)] = 0.0
        # Sums with zeros are exact.
        left = table.after[rows] + missed
        left[table.ends[rows]] = 0.0
        self._take_twist(rows, left, left)

    def _rows(self) -> Rows:
        """Return the rows that follow a law in this step, and that their engine moves."""
        world = self._world
        mask = world.dynamic & (world.motion.control != IDLE) & world.alive & (world.parent == NO_ROW)
        rows = np.flatnonzero(mask)
        if not len(rows):
            return rows
        laws = world.motion.law[rows]
        # Law 0 cannot move, and what drives by motors moves by its joints.
        planned = [law for law in np.unique(laws).tolist() if law and not drives_by_motors(law)]
        return rows[np.isin(laws, planned)]

    def _let_go(self, rows: Rows) -> None:
        """End the drives of those that are not among `rows` any more: who was stopped stands, others roll on."""
        world, table = self._world, self._world.drives
        gone_mask = table.driven.copy()
        gone_mask[rows] = False
        gone = np.flatnonzero(gone_mask)
        table.driven[gone] = False
        stopped = gone[world.alive[gone] & world.dynamic[gone] & ~table.ends[gone] & (world.motion.law[gone] != 0)]
        # For one step, as a stop at once; then they are free.
        table.driven[stopped] = table.ends[stopped] = True
        table.mean[stopped] = table.change[stopped] = table.after[stopped] = 0.0

    def _take_twist(self, rows: Rows, linear: Floats, angular: Floats) -> None:
        """Set the twists of `rows` in their own frames from world velocities (N, 3), upright."""
        motion = self._world.motion
        sine, cosine = trig.sin_cos(quaternions.yaws(self._world.orientation[rows]))
        x, y = linear[:, 0], linear[:, 1]
        motion.body_linear[rows] = np.stack((cosine * x + sine * y, cosine * y - sine * x, np.zeros(len(rows))), axis=1)
        motion.body_angular[rows] = angular * (0.0, 0.0, 1.0)

    def _flatten_path(self, row: int) -> None:
        """Put the waypoints of `row` at the height that it has, and upright: these are the engine's."""
        world, motion, pool = self._world, self._world.motion, self._world.waypoints
        at = slice(int(motion.path_start[row]), int(motion.path_start[row] + motion.path_length[row]))
        pool.position[at, 2] = world.position[row, 2]
        if motion.path_fresh[row]:
            pool.orientation[at] = quaternions.from_yaws(quaternions.yaws(pool.orientation[at]))


# Avoidance for robots that follow paths: they drive by velocity for some steps, then return to the path.


VELOCITY = ControllerMode.VELOCITY.code
MAX_SPEED = 1e3
"""Speed limit assumed for robots without one, in m/s."""

# Nothing to keep away from.
_SHAPELESS = (int(ShapeKind.NONE), int(ShapeKind.PLANE))


class AvoidanceSystem:
    """Steers rows with an `avoidance` horizon around bodies that are in the way of their path.

    In such a step an omnidirectional robot follows a velocity close to the one towards its waypoint (`orca.py`),
    any other one speeds (v, w) that it can drive (`evasion.py`). In the next step it heads for the waypoint
    again. All others, and robots with a free way, move by their law alone. Robots
    are modelled as discs around their collision shapes that move in the plane. Of two robots that avoid, each makes
    half of the correction; for any other body the robot makes all of it. A robot never drives into a box that cannot
    move in order to avoid others.
    """

    def __init__(self, world: World, near_pairs: Callable[..., Ints]) -> None:
        """`near_pairs(lower, upper, ...)` returns the pairs (M, 2) of boxes (N, 3) that touch, first < second."""
        self._world = world
        self._near_pairs = near_pairs
        self._steered: Rows = NO_ROWS

    def before(self, dt: float) -> None:
        """Command a velocity for this step to the robots that have to avoid something."""
        world, motion = self._world, self._world.motion
        self._steered = NO_ROWS
        if not np.count_nonzero(motion.avoidance):
            return
        movers = (motion.avoidance > 0.0) & (motion.control == POSE) & (motion.law != 0) & world.alive
        # What is carried follows its carrier, and what the engine moves does not follow velocity commands.
        movers &= (world.parent == NO_ROW) & ~world.dynamic
        if not np.count_nonzero(movers):
            return
        scene = _scene(world, movers)
        sideways_mask = scene.yields & _sideways(world, scene.rows)
        pairs = self._pairs(scene)
        if np.count_nonzero(sideways_mask):
            self._evade_sideways(scene, sideways_mask, pairs, dt)
        if np.count_nonzero(sideways_mask) < np.count_nonzero(scene.yields):
            v, w, places = unicycle_speeds(world, scene, scene.yields & ~sideways_mask, pairs, dt)
            self._steer(scene.rows[places], v, np.zeros(len(v)), w)

    def after(self) -> None:
        """Return the steered robots to their paths."""
        rows, motion = self._steered, self._world.motion
        if len(rows):
            motion.control[rows] = POSE
            # They left the path, so pass speeds and headings have to be found anew from where they are.
            motion.path_fresh[rows] = True
            motion.command_linear[rows] = 0.0
            motion.command_angular[rows] = 0.0
            self._steered = NO_ROWS

    def _evade_sideways(self, scene: AvoidanceScene, mask: Bools, pairs: tuple[Rows, Rows], dt: float) -> None:
        """Command collision-free velocities to omnidirectional robots whose way is not free."""
        world, (first, second) = self._world, pairs
        wanted = _wanted(world, scene, dt)
        velocity = world.velocity[scene.rows]
        discs = MovingDiscs(
            scene.x, scene.y, np.array(velocity[:, 0]), np.array(velocity[:, 1]), scene.radii, scene.yields
        )
        block_mask = scene.block_mask[first] | scene.block_mask[second]
        obstacles = _obstacles(world, scene, discs, wanted, first[block_mask], second[block_mask])
        vx, vy = avoiding_velocities(
            discs,
            (first[~block_mask], second[~block_mask]),
            wanted,
            scene.speeds,
            horizon=scene.horizons,
            dt=dt,
            obstacles=obstacles,
            push_apart=False,
        )
        # Only those whose way is not free are steered; all others move to the bit as without avoidance.
        places = np.flatnonzero(mask & ((vx != wanted[0]) | (vy != wanted[1])))
        sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[scene.rows[places]]))
        ahead = vx[places] * cosines + vy[places] * sines
        aside = vy[places] * cosines - vx[places] * sines
        self._steer(scene.rows[places], ahead, aside, np.zeros(len(places)))

    def _pairs(self, scene: AvoidanceScene) -> tuple[Rows, Rows]:
        """Return the pairs of indices into `scene` that can meet within the horizon of one of them."""
        world, rows = self._world, scene.rows
        farthest = float(scene.horizons.max())
        velocity = world.velocity[rows]
        speeds = np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2)
        # As far as a body may come within the horizon.
        reach = scene.radii + np.where(scene.yields, scene.speeds * scene.horizons, speeds * farthest)
        heights = world.half_extents[rows, 2]
        low, high = np.empty((len(rows), 3)), np.empty((len(rows), 3))
        for axis, values, extent in ((0, scene.x, reach), (1, scene.y, reach), (2, world.position[rows, 2], heights)):
            np.subtract(values, extent, out=low[:, axis])
            np.add(values, extent, out=high[:, axis])
        pairs = self._near_pairs(low, high, static_mask=~scene.yields, ignore_static=False, compiled=world.compiled)
        first, second = pairs[:, 0], pairs[:, 1]
        x, y = scene.x.take(second) - scene.x.take(first), scene.y.take(second) - scene.y.take(first)
        bound = reach.take(first) + reach.take(second)
        # The boxes that were searched are squares; discs are smaller.
        near = np.flatnonzero(x * x + y * y <= bound * bound)
        near = near[world.collision_rules.may_collide(rows[pairs[near]])]
        return first.take(near), second.take(near)

    def _steer(self, rows: Rows, ahead: Floats, aside: Floats, turns: Floats) -> None:
        """Command `rows` velocities in their body frames for one step."""
        if not len(rows):
            return
        motion = self._world.motion
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        linear[:, 0], linear[:, 1], angular[:, 2] = ahead, aside, turns
        motion.command_linear[rows] = linear
        motion.command_angular[rows] = angular
        # Never expires: `after` takes the command back at the end of the step.
        motion.command_expiry[rows] = -1
        motion.control[rows] = VELOCITY
        self._steered = np.concatenate((self._steered, rows))


def _scene(world: World, movers: Bools) -> AvoidanceScene:
    """Return the robots that avoid (`movers`) and all solid bodies."""
    motion = world.motion
    kinds = world.shape_kind
    solid = world.collision_rules.active_mask() & (world.parent == NO_ROW)
    solid &= ~np.isin(kinds, _SHAPELESS)
    rows = np.flatnonzero(movers | solid)
    extents, offsets = world.half_extents[rows], world.shape_position[rows]
    round_mask = np.isin(kinds[rows], ROUND_KINDS)
    # What is not round is a disc through its corners.
    radii = np.where(round_mask, world.radius[rows], np.sqrt(extents[:, 0] ** 2 + extents[:, 1] ** 2))
    radii += np.sqrt(offsets[:, 0] ** 2 + offsets[:, 1] ** 2)
    yields = movers[rows]
    speeds, _ = linear_any_way(motion, rows)
    return AvoidanceScene(
        rows,
        yields,
        world.position[rows, 0],
        world.position[rows, 1],
        CLEARANCE * radii,
        # 1 s for bodies that do not avoid: it has no effect, but must not be 0, as it is divided by.
        np.where(yields, motion.avoidance[rows], 0.0) + ~yields,
        # Infinite speeds would give infinities minus infinities in the half-planes.
        np.minimum(speeds, MAX_SPEED),
        ~round_mask & (motion.law[rows] == 0),
    )


def _sideways(world: World, rows: Rows) -> Bools:
    """Return which rows (N,) have the omnidirectional law."""
    omni = motion_law_index(MotionMode.OMNIDIRECTIONAL.value)
    return np.asarray(world.motion.law[rows] == omni)


def _wanted(world: World, scene: AvoidanceScene, dt: float) -> tuple[Floats, Floats]:
    """Return the velocities (N,), (N,) straight to the waypoints from which robots can still brake there."""
    motion = world.motion
    places = np.flatnonzero(scene.yields)
    rows = scene.rows[places]
    targets = world.waypoints.position[motion.path_start[rows] + motion.waypoint[rows]]
    x, y = targets[:, 0] - scene.x[places], targets[:, 1] - scene.y[places]
    distances = np.sqrt(x * x + y * y)
    _, accels = linear_any_way(motion, rows)
    speeds = np.minimum(np.minimum(scene.speeds[places], np.sqrt(2.0 * accels * distances)), distances / dt)
    scale = speeds / np.where(distances > 0.0, distances, 1.0)
    wanted_x, wanted_y = np.zeros(len(scene.rows)), np.zeros(len(scene.rows))
    wanted_x[places], wanted_y[places] = x * scale, y * scale
    return wanted_x, wanted_y


def _obstacles(
    world: World, scene: AvoidanceScene, discs: MovingDiscs, wanted: tuple[Floats, Floats], first: Rows, second: Rows
) -> Obstacles:
    """Return the nearest points of the boxes in pairs (first, second) of scene indices where the other one yields."""
    swap = scene.block_mask[first]
    owner, block = np.where(swap, second, first), np.where(swap, first, second)
    rows = scene.rows[block]
    x, y = discs.x[owner] - scene.x[block], discs.y[owner] - scene.y[block]
    turns = quaternions.yaws(world.orientation[rows])
    sines, cosines = trig.sin_cos(turns)
    centre = world.shape_position[rows]
    # Offsets from the robot to the nearest point of the rectangle, found in the rectangle's frame.
    own_x, own_y = x * cosines + y * sines - centre[:, 0], y * cosines - x * sines - centre[:, 1]
    half = world.half_extents[rows]
    to_x = np.minimum(np.maximum(own_x, -half[:, 0]), half[:, 0]) - own_x
    to_y = np.minimum(np.maximum(own_y, -half[:, 1]), half[:, 1]) - own_y
    to_x, to_y = to_x * cosines - to_y * sines, to_x * sines + to_y * cosines
    size = np.sqrt(to_x * to_x + to_y * to_y)
    # The path itself may lead close to a box: approaching it as fast as the path does stays permitted.
    allowed = (wanted[0][owner] * to_x + wanted[1][owner] * to_y) / np.where(size > 0.0, size, 1.0)
    near = np.flatnonzero(scene.yields[owner] & (size > 0.0))
    return Obstacles(owner[near], to_x[near], to_y[near], allowed[near])
