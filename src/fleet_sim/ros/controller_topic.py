"""Base of the topics of a joint trajectory controller."""

from __future__ import annotations

from fleet_sim.ros.interface import Bridge, Interface


class ControllerTopic(Interface):
    """A topic below the name of the controller where `ros.joint_controller` names one, else below that of the robot.

    So programs written for ros2_control find it where its joint_trajectory_controller has it.
    """

    topic: str

    def __init__(self, bridge: Bridge) -> None:
        self.topic = bridge.params.in_joint_controller(self.topic)
        super().__init__(bridge)
