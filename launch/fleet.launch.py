"""Launch a fleet: `ros2 launch fleet_sim fleet.launch.py robots:=20`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = [
    ("robots", "5", "So many simple robots are spawned, named robot_0, robot_1, ..."),
    ("config", "", "A scenario: a YAML file, or the name of a shipped one. Its robots come in addition."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("namespace", "", "Put before every topic and frame, so that several simulations can run."),
    ("rviz", "false", "Show the fleet in RViz."),
]

TRY = """fleet_sim: try in a second terminal:
  ros2 topic list
  ros2 topic echo /robot_0/odom --once
  ros2 topic pub -r 10 /robot_0/cmd_vel geometry_msgs/msg/Twist "{linear: {x: 0.5}, angular: {z: 0.5}}"
  ros2 action send_goal --feedback /robot_1/move_to fleet_sim_msgs/action/MoveTo "{pose: {pose: {position: {x: 4.0}}}}"
  ros2 service call /sim/pause std_srvs/srv/Trigger"""


def generate_launch_description():
    """Return the node, and RViz where asked for."""
    values = {name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}
    simulation = Node(
        package="fleet_sim",
        executable="fleet_sim_node",
        namespace=values["namespace"],
        output="screen",
        parameters=[
            {
                "robots": ParameterValue(values["robots"], value_type=int),
                "config": ParameterValue(values["config"], value_type=str),
                "target_rtf": ParameterValue(values["rtf"], value_type=float),
            }
        ],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([FindPackageShare("fleet_sim"), "rviz", "fleet.rviz"])],
        parameters=[{"use_sim_time": True}],
        condition=IfCondition(values["rviz"]),
    )
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, LogInfo(msg=TRY), simulation, rviz])
