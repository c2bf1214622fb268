"""What a page says of one robot, read between two steps."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.power_handle import PowerHandle
from fleet_sim.sensors.sensor import Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions
from fleet_sim.viewer.web.source import PathsAhead, RobotDetails

MOST_JOINTS = 12
"""Joints that are listed one by one."""


def paths_ahead(world: World) -> PathsAhead:
    """Return what is left of the paths of all robots; `robots` are indices of a snapshot."""
    rows = world.rows
    motion, waypoints = world.motion, world.waypoints
    driving = np.flatnonzero(motion.path_length[rows] > motion.waypoint[rows])
    if not len(driving):
        return PathsAhead()
    own = rows[driving]
    left = motion.path_length[own] - motion.waypoint[own]
    robots = np.repeat(driving, left)
    # The numbers 0, 1, 2 ... of each robot's waypoints, one after the other.
    number = np.arange(len(robots)) - np.repeat(np.cumsum(left) - left, left)
    places = np.repeat(motion.path_start[own] + motion.waypoint[own], left) + number
    ends = waypoints.position[places]
    begins = np.where((number == 0)[:, None], world.position[rows[robots]], np.roll(ends, 1, axis=0))
    return PathsAhead(np.stack((begins, ends), axis=1), robots)


def details_of(sim: MultiRobotSimulationCore, name: str) -> RobotDetails:
    """Return what is said of the entity called `name`."""
    world = sim.world
    row = world.index.row_named(name)
    lines = _motion(world, row)
    if world.kind[row] == KIND_AGENT:
        lines += _work(sim, row)
    lines += _relations(world, row)
    sensors: list[Sensor] = sim.sensors.of(row)
    if sensors:
        lines.append(("sensors", ", ".join(sensor.params.name for sensor in sensors)))
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
    handle = world.handles[row]
    if isinstance(handle, PowerHandle) and handle.battery_soc is not None:
        charging = ", charging" if handle.is_charging else ""
        lines.append(("battery", f"{100.0 * handle.battery_soc:.0f} %{charging}"))
    blocker = int(world.motion.blocked_by[row])
    if blocker != NO_ROW:
        lines.append(("blocked by", world.label(blocker)))
    return lines + _joints(world, row)


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
