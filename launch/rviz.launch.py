"""Show a running simulation in RViz: `ros2 launch fleet_sim rviz.launch.py robot:=robot_3`."""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration

from fleet_sim.ros.launching import Argument, beside, declared, prefix_of, rviz_window

ARGUMENTS = [
    Argument("robot", "robot_0", "The robot whose plan is shown, and that gets the goals set with the mouse."),
    Argument("namespace", "", "Namespace of the simulation, as given to fleet.launch.py."),
    Argument("rviz_config", str(beside(__file__, "rviz", "fleet.rviz")), "An RViz configuration."),
    Argument("use_sim_time", "true", "Use simulation time (/clock)."),
]


def rviz(context):
    """Return RViz, connected to the simulation."""
    robot, namespace, config, use_sim_time = (LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS)
    return rviz_window(config, prefix=prefix_of(namespace), robot=robot, use_sim_time=use_sim_time.lower() == "true")


def generate_launch_description():
    """Return RViz."""
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=rviz)])
