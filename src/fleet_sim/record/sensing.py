"""Readings of sensors on their way into a recording: they are read as by any consumer, each at its own rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fleet_sim.core.ros_names import Frames, is_ros_name
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.tf_tree import FrameLink, base_frame
from fleet_sim.record.parcels import SensorEntry, SensorList, SensorReadings
from fleet_sim.record.topics.frames import object_frame
from fleet_sim.sensors.ros_frames import frame_links, frame_of, optical_frame_of, owner_of, reference_of, topic_of
from fleet_sim.sensors.sensor import Readings, Sensor
from fleet_sim.simulation import MultiRobotSimulationCore

RECORDED: Mapping[str, tuple[str, ...]] = {
    "camera": ("rgb",),
    "imu": ("orientation", "angular_velocity", "linear_acceleration"),
    "lidar": ("ranges", "intensities"),
    "odometry": (
        *("position", "orientation", "linear_velocity", "angular_velocity"),
        *("origin_position", "origin_orientation"),
    ),
}
"""Kinds of sensors whose readings can be recorded, and what of a reading is."""
ALL = "all"


def kinds_of(asked: Sequence[str]) -> frozenset[str]:
    """Return the kinds of sensors to record; raises InvalidValueError for those that cannot be."""
    if list(asked) == [ALL]:
        return frozenset(RECORDED)
    for kind in asked:
        if kind not in RECORDED:
            raise InvalidValueError(
                f"sensors: readings of {kind!r} cannot be recorded; known: {', '.join(RECORDED)}, and {ALL} alone"
            )
    return frozenset(asked)


class RecordedSensors:
    """Reads the sensors of some kinds, those that come later too, and gives what they read. For the step's thread."""

    def __init__(
        self, sim: MultiRobotSimulationCore, kinds: frozenset[str], frames: Frames, give: Callable[[object], None]
    ) -> None:
        self._sim, self._kinds, self._frames, self._give = sim, kinds, frames, give
        self._numbers: dict[Sensor, int] = {}
        self._version: tuple[int, int] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Follow what was spawned, removed or renamed."""
        sensors, world = self._sim.sensors, self._sim.world
        version = (sensors.version, world.version)
        if version == self._version:
            return
        self._version = version
        wanted = [sensor for sensor in sensors.all if sensor.type in self._kinds and _has_topic(sensor)]
        for sensor in wanted:
            if sensor not in self._numbers:
                sensor.subscribe()
        for sensor in self._numbers:
            if sensor not in wanted and sensor.is_alive:
                sensor.unsubscribe()
        self._numbers = {sensor: number for number, sensor in enumerate(wanted)}
        self._give(SensorList(tuple(self._entry(sensor) for sensor in wanted)))

    def _entry(self, sensor: Sensor) -> SensorEntry:
        """Return what the file says about a sensor: its topic, its frames and the time between readings."""
        frames, rate = self._frames, sensor.params.rate
        return SensorEntry(
            kind=sensor.type,
            topic=f"/{topic_of(sensor)}",
            frame=(optical_frame_of if sensor.type == "camera" else frame_of)(frames, sensor),
            links=(*_object_links(frames, sensor), *frame_links(frames, sensor)),
            reference=reference_of(frames, sensor),
            params=sensor.params,
            period=self._sim.clock.dt if rate is None else 1.0 / rate,
        )

    def take(self, now: int) -> None:
        """Give the readings that this step has made, of the time `now` in ns."""
        for readings in self._sim.sensors.fresh:
            if readings.sensors[0].type in self._kinds:
                self._take(readings, now)
        self.refresh()

    def _take(self, readings: Readings, now: int) -> None:
        own = [index for index, sensor in enumerate(readings.sensors) if sensor in self._numbers]
        if own:
            numbers = tuple(self._numbers[readings.sensors[index]] for index in own)
            names = RECORDED[readings.sensors[0].type]
            values = {name: [readings.values[name][index] for index in own] for name in names}
            self._give(SensorReadings(now, numbers, values))

    def end(self) -> None:
        """Read them no more."""
        for sensor in self._numbers:
            if sensor.is_alive:
                sensor.unsubscribe()
        self._numbers = {}


def _has_topic(sensor: Sensor) -> bool:
    owner = owner_of(sensor)
    return is_ros_name(sensor.name) and (not owner or is_ros_name(owner))


def _object_links(frames: Frames, sensor: Sensor) -> list[FrameLink]:
    """Return the frames that sensors of an object refer to, as those of robots do: its base, and its odometry's origin.

    Without a sensor, an object has one frame only. Empty for sensors of robots and of the world.
    """
    owner = sensor.owner
    if owner is None or owner.world.kind[owner.row] == KIND_AGENT:
        return []
    name, model = owner_of(sensor), owner.world.model_of(owner.row)
    base = FrameLink(object_frame(name, frames.map), base_frame(frames, name, model))
    return [FrameLink(frames.map, frames.odom(name)), base]
