"""fleet_sim: simulate fleets of robots, thousands at a time, with or without ROS 2.

Everything public is importable from here; each name is loaded at its first use, so `import fleet_sim` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "actions": (
        "Action Drop DropAction DropPhase JointAction JointTrajectoryAction MoveAction MoveTo Pick PickAction "
        "PickPhase PoseAction TrajectoryCause Until Wait WaitAction describe_action parse_action_goal "
        "register_action"
    ),
    "core.checkpoint": "Checkpoint",
    "core.command_log": "CommandLog LoggedCommand record_commands replay_commands",
    "core.commands": (
        "Attach CancelActions Call Clear Command CommandAck ExecuteAction FollowPath Navigate Remove Reset "
        "RestoreState SaveState SetJoints SetPoses SetVelocity Spawn Stop"
    ),
    "core.log_level": "LogLevelManager",
    "core.pipeline": "Phase System",
    "core.plugins": "AgentPlugin SimPlugin",
    "core.robot_model": "RobotModel",
    "core.snapshot": "Snapshot",
    "core.world": "World",
    "entities.agent": "Agent",
    "entities.agent_manager": "AgentManager",
    "entities.dispatch": "FleetCommandDispatcher",
    "entities.grid": "GridSpawnParams",
    "entities.manager": "SimObjectManager",
    "entities.shape_params": "ShapeParams",
    "entities.sim_object": "SimObject",
    "entities.spawn_params": "AgentSpawnParams ControllerParams SimObjectSpawnParams",
    "errors": (
        "ConfigError DuplicateNameError FleetSimError InvalidValueError MissingDependencyError StaleHandleError "
        "StateError UnknownNameError"
    ),
    "geometry": "Path Pose",
    "models": (
        "KNOWN_MODELS MeshLimits ModelEntry RobotProfile add_search_path auto_detect_profile detect_robot_type "
        "discover_models get_search_paths list_all_models load_robot_model register_model remove_search_path "
        "resolve_model resolve_urdf unregister_model"
    ),
    "kinematics.params": "IKParams",
    "config.modes": (
        "ActionCause ActionStatus CollisionDetectionMethod CollisionMode ControllerMode MotionMode MovementDirection "
        "PosePhase SpatialHashCellSizeMode"
    ),
    "monitor": "DataMonitor MonitorFigures TerminalMonitor",
    "motion.controller": "AgentController",
    "motion.controllers": ("GoalController Patrol RandomWalk create_controller list_controllers register_controller"),
    "motion.law": "MotionLaw",
    "motion.laws": "register_motion_law",
    "config.params": "SimulationParams",
    "facade.pacing": "RunReport",
    "sensors": (
        "Batch CameraReading CameraSensorParams ContactParams ImuParams Lidar3dParams LidarParams OccupancyGrid "
        "OdometryParams RangeParams Reading Sensor SensorKind SensorParams draw_scans list_sensors occupancy_grid "
        "register_sensor"
    ),
    "simulation": "MultiRobotSimulationCore",
    "swarm.world": "RectangularWorld World_from_config",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
