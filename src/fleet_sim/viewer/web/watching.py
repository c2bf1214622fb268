"""Watching: has the sensors computed that pages look at, and no longer than they do."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.geometry import Pose
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
        self._watched: list[Sensor] = []
        # The latest reading of each, and the pose that it was taken from.
        self._seen: dict[Sensor, tuple[Any, Pose]] = {}

    def look(self, wanted: Wanted) -> tuple[Floats, dict[tuple[str, str], Bytes]]:
        """Return the points (P, 3) of the latest scans, and the latest pictures, by robot and camera."""
        lidars, cameras = self._lidars(wanted), self._cameras(wanted)
        self._follow([*lidars, *cameras.values()])
        points = [_points(lidar, *self._reading(lidar)) for lidar in lidars]
        scans = np.concatenate([np.empty((0, 3)), *points])
        colors = {key: self._reading(camera)[0].rgb for key, camera in cameras.items()}
        pictures = {key: picture for key, picture in colors.items() if picture is not None}
        return scans[:: 1 + len(scans) // MOST_POINTS], pictures

    def end(self) -> None:
        """Read nothing any more."""
        self._follow([])

    def _follow(self, sensors: list[Sensor]) -> None:
        before, self._watched = self._watched, sensors
        for sensor in sensors:
            if sensor not in before:
                sensor.on_reading(self._note)
        for sensor in before:
            if sensor not in sensors:
                sensor.off_reading(self._note)
                self._seen.pop(sensor, None)

    def _note(self, sensor: Sensor, reading: Any) -> None:
        self._seen[sensor] = reading, sensor.get_pose()

    def _reading(self, sensor: Sensor) -> tuple[Any, Pose]:
        """Return the latest reading of a sensor and the pose that it was taken from.

        The first one is read here, and so is the first after a reset: in a pause there would be none.
        """
        known = self._seen.get(sensor)
        if known is None or known[0].tick > self._sim.world.clock.tick:
            known = self._seen[sensor] = self._sim.sensors.read_with(sensor, sensor.params), sensor.get_pose()
        return known

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


def _points(lidar: Sensor, reading: Any, pose: Pose) -> Floats:
    """Return where the rays of a reading of a lidar end, in the world, if it was taken from `pose`."""
    if lidar.type == "lidar_3d":
        points: Floats = reading.points.reshape(-1, 3)
    else:
        hit_mask = np.isfinite(reading.ranges)
        angles, ranges = lidar.params.angles[hit_mask], reading.ranges[hit_mask]
        points = np.stack((ranges * np.cos(angles), ranges * np.sin(angles), np.zeros(len(ranges))), axis=1)
    points = points[np.isfinite(points).all(axis=1)]
    turned = quaternions.rotate(np.tile(np.array(pose.orientation), (len(points), 1)), points)
    return turned + np.array(pose.position)
