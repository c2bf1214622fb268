"""Launch a fleet: `ros2 launch fleet_sim fleet.launch.py robots:=20`."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = [
    ("robots", "5", "So many simple robots are spawned, named robot_0, robot_1, ..."),
    ("config", "", "A scenario: a YAML file, or the name of a shipped one. Its robots come in addition."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("namespace", "", "Put before every topic and frame, so that several simulations can run."),
    ("rviz", "false", "Show the fleet in RViz."),
]

TRY = """fleet_sim: try in a second terminal:
  ros2 topic list
  ros2 topic echo {0}/robot_0/odom --once
  ros2 topic pub -r 10 {0}/robot_0/cmd_vel geometry_msgs/msg/Twist "{{linear: {{x: 0.5}}, angular: {{z: 0.5}}}}"
  ros2 action send_goal --feedback {0}/robot_1/move_to fleet_sim_msgs/action/MoveTo \
"{{pose: {{pose: {{position: {{x: 4.0}}}}}}}}"
  ros2 service call {0}/sim/pause std_srvs/srv/Trigger"""


def say_what_to_try(context):
    """Return the first lines, with the topics of this namespace."""
    namespace = LaunchConfiguration("namespace").perform(context).strip("/")
    return [LogInfo(msg=TRY.format("/" + namespace if namespace else ""))]


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
    rviz = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(Path(__file__).with_name("rviz.launch.py"))),
        launch_arguments={"namespace": values["namespace"]}.items(),
        condition=IfCondition(values["rviz"]),
    )
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    # RViz comes first: where it is missing, nothing else is started.
    return LaunchDescription([*declared, rviz, OpaqueFunction(function=say_what_to_try), simulation])
