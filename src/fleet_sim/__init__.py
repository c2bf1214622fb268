"""fleet_sim: simulate fleets of robots, thousands at a time, with or without ROS 2.

Everything public is importable from here; each name is loaded at its first use, so `import fleet_sim` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fleet_sim.base.errors import ConfigError as ConfigError
    from fleet_sim.base.errors import DuplicateNameError as DuplicateNameError
    from fleet_sim.base.errors import FleetSimError as FleetSimError
    from fleet_sim.base.errors import InvalidValueError as InvalidValueError
    from fleet_sim.base.errors import MissingDependencyError as MissingDependencyError
    from fleet_sim.base.errors import PlanError as PlanError
    from fleet_sim.base.errors import StaleHandleError as StaleHandleError
    from fleet_sim.base.errors import StateError as StateError
    from fleet_sim.base.errors import StateFileError as StateFileError
    from fleet_sim.base.errors import UnknownNameError as UnknownNameError
    from fleet_sim.base.geometry import Path as Path
    from fleet_sim.base.geometry import Pose as Pose
    from fleet_sim.base.monitor import DataMonitor as DataMonitor
    from fleet_sim.base.monitor import MonitorFigures as MonitorFigures
    from fleet_sim.base.monitor import TerminalMonitor as TerminalMonitor
    from fleet_sim.base.params import ActionCause as ActionCause
    from fleet_sim.base.params import ActionStatus as ActionStatus
    from fleet_sim.base.params import CollisionDetectionMethod as CollisionDetectionMethod
    from fleet_sim.base.params import CollisionMode as CollisionMode
    from fleet_sim.base.params import ControllerMode as ControllerMode
    from fleet_sim.base.params import MotionMode as MotionMode
    from fleet_sim.base.params import MovementDirection as MovementDirection
    from fleet_sim.base.params import PosePhase as PosePhase
    from fleet_sim.base.params import SimulationParams as SimulationParams
    from fleet_sim.base.params import SpatialHashCellSizeMode as SpatialHashCellSizeMode
    from fleet_sim.base.registry import saved as saved
    from fleet_sim.facade.runner import RunReport as RunReport
    from fleet_sim.models import KNOWN_MODELS as KNOWN_MODELS
    from fleet_sim.models import ModelEntry as ModelEntry
    from fleet_sim.models import RobotProfile as RobotProfile
    from fleet_sim.models import add_search_path as add_search_path
    from fleet_sim.models import auto_detect_profile as auto_detect_profile
    from fleet_sim.models import detect_robot_type as detect_robot_type
    from fleet_sim.models import discover_models as discover_models
    from fleet_sim.models import get_search_paths as get_search_paths
    from fleet_sim.models import list_all_models as list_all_models
    from fleet_sim.models import load_robot_model as load_robot_model
    from fleet_sim.models import register_model as register_model
    from fleet_sim.models import remove_search_path as remove_search_path
    from fleet_sim.models import resolve_model as resolve_model
    from fleet_sim.models import resolve_urdf as resolve_urdf
    from fleet_sim.models import unregister_model as unregister_model
    from fleet_sim.models.kinematics.params import IKParams as IKParams
    from fleet_sim.models.meshes.formats import MeshLimits as MeshLimits
    from fleet_sim.plugins import SimPlugin as SimPlugin
    from fleet_sim.robots.actions import Action as Action
    from fleet_sim.robots.actions import DriveByAction as DriveByAction
    from fleet_sim.robots.actions import Drop as Drop
    from fleet_sim.robots.actions import DropAction as DropAction
    from fleet_sim.robots.actions import DropPhase as DropPhase
    from fleet_sim.robots.actions import FollowAction as FollowAction
    from fleet_sim.robots.actions import JointAction as JointAction
    from fleet_sim.robots.actions import JointTrajectoryAction as JointTrajectoryAction
    from fleet_sim.robots.actions import MoveAction as MoveAction
    from fleet_sim.robots.actions import MoveTo as MoveTo
    from fleet_sim.robots.actions import Pick as Pick
    from fleet_sim.robots.actions import PickAction as PickAction
    from fleet_sim.robots.actions import PickPhase as PickPhase
    from fleet_sim.robots.actions import PoseAction as PoseAction
    from fleet_sim.robots.actions import TeleopAction as TeleopAction
    from fleet_sim.robots.actions import TourAction as TourAction
    from fleet_sim.robots.actions import TrajectoryCause as TrajectoryCause
    from fleet_sim.robots.actions import TurnAction as TurnAction
    from fleet_sim.robots.actions import Until as Until
    from fleet_sim.robots.actions import Wait as Wait
    from fleet_sim.robots.actions import WaitAction as WaitAction
    from fleet_sim.robots.actions import describe_action as describe_action
    from fleet_sim.robots.actions import parse_action_goal as parse_action_goal
    from fleet_sim.robots.actions import register_action as register_action
    from fleet_sim.robots.agent import Agent as Agent
    from fleet_sim.robots.agent import AgentPlugin as AgentPlugin
    from fleet_sim.robots.agent import resolve_joint_index as resolve_joint_index
    from fleet_sim.robots.agent import resolve_link_index as resolve_link_index
    from fleet_sim.robots.dispatch import FleetCommandDispatcher as FleetCommandDispatcher
    from fleet_sim.robots.manager import AgentManager as AgentManager
    from fleet_sim.robots.manager import SimObjectManager as SimObjectManager
    from fleet_sim.robots.motion.goal_controllers import AgentController as AgentController
    from fleet_sim.robots.motion.goal_controllers import GoalController as GoalController
    from fleet_sim.robots.motion.goal_controllers import Patrol as Patrol
    from fleet_sim.robots.motion.goal_controllers import RandomWalk as RandomWalk
    from fleet_sim.robots.motion.goal_controllers import create_controller as create_controller
    from fleet_sim.robots.motion.goal_controllers import list_controllers as list_controllers
    from fleet_sim.robots.motion.goal_controllers import register_controller as register_controller
    from fleet_sim.robots.motion.laws import MotionLaw as MotionLaw
    from fleet_sim.robots.motion.laws import register_motion_law as register_motion_law
    from fleet_sim.robots.sim_object import SimObject as SimObject
    from fleet_sim.robots.spawn_params import AgentSpawnParams as AgentSpawnParams
    from fleet_sim.robots.spawn_params import ControllerParams as ControllerParams
    from fleet_sim.robots.spawn_params import MotorParams as MotorParams
    from fleet_sim.robots.spawn_params import ShapeParams as ShapeParams
    from fleet_sim.robots.spawn_params import SimObjectSpawnParams as SimObjectSpawnParams
    from fleet_sim.robots.spawning import GridSpawnParams as GridSpawnParams
    from fleet_sim.sensing.collision.contacts import NearPoint as NearPoint
    from fleet_sim.sensing.queries import Near as Near
    from fleet_sim.sensing.queries import RayHits as RayHits
    from fleet_sim.sensing.queries import SpatialQueries as SpatialQueries
    from fleet_sim.sensing.sensors import Batch as Batch
    from fleet_sim.sensing.sensors import CameraReading as CameraReading
    from fleet_sim.sensing.sensors import CameraSensorParams as CameraSensorParams
    from fleet_sim.sensing.sensors import ContactParams as ContactParams
    from fleet_sim.sensing.sensors import ForceTorqueParams as ForceTorqueParams
    from fleet_sim.sensing.sensors import ImuParams as ImuParams
    from fleet_sim.sensing.sensors import Lidar3dParams as Lidar3dParams
    from fleet_sim.sensing.sensors import LidarParams as LidarParams
    from fleet_sim.sensing.sensors import OccupancyGrid as OccupancyGrid
    from fleet_sim.sensing.sensors import OdometryParams as OdometryParams
    from fleet_sim.sensing.sensors import RangeParams as RangeParams
    from fleet_sim.sensing.sensors import Reading as Reading
    from fleet_sim.sensing.sensors import Sensor as Sensor
    from fleet_sim.sensing.sensors import SensorKind as SensorKind
    from fleet_sim.sensing.sensors import SensorParams as SensorParams
    from fleet_sim.sensing.sensors import draw_scans as draw_scans
    from fleet_sim.sensing.sensors import list_sensors as list_sensors
    from fleet_sim.sensing.sensors import occupancy_grid as occupancy_grid
    from fleet_sim.sensing.sensors import register_sensor as register_sensor
    from fleet_sim.simulation import MultiRobotSimulationCore as MultiRobotSimulationCore
    from fleet_sim.swarm.world import RectangularWorld as RectangularWorld
    from fleet_sim.swarm.world import World_from_config as World_from_config
    from fleet_sim.world.checkpoint import Checkpoint as Checkpoint
    from fleet_sim.world.commands import Attach as Attach
    from fleet_sim.world.commands import Call as Call
    from fleet_sim.world.commands import CancelActions as CancelActions
    from fleet_sim.world.commands import Clear as Clear
    from fleet_sim.world.commands import Command as Command
    from fleet_sim.world.commands import CommandAck as CommandAck
    from fleet_sim.world.commands import ExecuteAction as ExecuteAction
    from fleet_sim.world.commands import FinishActions as FinishActions
    from fleet_sim.world.commands import FollowPath as FollowPath
    from fleet_sim.world.commands import Navigate as Navigate
    from fleet_sim.world.commands import Remove as Remove
    from fleet_sim.world.commands import Reset as Reset
    from fleet_sim.world.commands import RestoreState as RestoreState
    from fleet_sim.world.commands import SaveState as SaveState
    from fleet_sim.world.commands import SetJoints as SetJoints
    from fleet_sim.world.commands import SetPoses as SetPoses
    from fleet_sim.world.commands import SetVelocity as SetVelocity
    from fleet_sim.world.commands import Spawn as Spawn
    from fleet_sim.world.commands import Stop as Stop
    from fleet_sim.world.inbox import CommandLog as CommandLog
    from fleet_sim.world.inbox import LoggedCommand as LoggedCommand
    from fleet_sim.world.inbox import record_commands as record_commands
    from fleet_sim.world.inbox import replay_commands as replay_commands
    from fleet_sim.world.pipeline import Phase as Phase
    from fleet_sim.world.pipeline import System as System
    from fleet_sim.world.schema import LogLevelManager as LogLevelManager
    from fleet_sim.world.shapes import RobotModel as RobotModel
    from fleet_sim.world.snapshot import Snapshot as Snapshot
    from fleet_sim.world.world import World as World
else:
    __all__, __getattr__, __dir__ = lazy(globals())
