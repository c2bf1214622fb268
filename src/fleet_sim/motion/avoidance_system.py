"""Collision avoidance for robots that follow paths: they drive by velocity for some steps, then return to the path."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.config.modes import ControllerMode, MotionMode
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.motion.avoidance import MovingDiscs, Obstacles, avoiding_velocities
from fleet_sim.motion.laws import motion_law_index
from fleet_sim.motion.limits import angular_any_way, linear_any_way
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.shapes import ShapeKind

POSE, VELOCITY = ControllerMode.POSE.code, ControllerMode.VELOCITY.code
LEAD = 0.25
"""Robots that cannot move sideways steer a point that is this many radii ahead of their axle."""
CLEARANCE = 1.15
"""Discs are larger than robots by this factor, as robots cannot change their velocity at once, and a graze counts as
a contact."""
MAX_SPEED = 1e3
"""Speed limit assumed for robots without one, in m/s."""

_IN_LINE, _MOVING = 1e-6, 1e-3
"""A robot is in line if the sine of its error, and its turning speed in rad/s, are below the first; it moves if it is
faster than the second, in m/s."""

_ROUND = (int(ShapeKind.SPHERE), int(ShapeKind.CYLINDER), int(ShapeKind.CAPSULE))
_SHAPELESS = (int(ShapeKind.NONE), int(ShapeKind.PLANE))


class PairFinder(Protocol):
    """Finds the pairs (M, 2) of boxes (N, 3) that touch, except pairs of two rows in `static_mask`."""

    def __call__(
        self, lower: Floats, upper: Floats, *, static_mask: Bools | None = None, ignore_static: bool = True
    ) -> Ints:
        """Return the pairs, first < second, sorted."""
        ...


class _Scene(NamedTuple):
    """The robots that avoid and all bodies that may be in the way: rows (N,) and their values, (N,) each."""

    rows: Rows
    yields: Bools
    x: Floats
    y: Floats
    radii: Floats
    horizons: Floats
    speeds: Floats
    block_mask: Bools


class AvoidanceSystem:
    """Steers rows with an `avoidance` horizon around bodies that are in the way of their path.

    In such a step a robot follows a velocity close to the one towards its waypoint (see `avoidance.py`), and in the
    next step it heads for the waypoint again. All others, and robots with a free way, move by their law alone. Robots
    are modelled as discs around their collision shapes that move in the plane. Of two robots that avoid, each makes
    half of the correction; for any other body the robot makes all of it. A robot never drives into a box that cannot
    move in order to avoid others.
    """

    def __init__(self, world: World, near_pairs: PairFinder) -> None:
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
        wanted = _wanted(world, scene, dt)
        lead = np.where(scene.yields & ~_sideways(world, scene.rows), LEAD * scene.radii, 0.0)
        headings = quaternions.yaws(world.orientation[scene.rows])
        sines, cosines = trig.sin_cos(headings)
        vx, vy = self._velocities(scene, wanted, lead, (cosines, sines), dt)
        evades = (vx != wanted[0]) | (vy != wanted[1]) | _astray(world, scene, wanted, lead, (cosines, sines))
        places = np.flatnonzero(scene.yields & evades)
        if len(places):
            ahead = vx[places] * cosines[places] + vy[places] * sines[places]
            aside = vy[places] * cosines[places] - vx[places] * sines[places]
            self._steer(scene.rows[places], ahead, aside, lead[places])

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

    def _velocities(
        self,
        scene: _Scene,
        wanted: tuple[Floats, Floats],
        lead: Floats,
        facing: tuple[Floats, Floats],
        dt: float,
    ) -> tuple[Floats, Floats]:
        """Return collision-free velocities (N,), (N,) in the world frame."""
        world, (cosines, sines) = self._world, facing
        velocity, turns = world.velocity[scene.rows], world.angular_velocity[scene.rows, 2]
        # The steered point is `lead` ahead of the axle, so turning moves it sideways.
        discs = MovingDiscs(
            scene.x + lead * cosines,
            scene.y + lead * sines,
            velocity[:, 0] - lead * turns * sines,
            velocity[:, 1] + lead * turns * cosines,
            scene.radii + lead,
            scene.yields,
        )
        first, second = self._pairs(scene, lead)
        block_mask = scene.block_mask[first] | scene.block_mask[second]
        obstacles = _obstacles(world, scene, discs, wanted, first[block_mask], second[block_mask])
        return avoiding_velocities(
            discs,
            (first[~block_mask], second[~block_mask]),
            wanted,
            scene.speeds,
            horizon=scene.horizons,
            dt=dt,
            obstacles=obstacles,
            push_apart=False,
        )

    def _pairs(self, scene: _Scene, lead: Floats) -> tuple[Rows, Rows]:
        """Return the pairs of indices into `scene` that can meet within the horizon of one of them."""
        world, rows = self._world, scene.rows
        farthest = float(scene.horizons.max())
        velocity = world.velocity[rows]
        speeds = np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2)
        reach = scene.radii + lead + np.where(scene.yields, scene.speeds * scene.horizons, speeds * farthest)
        heights = world.half_extents[rows, 2]
        low, high = np.empty((len(rows), 3)), np.empty((len(rows), 3))
        for axis, values, extent in ((0, scene.x, reach), (1, scene.y, reach), (2, world.position[rows, 2], heights)):
            np.subtract(values, extent, out=low[:, axis])
            np.add(values, extent, out=high[:, axis])
        pairs = self._near_pairs(low, high, static_mask=~scene.yields, ignore_static=False)
        first, second = pairs[:, 0], pairs[:, 1]
        x, y = scene.x.take(second) - scene.x.take(first), scene.y.take(second) - scene.y.take(first)
        bound = reach.take(first) + reach.take(second)
        near = np.flatnonzero(x * x + y * y <= bound * bound)
        near = near[world.collision_rules.may_collide(rows[pairs[near]])]
        return first.take(near), second.take(near)

    def _steer(self, rows: Rows, ahead: Floats, aside: Floats, lead: Floats) -> None:
        """Command `rows` velocities in their body frames for one step."""
        motion = self._world.motion
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        # A point `lead` ahead of the axle moves sideways at `lead` times the turning speed.
        turns = aside / np.where(lead > 0.0, lead, 1.0)
        limits, accels = angular_any_way(motion, rows)
        # Not faster than it can stop turning in time, or it would swing past the direction and back.
        limits = np.minimum(limits, np.sqrt(2.0 * accels * np.abs(trig.arctan2(aside, ahead))))
        # Where the robot cannot turn that fast, scale both speeds: the steered point keeps its direction.
        slower = np.minimum(1.0, limits / np.maximum(np.abs(turns), 1e-12))
        linear[:, 0] = np.where(lead > 0.0, ahead * slower, ahead)
        linear[:, 1] = np.where(lead > 0.0, 0.0, aside)
        angular[:, 2] = np.where(lead > 0.0, turns * slower, 0.0)
        motion.command_linear[rows] = linear
        motion.command_angular[rows] = angular
        # Never expires: `after` takes the command back at the end of the step.
        motion.command_expiry[rows] = -1
        motion.control[rows] = VELOCITY
        self._steered = rows


def _scene(world: World, movers: Bools) -> _Scene:
    """Return the robots that avoid (`movers`) and all solid bodies."""
    motion = world.motion
    kinds = world.shape_kind
    solid = world.collision_rules.active_mask() & (world.parent == NO_ROW)
    solid &= ~np.isin(kinds, _SHAPELESS)
    rows = np.flatnonzero(movers | solid)
    extents, offsets = world.half_extents[rows], world.shape_position[rows]
    round_mask = np.isin(kinds[rows], _ROUND)
    radii = np.where(round_mask, world.radius[rows], np.sqrt(extents[:, 0] ** 2 + extents[:, 1] ** 2))
    radii += np.sqrt(offsets[:, 0] ** 2 + offsets[:, 1] ** 2)
    yields = movers[rows]
    speeds, _ = linear_any_way(motion, rows)
    return _Scene(
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


def _wanted(world: World, scene: _Scene, dt: float) -> tuple[Floats, Floats]:
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


def _astray(
    world: World, scene: _Scene, wanted: tuple[Floats, Floats], lead: Floats, facing: tuple[Floats, Floats]
) -> Bools:
    """Return which robots (N,) are off the line to their waypoint while they drive, and not near it yet.

    Their law would brake to a stop and turn on the spot. They curve back to it instead, or they would hardly drive in a
    crowd. Those that drive backwards are left to their law.
    """
    motion, rows = world.motion, scene.rows
    velocity = world.velocity[rows]
    speeds = np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2)
    size = np.sqrt(wanted[0] ** 2 + wanted[1] ** 2)
    off = np.abs(wanted[1] * facing[0] - wanted[0] * facing[1]) > _IN_LINE * size
    spins = np.abs(world.angular_velocity[rows, 2]) > _IN_LINE
    start = motion.path_start[rows] + motion.waypoint[rows]
    way = world.waypoints.position[np.where(scene.yields, start, 0)] - world.position[rows]
    far = way[:, 0] ** 2 + way[:, 1] ** 2 > (2.0 * lead) ** 2
    return np.asarray((lead > 0.0) & far & (speeds > _MOVING) & (off | spins) & ~motion.reverse[rows])


def _obstacles(
    world: World, scene: _Scene, discs: MovingDiscs, wanted: tuple[Floats, Floats], first: Rows, second: Rows
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
