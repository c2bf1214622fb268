"""The entry point of the feature `wheels`: it turns the wheels of robots that are moved without physics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System, each_step
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.wheel_places import find_places
from fleet_sim.motion.rolling.columns import BY_SHAPE, MECANUM, PLAIN, WheelColumns
from fleet_sim.motion.rolling.settings import WheelSettings
from fleet_sim.motion.rolling.turning import TurningWheels


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
