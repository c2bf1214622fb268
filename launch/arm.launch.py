"""Launch two arms and some cubes: `ros2 launch fleet_sim arm.launch.py rviz:=true`."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# In a checkout and in share/fleet_sim alike, the RViz files are beside the launch files.
RVIZ = Path(__file__).resolve().parents[1] / "rviz" / "arm.rviz"

ARGUMENTS = [
    ("config", "arm.yaml", "A scenario with arms: a YAML file, or a shipped one."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("gui", "false", "Open a window."),
    ("rviz", "false", "Open RViz, where it is installed."),
]

COMMANDS = (
    "ros2 action send_goal /arm/pick fleet_sim_msgs/action/Pick "
    '"{object: cube_1, use_approach: false, use_arm: true, ee_link: tcp_link}"',
    "ros2 action send_goal /arm/drop fleet_sim_msgs/action/Drop "
    '"{pose: {pose: {position: {x: 0.2, y: 0.5, z: 0.03}, orientation: {w: 1.0}}}, '
    'use_approach: false, use_arm: true, ee_link: tcp_link}"',
    "ros2 action send_goal /arm/execute fleet_sim_msgs/action/Execute "
    """'{action: pose, parameters: "{\\"target_position\\": [0.3, 0.0, 0.6]}"}'""",
    "ros2 action send_goal /rail/execute fleet_sim_msgs/action/Execute "
    """'{action: joint, parameters: "{\\"target_joint_positions\\": {\\"rail_joint\\": 1.0}}"}'""",
    "ros2 run tf2_ros tf2_echo map arm/tcp_link",
)
"""What to try: take a cube, put it down elsewhere, bring the hand to a place, move a joint."""


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
    lines = "\n  ".join(("fleet_sim arms: try in a second terminal, one after the other:", *COMMANDS))
    return LaunchDescription([*declared, LogInfo(msg=lines), simulation, rviz])
