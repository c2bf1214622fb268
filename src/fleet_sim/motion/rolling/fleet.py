"""The wheels of all robots as flat arrays, gathered anew whenever robots are spawned or removed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.config.modes import MotionMode
from fleet_sim.core.world import World
from fleet_sim.kinematics.wheel_places import UNSTEERED, WheelPlaces, find_places
from fleet_sim.motion.rolling.columns import BY_SHAPE, MECANUM, WheelColumns


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
    for owner, kind in enumerate(zip(*(column[rows].tolist() for column in columns), strict=True)):
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
