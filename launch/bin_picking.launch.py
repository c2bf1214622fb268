"""Launch a panda between two bins: `ros2 launch fleet_sim bin_picking.launch.py rviz:=true`."""

from fleet_sim.ros.launching import GUI, RTF, Argument, beside, simulation_launch

TITLE = "fleet_sim bin picking: try in a second terminal:"

ARGUMENTS = [
    Argument("config", "bin_picking.yaml", "A scenario with an arm and bins: a YAML file, or a shipped one."),
    RTF,
    GUI,
]

# Empty the bin with ROS interfaces only, read joint states and pictures, turn the arm.
COMMANDS = (
    "python3 examples/bin_picker.py",
    "ros2 topic echo /panda/joint_states --once",
    "ros2 topic hz /bin_camera/image_raw",
    "ros2 action send_goal /panda/execute fleet_sim_msgs/action/Execute "
    """'{action: joint, parameters: "{\\"target_joint_positions\\": {\\"panda_joint1\\": 0.5}}"}'""",
)


def generate_launch_description():
    """Return the node, and RViz if `rviz` is true."""
    return simulation_launch(ARGUMENTS, (TITLE, *COMMANDS), rviz_config=beside(__file__, "rviz", "bin_picking.rviz"))
