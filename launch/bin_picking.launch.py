"""Launch a panda between two bins: `ros2 launch fleet_sim bin_picking.launch.py rviz:=true`."""

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
    ("config", "bin_picking.yaml", "A scenario with an arm and bins: a YAML file, or a shipped one."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("gui", "false", "Open a window."),
    ("rviz", "false", "Open RViz, where it is installed."),
]

COMMANDS = (
    "python3 examples/bin_picker.py",
    "ros2 topic echo /panda/joint_states --once",
    "ros2 topic hz /bin_camera/image_raw",
    "ros2 action send_goal /panda/execute fleet_sim_msgs/action/Execute "
    """'{action: joint, parameters: "{\\"target_joint_positions\\": {\\"panda_joint1\\": 0.5}}"}'""",
)
"""What to try: empty the bin through ROS alone, look at joints and pictures, turn the arm."""


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
    lines = "\n  ".join(("fleet_sim bin picking: try in a second terminal:", *COMMANDS))
    return LaunchDescription([*declared, LogInfo(msg=lines), simulation, rviz])
