"""Builds doors and lifts of their settings, and reads the sections `doors` and `lifts` of a scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import InvalidValueError, located
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.equipment.door import (
    DoorColumns,
    DoorHandle,
    DoorKind,
    DoorLeafSettings,
    DoorSettings,
    DoorsSettings,
)
from fleet_sim.warehouse.equipment.lift import (
    Entrance,
    LiftCabinSettings,
    LiftColumns,
    LiftDoorSettings,
    LiftHandle,
    LiftPlan,
    Lifts,
    LiftSettings,
    LiftsSettings,
)
from fleet_sim.warehouse.sites.site import Door

WALL = 0.05
"""Thickness of the walls, the doors and the floor of a cabin in m."""
GAP = 0.05
"""Between the cabin and what is in front of it, in m."""
INSET = 0.025
"""Of the doors of the cabin from its edge, in m."""
COLOR = (0.7, 0.72, 0.75, 1.0)

Side = tuple[float, float, float, float]
"""Middle of a piece of wall x, y, and its half sides along x and y, in m in the frame of the cabin."""

KINDS = {
    "hinged": DoorKind.SWING,
    "double_hinged": DoorKind.DOUBLE_SWING,
    "sliding": DoorKind.SLIDING,
    "double_sliding": DoorKind.DOUBLE_SLIDING,
}
"""What files of sites call the kinds of doors."""


def build_door(sim: MultiRobotSimulationCore, settings: DoorSettings) -> DoorHandle:
    """Spawn the leaves of a door in `sim`; returns the door. Raises DuplicateNameError."""
    leaves: list[SimObject] = sim.spawn_all(_leaves(settings))
    table = sim.features.table("door")
    assert isinstance(table, DoorColumns)
    if len(leaves) > 1:
        table.leader[leaves[1].row] = leaves[0].row
    return DoorHandle(leaves[0], table)


def settings_of(door: Door, *, floor: float, time: float, automatic: float) -> DoorSettings:
    """Return the settings of a door of a site, on a floor of that height in m; raises InvalidValueError."""
    if door.kind not in KINDS:
        known = ", ".join(KINDS)
        raise InvalidValueError(f"door {door.name!r} is of the kind {door.kind!r}; built are {known}")
    return DoorSettings(
        name=door.name,
        begin=door.begin,
        end=door.end,
        kind=KINDS[door.kind],
        floor=floor,
        degrees=door.degrees if KINDS[door.kind].swings else 90.0,
        direction=door.direction,
        ratio=door.ratio,
        time=time,
        automatic=automatic,
    )


def _leaves(settings: DoorSettings) -> list[SimObjectSpawnParams]:
    """Return what to spawn for a door: one leaf, or two that part where `ratio` says."""
    yaw = trig.atan2_of(settings.end[1] - settings.begin[1], settings.end[0] - settings.begin[0])
    if not settings.kind.is_double:
        return [_leaf(settings, settings.name, 0.0, settings.width, yaw, turn=1.0)]
    first = settings.width / (1.0 + settings.ratio)
    return [
        _leaf(settings, settings.name, 0.0, first, yaw, turn=1.0),
        # Turned round, so that it opens as the first one does: away from its own far end.
        _leaf(settings, f"{settings.name}_b", first, settings.width, yaw + math.pi, turn=-1.0),
    ]


def _leaf(
    settings: DoorSettings, name: str, begin: float, end: float, yaw: float, *, turn: float
) -> SimObjectSpawnParams:
    """Return a leaf from `begin` to `end`, in m along the passage."""
    share = 0.5 * (begin + end) / settings.width
    x, y = ((1.0 - share) * a + share * b for a, b in zip(settings.begin, settings.end, strict=True))
    length = end - begin
    half = (0.5 * length, 0.5 * settings.thickness, 0.5 * settings.height)
    shape = ShapeParams("box", half_extents=half, rgba_color=settings.color)
    swings = settings.kind.swings
    leaf = DoorLeafSettings(
        slide=0.0 if swings else -length,
        swing=turn * settings.direction * math.radians(settings.degrees) if swings else 0.0,
        hinge=-0.5 * length if swings else 0.0,
        time=settings.time,
        open=settings.open,
        automatic=settings.automatic,
        hold=settings.hold,
        guarded=settings.guarded,
    )
    pose = Pose.from_euler(x, y, settings.floor + 0.5 * settings.height, 0.0, 0.0, math.remainder(yaw, math.tau))
    return SimObjectSpawnParams(shape, shape, pose, name=name, mass=0.0, pickable=False, features={"door": leaf})


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


def _open_doors(sim: MultiRobotSimulationCore, settings: DoorsSettings, source: str) -> None:
    """Build the doors of the site, where there is one, then those that are listed."""
    site = sim.extensions.find_manager("site") if settings.site else None
    for door in site.doors if site else ():
        with located("site"):
            build_door(sim, settings_of(door, floor=0.0, time=settings.time, automatic=settings.automatic))
    for index, entry in enumerate(settings.list):
        with located(f"list[{index}]"):
            build_door(sim, entry)


def _open_lifts(sim: MultiRobotSimulationCore, settings: LiftsSettings, source: str) -> None:
    for index, lift in enumerate(settings.list):
        with located(f"list[{index}]"):
            build_lift(sim, lift)


DOORS = SettingsSection("doors", DoorsSettings, _open_doors, "Doors: those of the site, and others.", of_building=True)
LIFTS = SettingsSection(
    "lifts", LiftsSettings, _open_lifts, "Lifts between the levels of a building.", of_building=True
)
