"""<robot>/<controller>/controller_state: what joints shall do, what they do, and the difference, as of ros2_control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from control_msgs.msg import JointTrajectoryControllerState
from trajectory_msgs.msg import JointTrajectoryPoint

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.cdr import STAMP, ArrayNumber, MessagePart
from fleet_sim.robots.motion.system import curve_positions, curve_velocities
from fleet_sim.ros.interface import Bridge, StateTopic
from fleet_sim.ros.messages import MessageTemplate, Roster, with_joints
from fleet_sim.world.joints import AT_VELOCITY, HOLD, ON_CURVE, TO_POSITION

# Older versions of the message have other words.
_OLD = not hasattr(JointTrajectoryControllerState(), "reference")
_PARTS = ("desired", "actual", "error") if _OLD else ("reference", "feedback", "error")
_NUMBERS = ("positions", "velocities")


class ControllerStateTopic(StateTopic):
    """Publishes reference, feedback and error of movable joints where `ros.joint_controller` names a controller.

    Joints that are moved at a velocity or by an effort have no position to go to: their reference is where they are.
    """

    rate = "joint_states"
    message_type = JointTrajectoryControllerState

    def __init__(self, bridge: Bridge) -> None:
        self.topic = bridge.params.in_joint_controller("controller_state")
        super().__init__(bridge)

    def robots_of(self, roster: Roster) -> Roster:
        """Return the robots with joints where `ros.joint_controller` names a controller, else none."""
        named_mask = np.full(len(roster.rows), bool(self.bridge.params.joint_controller))
        return with_joints(roster.where(named_mask), self.bridge.sim.world)

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        world = self.bridge.sim.world
        models = [world.models[number] for number in world.robots.model[rows].tolist()]
        messages = [_message(model.movable_names) for model in models]
        return MessageTemplate(messages, [MessagePart(STAMP), *(_part(of, what) for of in _PARTS for what in _NUMBERS)])

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        """Write where joints are to be, where they are, and the difference, with their velocities."""
        world = self.bridge.sim.world
        joints = world.joints
        slots = joints.slots(world.robots, rows)
        now, control = world.clock.time, joints.control[slots]
        position, velocity = joints.position[slots], joints.velocity[slots]
        curve_mask = control == ON_CURVE
        wanted = np.where((control == TO_POSITION) | (control == HOLD), joints.target[slots], position)
        wanted = np.where(curve_mask, curve_positions(world, slots, now), wanted)
        speeds = np.where(control == AT_VELOCITY, joints.command[slots], 0.0)
        speeds = np.where(curve_mask, curve_velocities(world, slots, now), speeds)
        points: list[tuple[Floats, Floats]] = [
            (wanted, speeds),
            (position, velocity),
            (wanted - position, speeds - velocity),
        ]
        for of, point in zip(_PARTS, points, strict=True):
            for what, numbers in zip(_NUMBERS, point, strict=True):
                template.write(f"{of} {what}", numbers[:, np.newaxis])


def _message(joints: Sequence[str]) -> JointTrajectoryControllerState:
    message = JointTrajectoryControllerState(joint_names=list(joints))
    for of in _PARTS:
        point = JointTrajectoryPoint(positions=[0.0] * len(joints), velocities=[0.0] * len(joints))
        setattr(message, of, point)
    return message


def _part(of: str, what: str) -> MessagePart:
    """Return the part of messages that is all elements of an array of one of their points."""

    def numbers(message: JointTrajectoryControllerState) -> list[ArrayNumber]:
        point = getattr(message, of)
        return [ArrayNumber(point, what, index) for index in range(len(getattr(point, what)))]

    return MessagePart({f"{of} {what}": ("f8", ("number",))}, numbers)
