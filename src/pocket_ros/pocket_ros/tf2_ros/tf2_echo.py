"""`tf2_echo`: prints the transform between two frames again and again."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys

from .. import rclpy
from ..rclpy.context import remove_ros_args
from ..rclpy.executors import ExternalShutdownException
from ..rclpy.node import Node
from ..rclpy.time import Time
from .buffer import Buffer, TransformListener
from .buffer_core import TransformException


def main(args: list[str] | None = None) -> int:
    """Echo until interrupted; the exit code."""
    arguments = sys.argv if args is None else args
    parser = argparse.ArgumentParser(prog="tf2_echo", description=__doc__)
    parser.add_argument("source_frame")
    parser.add_argument("target_frame")
    parser.add_argument("rate", type=float, nargs="?", default=1.0, help="times per second")
    options = parser.parse_args(remove_ros_args(arguments)[1:] if args is None else remove_ros_args(args))
    rclpy.init(args=arguments)
    node, buffer = Node("tf2_echo"), Buffer()
    TransformListener(buffer, node)
    node.create_timer(1.0 / options.rate, lambda: _print(buffer, options.source_frame, options.target_frame))
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()
    return 0


def _print(buffer: Buffer, source: str, target: str) -> None:
    try:
        found = buffer.lookup_transform(source, target, Time())
    except TransformException as error:
        print(f"Failure at the lookup of {source} -> {target}: {error}", flush=True)
        return
    stamp, t, q = found.header.stamp, found.transform.translation, found.transform.rotation
    roll = math.atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (q.w * q.y - q.z * q.x))))
    yaw = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z))
    print(f"At time {stamp.sec}.{stamp.nanosec:09d}")
    print(f"- Translation: [{t.x:.3f}, {t.y:.3f}, {t.z:.3f}]")
    print(f"- Rotation: in Quaternion (xyzw) [{q.x:.3f}, {q.y:.3f}, {q.z:.3f}, {q.w:.3f}]")
    print(f"- Rotation: in RPY (radian) [{roll:.3f}, {pitch:.3f}, {yaw:.3f}]", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
