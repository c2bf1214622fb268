"""Arguments that `ros2 bag record` and `ros2 bag play` have in common."""

from __future__ import annotations

import argparse

from ..rclpy.logging import LoggingSeverity
from ..rclpy.node import Node
from .verbs import refuse

_LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
STORED = "a full ROS 2 hands it to its storage plugin"


def add_bag_arguments(parser: argparse.ArgumentParser, node_name: str) -> None:
    """Add the arguments of a node that records or plays."""
    flag = parser.add_argument
    flag("--disable-keyboard-controls", action="store_true", help="Accepted; there are none")
    flag("--qos-profile-overrides-path", metavar="FILE", help="YAML file with the QoS profiles of topics")
    flag("--node-name", default=node_name, help="Name of the node")
    flag("--log-level", choices=_LOG_LEVELS, default="info", help="Logging level (default: info)")
    refuse(parser, "--storage-config-file", reason=STORED, takes_value=True)


def set_log_level(node: Node, args: argparse.Namespace) -> None:
    """Let the node log from `--log-level` on."""
    node.get_logger().set_level(LoggingSeverity[args.log_level.upper()])
