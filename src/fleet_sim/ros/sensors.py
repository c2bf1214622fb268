"""Sensors in ROS 2: the topics of each kind of sensor, published while they have subscribers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar

import numpy as np
from geometry_msgs.msg import Point, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CameraInfo, Image, Imu, LaserScan, PointCloud2, PointField, Range
from tf2_msgs.msg import TFMessage

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.cdr import AXES, ORIENTATION, POSITION, TWIST, under
from fleet_sim.base.spatial import quaternions
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import NS_PER_S, Roster, stamped_template, time_to_msg, to_cdr
from fleet_sim.ros.monitoring import MapTopic
from fleet_sim.ros.tf import frame_transform
from fleet_sim.sensing.sensors import ImuParams, Lidar3dParams, LidarParams, RangeParams, Readings, Sensor
from fleet_sim.sensing.sensors.sensor import CameraReading, owner_of
from fleet_sim.sensing.sensors.sensor import frame_links as frame_links
from fleet_sim.sensing.sensors.sensor import frame_of as frame_of
from fleet_sim.sensing.sensors.sensor import optical_frame_of as optical_frame_of
from fleet_sim.sensing.sensors.sensor import reference_of as reference_of
from fleet_sim.sensing.sensors.sensor import topic_of as topic_of
from fleet_sim.world.commands import is_ros_name
from fleet_sim_msgs.msg import Contacts

# Names of sensor topics and frames, and which sensors have them.


def is_published(bridge: Bridge, sensor: Sensor) -> bool:
    """Return whether a sensor has topics and a frame: its names are valid, and its robot has the group `sensors`."""
    owner = owner_of(sensor)
    if owner and not (is_ros_name(owner) and bridge.params.has_own(owner, "sensors")):
        return False
    return is_ros_name(sensor.name)


POLLED = 64
"""Number of publishers of a kind whose subscribers are counted per step."""


class Channel:
    """The publisher of one sensor; `slot` is its index among the sensors of its kind."""

    def __init__(self, sensor: Sensor, publisher: Any) -> None:
        self.sensor = sensor
        self.publisher = publisher
        self.slot = -1
        self._listening = False

    def listen(self, wanted: bool) -> None:
        """Subscribe to the sensor's readings while `wanted` is true."""
        # A removed sensor has no readings to subscribe to, and its channel goes with the next refresh.
        if wanted == self._listening or not self.sensor.is_alive:
            return
        self._listening = wanted
        if wanted:
            self.sensor.subscribe()
        else:
            self.sensor.unsubscribe()


class SensorTopics(Interface):
    """Publishes the readings of the sensors of one kind, each on a topic of its own, with the sensor-data profile.

    A sensor is read at its own rate while its topic has subscribers.
    """

    sensor_type: ClassVar[str] = ""
    message_type: ClassVar[Any] = None
    suffix: ClassVar[str] = ""
    """Suffix of the topic after the sensor's name, for sensors with several topics."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self.channels: list[Channel] = []
        self._by_sensor: dict[Sensor, Channel] = {}
        self._asked = 0

    def on_fleet_changed(self, roster: Roster) -> None:
        self._refresh()

    def has_work(self) -> bool:
        return bool(self.channels)

    def receive(self) -> None:
        """Ask some topics whether they have subscribers."""
        # Counting subscribers is a call into the middleware for each topic, so they take turns.
        for _ in range(min(POLLED, len(self.channels))):
            self._asked = (self._asked + 1) % len(self.channels)
            channel = self.channels[self._asked]
            channel.listen(channel.publisher.get_subscription_count() > 0)

    def publish(self, now: int) -> None:
        """Send what was read in this step; what was not read is not published again."""
        for readings in self.bridge.sim.sensors.fresh:
            if readings.sensors[0].type == self.sensor_type:
                self.send(readings, now)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the readings with the stamp `now` in ns."""
        raise NotImplementedError

    def tell(self, channel: Channel, message: Any) -> None:
        """Publish a message of one sensor, when the radio of its robot brings it."""
        owner = channel.sensor.owner
        if self.bridge.sim.world.radio is None or owner is None:
            channel.publisher.publish(message)
            return
        # As bytes: messages that are kept are written again by the next reading.
        data = message if isinstance(message, bytes) else to_cdr(message)
        self.bridge.send_from(owner.row, channel.sensor.name, partial(channel.publisher.publish, data))

    def prepare(self) -> None:
        """Called when `channels` has changed."""

    def wants_sensor(self, sensor: Sensor) -> bool:
        """Return whether a sensor of the kind has this topic."""
        return True

    def with_channels(self, readings: Readings) -> Iterator[tuple[int, Channel]]:
        """Yield the index in `readings` and the channel of each sensor that has one."""
        for index, sensor in enumerate(readings.sensors):
            channel = self._by_sensor.get(sensor)
            if channel is not None:
                yield index, channel

    def _refresh(self) -> None:
        """Make publishers for sensors that came, and destroy those of sensors that went."""
        bridge = self.bridge
        own = [one for one in bridge.sim.sensors.all if one.type == self.sensor_type and self.wants_sensor(one)]
        wanted = [sensor for sensor in own if is_published(bridge, sensor)]
        gone = self._by_sensor.keys() - set(wanted)
        # Mostly nothing changed for this kind: robots spawned without such sensors raise the version too.
        if not gone and len(wanted) == len(self._by_sensor):
            return
        for sensor in gone:
            channel = self._by_sensor.pop(sensor)
            channel.listen(False)
            bridge.node.destroy_publisher(channel.publisher)
        for sensor in wanted:
            if sensor not in self._by_sensor:
                topic = f"{topic_of(sensor)}/{self.suffix}" if self.suffix else topic_of(sensor)
                create = methodcaller("create_publisher", self.message_type, topic, qos.SENSOR)
                owner, _, what = topic.partition("/")
                publisher = bridge.lacking.make(what, owner, partial(bridge.node.with_room, create))
                if publisher is not None:
                    self._by_sensor[sensor] = Channel(sensor, publisher)
        self.channels = [self._by_sensor[sensor] for sensor in wanted if sensor in self._by_sensor]
        for slot, channel in enumerate(self.channels):
            channel.slot = slot
        self.prepare()


class MessageTopics(SensorTopics):
    """Keeps a message for each sensor, with its constant fields; `send` writes readings into them."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._messages: list[Any] = []

    def message(self, sensor: Sensor, frame: str) -> Any:
        """Return the message of a sensor, in `frame`, with its constant fields."""
        raise NotImplementedError

    def frame_of(self, sensor: Sensor) -> str:
        """Return the name of the frame that the readings of `sensor` are in."""
        return frame_of(self.bridge.frames, sensor)

    def prepare(self) -> None:
        sensors = [channel.sensor for channel in self.channels]
        self._messages = [self.message(sensor, self.frame_of(sensor)) for sensor in sensors]

    def period_of(self, sensor: Sensor) -> float:
        """Return the time in s between readings of a sensor; without a rate it is read in each step."""
        rate = sensor.params.rate
        return self.bridge.sim.clock.dt if rate is None else 1.0 / rate


# Base of sensors with small fixed messages, which are written for all sensors at once.


class TemplatedTopics(MessageTopics):
    """Publishes stamped messages of a fixed layout; `fields` are the groups of float64 in them, by their paths."""

    fields: ClassVar[Mapping[str, Sequence[str]]] = {}

    def values_of(self, readings: Readings) -> Mapping[str, Floats]:
        """Return the numbers of the groups `fields`, one row per sensor."""
        return readings.values

    def prepare(self) -> None:
        """Lay out one block of bytes with the messages of all sensors of the kind."""
        super().prepare()
        self._template = stamped_template(self._messages, self.fields) if self._messages else None
        # Kept from step to step: sensors that were not read now keep their last values in the template.
        self._values = {name: np.zeros((len(self._messages), len(paths))) for name, paths in self.fields.items()}

    def send(self, readings: Readings, now: int) -> None:
        """Write the readings into the messages of their sensors, and publish these."""
        wanted = list(self.with_channels(readings))
        if self._template is None or not wanted:
            return
        indices, slots = [index for index, _ in wanted], [channel.slot for _, channel in wanted]
        found = self.values_of(readings)
        self._template.write_stamp(now)
        for name, values in self._values.items():
            values[slots] = found[name][indices]
            self._template.write(name, values)
        pieces = self._template.pieces()
        # The template holds all sensors of the kind, but only those read now are published.
        for _, channel in wanted:
            self.tell(channel, pieces[channel.slot])


# Messages with one large array as bytes: serialised once, then only the stamp and the array are written.


_PATTERN = 0x01010101


class BulkMessage:
    """One message with a header and a fixed layout: `fill` sets its stamp and arrays and returns it as CDR.

    Their positions are found by serialising the message twice, once with all their bytes zero, once with all nonzero.
    That is done when it is first sent: a picture takes time and memory, and most are never asked for.
    """

    def __init__(self, message: Any, arrays: Mapping[str, tuple[str, int]]) -> None:
        """Take a message, and the NumPy type and length of each array field that `fill` writes."""
        self._unlaid: tuple[Any, Mapping[str, tuple[str, int]]] | None = (message, arrays)

    def _lay_out(self, message: Any, arrays: Mapping[str, tuple[str, int]]) -> None:
        for name, (kind, length) in arrays.items():
            # Set once to learn the layout: arrays decide where everything behind them is.
            _set(message, name, np.zeros(length, kind))
        empty = np.frombuffer(to_cdr(message), np.uint8)
        self._bytes = empty.copy()
        self._views: dict[str, AnyArray] = {}
        for name, (kind, length) in arrays.items():
            if length:
                # No byte of it is zero, so that all bytes of the array differ from the empty message.
                _set(message, name, np.full(length * np.dtype(kind).itemsize, 1, np.uint8).view(kind))
                self._views[name] = self._changed(empty, message).view(np.dtype(kind).newbyteorder("<"))
                # Back to zeros, so that only the next array shows up in the next comparison.
                _set(message, name, np.zeros(length, kind))
        # No byte of it is zero, so all bytes of the stamp show up.
        message.header.stamp.sec = message.header.stamp.nanosec = _PATTERN
        self._stamp = self._changed(empty, message).view("<u4")

    def _changed(self, empty: AnyArray, message: Any) -> AnyArray:
        changed_mask = np.frombuffer(to_cdr(message), np.uint8) != empty
        return self._bytes[int(changed_mask.argmax()) : len(changed_mask) - int(changed_mask[::-1].argmax())]

    def fill(self, now: int, **values: AnyArray) -> bytes:
        """Return the message with the stamp `now` in ns and with the arrays given, which are converted."""
        if self._unlaid is not None:
            self._lay_out(*self._unlaid)
            self._unlaid = None
        self._stamp[:] = divmod(now, NS_PER_S)
        for name, given in values.items():
            if name in self._views:
                self._views[name][:] = given.reshape(-1)
        # A copy: publishing may take place later, when the next reading is written here already.
        return self._bytes.tobytes()


def _set(message: Any, name: str, values: AnyArray) -> None:
    # Not a list, in which each byte of a picture is an object of Python.
    setattr(message, name, array(values.dtype.char, values.tobytes()))


# <robot>/imu: readings of IMUs.


class ImuTopic(TemplatedTopics):
    """Publishes orientations, angular velocities and accelerations in the IMUs' frames.

    On <robot>/<imu>: rad/s and m/s2. An IMU at rest measures the upward acceleration that holds it against gravity.
    """

    sensor_type = "imu"
    message_type = Imu
    fields: ClassVar[Mapping[str, Sequence[str]]] = {
        "orientation": ORIENTATION,
        "angular_velocity": under("angular_velocity", AXES),
        "linear_acceleration": under("linear_acceleration", AXES),
    }

    def message(self, sensor: Sensor, frame: str) -> Imu:
        """Return the message of an IMU, with the covariances of its noise."""
        params, message = sensor.params, Imu()
        assert isinstance(params, ImuParams)
        message.header.frame_id = frame
        # Noise of gyros and accelerometers is given per square root of Hz: it grows with the root of the rate.
        density = 1.0 / math.sqrt(self.period_of(sensor))
        for field, deviation in (
            ("orientation_covariance", params.orientation_noise),
            ("angular_velocity_covariance", params.gyro_noise * density),
            ("linear_acceleration_covariance", params.accel_noise * density),
        ):
            setattr(message, field, (deviation**2 * np.eye(3)).reshape(-1).tolist())
        return message


# <robot>/odometry: estimated poses with drift. The true pose is on <robot>/odom.


ODOMETRY = {
    "position": under("pose.pose", POSITION),
    "orientation": under("pose.pose", ORIENTATION),
    "twist": under("twist.twist", TWIST),
}
"""The numbers of an Odometry message, by the paths of their fields."""


class OdometryTopic(TemplatedTopics):
    """Publishes estimated poses of the sensors' frames in <robot>/odom, starting from their true initial poses.

    They drift with the sensor's noise, as those of encoders do; <robot>/odom has the truth.
    """

    sensor_type = "odometry"
    message_type = Odometry
    fields: ClassVar[Mapping[str, Sequence[str]]] = ODOMETRY

    def message(self, sensor: Sensor, frame: str) -> Odometry:
        message = Odometry(child_frame_id=frame)
        message.header.frame_id = reference_of(self.bridge.frames, sensor)
        return message

    def values_of(self, readings: Readings) -> Mapping[str, Floats]:
        """Return poses from where the sensors were at first, and twists in their own frames."""
        values = readings.values
        positions, orientations = values["origin_position"], values["origin_orientation"]
        return {
            "position": positions + quaternions.rotate(orientations, values["position"]),
            "orientation": quaternions.multiply(orientations, values["orientation"]),
            "twist": np.hstack([values["linear_velocity"], values["angular_velocity"]]),
        }


# <robot>/range: readings of range finders.


class RangeTopic(MessageTopics):
    """Publishes the distance to the nearest obstacle: inf without one, -inf if it is too near.

    On <robot>/<sensor>, a sensor_msgs/Range in m with the sensor's field of view, as REP 117 has it.
    """

    sensor_type = "range"
    message_type = Range

    def message(self, sensor: Sensor, frame: str) -> Range:
        params = sensor.params
        assert isinstance(params, RangeParams)
        message = Range(
            radiation_type=Range.INFRARED if params.radiation == "infrared" else Range.ULTRASOUND,
            field_of_view=params.field_of_view,
            min_range=params.range_min,
            max_range=params.range_max,
        )
        message.header.frame_id = frame
        return message

    def send(self, readings: Readings, now: int) -> None:
        stamp = time_to_msg(now)
        for index, channel in self.with_channels(readings):
            message = self._messages[channel.slot]
            message.header.stamp = stamp
            message.range = float(readings.values["range"][index])
            self.tell(channel, message)


# <robot>/scan: readings of planar lidars.


class ScanTopic(MessageTopics):
    """Publishes ranges, and intensities if the lidar has them.

    On <robot>/<lidar>, a LaserScan, counter-clockwise from `angle_min`: inf where nothing is in range, -inf nearer than
    `range_min`.
    """

    sensor_type = "lidar"
    message_type = LaserScan

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        """Return the message of a lidar, with the arrays ranges and intensities."""
        params = sensor.params
        assert isinstance(params, LidarParams)
        message = LaserScan(
            angle_min=params.angle_min,
            angle_max=float(params.angles[-1]),
            angle_increment=params.angle_increment,
            scan_time=self.period_of(sensor),
            range_min=params.range_min,
            range_max=params.range_max,
        )
        message.header.frame_id = frame
        count = params.rays
        return BulkMessage(
            message, {"ranges": ("f4", count), "intensities": ("f4", count if params.intensities else 0)}
        )

    def send(self, readings: Readings, now: int) -> None:
        """Publish the ranges of each lidar, and the intensities of those that read them."""
        ranges, intensities = readings.values["ranges"], readings.values["intensities"]
        for index, channel in self.with_channels(readings):
            arrays = {"ranges": ranges[index]}
            if intensities[index] is not None:
                arrays["intensities"] = intensities[index]
            self.tell(channel, self._messages[channel.slot].fill(now, **arrays))


# <robot>/points: point clouds of multi-layer lidars.


class PointsTopic(MessageTopics):
    """Publishes organised clouds, one row per layer; rays without a hit have NaN points.

    On <robot>/<lidar>, a PointCloud2 of float32 x, y, z in m in the sensor's frame. `is_dense` is false.
    """

    sensor_type = "lidar_3d"
    message_type = PointCloud2

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        params = sensor.params
        assert isinstance(params, Lidar3dParams)
        return cloud_message(frame, params.layers, params.rays, "xyz", 3)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the clouds, as float32."""
        points = readings.values["points"].astype("<f4")
        for index, channel in self.with_channels(readings):
            data = points[index].reshape(-1).view(np.uint8)
            self.tell(channel, self._messages[channel.slot].fill(now, data=data))


def cloud_message(frame: str, height: int, width: int, fields: Sequence[str], numbers: int) -> BulkMessage:
    """Return a cloud of `height` rows with the array data: `numbers` float32 for each point, the first are `fields`."""
    size = 4 * numbers
    message = PointCloud2(
        height=height,
        width=width,
        point_step=size,
        row_step=size * width,
        is_bigendian=False,
        # Points that show nothing are not numbers.
        is_dense=False,
    )
    message.header.frame_id = frame
    message.fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate(fields)
    ]
    return BulkMessage(message, {"data": ("u1", size * width * height)})


# <robot>/contacts: contacts of bumpers.


class ContactsTopic(SensorTopics):
    """Publishes the entities that touch a bumper and the points in its frame; an empty message without contacts.

    On <robot>/<bumper>, a Contacts with the names of the entities; points are in m.
    """

    sensor_type = "contact"
    message_type = Contacts

    def send(self, readings: Readings, now: int) -> None:
        """Publish what each sensor touches, by name, and where, in the sensor's frame."""
        world = self.bridge.sim.world
        stamp = time_to_msg(now)
        for index, channel in self.with_channels(readings):
            rows = world.index.rows_of(readings.values["others"][index]).tolist()
            message = Contacts(
                others=[world.label(row) for row in rows],
                points=[Point(x=x, y=y, z=z) for x, y, z in readings.values["points"][index].tolist()],
            )
            message.header.stamp = stamp
            message.header.frame_id = frame_of(self.bridge.frames, channel.sensor)
            self.tell(channel, message)


# <robot>/<sensor>: readings of force/torque sensors.


class WrenchTopic(TemplatedTopics):
    """Publishes forces and torques in the sensors' frames.

    On <robot>/<sensor>, a WrenchStamped in N and N m.
    """

    sensor_type = "force_torque"
    message_type = WrenchStamped
    fields: ClassVar[Mapping[str, Sequence[str]]] = {
        "force": under("wrench.force", AXES),
        "torque": under("wrench.torque", AXES),
    }

    def message(self, sensor: Sensor, frame: str) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = frame
        return message


# The topics of cameras: <robot>/<camera>/..., stamped with the time of the state shown, in the optical frame.


class CameraTopics(MessageTopics):
    """Publishes one part of a camera's readings, for cameras with the channel it needs.

    A camera is rendered at its own rate while one of its topics has subscribers.
    """

    sensor_type = "camera"
    channel: ClassVar[str] = ""

    def wants_sensor(self, sensor: Sensor) -> bool:
        """Return whether a camera makes the pictures of this topic."""
        return not self.channel or self.channel in sensor.params.channels

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return the arrays of the message that change with each picture."""
        raise NotImplementedError

    def frame_of(self, sensor: Sensor) -> str:
        return optical_frame_of(self.bridge.frames, sensor)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the pictures of cameras for which this topic has subscribers."""
        for index, channel in self.with_channels(readings):
            # The camera was rendered for some of its topics, not necessarily for this one.
            if channel.publisher.get_subscription_count():
                message = self._messages[channel.slot]
                self.tell(channel, message.fill(now, **self.arrays(readings[index])))


def image_message(params: Any, frame: str, encoding: str, pixel: int) -> BulkMessage:
    """Return an image with the array data, of `pixel` bytes for each pixel."""
    step = params.width * pixel
    message = Image(height=params.height, width=params.width, encoding=encoding, is_bigendian=0, step=step)
    message.header.frame_id = frame
    return BulkMessage(message, {"data": ("u1", step * params.height)})


class CameraImageTopic(CameraTopics):
    """Publishes colors as rgb8, in the optical frame: z ahead, x to the right, y down."""

    channel, suffix, message_type = "rgb", "image_raw", Image

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        return image_message(sensor.params, frame, "rgb8", 3)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        return {"data": reading.rgb}


class CameraDepthTopic(CameraTopics):
    """Publishes depth as 32FC1: m along the optical axis, +inf if nothing is in range, as in REP 117 and 118."""

    channel, suffix, message_type = "depth", "depth/image_raw", Image

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        return image_message(sensor.params, frame, "32FC1", 4)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return the depths as bytes of little-endian float32."""
        assert reading.depth is not None
        return {"data": reading.depth.astype("<f4", copy=False).view(np.uint8)}


class CameraInfoTopic(CameraTopics):
    """Publishes the intrinsics with the stamp of each picture. There is no distortion."""

    suffix = "camera_info"
    message_type = CameraInfo

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        """Return the CameraInfo of a camera without distortion."""
        params = sensor.params
        matrix = params.lens().matrix
        message = CameraInfo(
            height=params.height,
            width=params.width,
            distortion_model="plumb_bob",
            # The coefficients of plumb_bob; all are zero without distortion.
            d=[0.0] * 5,
            k=matrix.reshape(-1).tolist(),
            r=np.eye(3).reshape(-1).tolist(),
            p=np.hstack([matrix, np.zeros((3, 1))]).reshape(-1).tolist(),
        )
        message.header.frame_id = frame
        return BulkMessage(message, {})

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return nothing: only the stamp changes."""
        return {}


_NUMBERS = 4
"""Of each point: x, y, z and the color, whose place is there without colors too."""


class CameraPointsTopic(CameraTopics):
    """Publishes an organised cloud, one row per row of pixels: x, y, z, and the color if available.

    Empty pixels have NaN points.
    """

    channel = "depth"
    suffix = "points"
    message_type = PointCloud2

    def message(self, sensor: Sensor, frame: str) -> BulkMessage:
        params = sensor.params
        names = ("x", "y", "z", "rgb") if "rgb" in params.channels else ("x", "y", "z")
        return cloud_message(frame, params.height, params.width, names, _NUMBERS)

    def arrays(self, reading: CameraReading) -> dict[str, Any]:
        """Return a point for each pixel, with its color where the camera has colors."""
        assert reading.depth is not None
        points = np.zeros((*reading.depth.shape, _NUMBERS), "<f4")
        points[..., :3] = reading.points()
        if reading.rgb is not None:
            # Packed as in PCL: blue in the lowest byte, then green and red.
            points.view(np.uint8)[..., 12:15] = reading.rgb[..., ::-1]
        return {"data": points.view(np.uint8)}


# Frames of sensors: /tf_static, from the base or a link of their robot, or from the map.


class SensorFramesTopic(Interface):
    """Publishes the frames of all sensors in one message, whenever sensors are added or removed; latched.

    On /tf_static: where each sensor is mounted, in the frame of its link, and the optical frame of each camera.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.node.create_publisher(TFMessage, "/tf_static", qos.LATCHED)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish where all sensors are mounted, whenever one came or went."""
        sensors = self.bridge.sim.sensors
        frames, now = self.bridge.frames, time_to_msg(self.bridge.time.now())
        published = [sensor for sensor in sensors.all if is_published(self.bridge, sensor)]
        transforms = [frame_transform(link) for sensor in published for link in frame_links(frames, sensor)]
        for transform in transforms:
            transform.header.stamp = now
        if transforms:
            self._publisher.publish(TFMessage(transforms=transforms))


# All kinds. A sensor is read only while somebody subscribes to its topic; a kind names its message and fills it, as
# `ContactsTopic` does in a few lines.


SENSORS: dict[str, type[Interface]] = {
    "sensor_frames": SensorFramesTopic,
    "camera_info": CameraInfoTopic,
    "camera_image": CameraImageTopic,
    "camera_depth": CameraDepthTopic,
    "camera_points": CameraPointsTopic,
    "scan": ScanTopic,
    "imu": ImuTopic,
    "odometry": OdometryTopic,
    "range": RangeTopic,
    "contacts": ContactsTopic,
    "points": PointsTopic,
    "wrench": WrenchTopic,
    "map": MapTopic,
}
"""Frames come first: readings refer to them."""
