"""Launch a fleet: `ros2 launch fleet_sim fleet.launch.py robots:=20`."""

from fleet_sim.ros.launching import NAMESPACE, NS, RTF, Argument, beside, simulation_launch

ARGUMENTS = [
    Argument("robots", "5", "Number of simple robots to spawn (robot_0, robot_1, ...)."),
    Argument(
        "config", "", "A scenario: a YAML file, or the name of a shipped one. Its robots are spawned in addition."
    ),
    RTF,
    NAMESPACE,
]

TRY = (
    "fleet_sim: try in a second terminal:",
    "ros2 topic list",
    f"ros2 topic echo {NS}/robot_0/odom --once",
    f'ros2 topic pub -r 10 {NS}/robot_0/cmd_vel geometry_msgs/msg/Twist "{{linear: {{x: 0.5}}, angular: {{z: 0.5}}}}"',
    f"ros2 action send_goal --feedback {NS}/robot_1/move_to fleet_sim_msgs/action/MoveTo "
    '"{pose: {pose: {position: {x: 4.0}}}}"',
    f"ros2 service call {NS}/sim/pause std_srvs/srv/Trigger",
)


def generate_launch_description():
    """Return the node, and RViz if `rviz` is true."""
    config = beside(__file__, "rviz", "fleet.rviz")
    return simulation_launch(ARGUMENTS, TRY, rviz_config=config, rviz_robot="robot_0")
