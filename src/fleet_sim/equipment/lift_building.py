"""Builds lifts: a cabin with walls, its doors, and the doors in front of it on each floor.

Doors of the cabin move with it; each floor has its own in front of them. The floor of the cabin collides with nothing,
as robots stand on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.equipment.door_building import build_door
from fleet_sim.equipment.door_settings import DoorKind, DoorSettings
from fleet_sim.equipment.lift import LiftHandle
from fleet_sim.equipment.lift_columns import LiftColumns
from fleet_sim.equipment.lift_plan import Entrance, LiftPlan
from fleet_sim.equipment.lift_settings import LiftCabinSettings, LiftDoorSettings, LiftSettings
from fleet_sim.equipment.lifts import Lifts
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import trigonometry as trig

WALL = 0.05
"""Thickness of the walls and of the floor of a cabin in m."""
GAP = 0.05
"""Between the cabin and what is in front of it, in m."""
INSET = 0.025
"""Of the doors of the cabin from its edge, in m."""
COLOR = (0.7, 0.72, 0.75, 1.0)

Side = tuple[float, float, float, float]
"""Middle of a piece of wall x, y, and its half sides along x and y, in m in the frame of the cabin."""


def build_lift(sim: MultiRobotSimulationCore, settings: LiftSettings) -> LiftHandle:
    """Spawn a lift in `sim`; returns it. Its doors are called `CabinDoor_<lift>_<door>` and
    `ShaftDoor_<lift>_<floor>_<door>`. Raises DuplicateNameError."""
    lifts: Lifts = sim.features.use("lift")
    names = tuple(floor.name for floor in settings.floors)
    floor = 0 if settings.initial is None else names.index(settings.initial)
    heights = np.array([entry.height for entry in settings.floors])
    lifts.building = True
    try:
        cabin, *walls = sim.spawn_all([_platform(settings, heights[floor]), *_walls(settings, float(heights[floor]))])
    finally:
        lifts.building = False
    table = lifts.table
    assert isinstance(table, LiftColumns)
    # Walls follow their cabin.
    table.cabin[[wall.row for wall in walls]] = cabin.row
    table.half[cabin.row] = (0.5 * settings.width, 0.5 * settings.depth, 0.5 * settings.height)
    inner = {door.name: _door(sim, settings, door, float(heights[floor]), None) for door in settings.doors}
    doors, entrances = [], []
    for entry in settings.floors:
        chosen = [door for door in settings.doors if entry.doors is None or door.name in entry.doors]
        outer = [_door(sim, settings, door, entry.height, entry.name)[0] for door in chosen]
        doors.append(_rows([*outer, *(inner[door.name][0] for door in chosen)]))
        entrances.append(_entrance(settings, max(chosen or settings.doors, key=lambda door: door.width)))
    leaves = _rows([leaf for pair in inner.values() for leaf in pair])
    lifts.own(cabin.row, LiftPlan(names, heights, tuple(doors), leaves, tuple(entrances)), floor)
    return LiftHandle(cabin, lifts)


def _rows(leaves: Sequence[SimObject]) -> Rows:
    return np.array([leaf.row for leaf in leaves], np.int64)


def _cabin_part(settings: LiftSettings, name: str, piece: Side, z: float, half_height: float) -> SimObjectSpawnParams:
    x, y, along, across = piece
    shape = ShapeParams("box", half_extents=(along, across, half_height), rgba_color=COLOR)
    place = _to_world(settings, x, y)
    pose = Pose.from_euler(*place, z, 0.0, 0.0, math.remainder(settings.yaw, math.tau))
    cabin = LiftCabinSettings(speed=settings.speed, accel=settings.accel, dwell=settings.dwell)
    return SimObjectSpawnParams(shape, shape, pose, name=name, mass=0.0, pickable=False, features={"lift": cabin})


def _platform(settings: LiftSettings, height: float) -> SimObjectSpawnParams:
    """Return the floor of the cabin, on which robots stand without touching it."""
    piece = (0.0, 0.0, 0.5 * settings.width, 0.5 * settings.depth)
    params = _cabin_part(settings, settings.name, piece, float(height) - 0.5 * WALL, 0.5 * WALL)
    params.collision_mode = CollisionMode.DISABLED
    return params


def _walls(settings: LiftSettings, height: float) -> Iterator[SimObjectSpawnParams]:
    for number, piece in enumerate(_wall_pieces(settings)):
        half = 0.5 * settings.height
        yield _cabin_part(settings, f"{settings.name}_wall_{number}", piece, height + half, half)


def _wall_pieces(settings: LiftSettings) -> Iterator[Side]:
    """Yield the pieces of the walls of the cabin that its doors leave."""
    half_x, half_y = 0.5 * settings.width, 0.5 * settings.depth
    for sign in (-1.0, 1.0):
        for along_x, length, edge in ((True, half_x, half_y), (False, half_y, half_x)):
            gaps = sorted(
                ((door.x if along_x else door.y) - 0.5 * door.width, (door.x if along_x else door.y) + 0.5 * door.width)
                for door in settings.doors
                if _side(settings, door) == (along_x, sign)
            )
            # From gap to gap; the last gap, of no width, is the end of the side.
            begin = -length
            for low, high in (*gaps, (length, length)):
                if low - begin > WALL:
                    middle, half = 0.5 * (begin + low), 0.5 * (low - begin)
                    # Within the outline of the cabin, not on it.
                    across = sign * (edge - 0.5 * WALL)
                    yield (middle, across, half, 0.5 * WALL) if along_x else (across, middle, 0.5 * WALL, half)
                begin = max(begin, high)


def _side(settings: LiftSettings, door: LiftDoorSettings) -> tuple[bool, float]:
    """Return whether the side of the cabin that `door` is in runs along its x axis, and which of the two it is."""
    x_gap = abs(abs(door.x) - 0.5 * settings.width)
    y_gap = abs(abs(door.y) - 0.5 * settings.depth)
    # The nearer side counts: files have doors somewhat before or behind it.
    if x_gap <= y_gap:
        return False, 1.0 if door.x > 0.0 else -1.0
    return True, 1.0 if door.y > 0.0 else -1.0


def _entrance(settings: LiftSettings, door: LiftDoorSettings) -> Entrance:
    along_x, sign = _side(settings, door)
    x, y = (door.x, sign * 0.5 * settings.depth) if along_x else (sign * 0.5 * settings.width, door.y)
    middle = np.array(_to_world(settings, x, y))
    beyond = np.array(_to_world(settings, x, y + sign) if along_x else _to_world(settings, x + sign, y))
    return Entrance(middle, beyond - middle, door.width)


def _door(
    sim: MultiRobotSimulationCore, settings: LiftSettings, door: LiftDoorSettings, height: float, floor: str | None
) -> tuple[SimObject, SimObject]:
    """Build the door of the cabin, or the one in front of it on a floor; returns its leaves."""
    along_x, sign = _side(settings, door)
    edge = sign * (0.5 * (settings.depth if along_x else settings.width) + (-INSET if floor is None else GAP))
    half = 0.5 * door.width
    ends = ((door.x - half, edge), (door.x + half, edge)) if along_x else ((edge, door.y - half), (edge, door.y + half))
    where = "CabinDoor_{}_{}" if floor is None else f"ShaftDoor_{{}}_{floor}_{{}}"
    name = where.format(settings.name, door.name)
    begin, end = (_to_world(settings, *place) for place in ends)
    build_door(
        sim,
        DoorSettings(
            name=name,
            begin=begin,
            end=end,
            kind=DoorKind.DOUBLE_SLIDING,
            floor=height,
            height=settings.height,
            thickness=0.03,
            time=settings.door_time,
            color=COLOR,
        ),
    )
    return sim.get_object(name), sim.get_object(f"{name}_b")


def _to_world(settings: LiftSettings, x: float, y: float) -> tuple[float, float]:
    sine, cosine = trig.sin_cos_of(settings.yaw)
    return settings.position[0] + x * cosine - y * sine, settings.position[1] + x * sine + y * cosine
