"""Actions after a while, by the clock of ROS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...launch.actions import TimerAction
from ...launch.frontend.expose import expose_action
from ..ros_adapters import get_ros_adapter, get_ros_node, use_sim_time
from .set_parameter import global_parameters

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_action("ros_timer")
class ROSTimer(TimerAction):
    """A TimerAction whose seconds are of simulated time where SetUseSimTime or SetParameter has said so."""

    def describe(self) -> str:
        return f"ROSTimer(period={self.period})"

    def start(self, context: LaunchContext, period: float) -> None:
        node, loop = get_ros_node(context), context.asyncio_loop
        assert loop is not None
        for item in global_parameters(context, node.get_name()):
            if isinstance(item, dict) and "use_sim_time" in item:
                use_sim_time(get_ros_adapter(context), bool(item["use_sim_time"]))

        def expire() -> None:
            timer.cancel()
            loop.call_soon_threadsafe(self.expire, context)

        timer = node.create_timer(period, expire)


RosTimer = ROSTimer
"""The older name."""
