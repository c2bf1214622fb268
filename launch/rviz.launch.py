"""Look at a running simulation in RViz: `ros2 launch fleet_sim rviz.launch.py robot:=robot_3`."""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# In a checkout and in share/fleet_sim alike, the RViz files are beside the launch files.
CONFIG = Path(__file__).resolve().parents[1] / "rviz" / "fleet.rviz"

ARGUMENTS = [
    ("robot", "robot_0", "The robot whose plan is shown, and that drives to the goals set with the mouse."),
    ("namespace", "", "That of the simulation, as given to fleet.launch.py."),
    ("rviz_config", str(CONFIG), "An RViz configuration."),
    ("use_sim_time", "true", "Go by the time of the simulation."),
]

TRY = """fleet_sim in RViz: try
  2D Goal Pose, then press and drag on the ground: {robot} drives there
  Add > By topic: {prefix}/{robot}/odom, /tf, {prefix}/{robot}/plan
  ros2 launch fleet_sim rviz.launch.py robot:=<name>, for another robot"""

MISSING = (
    "rviz2 is not installed here: no package of that name is in the sourced ROS 2. "
    "Install it (on Ubuntu: sudo apt install ros-$ROS_DISTRO-rviz2) and source ROS 2 again, or start it on another "
    "machine of this network. Without a window: ros2 topic echo /fleet/states, or make demo for a picture"
)


def rviz(context):
    """Return RViz, connected to the simulation; raises RuntimeError where there is none."""
    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError as error:
        raise RuntimeError(MISSING) from error
    values = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    prefix = "/" + values["namespace"].strip("/") if values["namespace"].strip("/") else ""
    moved = {
        "/fleet/markers": f"{prefix}/fleet/markers",
        "/robot_0/plan": f"{prefix}/{values['robot']}/plan",
        "/robot_0/goal_pose": f"{prefix}/{values['robot']}/goal_pose",
    }
    node = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", values["rviz_config"]],
        parameters=[{"use_sim_time": values["use_sim_time"].lower() == "true"}],
        remappings=[(topic, name) for topic, name in moved.items() if topic != name],
        output="screen",
    )
    return [LogInfo(msg=TRY.format(prefix=prefix, robot=values["robot"])), node]


def generate_launch_description():
    """Return RViz."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=rviz)])
