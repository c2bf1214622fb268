"""<robot>/<sensor>: readings of force/torque sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from geometry_msgs.msg import WrenchStamped

from fleet_sim.ros.sensors.names import frame_of
from fleet_sim.ros.sensors.templated import TemplatedTopics
from fleet_sim.ros.sensors.topics import Channel
from fleet_sim.ros.templates import STAMP, MessagePart, MessageTemplate, under

_AXES = ("x", "y", "z")


def wrench_template(messages: Sequence[WrenchStamped]) -> MessageTemplate:
    """Return the template of wrench messages; groups sec, nanosec, force and torque."""
    numbers = {
        **STAMP,
        "force": ("f8", under("wrench.force", _AXES)),
        "torque": ("f8", under("wrench.torque", _AXES)),
    }
    return MessageTemplate(messages, [MessagePart(numbers)])


class WrenchTopic(TemplatedTopics):
    """Publishes forces and torques in the sensors' frames."""

    sensor_type = "force_torque"
    message_type = WrenchStamped
    widths: ClassVar[Mapping[str, int]] = {"force": 3, "torque": 3}

    def message_of(self, channel: Channel) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = frame_of(self.bridge.frames, channel.sensor)
        return message

    def template_of(self, messages: Sequence[WrenchStamped]) -> MessageTemplate:
        return wrench_template(messages)
