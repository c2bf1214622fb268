"""Every interface of the node, by name and in order. The files they are in are beside this one, one each."""

from __future__ import annotations

from importlib.util import find_spec

from fleet_sim.registry import Registry, subclasses_of
from fleet_sim.ros.checkpoint_services import CheckpointServices
from fleet_sim.ros.clock import ClockTopic
from fleet_sim.ros.cmd_vel import CmdVelTopic
from fleet_sim.ros.collisions import CollisionsTopic
from fleet_sim.ros.diagnostics import DiagnosticsTopic
from fleet_sim.ros.fleet_command import FleetCommandInterface
from fleet_sim.ros.fleet_states import FleetStatesTopic
from fleet_sim.ros.goal_pose import GoalPoseTopic, PathTopic
from fleet_sim.ros.interface import Interface
from fleet_sim.ros.joint_commands import JointCommandsTopic, JointTrajectoryTopic
from fleet_sim.ros.joint_states import JointStatesTopic
from fleet_sim.ros.link_frames import LinkFramesTopic
from fleet_sim.ros.markers import MarkersTopic
from fleet_sim.ros.odom import OdomTopic
from fleet_sim.ros.picture_service import PictureService
from fleet_sim.ros.plan import PlanTopic
from fleet_sim.ros.population_services import PopulationServices
from fleet_sim.ros.record_service import RecordService
from fleet_sim.ros.robot_description import RobotDescriptionTopic
from fleet_sim.ros.run_services import RunServices
from fleet_sim.ros.sensors import SENSORS
from fleet_sim.ros.tf import TfTopic

STANDARD: dict[str, type[Interface]] = {}
# The packages simulation_interfaces and control_msgs are not part of every ROS 2.
if find_spec("simulation_interfaces") is not None:
    from fleet_sim.ros.simulation.interface import StandardServices

    STANDARD = {"standard_services": StandardServices}

CONTROLLERS: dict[str, type[Interface]] = {}
if find_spec("control_msgs") is not None:
    from fleet_sim.ros.controller_state import ControllerStateTopic

    CONTROLLERS = {"controller_state": ControllerStateTopic}

BUILT_IN: dict[str, type[Interface]] = {
    "clock": ClockTopic,
    "tf": TfTopic,
    "link_frames": LinkFramesTopic,
    "cmd_vel": CmdVelTopic,
    "goal_pose": GoalPoseTopic,
    "path": PathTopic,
    "joint_commands": JointCommandsTopic,
    "joint_trajectory": JointTrajectoryTopic,
    "odom": OdomTopic,
    "joint_states": JointStatesTopic,
    **CONTROLLERS,
    "plan": PlanTopic,
    "robot_description": RobotDescriptionTopic,
    "fleet_command": FleetCommandInterface,
    "fleet_states": FleetStatesTopic,
    "markers": MarkersTopic,
    "collisions": CollisionsTopic,
    "diagnostics": DiagnosticsTopic,
    "run_services": RunServices,
    "population_services": PopulationServices,
    "checkpoint_services": CheckpointServices,
    "picture_service": PictureService,
    "record_service": RecordService,
    **SENSORS,
    **STANDARD,
}

INTERFACES = Registry("ROS interface", subclasses_of(Interface), group="fleet_sim.ros_interface", built_in=BUILT_IN)
"""In the order in which they receive and publish: /clock comes before all messages stamped with it."""


def in_order() -> list[type[Interface]]:
    """Return the built-in interfaces in their order, then registered ones, then those of other packages."""
    # Own and registered ones stay where they are; entry points are appended.
    return list({**INTERFACES.registered(), **INTERFACES.all()}.values())
