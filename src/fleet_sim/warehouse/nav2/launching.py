"""A real Nav2 for robots of ours: its nodes and parameters, for launch files.

Frames and topics are ours: the map and the transforms that the simulation publishes, `<robot>/odom`, `<robot>/scan`,
`<robot>/cmd_vel`. There is no AMCL, as the simulation publishes the transform from the map.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch_ros.actions import Node

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.world.commands import is_ros_name

SERVERS = {
    "controller_server": "nav2_controller",
    "planner_server": "nav2_planner",
    "behavior_server": "nav2_behaviors",
    "bt_navigator": "nav2_bt_navigator",
    "waypoint_follower": "nav2_waypoint_follower",
}
"""The nodes of each robot, which are also the names of the programs, and their packages."""
MANAGER = "nav2_lifecycle_manager"
MISSING = (
    "Nav2 is not installed here: the sourced ROS 2 has no package {names}. Install it (on Ubuntu: sudo apt install "
    "ros-$ROS_DISTRO-navigation2) and source ROS 2 again. Without it, robots answer Nav2's clients themselves: "
    "ros2 launch fleet_sim fleet.launch.py config:=nav2.yaml robots:=0"
)
SPEED, TURN = 0.8, 2.0
"""Wanted speeds in m/s and rad/s."""


def robot_names(text: str) -> list[str]:
    """Return the names in a list with commas; raises InvalidValueError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if not is_ros_name(name)]
    if not names or wrong:
        raise InvalidValueError(f"drive: expected names of robots, such as robot_0,robot_1; got {text!r}")
    # Each robot once, in the order given.
    return list(dict.fromkeys(names))


def nav2_nodes(robots: Sequence[str], radius: float) -> list[Any]:
    """Return the nodes of a Nav2 for each of `robots`, of `radius` m; raises RuntimeError where it is not installed."""
    missing = [name for name in (*SERVERS.values(), MANAGER) if not _is_installed(name)]
    if missing:
        raise RuntimeError(MISSING.format(names=", ".join(missing)))
    nodes = []
    for robot in robots:
        # Not deleted: the nodes read it after this function has returned.
        with tempfile.NamedTemporaryFile("w", prefix=f"nav2_{robot}_", suffix=".yaml", delete=False) as file:
            yaml.safe_dump(parameters(robot, radius), file)
        for name, package in (*SERVERS.items(), ("lifecycle_manager_navigation", MANAGER)):
            program = "lifecycle_manager" if package == MANAGER else name
            nodes.append(
                Node(
                    package=package,
                    executable=program,
                    name=name,
                    namespace=robot,
                    parameters=[file.name],
                    output="screen",
                )
            )
    return nodes


def parameters(robot: str, radius: float) -> dict[str, Any]:
    """Return the parameters of all nodes of a robot's Nav2, as a parameter file has them."""
    base, odom = f"{robot}/base_link", f"{robot}/odom"
    own = {
        "controller_server": _controller(),
        "planner_server": {
            "planner_plugins": ["GridBased"],
            "GridBased": {"plugin": "nav2_navfn_planner::NavfnPlanner", "tolerance": 0.3, "use_astar": True},
        },
        "behavior_server": {
            "behavior_plugins": ["spin", "backup", "drive_on_heading", "wait"],
            "spin": {"plugin": "nav2_behaviors::Spin"},
            "backup": {"plugin": "nav2_behaviors::BackUp"},
            "drive_on_heading": {"plugin": "nav2_behaviors::DriveOnHeading"},
            "wait": {"plugin": "nav2_behaviors::Wait"},
            "local_frame": odom,
            "global_frame": "map",
            "robot_base_frame": base,
            "enable_stamped_cmd_vel": False,
        },
        "bt_navigator": {"global_frame": "map", "robot_base_frame": base, "odom_topic": "odom"},
        "waypoint_follower": {"stop_on_failure": False},
        "lifecycle_manager_navigation": {"autostart": True, "node_names": list(SERVERS)},
        "local_costmap/local_costmap": _costmap(robot, odom, radius, rolling=True),
        "global_costmap/global_costmap": _costmap(robot, "map", radius, rolling=False),
    }
    return {f"/{robot}/{name}": {"ros__parameters": {"use_sim_time": True, **values}} for name, values in own.items()}


def _controller() -> dict[str, Any]:
    """Return the parameters of the controller server."""
    return {
        "controller_frequency": 20.0,
        "odom_topic": "odom",
        # The simulation takes Twist unless its scenario says otherwise.
        "enable_stamped_cmd_vel": False,
        "progress_checker_plugins": ["progress_checker"],
        "progress_checker": {
            "plugin": "nav2_controller::SimpleProgressChecker",
            "required_movement_radius": 0.3,
            "movement_time_allowance": 15.0,
        },
        "goal_checker_plugins": ["general_goal_checker"],
        "general_goal_checker": {
            "plugin": "nav2_controller::SimpleGoalChecker",
            "xy_goal_tolerance": 0.15,
            "yaw_goal_tolerance": 0.2,
        },
        "controller_plugins": ["FollowPath"],
        "FollowPath": {
            "plugin": "nav2_regulated_pure_pursuit_controller::RegulatedPurePursuitController",
            "desired_linear_vel": SPEED,
            "rotate_to_heading_angular_vel": TURN,
            "use_collision_detection": True,
        },
    }


def _costmap(robot: str, frame: str, radius: float, *, rolling: bool) -> dict[str, Any]:
    """Return the parameters of a costmap: a `rolling` one around the robot, or one of the whole map."""
    values: dict[str, Any] = {
        "global_frame": frame,
        "robot_base_frame": f"{robot}/base_link",
        "robot_radius": radius,
        "resolution": 0.05,
        # The local one goes with the robot, the global one is of the whole map.
        "rolling_window": rolling,
        "plugins": [*([] if rolling else ["static_layer"]), "obstacle_layer", "inflation_layer"],
        "obstacle_layer": {
            "plugin": "nav2_costmap_2d::ObstacleLayer",
            "observation_sources": "scan",
            "scan": {"topic": f"/{robot}/scan", "data_type": "LaserScan", "clearing": True, "marking": True},
        },
        "inflation_layer": {
            "plugin": "nav2_costmap_2d::InflationLayer",
            "inflation_radius": 0.55,
            "cost_scaling_factor": 3.0,
        },
        "always_send_full_costmap": True,
    }
    if rolling:
        return {**values, "width": 3, "height": 3}
    layer = {"plugin": "nav2_costmap_2d::StaticLayer", "map_topic": "/map", "map_subscribe_transient_local": True}
    return {**values, "static_layer": layer}


def _is_installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True
