"""Builds doors: the leaves of what DoorSettings describe."""

from __future__ import annotations

import math

from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.equipment.door import DoorHandle
from fleet_sim.equipment.door_columns import DoorColumns
from fleet_sim.equipment.door_settings import DoorKind, DoorLeafSettings, DoorSettings
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Door
from fleet_sim.spatial import trigonometry as trig

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
