"""Launch the warehouse and its small fleet manager: `ros2 launch fleet_sim warehouse.launch.py`."""

import sys

from launch.actions import ExecuteProcess

from fleet_sim.ros.launching import GUI, RTF, Argument, beside, simulation_launch

CONFIG_TEXT = "A scenario with pallet_*, west_* and east_*: a YAML file, or a shipped one."
ARGUMENTS = [Argument("config", "warehouse.yaml", CONFIG_TEXT), RTF, GUI]

TRY = (
    "fleet_sim warehouse: robots carry pallets between the sides of the hall. Try in a second terminal:",
    "ros2 topic echo /fleet/states --once",
    "ros2 topic echo /carrier_0/odom --once",
    "ros2 action send_goal --feedback /carrier_0/move_to fleet_sim_msgs/action/MoveTo "
    '"{pose: {pose: {position: {x: 2.0, y: -19.0}, orientation: {w: 1.0}}}}"',
    "ros2 service call /sim/pause std_srvs/srv/Trigger",
    "ros2 service call /sim/resume std_srvs/srv/Trigger",
)


def generate_launch_description():
    """Return the node, the client, and RViz if `rviz` is true."""
    client = ExecuteProcess(
        cmd=[sys.executable, str(beside(__file__, "examples", "warehouse_client.py"))], output="screen"
    )
    config = beside(__file__, "rviz", "warehouse.rviz")
    return simulation_launch(ARGUMENTS, TRY, rviz_config=config, rviz_robot="carrier_0", more=[client])
