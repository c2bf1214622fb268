"""Readings of sensors as messages of ROS 2, and the frames they are in; for the process that writes.

A table by kind of sensor, at the end, says what of a reading is recorded, and as which messages. Where sensors are goes
to /tf_static before the first reading, and again every ten seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.apps.record import topics as frames
from fleet_sim.apps.record.message_types import McapFile, Qos, make, serializer, stamped
from fleet_sim.apps.record.samples import SensorEntry
from fleet_sim.base.arrays import AnyArray, Floats, png_bytes
from fleet_sim.base.spatial import quaternions
from fleet_sim.sensing.sensors.imu import ImuParams
from fleet_sim.sensing.sensors.lidar import LidarParams
from fleet_sim.sensing.sensors.sensor import CameraSensorParams

Values = Mapping[str, Any]
"""What is recorded of one reading, by name."""
Messages = list[tuple[str, str, Any]]
"""Suffix of the topic, type, and message."""


class ReadingWriter:
    """Writes readings to topics of their sensors, and where the sensors are to /tf_static."""

    def __init__(self, file: McapFile) -> None:
        self._file = file
        self._entries: tuple[SensorEntry, ...] = ()
        self._placed_at: int | None = None

    def take_sensors(self, *entries: SensorEntry) -> None:
        """Write readings of these sensors from now on."""
        self._entries, self._placed_at = entries, None

    def write(self, now: int, numbers: Sequence[int], values: Mapping[str, Sequence[Any]]) -> None:
        """Write readings of the time `now` in ns: of the sensors `numbers` of the list, values aligned with them.

        Before the first and every ten seconds, where their sensors are.
        """
        if self._placed_at is None or now - self._placed_at >= 10_000_000_000:
            self._placed_at = now
            # Sensors of one object share its frames.
            links = dict.fromkeys(link for entry in self._entries for link in entry.links)
            message = make(frames.FRAMES_KIND, transforms=[frames.transform_message(link, now) for link in links])
            self._send("/tf_static", frames.FRAMES_KIND, frames.STATIC, now, message)
        for place, number in enumerate(numbers):
            entry = self._entries[number]
            own = {name: column[place] for name, column in values.items()}
            for suffix, kind, message in RECORDED[entry.kind].messages(entry, own, now):
                self._send(entry.topic + suffix, kind, Qos(depth=10), now, message)

    def _send(self, topic: str, kind: str, qos: Qos, now: int, message: Any) -> None:
        self._file.write(self._file.channel(topic, kind, qos), now, serializer(kind)(message))


def _scan(entry: SensorEntry, values: Values, now: int) -> Messages:
    """Return a reading of a lidar as a LaserScan."""
    params = entry.params
    assert isinstance(params, LidarParams)
    intensities = values["intensities"]
    message = make(
        "sensor_msgs/msg/LaserScan",
        header=stamped(entry.frame, now),
        angle_min=params.angle_min,
        # Of the last ray: in a full turn that is one step before the first.
        angle_max=float(params.angles[-1]),
        angle_increment=params.angle_increment,
        scan_time=entry.period,
        range_min=params.range_min,
        range_max=params.range_max,
        ranges=np.asarray(values["ranges"], np.float32),
        intensities=np.zeros(0, np.float32) if intensities is None else np.asarray(intensities, np.float32),
    )
    return [("", "sensor_msgs/msg/LaserScan", message)]


def _imu(entry: SensorEntry, values: Values, now: int) -> Messages:
    """Return a reading of an IMU as an Imu message, with the covariances of its noise."""
    params = entry.params
    assert isinstance(params, ImuParams)
    # Noise of gyros and accelerometers is given per square root of Hz: it grows with the root of the rate.
    density = 1.0 / math.sqrt(entry.period)
    message = make(
        "sensor_msgs/msg/Imu",
        header=stamped(entry.frame, now),
        orientation=_quaternion(values["orientation"]),
        orientation_covariance=_covariance(params.orientation_noise),
        angular_velocity=_vector(values["angular_velocity"]),
        angular_velocity_covariance=_covariance(params.gyro_noise * density),
        linear_acceleration=_vector(values["linear_acceleration"]),
        linear_acceleration_covariance=_covariance(params.accel_noise * density),
    )
    return [("", "sensor_msgs/msg/Imu", message)]


_ODOMETRY = (
    *("position", "orientation", "linear_velocity", "angular_velocity"),
    *("origin_position", "origin_orientation"),
)


def _odometry(entry: SensorEntry, values: Values, now: int) -> Messages:
    """Return a reading of odometry as an Odometry message, the pose in the frame it is given in."""
    turn = np.asarray(values["origin_orientation"])[None]
    # From where the sensor was at first to the frame that readings refer to.
    place = values["origin_position"] + quaternions.rotate(turn, np.asarray(values["position"])[None])[0]
    pose = make(
        "geometry_msgs/msg/Pose",
        position=make("geometry_msgs/msg/Point", **_axes(place)),
        orientation=_quaternion(quaternions.multiply(turn, np.asarray(values["orientation"])[None])[0]),
    )
    twist = make(
        "geometry_msgs/msg/Twist",
        linear=_vector(values["linear_velocity"]),
        angular=_vector(values["angular_velocity"]),
    )
    message = make(
        "nav_msgs/msg/Odometry",
        header=stamped(entry.reference, now),
        child_frame_id=entry.frame,
        pose=make("geometry_msgs/msg/PoseWithCovariance", pose=pose),
        twist=make("geometry_msgs/msg/TwistWithCovariance", twist=twist),
    )
    return [("", "nav_msgs/msg/Odometry", message)]


def _pictures(entry: SensorEntry, values: Values, now: int) -> Messages:
    """Return a reading of a camera as a CameraInfo, and its color picture as a compressed image."""
    params, rgb = entry.params, values["rgb"]
    assert isinstance(params, CameraSensorParams)
    header, matrix = stamped(entry.frame, now), params.lens().matrix
    info = make(
        "sensor_msgs/msg/CameraInfo",
        header=header,
        height=params.height,
        width=params.width,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=matrix.reshape(-1),
        r=np.eye(3).reshape(-1),
        p=np.hstack([matrix, np.zeros((3, 1))]).reshape(-1),
    )
    found: Messages = [("/camera_info", "sensor_msgs/msg/CameraInfo", info)]
    if rgb is not None:
        kind = "sensor_msgs/msg/CompressedImage"
        data = np.frombuffer(png_bytes(rgb), np.uint8)
        found.append(("/image_raw/compressed", kind, make(kind, header=header, format="png", data=data)))
    return found


def _axes(values: Floats) -> dict[str, float]:
    return dict(zip("xyzw", np.asarray(values, np.float64).tolist(), strict=False))


def _vector(values: Floats) -> Any:
    return make("geometry_msgs/msg/Vector3", **_axes(values))


def _quaternion(values: Floats) -> Any:
    return make("geometry_msgs/msg/Quaternion", **_axes(values))


def _covariance(deviation: float) -> AnyArray:
    diagonal: AnyArray = (deviation**2 * np.eye(3)).reshape(-1)
    return diagonal


class Recorded(NamedTuple):
    """What of a reading is recorded, and what makes its messages: those that the ROS node publishes."""

    fields: tuple[str, ...]
    messages: Callable[[SensorEntry, Values, int], Messages]


RECORDED: Mapping[str, Recorded] = {
    # As PNG, which the node does not publish.
    "camera": Recorded(("rgb",), _pictures),
    "imu": Recorded(("orientation", "angular_velocity", "linear_acceleration"), _imu),
    "lidar": Recorded(("ranges", "intensities"), _scan),
    "odometry": Recorded(_ODOMETRY, _odometry),
}
"""Kinds of sensors whose readings can be recorded."""
