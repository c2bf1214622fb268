"""clock: simulation time."""

from __future__ import annotations

from rosgraph_msgs.msg import Clock

from fleet_sim.cdr import MessagePart
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.wire import MessageTemplate


def clock_template() -> MessageTemplate:
    """Return the template of one Clock; groups sec and nanosec."""
    return MessageTemplate(
        [Clock()], [MessagePart({"sec": ("i4", ["clock.sec"]), "nanosec": ("u4", ["clock.nanosec"])})]
    )


class ClockTopic(Interface):
    """Publishes the time at the end of the step. It stands still while the simulation is paused.

    The topic is in the node's namespace, as all others are: two simulations with one clock would set it back and forth.
    """

    rate = "clock"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(Clock, "clock", qos.CLOCK)
        self._template = clock_template()

    def publish(self, now: int) -> None:
        self._template.write_stamp(now)
        self._publisher.publish(self._template.pieces()[0])
