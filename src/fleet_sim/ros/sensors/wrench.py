"""<robot>/<sensor>: readings of force/torque sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from geometry_msgs.msg import WrenchStamped

from fleet_sim.cdr import AXES, under
from fleet_sim.ros.sensors.templated import TemplatedTopics
from fleet_sim.sensors.force_torque import ForceTorqueParams


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

    def message(self, params: ForceTorqueParams, frame: str) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = frame
        return message
