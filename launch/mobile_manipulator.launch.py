"""Launch a mobile manipulator in front of a shelf: `ros2 launch fleet_sim mobile_manipulator.launch.py rviz:=true`."""

from fleet_sim.ros.launching import GUI, RTF, Argument, beside, simulation_launch

CONFIG_TEXT = "A scenario with a mobile manipulator: a YAML file, or a shipped one."
TITLE = "fleet_sim mobile manipulator: try in a second terminal, one after the other:"

ARGUMENTS = [Argument("config", "mobile_manipulator.yaml", CONFIG_TEXT), RTF, GUI]

# The order matters: drive to the shelf, pick a parcel with the arm, deliver it to the station.
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


def generate_launch_description():
    """Return the node, and RViz if `rviz` is true."""
    return simulation_launch(
        ARGUMENTS, (TITLE, *COMMANDS), rviz_config=beside(__file__, "rviz", "mobile_manipulator.rviz")
    )
