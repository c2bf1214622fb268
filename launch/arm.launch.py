"""Launch two arms and some cubes: `ros2 launch fleet_sim arm.launch.py rviz:=true`."""

from fleet_sim.ros.launching import GUI, RTF, Argument, beside, simulation_launch

TITLE = "fleet_sim arms: try in a second terminal, one after the other:"

ARGUMENTS = [Argument("config", "arm.yaml", "A scenario with arms: a YAML file, or a shipped one."), RTF, GUI]

# Pick a cube, drop it elsewhere, move the hand to a position, move a joint.
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


def generate_launch_description():
    """Return the node, and RViz if `rviz` is true."""
    return simulation_launch(ARGUMENTS, (TITLE, *COMMANDS), rviz_config=beside(__file__, "rviz", "arm.rviz"))
