"""The key `door` of an object's entry, which `setup.cfg` declares: it connects doors to a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.equipment.door import DoorHandle
from fleet_sim.equipment.door_columns import DoorColumns
from fleet_sim.equipment.door_commands import MoveDoors
from fleet_sim.equipment.door_settings import DoorLeafSettings
from fleet_sim.equipment.doors import Doors
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import quaternions

STATIC = CollisionMode.STATIC.code


class DoorFeature(Feature[DoorLeafSettings, DoorColumns]):
    """Leaves of doors: `door:` in an object's entry, `sim.features.use("door")` is the Doors."""

    doc = "Makes the object the leaf of a door, closed where it is spawned."
    settings = DoorLeafSettings
    table = DoorColumns

    def values(self, settings: DoorLeafSettings) -> Mapping[str, Any]:
        """Return the columns of a leaf with `settings`: their own, but for `open`, which says where it begins."""
        values = dict(super().values(settings))
        is_open = values.pop("open")
        return {"opening": float(is_open), "wanted": is_open, "called": is_open, **values}

    def start(self, host: FeatureHost, table: DoorColumns) -> Doors:
        """Move leaves before robots, which then are blocked by what is there now."""
        doors = Doors(host.world, table)
        host.world.routes.passages = doors
        host.pipeline.add(System("doors", Phase.UPDATE, doors.step), before="motion")
        host.dispatcher.handle(MoveDoors, doors.move)
        return doors

    def enter(self, part: Doors, table: DoorColumns, rows: Rows) -> None:
        """Take the present poses of `rows` for closed ones; raises InvalidValueError for what cannot be a leaf."""
        world = part.world
        for row in rows.tolist():
            if world.kind[row] == KIND_AGENT or world.dynamic[row]:
                raise InvalidValueError(
                    f"{world.label(row)!r} moves by itself; a leaf of a door is an object of mass 0"
                )
            if world.collision_mode[row] == STATIC:
                raise InvalidValueError(
                    f"{world.label(row)!r} is static; a leaf of a door moves: normal_3d, or disabled"
                )
        table.closed_position[rows] = world.position[rows]
        table.closed_yaw[rows] = quaternions.yaws(world.orientation[rows])
        part.place(rows)

    def handle(self, entity: Any, table: DoorColumns) -> DoorHandle:
        """Return the DoorHandle of `entity`."""
        return DoorHandle(entity, table)

    def details(self, table: DoorColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how far it is open."""
        share = float(table.opening[row])
        state = {0.0: "closed", 1.0: "open"}.get(share, f"{100.0 * share:.0f} % open")
        return [("door", state + (", waits for what is in its way" if table.held[row] else ""))]


FEATURE = DoorFeature()
