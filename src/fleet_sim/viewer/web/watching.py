"""Watching: has the sensors computed that pages look at, and no longer than they do."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.sensors.sensor import Sensor
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions
from fleet_sim.viewer.web.source import Wanted

MOST_SCANS = 50
"""Lidars whose scans are shown at once."""
MOST_POINTS = 50_000
"""Points that are shown of all scans together."""


class Watching:
    """Reads sensors for pages, as a reader like any other: each is computed at its own rate. For between two steps."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self._subscribed: list[Sensor] = []

    def look(self, wanted: Wanted) -> tuple[Floats, dict[tuple[str, str], Bytes]]:
        """Return the points (P, 3) of the latest scans, and the latest pictures, by robot and camera."""
        lidars, cameras = self._lidars(wanted), self._cameras(wanted)
        self._follow([*lidars, *cameras.values()])
        points = [_points(lidar) for lidar in lidars if lidar.latest is not None]
        scans = np.concatenate([np.empty((0, 3)), *points])
        pictures = {
            key: camera.latest.rgb
            for key, camera in cameras.items()
            if camera.latest is not None and camera.latest.rgb is not None
        }
        return scans[:: 1 + len(scans) // MOST_POINTS], pictures

    def end(self) -> None:
        """Read nothing any more."""
        self._follow([])

    def _follow(self, sensors: list[Sensor]) -> None:
        before, self._subscribed = [sensor for sensor in self._subscribed if sensor.is_alive], sensors
        for sensor in sensors:
            if sensor not in before:
                sensor.subscribe()
        for sensor in before:
            if sensor not in sensors:
                sensor.unsubscribe()

    def _lidars(self, wanted: Wanted) -> list[Sensor]:
        if not wanted.scans:
            return []
        sensors = [sensor for sensor in self._sim.sensors.all if sensor.type in ("lidar", "lidar_3d")]
        # Of the robots that somebody looks at, or of all.
        chosen = [sensor for sensor in sensors if sensor.owner is not None and sensor.owner.name in wanted.robots]
        return (chosen or sensors)[:MOST_SCANS]

    def _cameras(self, wanted: Wanted) -> dict[tuple[str, str], Sensor]:
        found = {}
        for robot, name in wanted.cameras:
            if self._sim.world.index.has_name(robot):
                for sensor in self._sim.sensors.of(self._sim.world.index.row_named(robot)):
                    if sensor.name == name and sensor.type == "camera":
                        found[robot, name] = sensor
        return found


def _points(lidar: Sensor) -> Floats:
    """Return where the rays of the latest reading of a lidar end, in the world."""
    reading, pose = lidar.latest, lidar.get_pose()
    if lidar.type == "lidar_3d":
        points: Floats = reading.points.reshape(-1, 3)
    else:
        hit_mask = np.isfinite(reading.ranges)
        angles, ranges = lidar.params.angles[hit_mask], reading.ranges[hit_mask]
        points = np.stack((ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(ranges))), axis=1)
    points = points[np.isfinite(points).all(axis=1)]
    turned = quaternions.rotate(np.tile(np.array(pose.orientation), (len(points), 1)), points)
    return turned + np.array(pose.position)
