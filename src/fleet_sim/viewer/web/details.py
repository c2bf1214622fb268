"""What a page says of one robot, read between two steps."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.features import FEATURES
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.sensors.sensor import Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions
from fleet_sim.viewer.web.source import RobotDetails

MOST_JOINTS = 8
"""Joints that are listed one by one."""


def details_of(sim: MultiRobotSimulationCore, name: str) -> RobotDetails:
    """Return what is said of the entity called `name`."""
    world = sim.world
    row = world.index.row_named(name)
    lines = _motion(world, row)
    if world.kind[row] == KIND_AGENT:
        lines += _work(sim, row)
    lines += _features(sim, row)
    lines += _relations(world, row)
    sensors: list[Sensor] = sim.sensors.of(row)
    if sensors:
        lines.append(("sensors", ", ".join(sensor.params.name for sensor in sensors)))
    lines += _joints(world, row)
    return RobotDetails(lines, tuple(sensor.params.name for sensor in sensors if sensor.type == "camera"))


def _motion(world: World, row: int) -> list[tuple[str, str]]:
    x, y, z = world.position[row].tolist()
    yaw = np.degrees(quaternions.yaw_of(world.orientation, row))
    speed, turn = np.linalg.norm(world.velocity[row]), world.angular_velocity[row, 2]
    return [
        ("position", f"{x:.2f}, {y:.2f}, {z:.2f} m"),
        ("heading", f"{yaw:.0f}°"),
        ("speed", f"{speed:.2f} m/s, {np.degrees(turn):.0f} °/s"),
    ]


def _work(sim: MultiRobotSimulationCore, row: int) -> list[tuple[str, str]]:
    world, lines = sim.world, list[tuple[str, str]]()
    action, waiting = sim.actions.current(row), sim.actions.queued(row)
    if action is not None:
        lines.append(("action", f"{type(action).__name__}, {action.get_duration():.1f} s"))
    lines.append(("queue", f"{waiting} action{'s' * (waiting != 1)}"))
    blocker = int(world.motion.blocked_by[row])
    if blocker != NO_ROW:
        lines.append(("blocked by", world.label(blocker)))
    return lines


def _features(sim: MultiRobotSimulationCore, row: int) -> list[tuple[str, str]]:
    lines = list[tuple[str, str]]()
    for name in sim.features.used:
        table = sim.features.table(name)
        if table.present[row]:
            lines += FEATURES.get(name).details(table, row)
    return lines


def _joints(world: World, row: int) -> list[tuple[str, str]]:
    model = world.model_of(row)
    if model is None:
        return []
    names = [model.joint_names[joint] for joint in model.movable.tolist()]
    values = world.joints.position[world.joints.slots(world.robots, np.array([row]))]
    if len(names) > MOST_JOINTS:
        return [("joints", str(len(names)))]
    return [(joint, f"{value:.2f}") for joint, value in zip(names, values.tolist(), strict=True)]


def _relations(world: World, row: int) -> list[tuple[str, str]]:
    lines = []
    if world.parent[row] != NO_ROW:
        lines.append(("carried by", world.label(int(world.parent[row]))))
    carried: Rows = world.rows[world.parent[world.rows] == row]
    if len(carried):
        lines.append(("carries", ", ".join(world.label(own) for own in carried[:5].tolist())))
    return lines
