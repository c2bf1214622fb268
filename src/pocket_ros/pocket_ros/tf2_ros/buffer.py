"""The buffer that programs ask, what fills it, and what publishes transforms."""

from __future__ import annotations

import contextlib
import time as _time
from collections.abc import Callable, Sequence
from copy import deepcopy
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from ..rclpy.clock import JumpThreshold, TimeJump
from ..rclpy.context import get_default_context
from ..rclpy.entity import ReentrantCallbackGroup
from ..rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ..rclpy.logging import get_logger
from ..rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from ..rclpy.task import Future
from ..rclpy.time import Duration
from .buffer_core import DEFAULT_CACHE, BufferCore, TransformException
from .buffer_interface import BufferInterface, TransformRegistration
from .rigid import Moment, Rigid, StampedTransform, compose, rotate, rotation_of

if TYPE_CHECKING:
    from ..rclpy.node import Node
    from .rigid import TransformsFields

__all__ = ["DEFAULT_CACHE", "Buffer"]

_BACKWARDS = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True)
_WAIT_SLICE = 0.02
_logger = get_logger("tf2_buffer")


class Buffer(BufferCore, BufferInterface):
    """Remembers transforms for a while and answers what lies between frames.

    With a node, timeouts are in the time of its clock, and the service `tf2_frames` tells the frames;
    without, timeouts are in system time. When that clock jumps back by a second or more, or changes to
    simulated time or from it, the buffer is cleared.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        BufferCore.__init__(self, cache_time or DEFAULT_CACHE)
        BufferInterface.__init__(self)
        self._node = node
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._lock = RLock()
        register_geometry(self.registration)
        if node is not None:
            self.srv = node.create_service(
                service_class("tf2_msgs/srv/FrameGraph"), "tf2_frames", self._answer_frames
            )
            self.clock = node.get_clock()
            self.jump_handle = self.clock.create_jump_callback(
                _BACKWARDS, post_callback=self.time_jump_callback
            )

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Forget what is not static: its times are those before the jump."""
        _logger.warning("The clock jumped back or changed its source: the buffer forgets what is not static.")
        self.clear()

    def set_transform(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped; what is no transform is logged and left out."""
        super().set_transform(transform, authority)
        self._complete_waiting()

    def set_transform_static(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped that holds for all times; what is no transform is logged and left out."""
        super().set_transform_static(transform, authority)
        self._complete_waiting()

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> Any:
        """The TransformStamped that maps `source_frame` into `target_frame`; time zero is the latest.

        Waits up to `timeout` for it; something else has to spin meanwhile. Raises LookupException,
        ConnectivityException,
        ExtrapolationException, InvalidArgumentException.
        """
        self.can_transform(target_frame, source_frame, time, timeout)
        return self.lookup_transform_core(target_frame, source_frame, time)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> Any:
        """As `lookup_transform`, between two times, by way of a frame that does not move between them."""
        self.can_transform_full(target_frame, target_time, source_frame, source_time, fixed_frame, timeout)
        return self.lookup_transform_full_core(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    async def lookup_transform_async(self, target_frame: str, source_frame: str, time: Moment) -> Any:
        """Await the transform."""
        return await self.wait_for_transform_async(target_frame, source_frame, time)

    async def lookup_transform_full_async(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> Any:
        """Await the transform between two times."""
        return await self.wait_for_transform_full_async(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Moment,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform` would succeed, within `timeout`.

        With the reason where not, if asked for.
        """

        def attempt() -> tuple[bool, str]:
            return self.can_transform_core(target_frame, source_frame, time)

        return self._await(attempt, timeout, return_debug_tuple)

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform_full` would succeed."""

        def attempt() -> tuple[bool, str]:
            return self.can_transform_full_core(
                target_frame, target_time, source_frame, source_time, fixed_frame
            )

        return self._await(attempt, timeout, return_debug_tuple)

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Moment) -> Future[Any]:
        """A future of the TransformStamped, done when it is there."""
        return self._when_found(lambda: self.lookup_transform(target_frame, source_frame, time))

    def wait_for_transform_full_async(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> Future[Any]:
        """A future of the TransformStamped between two times, done when it is there."""
        return self._when_found(
            lambda: self.lookup_transform_full(
                target_frame, target_time, source_frame, source_time, fixed_frame
            )
        )

    def _when_found(self, look_up: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            try:
                future.set_result(look_up())
            except TransformException:
                self._waiting.append((future, look_up))
        return future

    def _complete_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            for entry in waiting:
                future, look_up = entry
                if future.done():
                    continue
                try:
                    found = look_up()
                except TransformException:
                    self._waiting.append(entry)
                else:
                    future.set_result(found)

    def _answer_frames(self, request: Any, response: Any) -> Any:
        response.frame_yaml = self.all_frames_as_yaml()
        return response

    def _await(self, attempt: Callable[[], tuple[bool, str]], timeout: Duration, with_reason: bool) -> Any:
        deadline = self._now() + timeout.nanoseconds
        context = self._node.context if self._node is not None else get_default_context()
        while True:
            possible, reason = attempt()
            left = deadline - self._now()
            if possible or left <= 0 or not context.ok():
                return (possible, reason) if with_reason else possible
            self._tree.wait_for_change(min(left / 1e9, _WAIT_SLICE))

    def _now(self) -> int:
        return self._node.get_clock().now_ns() if self._node is not None else _time.monotonic_ns()


# Feeding a buffer from `/tf` and `/tf_static`.


DEFAULT_TF_TOPIC, DEFAULT_STATIC_TF_TOPIC = "/tf", "/tf_static"


class TransformListener:
    """Adds what others broadcast to a buffer; with `spin_thread` it spins the node in a thread of its own."""

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = False,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
        tf_topic: str = DEFAULT_TF_TOPIC,
        static_tf_topic: str = DEFAULT_STATIC_TF_TOPIC,
    ) -> None:
        if qos is None:
            qos = QoSProfile(depth=100, durability=DurabilityPolicy.VOLATILE, history=HistoryPolicy.KEEP_LAST)
        if static_qos is None:
            static_qos = QoSProfile(
                depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST
            )
        self.buffer = buffer
        self.node = node
        # Reentrant: transforms have to come in while another callback waits for one.
        self.group = ReentrantCallbackGroup()
        message = message_class("tf2_msgs/msg/TFMessage")
        self.tf_sub = node.create_subscription(
            message, tf_topic, self.callback, qos, callback_group=self.group
        )
        self.tf_static_sub = node.create_subscription(
            message, static_tf_topic, self.static_callback, static_qos, callback_group=self.group
        )
        if spin_thread:
            self.executor = SingleThreadedExecutor(context=node.context)
            self.dedicated_listener_thread = Thread(target=self._spin, name="transform_listener", daemon=True)
            self.dedicated_listener_thread.start()

    def callback(self, data: TransformsFields) -> None:
        """Transforms from `/tf`."""
        self._add(data, self.buffer.set_transform)

    def static_callback(self, data: TransformsFields) -> None:
        """Transforms from `/tf_static`."""
        self._add(data, self.buffer.set_transform_static)

    def unregister(self) -> None:
        """Stop listening."""
        self.node.destroy_subscription(self.tf_sub)
        self.node.destroy_subscription(self.tf_static_sub)

    def _add(self, data: TransformsFields, add: Callable[[StampedTransform, str], None]) -> None:
        for transform in data.transforms:
            add(transform, "default_authority")

    def _spin(self) -> None:
        self.executor.add_node(self.node)
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()


# Publishing transforms on `/tf`.


class TransformBroadcaster:
    """Publishes one or more TransformStamped at once."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self._message = message_class("tf2_msgs/msg/TFMessage")
        self.pub_tf = node.create_publisher(
            self._message, "/tf", QoSProfile(depth=100) if qos is None else qos
        )

    def sendTransform(
        self, transform: StampedTransform | list[StampedTransform] | tuple[StampedTransform, ...]
    ) -> None:
        """Publish a TransformStamped or a list of them."""
        transforms = transform if isinstance(transform, (list, tuple)) else [transform]
        self.pub_tf.publish(self._message(transforms=list(transforms)))


# Publishing transforms that hold for all times, on `/tf_static`.


class StaticTransformBroadcaster:
    """Publishes all static transforms sent so far, for late listeners too."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        if qos is None:
            qos = QoSProfile(
                depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST
            )
        self._message = message_class("tf2_msgs/msg/TFMessage")
        self._by_child: dict[str, StampedTransform] = {}
        self.pub_tf = node.create_publisher(self._message, "/tf_static", qos)

    def sendTransform(
        self, transform: StampedTransform | list[StampedTransform] | tuple[StampedTransform, ...]
    ) -> None:
        """Publish a TransformStamped or a list of them.

        One replaces an earlier one of the same child frame.
        """
        transforms = transform if isinstance(transform, (list, tuple)) else [transform]
        for one in transforms:
            self._by_child[one.child_frame_id] = one
        self.pub_tf.publish(self._message(transforms=list(self._by_child.values())))


# Stamped geometry messages in other frames.


def register_geometry(registration: TransformRegistration) -> None:
    """Let buffers transform the stamped messages that ROS lets them."""
    for name, function in {
        "geometry_msgs/msg/PointStamped": do_transform_point,
        "geometry_msgs/msg/Vector3Stamped": do_transform_vector3,
        "geometry_msgs/msg/PoseStamped": do_transform_pose_stamped,
        "geometry_msgs/msg/PoseWithCovarianceStamped": do_transform_pose_with_covariance_stamped,
        "geometry_msgs/msg/PolygonStamped": do_transform_polygon_stamped,
        "sensor_msgs/msg/PointCloud2": _do_transform_cloud,
    }.items():
        registration.add(message_class(name), function)


def _do_transform_cloud(cloud: Any, transform: StampedTransform) -> Any:
    from ..tf2_sensor_msgs import do_transform_cloud  # NumPy is not needed for the others

    return do_transform_cloud(cloud, transform)


def do_transform_point(point: Any, transform: StampedTransform) -> Any:
    """A PointStamped in the transform's frame."""
    result = _moved(point, transform)
    p = result.point
    p.x, p.y, p.z = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (0.0, 0.0, 0.0, 1.0))).translation
    return result


def do_transform_vector3(vector3: Any, transform: StampedTransform) -> Any:
    """A Vector3Stamped in the transform's frame: rotated, not moved."""
    result = _moved(vector3, transform)
    v = result.vector
    v.x, v.y, v.z = rotate(_rigid(transform).rotation, (v.x, v.y, v.z))
    return result


def do_transform_pose(pose: Any, transform: StampedTransform) -> Any:
    """A Pose in the transform's frame, its orientation of length one and with a w that is not negative."""
    result = deepcopy(pose)
    p, q = result.position, result.orientation
    moved = compose(_rigid(transform), Rigid((p.x, p.y, p.z), rotation_of(q)))
    p.x, p.y, p.z = moved.translation
    x, y, z, w = moved.rotation
    # Both signs are one rotation; ROS gives the one whose w is not negative.
    q.x, q.y, q.z, q.w = (-x, -y, -z, -w) if w < 0 else (x, y, z, w)
    return result


def do_transform_pose_stamped(pose: Any, transform: StampedTransform) -> Any:
    """A PoseStamped in the transform's frame."""
    result = _moved(pose, transform)
    result.pose = do_transform_pose(pose.pose, transform)
    return result


def do_transform_pose_with_covariance_stamped(pose: Any, transform: StampedTransform) -> Any:
    """A PoseWithCovarianceStamped in the transform's frame, its covariance turned with it."""
    result = _moved(pose, transform)
    result.pose.pose = do_transform_pose(pose.pose.pose, transform)
    result.pose.covariance = transform_covariance(pose.pose.covariance, transform)
    return result


def transform_covariance(cov_in: Sequence[float], transform: StampedTransform) -> list[float]:
    """A covariance (6 by 6, row by row: position, then rotation) about the axes of the transform's frame."""
    rotation = _rigid(transform).rotation
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    columns = [rotate(rotation, axis) for axis in axes]
    blocks = (0, 3)
    turned = [0.0] * 36
    for row_block in blocks:
        for column_block in blocks:
            block = [[cov_in[6 * (row_block + i) + column_block + j] for j in range(3)] for i in range(3)]
            for i in range(3):
                for j in range(3):
                    turned[6 * (row_block + i) + column_block + j] = sum(
                        columns[k][i] * block[k][m] * columns[m][j] for k in range(3) for m in range(3)
                    )
    return turned


def do_transform_polygon_stamped(polygon: Any, transform: StampedTransform) -> Any:
    """A PolygonStamped in the transform's frame."""
    result = _moved(polygon, transform)
    for p in result.polygon.points:
        p.x, p.y, p.z = compose(_rigid(transform), Rigid((p.x, p.y, p.z), (0.0, 0.0, 0.0, 1.0))).translation
    return result


def _moved(message: Any, transform: StampedTransform) -> Any:
    result = deepcopy(message)
    result.header = deepcopy(transform.header)
    return result


def _rigid(transform: StampedTransform) -> Rigid:
    t = transform.transform.translation
    return Rigid((t.x, t.y, t.z), rotation_of(transform.transform.rotation))
