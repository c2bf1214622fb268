"""Launch robots with sensors in a hall: `ros2 launch fleet_sim sensors.launch.py rviz:=true`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

ARGUMENTS = [
    ("config", "sensors.yaml", "A scenario: a YAML file, or the name of a shipped one."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("rviz", "false", "Show scans, points, ranges and the map in RViz."),
]

TRY = """fleet_sim sensors: what nobody listens to is not measured. Try in a second terminal:
  ros2 topic echo /scout/scan --once --qos-profile sensor_data
  ros2 topic hz /mapper/points
  ros2 topic echo /scout/imu --once --qos-profile sensor_data
  ros2 topic echo /carrier/contacts --qos-profile sensor_data
  ros2 topic echo /map --once --qos-durability transient_local --no-arr
  ros2 action send_goal /mapper/move_to fleet_sim_msgs/action/MoveTo "{pose: {pose: {position: {x: 5.5, y: -4.0}}}}\""""


def generate_launch_description():
    """Return the node, and RViz where asked for."""
    values = {name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}
    simulation = Node(
        package="fleet_sim",
        executable="fleet_sim_node",
        output="screen",
        parameters=[
            {
                "config": ParameterValue(values["config"], value_type=str),
                "target_rtf": ParameterValue(values["rtf"], value_type=float),
            }
        ],
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", PathJoinSubstitution([FindPackageShare("fleet_sim"), "rviz", "sensors.rviz"])],
        parameters=[{"use_sim_time": True}],
        condition=IfCondition(values["rviz"]),
    )
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, LogInfo(msg=TRY), simulation, rviz])
