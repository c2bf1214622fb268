"""Turns the wheels of all robots in each step by the distance that each rolled, and steers the wheels of cars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.config.modes import MotionMode
from fleet_sim.core import mimic
from fleet_sim.core.world import World
from fleet_sim.kernels import compiled_step
from fleet_sim.kernels.turns import atan2, multiply, norm_of, rotate
from fleet_sim.kinematics.wheel_places import UNSTEERED
from fleet_sim.motion.ackermann.columns import FEATURE as CARS
from fleet_sim.motion.ackermann.columns import AckermannColumns
from fleet_sim.motion.rolling.columns import WheelColumns
from fleet_sim.motion.rolling.fleet import NO_WHEELS, WheelFleet, gather
from fleet_sim.spatial import trigonometry as trig

_TINY = 1e-9
"""Angle in rad below which an arc is as long as its chord, in all digits."""


class TurningWheels:
    """Turns wheels by how far their robots were driven in a step. Putting a robot elsewhere turns nothing.

    Wheels neither slip nor move the robot. A wheel that was commanded by itself goes where the command says.
    """

    def __init__(self, world: World, table: WheelColumns) -> None:
        self.world = world
        self._table = table
        self._version = -1
        self._fleet = NO_WHEELS
        self._generations: Ints = NO_ROWS
        self._positions = self._orientations = np.zeros((0, 4))

    def begin(self) -> None:
        """Remember where the robots are, before they move."""
        world = self.world
        if self._version != world.version:
            table = self._table
            having = table.among(world.rows)
            self._fleet = gather(world, table, having[table.turn[having]])
            self._version = world.version
        rows = self._fleet.rows
        self._positions, self._orientations = world.position[rows], world.orientation[rows]
        self._generations = world.generation[rows]

    def turn(self, dt: float) -> None:
        """Turn the wheels by what their robots moved since `begin`."""
        world, fleet = self.world, self._fleet
        positions, orientations = self._positions, self._orientations
        if self._version != world.version:
            # Robots were spawned or removed since: joints of removed ones may belong to new ones.
            kept = world.alive[fleet.rows] & (world.generation[fleet.rows] == self._generations)
            fleet = gather(world, self._table, fleet.rows[kept])
            positions, orientations = positions[kept], orientations[kept]
        if not len(fleet.rows):
            return
        ways = self._ways(fleet.rows, positions, orientations)
        angles = steer(world, fleet, dt) if len(fleet.steering_slots) else np.zeros(0)
        x, y, z = ways.T
        owners = fleet.owners
        turned = fleet.ahead * x[owners] + fleet.aside * y[owners] + fleet.spin * z[owners]
        if len(fleet.steering_slots):
            steered = np.flatnonzero(fleet.steered_by != UNSTEERED)
            turned[steered] = _rolled(fleet, steered, angles, ways[owners[steered]])
        joints = world.joints
        speeds = turned / dt
        # At rest nothing is written: a parked fleet costs the comparison and no more.
        news_mask = ((turned != 0.0) | (joints.velocity[fleet.slots] != 0.0)) & ~joints.moving[fleet.slots]
        news = np.flatnonzero(news_mask)
        if not len(news):
            return
        slots = fleet.slots[news]
        joints.velocity[slots] = speeds[news]
        joints.position[slots] += turned[news]
        # A joint that is held has arrived where it is.
        joints.target[slots] = joints.position[slots]
        mimic.follow(world)
        world.touch_joints(fleet.rows[fleet.owners[news]], outline=False)
        uneven = news[~fleet.even[news]]
        if len(uneven):
            world.touch_joints(fleet.rows[fleet.owners[uneven]])

    def _ways(self, rows: Rows, positions: Floats, orientations: Floats) -> Floats:
        """Return how far `rows` (N,) drove since they were at `positions` and `orientations`, as `_write_ways`."""
        world = self.world
        ways = np.empty((len(rows), 3))
        columns: tuple[Any, ...] = (positions, orientations, world.position, world.orientation, ways)
        if world.compiled:
            _write_ways(rows, *columns)
        else:
            views: list[Any] = [memoryview(column) for column in columns]
            _write_ways.in_python(rows.tolist(), *views)
        return ways


def steer(world: World, fleet: WheelFleet, dt: float) -> Floats:
    """Turn what steers the wheels of cars to where their law steers; return the angles (S,) to the left of all.

    All wheels of a car point at right angles to the line to the centre of the arc, as on an Ackermann linkage.
    """
    joints, cars = world.joints, world.tables.get(CARS)
    slots = fleet.steering_slots
    if isinstance(cars, AckermannColumns):
        rows = fleet.rows[fleet.steering_owners]
        law = world.laws.index(MotionMode.ACKERMANN.value)
        chosen = np.flatnonzero(cars.present[rows] & (world.motion.law[rows] == law) & ~joints.moving[slots])
        rows, taken, at = rows[chosen], slots[chosen], fleet.steering_at[chosen]
        angle = cars.steering[rows]
        bends = trig.sin(angle) / (trig.cos(angle) * cars.wheelbase[rows])
        wanted = trig.arctan2(at[:, 0] * bends, 1.0 - at[:, 1] * bends) * fleet.steering_sign[chosen]
        wanted = np.minimum(np.maximum(wanted, joints.lower[taken]), joints.upper[taken])
        change = wanted - joints.position[taken]
        news = np.flatnonzero((change != 0.0) | (joints.velocity[taken] != 0.0))
        if len(news):
            some = taken[news]
            joints.velocity[some] = change[news] / dt
            joints.position[some] = joints.target[some] = wanted[news]
            mimic.follow(world)
            world.touch_joints(rows[news])
    return joints.position[slots] * fleet.steering_sign


def _rolled(fleet: WheelFleet, steered: Ints, angles: Floats, way: Floats) -> Floats:
    """Return how far the wheels `steered` (N,) turn in rad, at `angles` (S,), on `way` (N, 3) of their robots."""
    angle = angles[fleet.steered_by[steered]]
    sine, cosine = trig.sin(angle), trig.cos(angle)
    heading, at = fleet.heading[steered], fleet.at[steered]
    along_x = heading[:, 0] * cosine - heading[:, 1] * sine
    along_y = heading[:, 0] * sine + heading[:, 1] * cosine
    went_x, went_y = way[:, 0] - way[:, 2] * at[:, 1], way[:, 1] + way[:, 2] * at[:, 0]
    return np.asarray((along_x * went_x + along_y * went_y) / fleet.radii[steered])


@compiled_step
def _write_ways(
    rows: Rows, before: Floats, turned: Floats, positions: Floats, orientations: Floats, ways: Floats
) -> None:
    """Write to `ways` (N, 3) how far `rows` (N,) drove since they were at `before` (N, 3) and `turned` (N, 4).

    Ahead and to the left in m, and turned left in rad. They drove with a constant twist, so on an arc: its length
    counts, not that of its chord. `positions` and `orientations` are those of the world, of all rows.
    """
    for place in range(len(rows)):
        row = rows[place]
        x, y, z = before[place, 0], before[place, 1], before[place, 2]
        qx, qy, qz, qw = turned[place, 0], turned[place, 1], turned[place, 2], turned[place, 3]
        to_x, to_y, to_z = positions[row, 0], positions[row, 1], positions[row, 2]
        ox, oy, oz, ow = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
        stood = x == to_x and y == to_y and z == to_z
        if stood and qx == ox and qy == oy and qz == oz and qw == ow:
            ways[place, 0], ways[place, 1], ways[place, 2] = 0.0, 0.0, 0.0
            continue
        between = multiply((-qx, -qy, -qz, qw), (ox, oy, oz, ow))
        # Two quaternions are one orientation; the shorter way round is meant.
        sign = -1.0 if between[3] < 0.0 else 1.0
        up, real = between[2] * sign, between[3] * sign
        half = atan2(up, real)
        mx, my, mz, mw = qx + sign * ox, qy + sign * oy, qz + sign * oz, qw + sign * ow
        norm = norm_of((mx, my, mz, mw))
        ahead, aside, _ = rotate((-mx / norm, -my / norm, -mz / norm, mw / norm), (to_x - x, to_y - y, to_z - z))
        # Half an angle over its sine: an arc over its chord.
        longer = half * math.sqrt(up * up + real * real) / up if abs(half) > _TINY else 1.0
        ways[place, 0], ways[place, 1], ways[place, 2] = ahead * longer, aside * longer, 2.0 * half
