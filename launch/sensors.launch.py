"""Launch robots with sensors in a hall: `ros2 launch fleet_sim sensors.launch.py rviz:=true`."""

from fleet_sim.ros.launching import RTF, Argument, beside, simulation_launch

ARGUMENTS = [Argument("config", "sensors.yaml", "A scenario: a YAML file, or the name of a shipped one."), RTF]

TRY = (
    "fleet_sim sensors: sensors without subscribers are not computed. Try in a second terminal:",
    "ros2 topic echo /scout/scan --once --qos-profile sensor_data",
    "ros2 topic hz /mapper/points",
    "ros2 topic echo /scout/imu --once --qos-profile sensor_data",
    "ros2 topic echo /carrier/contacts --qos-profile sensor_data",
    "ros2 topic echo /map --once --qos-durability transient_local --no-arr",
    "ros2 action send_goal /mapper/move_to fleet_sim_msgs/action/MoveTo "
    '"{pose: {pose: {position: {x: 5.5, y: -4.0}}}}"',
)


def generate_launch_description():
    """Return the node, and RViz with scans, points, ranges and the map if `rviz` is true."""
    return simulation_launch(ARGUMENTS, TRY, rviz_config=beside(__file__, "rviz", "sensors.rviz"))
