"""Launch a real Nav2 for robots of ours: `ros2 launch fleet_sim nav2.launch.py drive:=robot_0,robot_1`."""

from launch.actions import OpaqueFunction
from launch.substitutions import LaunchConfiguration

from fleet_sim.ros.launching import GUI, RTF, Argument, beside, simulation_launch
from fleet_sim.warehouse.nav2.launching import nav2_nodes, robot_names

TITLE = "fleet_sim and Nav2: try in a second terminal:"

ARGUMENTS = [
    Argument("config", "nav2_stack.yaml", "A scenario: a YAML file, or the name of a shipped one."),
    Argument("drive", "robot_0,robot_1", "Names of the robots that get a Nav2 of their own, with commas."),
    Argument("radius", "0.2", "Radius of these robots in m, for their costmaps."),
    RTF,
    GUI,
]

COMMANDS = (
    "ros2 action send_goal --feedback /robot_0/navigate_to_pose nav2_msgs/action/NavigateToPose "
    '"{pose: {header: {frame_id: map}, pose: {position: {x: 20.0, y: 10.0}}}}"',
    "ros2 topic echo /robot_0/plan --once",
)


def _nav2(context):
    """Return the nodes of Nav2; raises RuntimeError where it is not installed, before anything is started."""
    robots = robot_names(LaunchConfiguration("drive").perform(context))
    return nav2_nodes(robots, float(LaunchConfiguration("radius").perform(context)))


def generate_launch_description():
    """Return the simulation and a Nav2 for each robot, and RViz if `rviz` is true."""
    description = simulation_launch(ARGUMENTS, (TITLE, *COMMANDS), rviz_config=beside(__file__, "rviz", "nav2.rviz"))
    # After the arguments and before the simulation: without Nav2 nothing is left running.
    place = next(i for i, entity in enumerate(description.entities) if isinstance(entity, OpaqueFunction))
    description.entities.insert(place, OpaqueFunction(function=_nav2))
    return description
