"""Launch the warehouse and its small fleet manager: `ros2 launch fleet_sim warehouse.launch.py`."""

import sys
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# In a checkout and in share/fleet_sim alike, the examples are beside the launch files.
CLIENT = Path(__file__).resolve().parents[1] / "examples" / "warehouse_client.py"

ARGUMENTS = [
    ("config", "warehouse.yaml", "A scenario with pallet_*, west_* and east_*: a YAML file, or a shipped one."),
    ("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible."),
    ("gui", "false", "Open a window."),
]

TRY = """fleet_sim warehouse: robots carry pallets between the sides of the hall. Try in a second terminal:
  ros2 topic echo /fleet/states --once
  ros2 topic echo /carrier_0/odom --once
  ros2 action send_goal --feedback /carrier_0/move_to fleet_sim_msgs/action/MoveTo \
"{pose: {pose: {position: {x: 2.0, y: -19.0}, orientation: {w: 1.0}}}}"
  ros2 service call /sim/pause std_srvs/srv/Trigger
  ros2 service call /sim/resume std_srvs/srv/Trigger"""


def generate_launch_description():
    """Return the node and the client."""
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
    client = ExecuteProcess(cmd=[sys.executable, str(CLIENT)], output="screen")
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS
    ]
    return LaunchDescription([*declared, LogInfo(msg=TRY), simulation, client])
