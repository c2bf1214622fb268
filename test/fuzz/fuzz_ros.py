"""Targets that come over ROS 2: messages in CDR."""

from __future__ import annotations

from typing import Any

from fuzz_target import Target

from fleet_sim.base.errors import FleetSimError


def message_types() -> list[Any]:
    """Return the types of all messages, requests and goals that the node reads, and some that nest deep."""
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
    from nav_msgs.msg import OccupancyGrid, Path
    from rcl_interfaces.srv import SetParameters
    from sensor_msgs.msg import Image, JointState, LaserScan, PointCloud2
    from tf2_msgs.msg import TFMessage
    from trajectory_msgs.msg import JointTrajectory
    from visualization_msgs.msg import MarkerArray

    from fleet_sim_msgs.action import Drop, Execute, MoveTo, Pick
    from fleet_sim_msgs.msg import FleetCommand, FleetState
    from fleet_sim_msgs.srv import Attach, Delete, SendFleetCommand, Spawn

    messages = [
        Twist,
        TwistStamped,
        PoseStamped,
        Path,
        JointState,
        JointTrajectory,
        TFMessage,
        FleetCommand,
        FleetState,
    ]
    others = [OccupancyGrid, Image, LaserScan, PointCloud2, MarkerArray, DiagnosticArray, SetParameters.Request]
    requests = [kind.Request for kind in (Spawn, Delete, Attach, SendFleetCommand)]
    return messages + others + requests + [kind.Goal for kind in (MoveTo, Pick, Drop, Execute)]


def filled(kind: Any, depth: int = 0) -> Any:
    """Return a message whose lists have two entries and whose texts are not empty."""
    message = kind()
    for name, declared in kind.get_fields_and_field_types().items():
        value = getattr(message, name)
        if declared.startswith("sequence<") and depth < 4:
            inner = declared.removeprefix("sequence<").split(">")[0].split(",")[0]
            setattr(message, name, _entries(inner, depth))
        elif isinstance(value, str):
            setattr(message, name, "robot")
        elif hasattr(value, "get_fields_and_field_types"):
            setattr(message, name, filled(type(value), depth + 1))
    return message


def _entries(inner: str, depth: int) -> list[Any]:
    if "/" not in inner:
        texts = {"string": "r1", "boolean": True, "octet": b"\x01", "byte": b"\x01"}
        value: Any = texts.get(inner, 1.0 if inner in ("float", "double") else 1)
        return [value, value]
    from rosidl_runtime_py.utilities import get_message

    kind = get_message(inner if inner.count("/") == 2 else inner.replace("/", "/msg/"))
    return [filled(kind, depth + 1), kind()]


def cdr_target() -> Target:
    """Return the target of bytes as messages: the first byte chooses the type.

    What is accepted must be the same again after it was written and read.
    """
    from rclpy.serialization import serialize_message

    from fleet_sim.ros.messages import decode

    kinds = message_types()
    seeds = [
        bytes([index]) + bytes(serialize_message(message))
        for index, kind in enumerate(kinds)
        for message in (kind(), filled(kind))
    ]

    def feed(data: bytes) -> None:
        kind = kinds[data[0] % len(kinds) if data else 0]
        message = decode(data[1:], kind)
        written = bytes(serialize_message(message))
        again = bytes(serialize_message(decode(written, kind)))
        # Compared as bytes, as nan is not equal to itself.
        assert written == again, f"{kind.__name__} changes when it is written and read"

    return Target(feed, seeds, (), (FleetSimError,))
