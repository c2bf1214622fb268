"""The arguments of `fleet_sim_node`: options of its own, and parameters that do not exist."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import pairwise

from rclpy.utilities import remove_ros_args


def with_flags(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` with the options of this program as parameters; ends the process where there are others.

    An option that is misspelt must not leave open what it was to forbid.
    """
    parser = argparse.ArgumentParser(
        "fleet_sim_node", description="Hosts a simulation of a fleet in ROS 2.", allow_abbrev=False
    )
    parser.add_argument(
        "--read-only", action="store_true", help="as -p read_only:=true: reject everything that would change something"
    )
    parser.add_argument("--no-remote-spawn", action="store_true", help="as -p remote_spawn:=false")
    chosen = parser.parse_args(remove_ros_args(args=list(arguments)))
    ros = [entry for entry in arguments if entry not in ("--read-only", "--no-remote-spawn")]
    parameters = ["read_only:=true"] * chosen.read_only + ["remote_spawn:=false"] * chosen.no_remote_spawn
    return ros + ["--ros-args", *(part for parameter in parameters for part in ("-p", parameter))] * bool(parameters)


def unknown_parameters(arguments: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """Return the parameters given as `-p NAME:=VALUE` that are not known. ROS itself ignores them silently."""
    given = [text for option, text in pairwise(arguments) if option in ("-p", "--param")]
    # A node's name may stand before that of the parameter.
    names = [text.partition(":=")[0].rpartition(":")[2] for text in given if ":=" in text]
    return [name for name in names if not (is_known(name) or name.startswith("qos_overrides."))]
