"""Launch a mobile manipulator before a shelf: `ros2 launch fleet_sim mobile_manipulator.launch.py rviz:=true`."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# In a checkout and in share/fleet_sim alike, the RViz files are beside the launch files.
RVIZ = Path(__file__).resolve().parents[1] / "rviz" / "mobile_manipulator.rviz"

ARGUMENTS = [
    ("config", "mobile_manipulator.yaml", "A scenario with a mobile manipulator: a YAML file, or a shipped one."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("gui", "false", "Open a window."),
    ("rviz", "false", "Open RViz, where it is installed."),
]

COMMANDS = (
    "ros2 action send_goal /mm/move_to fleet_sim_msgs/action/MoveTo "
    '"{pose: {pose: {position: {x: 1.5}, orientation: {w: 1.0}}}}"',
    "ros2 action send_goal /mm/pick fleet_sim_msgs/action/Pick "
    '"{object: parcel_1, use_arm: true, ee_link: tcp_link, approach_offset: 1.3, pick_offset: 0.8}"',
    "ros2 action send_goal /mm/drop fleet_sim_msgs/action/Drop "
    '"{pose: {pose: {position: {x: 0.0, y: 2.85, z: 0.752}, orientation: {w: 1.0}}}, '
    'use_arm: true, ee_link: tcp_link, approach_offset: 1.3, drop_offset: 0.75}"',
    "ros2 run tf2_ros tf2_echo map mm/tcp_link",
)
"""What to try, in this order: to the shelf, take a parcel with the arm, bring it to the station."""


def generate_launch_description():
    """Return the node, and RViz where it is asked for."""
    values = {name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}
    simulation = Node(
        package="fleet_sim",
        executable="fleet_sim_node",
        output="screen",
        parameters=[
            {
                "config": ParameterValue(values["config"], value_type=str),
                "target_rtf": ParameterValue(values["rtf"], value_type=float),
                "gui": ParameterValue(values["gui"], value_type=bool),
            }
        ],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", str(RVIZ)],
        parameters=[{"use_sim_time": True}],
        condition=IfCondition(values["rviz"]),
    )
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    lines = "\n  ".join(("fleet_sim mobile manipulator: try in a second terminal, one after the other:", *COMMANDS))
    return LaunchDescription([*declared, LogInfo(msg=lines), simulation, rviz])
