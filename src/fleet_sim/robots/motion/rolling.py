"""Turns the wheels of all robots in each step by the distance that each rolled, and steers the wheels of cars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.params import MotionMode
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.rotations import atan2, multiply, norm_of, rotate
from fleet_sim.models.kinematics.links import UNSTEERED, WheelPlaces, find_places
from fleet_sim.robots.motion.cars import ACKERMANN, AckermannColumns
from fleet_sim.world import steering as mimic
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System, each_step
from fleet_sim.world.world import World

# The columns of robots whose wheels turn with the distance driven.


WHEELS = "wheels"
"""Name of the feature and of its table."""

BY_SHAPE, MECANUM, PLAIN = range(3)
"""Which wheels a robot has: as its model and its law suggest, with rollers at 45 degrees, or without."""


class WheelColumns(FeatureColumns):
    """What the description does not say about the wheels of a robot. Their angles are those of the joints."""

    turn: Bools = column(bool, default=True, writer="spawning", doc="they turn; False: they stay as they are")
    rollers: Bytes = column(np.uint8, writer="spawning", doc="BY_SHAPE, MECANUM or PLAIN")
    radius: Floats = column(float, unit="m", writer="spawning", doc="of all wheels, 0: as described")
    separation: Floats = column(float, unit="m", writer="spawning", doc="of left and right wheels, 0: as described")


# The wheels of all robots as flat arrays, gathered anew whenever robots are spawned or removed.


class WheelFleet(NamedTuple):
    """The W wheels and S steering joints of R robots; `slots` are of `World.joints`, `owners` index `rows`.

    A wheel turns by `ahead`, `aside` and `spin` (W,) in rad for each m ahead, each m to the left and each rad to the
    left that its robot moves. One with `steered_by` (W,), an index into the steering joints, heads where that joint
    points instead: its `heading` and place `at` (W, 2), both in the base frame, are those of straight ahead.
    """

    rows: Rows
    owners: Ints
    slots: Ints
    ahead: Floats
    aside: Floats
    spin: Floats
    even: Bools
    heading: Floats
    at: Floats
    radii: Floats
    steered_by: Ints
    steering_owners: Ints
    steering_slots: Ints
    steering_at: Floats
    steering_sign: Floats


def _no_wheels() -> WheelFleet:
    arrays: dict[str, AnyArray] = dict.fromkeys(WheelFleet._fields, np.zeros(0))
    # What is a number of something is an array of integers.
    numbers = ("rows", "owners", "slots", "steered_by", "steering_owners", "steering_slots")
    arrays |= dict.fromkeys(numbers, NO_ROWS) | dict.fromkeys(("heading", "at", "steering_at"), np.zeros((0, 2)))
    return WheelFleet(**arrays)._replace(even=np.zeros(0, np.bool_))


NO_WHEELS = _no_wheels()


def gather(world: World, table: WheelColumns, rows: Rows) -> WheelFleet:
    """Return the wheels of `rows` (R,), all of which have some."""
    kinds: dict[tuple[int, float, float, int, int], list[int]] = {}
    columns = (world.robots.model, table.radius, table.separation, table.rollers, world.motion.law)
    # Robots of one kind at once: a fleet has thousands of robots and few kinds.
    for owner, kind in enumerate(zip(*(values[rows].tolist() for values in columns), strict=True)):
        kinds.setdefault(kind, []).append(owner)
    parts, count = [NO_WHEELS], 0
    for (model, radius, separation, rollers, law), members in kinds.items():
        places = find_places(world.models[model], radius, separation)
        # Rollers are told by the settings, or by the shape: four wheels in the corners of a base that drives sideways.
        omni = law == world.laws.index(MotionMode.OMNIDIRECTIONAL.value)
        mecanum = rollers == MECANUM or (rollers == BY_SHAPE and omni and places.cornered)
        owners = np.array(members, np.int64)
        parts.append(_of_kind(places, owners, world.robots.joint_start[rows[owners]], count, mecanum=mecanum))
        count += len(parts[-1].steering_slots)
    return WheelFleet(rows, *(np.concatenate(pieces) for pieces in list(zip(*parts, strict=True))[1:]))


def _of_kind(places: WheelPlaces, owners: Ints, starts: Ints, count: int, *, mecanum: bool) -> WheelFleet:
    """Return the wheels of N robots alike, whose joints begin at `starts` (N,); `count` steering joints come before."""
    robots, wheels, steering = len(owners), len(places.wheels), len(places.steering)

    def each(values: AnyArray) -> AnyArray:
        return np.concatenate([values] * robots)

    # Joints that steer are numbered through the fleet, so each robot's begin behind those before.
    steered_by = places.steered_by + count + steering * np.arange(robots)[:, None]
    turns = rates(places, mecanum=mecanum)
    return WheelFleet(
        rows=NO_ROWS,
        owners=np.repeat(owners, wheels),
        slots=(starts[:, None] + places.wheels).reshape(-1),
        ahead=each(turns[:, 0]),
        aside=each(turns[:, 1]),
        spin=each(turns[:, 2]),
        even=each(places.even),
        heading=each(places.heading),
        at=each(places.at),
        radii=each(places.radii),
        steered_by=np.where(places.steered_by == UNSTEERED, UNSTEERED, steered_by).reshape(-1),
        steering_owners=np.repeat(owners, steering),
        steering_slots=(starts[:, None] + places.steering).reshape(-1),
        steering_at=each(places.steering_at),
        steering_sign=each(places.steering_sign),
    )


def rates(places: WheelPlaces, *, mecanum: bool) -> Floats:
    """Return how far wheels turn (K, 3), in rad, for each m ahead, each m to the left and each rad to the left.

    The rollers of mecanum wheels stand as usual: those that touch the ground, seen from above, form a diamond.
    """
    x, y = places.at[:, 0], places.at[:, 1]
    along_x, along_y = places.heading[:, 0], places.heading[:, 1]
    if mecanum:
        # Which way the rollers stand: wheels across from each other have the same ones.
        side = np.sign(x * y)
        ahead = np.sign(along_x) / places.radii
        return np.column_stack([ahead, -side * ahead, -(y + side * x) * ahead])
    # A wheel rolls by how fast its place moves along its heading.
    return np.column_stack([along_x, along_y, x * along_y - y * along_x]) / places.radii[:, None]


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
        joints = world.joints
        # At rest nothing is written: a parked fleet costs the comparison and no more.
        if not (len(fleet.steering_slots) or world.moved[fleet.rows].any() or joints.velocity[fleet.slots].any()):
            return
        ways = self._ways(fleet.rows, positions, orientations)
        angles = steer(world, fleet, dt) if len(fleet.steering_slots) else np.zeros(0)
        x, y, z = ways.T
        owners = fleet.owners
        turned = fleet.ahead * x[owners] + fleet.aside * y[owners] + fleet.spin * z[owners]
        if len(fleet.steering_slots):
            steered = np.flatnonzero(fleet.steered_by != UNSTEERED)
            turned[steered] = _rolled(fleet, steered, angles, ways[owners[steered]])
        speeds = turned / dt
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
    joints, cars = world.joints, world.tables.get(ACKERMANN)
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


# The settings under `wheels:`, in the spawn entry of a robot.


@dataclass
class WheelSettings(Checked):
    """How the wheels of a robot turn that is moved without physics. Size and distance are settings of the robot."""

    turn: bool = setting(True, doc="Whether wheels turn with the distance driven, and those of cars are steered.")
    mecanum: bool | None = setting(
        None,
        doc="Whether wheels have rollers at 45 degrees; null: four at the corners of a robot with motion_mode omni do.",
    )


# The entry point of the feature `wheels`: it turns the wheels of robots that are moved without physics.


class WheelFeature(Feature[WheelSettings, WheelColumns]):
    """Turning wheels: spawning gives them to robots with wheels; `wheels:` in a spawn entry changes how they turn."""

    doc = "How its wheels turn without physics."
    settings = WheelSettings
    table = WheelColumns

    def values(self, settings: WheelSettings) -> Mapping[str, Any]:
        """Return the columns of a robot with `settings`."""
        rollers = {None: BY_SHAPE, True: MECANUM, False: PLAIN}[settings.mecanum]
        return {"turn": settings.turn, "rollers": rollers}

    def start(self, host: FeatureHost, table: WheelColumns) -> TurningWheels:
        """Record poses before robots move, and turn their wheels right after."""
        wheels = TurningWheels(host.world, table)
        host.pipeline.add(System("wheels", Phase.UPDATE, each_step(wheels.begin)), before="motion")
        # Not a system: handlers of `arrived` may teleport a robot, which must not turn its wheels.
        host.world.on_drive.append(wheels.turn)
        return wheels

    def enter(self, part: TurningWheels, table: WheelColumns, rows: Rows) -> None:
        """Refuse what has no wheels, and robots whose wheels are turned by motors."""
        for row in rows.tolist():
            reason = _hindrance(part.world, table, row)
            if reason:
                table.clear_rows(rows)
                raise InvalidValueError(f"wheels: {part.world.label(row)!r} {reason}")


def _hindrance(world: World, table: WheelColumns, row: int) -> str:
    """Return why the wheels of an entity cannot turn with it, "" where they can."""
    model = world.model_of(row)
    if model is None or not len(find_places(model, float(table.radius[row])).wheels):
        return (
            "has no wheels whose radius is known: joints without limits that turn about a level axis, attached to the "
            "base; give wheel_radius where they are meshes"
        )
    if not world.motion.law[row]:
        return "has a fixed base and does not drive"
    if world.robots.motors[row]:
        return "is moved by the physics engine, whose motors turn its wheels; give it a mass of 0"
    return ""


FEATURE = WheelFeature()
