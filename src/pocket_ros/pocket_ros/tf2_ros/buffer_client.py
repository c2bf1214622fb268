"""A buffer in another process, asked by an action."""

from __future__ import annotations

import time as _time
from threading import Event
from typing import Any

from ..interfaces.classes import action_class
from ..rclpy.node import Node
from ..rclpy.task import Future
from ..rclpy.time import S_TO_NS, Duration, Time
from . import buffer_core as exceptions
from .buffer import register_geometry
from .buffer_core import TimeoutException, TransformException
from .buffer_interface import BufferInterface
from .rigid import Moment


class BufferClient(BufferInterface):
    """Asks the buffer server `ns`, which looks transforms up on behalf of many.

    Calls wait for the answer, so something else has to spin the node meanwhile. They raise TimeoutException
    where no server is there, or none answers within the timeout and `timeout_padding`; otherwise what the
    server says. `check_frequency` is accepted as in ROS; the answer is awaited, not looked for.
    """

    def __init__(
        self,
        node: Node,
        ns: str,
        check_frequency: float = 10.0,
        timeout_padding: Duration = Duration(seconds=2.0),
    ) -> None:
        from ..rclpy.action import ActionClient  # with NumPy, which other users of tf2_ros do without

        super().__init__()
        register_geometry(self.registration)
        self.node = node
        self._action: Any = action_class("tf2_msgs/action/LookupTransform")
        self.action_client = ActionClient(node, self._action, ns)
        self.check_frequency = check_frequency
        self.timeout_padding = timeout_padding

    def destroy(self) -> None:
        """End the client of the action."""
        self.action_client.destroy()

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> Any:
        """The TransformStamped that maps `source_frame` into `target_frame`; time zero is the latest."""
        goal = self._action.Goal(
            target_frame=target_frame, source_frame=source_frame, source_time=_message(time), advanced=False
        )
        return self._ask(goal, timeout)

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
        goal = self._action.Goal(
            target_frame=target_frame,
            target_time=_message(target_time),
            source_frame=source_frame,
            source_time=_message(source_time),
            fixed_frame=fixed_frame,
            advanced=True,
        )
        return self._ask(goal, timeout)

    def can_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> bool:
        """Whether `lookup_transform` would succeed."""
        try:
            self.lookup_transform(target_frame, source_frame, time, timeout)
        except TransformException:
            return False
        return True

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> bool:
        """Whether `lookup_transform_full` would succeed."""
        try:
            self.lookup_transform_full(
                target_frame, target_time, source_frame, source_time, fixed_frame, timeout
            )
        except TransformException:
            return False
        return True

    def _ask(self, goal: Any, timeout: Duration) -> Any:
        if not self.action_client.server_is_ready():
            raise TimeoutException("The BufferServer is not ready.")
        goal.timeout = timeout.to_msg()
        patience = (timeout.nanoseconds + self.timeout_padding.nanoseconds) / S_TO_NS
        deadline = _time.monotonic() + patience
        handle = self._await(self.action_client.send_goal_async(goal), deadline)
        if not handle.accepted:
            raise TimeoutException("The LookupTransform goal was not accepted by the BufferServer.")
        result = self._await(handle.get_result_async(), deadline).result
        if result.error.error != result.error.NO_ERROR:
            raise exceptions.BY_NUMBER.get(result.error.error, TransformException)(result.error.error_string)
        return result.transform

    def _await(self, future: Future[Any], deadline: float) -> Any:
        done = Event()
        future.add_done_callback(lambda _: done.set())
        self.node.context.on_shutdown(done.set)
        done.wait(max(deadline - _time.monotonic(), 0.0))
        if not future.done():
            raise TimeoutException(
                "The BufferServer did not answer in the specified time; does another thread spin the node?"
            )
        return future.result()


def _message(time: Moment) -> Any:
    """A Time, or the message of one. Raises TypeError for anything else."""
    if isinstance(time, Time):
        return time.to_msg()
    if hasattr(time, "sec") and hasattr(time, "nanosec"):
        return time
    raise TypeError(f"time must be a rclpy.time.Time or a Time message, it was {type(time).__name__}")
