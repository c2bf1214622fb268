"""The common parts of fleet_sim's launch files: arguments, the node, RViz, and commands to try.

It can be used for your own launch files: a file in `launch/` only has to return `simulation_launch(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from fleet_sim.base.errors import closest


class Argument(NamedTuple):
    """An argument of a launch file, as `ros2 launch --show-args` lists it."""

    name: str
    default: str
    text: str


RTF = Argument("rtf", "1.0", "Simulated seconds per real second; 0 = as fast as possible.")
GUI = Argument("gui", "false", "Open a window.")
NAMESPACE = Argument("namespace", "", "Namespace of all topics and frames, to run several simulations.")
VIEW = Argument("view", "false", "Show the simulation in the browser; prints the address. Needs the extra view.")
SHOW_RVIZ = Argument("rviz", "false", "Open RViz, if it is installed.")

PARAMETERS: dict[str, tuple[str, type]] = {
    "robots": ("robots", int),
    "config": ("config", str),
    "building": ("config", str),
    "rtf": ("target_rtf", float),
    "gui": ("gui", bool),
    "view": ("view", bool),
}
"""The parameters of the node, by the arguments that set them."""

NS = "{ns}"
"""Placeholder for the namespace in commands to try. Other braces are not replaced: messages contain many."""

RVIZ_TRY = """fleet_sim in RViz: try
  2D Goal Pose, then press and drag on the ground: {robot} drives there
  Add > By topic: {prefix}/{robot}/odom, /tf, {prefix}/{robot}/plan
  ros2 launch fleet_sim rviz.launch.py robot:=<name>, for another robot"""

MISSING = (
    "rviz2 is not installed here: no package of that name is in the sourced ROS 2. "
    "Install it (on Ubuntu: sudo apt install ros-$ROS_DISTRO-rviz2) and source ROS 2 again, or start it on another "
    "machine of this network. Without a window: ros2 topic echo /fleet/states, or make demo for a picture"
)


def beside(launch_file: str, folder: str, name: str) -> Path:
    """Return a file in a folder next to that of a launch file; checkout and share/fleet_sim have the same layout."""
    return Path(launch_file).resolve().parents[1] / folder / name


def declared(arguments: Sequence[Argument]) -> list[DeclareLaunchArgument]:
    """Return the actions that declare `arguments`."""
    return [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in arguments]


def simulation_launch(
    arguments: Sequence[Argument],
    to_try: Sequence[str],
    *,
    rviz_config: Path,
    rviz_robot: str = "",
    more: Sequence[Any] = (),
) -> LaunchDescription:
    """Return a launch of the node with `arguments`, and of `more` after it.

    Every launch has the arguments `view`, for the page in the browser, and `rviz`, which shows `rviz_config` for the
    robot `rviz_robot`, see `rviz_window`. The lines `to_try` are printed, the first as a title; NS in them becomes the
    namespace.
    """
    arguments = [*arguments, VIEW]
    values = {argument.name: LaunchConfiguration(argument.name) for argument in arguments}
    # In both: an argument without a parameter is for the launch file itself.
    chosen = {PARAMETERS[name][0]: (values[name], PARAMETERS[name][1]) for name in values.keys() & PARAMETERS.keys()}
    simulation = Node(
        package="fleet_sim",
        executable="fleet_sim_node",
        namespace=values.get("namespace", ""),
        output="screen",
        parameters=[{name: ParameterValue(value, value_type=kind) for name, (value, kind) in chosen.items()}],
    )
    rviz = OpaqueFunction(
        function=partial(_rviz_beside, str(rviz_config), rviz_robot),
        # Evaluated when launched: only then is it known whether RViz is wanted.
        condition=IfCondition(LaunchConfiguration(SHOW_RVIZ.name)),
    )
    # RViz comes first: if it is not installed, nothing else is started.
    others = [one.name for one in more if isinstance(one, DeclareLaunchArgument)]
    tips = OpaqueFunction(function=partial(_say, to_try, [*values, SHOW_RVIZ.name, *others]))
    end = RegisterEventHandler(OnProcessExit(target_action=simulation, on_exit=_end_with_error))
    return LaunchDescription([*declared([*arguments, SHOW_RVIZ]), rviz, tips, end, simulation, *more])


def _end_with_error(event: ProcessExited, context: LaunchContext) -> None:
    """End the launch with an exit code that is not 0 where the node has not ended well: what is raised here does so."""
    if event.returncode and not context.is_shutdown:
        raise RuntimeError(f"{event.process_name} ended with exit code {event.returncode}")


def rviz_window(config: str, *, prefix: str = "", robot: str = "", use_sim_time: bool = True) -> list[Any]:
    """Return RViz with a configuration, connected to the simulation in the namespace `prefix`, "" or "/left".

    With `robot`, a configuration made for robot_0 shows and drives that robot, and commands to try are printed. Raises
    RuntimeError if RViz is not installed.
    """
    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError as error:
        raise RuntimeError(MISSING) from error
    # The configuration is written for robot_0 without a namespace; remapping saves a file per robot.
    moved = {
        "/clock": f"{prefix}/clock",
        "/fleet/markers": f"{prefix}/fleet/markers",
        "/robot_0/plan": f"{prefix}/{robot or 'robot_0'}/plan",
        "/robot_0/goal_pose": f"{prefix}/{robot or 'robot_0'}/goal_pose",
    }
    window = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", config],
        parameters=[{"use_sim_time": use_sim_time}],
        # Remapping a name to itself would be noise in `ros2 node info`.
        remappings=[(topic, name) for topic, name in moved.items() if topic != name],
        output="screen",
    )
    return [LogInfo(msg=RVIZ_TRY.format(prefix=prefix, robot=robot)), window] if robot else [window]


def prefix_of(namespace: str) -> str:
    """Return a namespace as a prefix of topics: "" or "/left"."""
    name = namespace.strip("/")
    return f"/{name}" if name else ""


def _prefix(context: LaunchContext) -> str:
    return prefix_of(context.launch_configurations.get(NAMESPACE.name, ""))


def misspelled(given: Collection[str], declared: Collection[str]) -> list[str]:
    """Return a warning for each argument that is not declared and looks like one that is."""
    # Others may belong to a launch file that includes this one.
    close = {name: closest(name, declared) for name in given if name not in declared}
    return [f"there is no argument {name!r}; did you mean {known!r}?" for name, known in close.items() if known]


def _say(lines: Sequence[str], declared: list[str], context: LaunchContext) -> list[LogInfo]:
    given = context.launch_configurations
    tips = "\n  ".join(lines_to_try(lines, _prefix(context), given.get("robots", "")))
    return [*(LogInfo(msg=f"warning: {text}") for text in misspelled(given, declared)), LogInfo(msg=tips)]


def lines_to_try(lines: Sequence[str], prefix: str, robots: str) -> list[str]:
    """Return `lines` with NS replaced, without those for a simple robot that is not among the first `robots`.

    `robots` is an argument of the launch; where it is not a number, all lines are kept.
    """
    count = int(robots) if robots.isdecimal() else None
    kept = []
    for line in lines:
        named = re.search(r"/robot_(\d+)/", line)
        if named is None or count is None or int(named[1]) < count:
            # Only known placeholders are replaced: `format` would stumble over the braces of messages.
            kept.append(line.replace(NS, prefix))
    return kept


def _rviz_beside(config: str, robot: str, context: LaunchContext) -> list[Any]:
    return rviz_window(config, prefix=_prefix(context), robot=robot)
