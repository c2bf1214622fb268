"""Collision avoidance for robots that follow paths: they drive by velocity for some steps, then return to the path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.params import ControllerMode, MotionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ROUND_KINDS, ShapeKind
from fleet_sim.robots.motion.evasion import CLEARANCE, AvoidanceScene, unicycle_speeds
from fleet_sim.robots.motion.laws import motion_law_index
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities
from fleet_sim.robots.motion.rows import linear_any_way
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

POSE, VELOCITY = ControllerMode.POSE.code, ControllerMode.VELOCITY.code
MAX_SPEED = 1e3
"""Speed limit assumed for robots without one, in m/s."""

# Nothing to keep away from.
_SHAPELESS = (int(ShapeKind.NONE), int(ShapeKind.PLANE))


class AvoidanceSystem:
    """Steers rows with an `avoidance` horizon around bodies that are in the way of their path.

    In such a step an omnidirectional robot follows a velocity close to the one towards its waypoint (`avoidance.py`),
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
