"""`static_transform_publisher`: one static transform, until interrupted."""

from __future__ import annotations

import argparse
import contextlib
import math

from .. import rclpy
from ..interfaces.classes import message_class
from ..rclpy.context import remove_ros_args
from ..rclpy.executors import ExternalShutdownException
from ..rclpy.node import Node
from .buffer import StaticTransformBroadcaster
from .rigid import Quaternion


def main(args: list[str] | None = None) -> int:
    """Publish the transform that the command line describes; the exit code."""
    import sys

    arguments = sys.argv if args is None else args
    options = _parser().parse_args(remove_ros_args(arguments)[1:] if args is None else remove_ros_args(args))
    rclpy.init(args=arguments)
    node = Node("static_transform_publisher")
    transform = message_class("geometry_msgs/msg/TransformStamped")(child_frame_id=options.child_frame_id)
    transform.header.frame_id = options.frame_id
    transform.header.stamp = node.get_clock().now().to_msg()
    place, turn = transform.transform.translation, transform.transform.rotation
    place.x, place.y, place.z = options.x, options.y, options.z
    turn.x, turn.y, turn.z, turn.w = _rotation(options)
    broadcaster = StaticTransformBroadcaster(node)
    broadcaster.sendTransform(transform)
    node.get_logger().info(
        "Spinning until stopped - publishing transform from "
        f"'{options.frame_id}' to '{options.child_frame_id}'"
    )
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()
    return 0


def quaternion_from_euler(roll: float, pitch: float, yaw: float) -> Quaternion:
    """The rotation about the fixed axes x, then y, then z."""
    sr, cr = math.sin(roll / 2), math.cos(roll / 2)
    sp, cp = math.sin(pitch / 2), math.cos(pitch / 2)
    sy, cy = math.sin(yaw / 2), math.cos(yaw / 2)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def _rotation(options: argparse.Namespace) -> Quaternion:
    if options.quaternion:
        return (options.qx, options.qy, options.qz, options.qw)
    return quaternion_from_euler(options.roll, options.pitch, options.yaw)


class _Quaternion(argparse.Action):
    """Remembers that the rotation was given as a quaternion."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:  # type: ignore[no-untyped-def]
        setattr(namespace, self.dest, values)
        namespace.quaternion = True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="static_transform_publisher", description=__doc__)
    for name in ("x", "y", "z", "roll", "pitch", "yaw"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    for name in ("qx", "qy", "qz", "qw"):
        parser.add_argument(f"--{name}", type=float, default=float(name == "qw"), action=_Quaternion)
    parser.add_argument("--frame-id", required=True)
    parser.add_argument("--child-frame-id", required=True)
    parser.set_defaults(quaternion=False)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
