"""Gives clocks the time from `/clock` while `use_sim_time` is set."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class
from .clock import ROSClock
from .parameter import Parameter
from .qos import QoSProfile, ReliabilityPolicy
from .time import ClockType, Time

if TYPE_CHECKING:
    from .node_entities import NodeBase
    from .subscription import Subscription

CLOCK_TOPIC = "/clock"
USE_SIM_TIME_NAME = "use_sim_time"


class TimeSource:
    """Follows the parameter `use_sim_time` of a node."""

    def __init__(self, *, node: NodeBase | None = None) -> None:
        self._get_node: Callable[[], NodeBase | None] = lambda: None
        self._clocks: set[ROSClock] = set()
        self._last = Time(clock_type=ClockType.ROS_TIME)
        self._active = False
        self._clock_sub: Subscription | None = None
        if node is not None:
            self.attach_node(node)

    def attach_node(self, node: NodeBase) -> None:
        """Follow this node's parameter, which is declared where it is not, instead of any other's."""
        if self._get_node() is not None:
            self.detach_node()
        self._get_node = weakref.ref(node)
        if not node.has_parameter(USE_SIM_TIME_NAME):
            node.declare_parameter(USE_SIM_TIME_NAME, False)
        parameter = node.get_parameter(USE_SIM_TIME_NAME)
        if parameter.type_ is Parameter.Type.BOOL:
            self.ros_time_is_active = parameter.value
        else:
            node.get_logger().error(
                f"Invalid type for parameter '{USE_SIM_TIME_NAME}' {parameter.type_!r} should be bool"
            )
        node.add_on_set_parameters_callback(self._on_parameters)
        node.add_post_set_parameters_callback(self._after_parameters)

    def detach_node(self) -> None:
        """No longer follow the node; the clocks keep what they show. Raises RuntimeError without one."""
        node = self._get_node()
        if node is None:
            raise RuntimeError("Unable to remove node: no node is attached")
        self._unsubscribe()
        node.remove_on_set_parameters_callback(self._on_parameters)
        node.remove_post_set_parameters_callback(self._after_parameters)
        self._get_node = lambda: None

    @property
    def ros_time_is_active(self) -> bool:
        """Whether the clocks follow `/clock`."""
        return self._active

    @ros_time_is_active.setter
    def ros_time_is_active(self, enabled: bool) -> None:
        if self._active == enabled:
            return
        self._active = enabled
        for clock in self._clocks:
            clock._set_ros_time_is_active(enabled)
        if enabled:
            self._subscribe()
        else:
            self._unsubscribe()

    def attach_clock(self, clock: ROSClock) -> None:
        """Set this clock from now on. Raises ValueError for a clock that is not of ROS time."""
        if not isinstance(clock, ROSClock):
            raise ValueError("Only clocks with type ROS_TIME can be attached.")
        clock.set_ros_time_override(self._last)
        clock._set_ros_time_is_active(self._active)
        self._clocks.add(clock)

    def detach(self) -> None:
        """Stop following."""
        self._unsubscribe()
        self._clocks.clear()

    def clock_callback(self, msg: Any) -> None:
        """The time from `/clock`."""
        self._last = Time.from_msg(msg.clock)
        for clock in self._clocks:
            clock.set_ros_time_override(self._last)

    def _subscribe(self) -> None:
        node = self._get_node()
        if node is not None and self._clock_sub is None:
            self._clock_sub = node.create_subscription(
                message_class("rosgraph_msgs/msg/Clock"),
                CLOCK_TOPIC,
                self.clock_callback,
                QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
            )

    def _unsubscribe(self) -> None:
        node = self._get_node()
        if node is not None and self._clock_sub is not None:
            node.destroy_subscription(self._clock_sub)
        self._clock_sub = None

    def _on_parameters(self, parameters: list[Parameter]) -> Any:
        result = message_class("rcl_interfaces/msg/SetParametersResult")(successful=True)
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME_NAME and parameter.type_ is not Parameter.Type.BOOL:
                result.successful = False
                result.reason = f"'{USE_SIM_TIME_NAME}' is true or false, not {parameter.value!r}"
        return result

    def _after_parameters(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME_NAME:
                self.ros_time_is_active = parameter.value
