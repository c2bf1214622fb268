"""The bundled robots. They stand on z = 0 and look along x; their arms are ready where all joints are 0."""

from __future__ import annotations

import math

from parts import ORIGIN, Robot, Vector, box, cylinder, sphere

OPTICAL = (-math.pi / 2, 0.0, -math.pi / 2)
"""From a camera's frame, x ahead, to the optical frame of ROS, z ahead and y down."""


def camera(robot: Robot, parent: str, at: Vector, rpy: Vector = ORIGIN, name: str = "camera") -> None:
    """Add a small camera with its optical frame."""
    robot.link(f"{name}_link", 0.05, box(0.02, 0.09, 0.025, color="glass"))
    robot.joint(f"{name}_joint", parent, f"{name}_link", at, rpy)
    robot.frame(f"{name}_optical_frame", f"{name}_link", (0.01, 0.0, 0.0), OPTICAL)


def lidar(robot: Robot, at: Vector, name: str = "base_scan", rpy: Vector = ORIGIN) -> None:
    """Add a planar lidar; its frame is the plane it scans."""
    body = cylinder(0.035, 0.04, (0.0, 0.0, -0.01), color="graphite")
    window = cylinder(0.0355, 0.014, color="red", collides=False)
    robot.link(name, 0.2, body, window)
    robot.joint(f"{name}_joint", "base_link", name, at, rpy)


def wheel(
    robot: Robot, name: str, at: Vector, radius: float, width: float, effort: float, velocity: float,
    parent: str = "base_link",
) -> None:  # fmt: skip
    """Add a driven wheel; its hub is on the side that `at` is of its parent, or of the robot where it is steered."""
    tyre = cylinder(radius, width, axis="y", color="rubber")
    outside = math.copysign(0.5 * width, at[1] or (-1.0 if "right" in name else 1.0))
    hub = cylinder(0.55 * radius, 0.004, (0.0, outside, 0.0), axis="y", color="silver", collides=False)
    spoke = box(0.9 * radius, 0.006, 0.2 * radius, (0.0, outside, 0.0), color="orange", collides=False)
    robot.link(f"{name}_wheel", 2.0 * radius / 0.1, tyre, hub, spoke, friction=1.0)
    robot.joint(f"{name}_wheel_joint", parent, f"{name}_wheel", at, kind="continuous", axis=(0.0, 1.0, 0.0),
                effort=effort, velocity=velocity, damping=0.02)  # fmt: skip


def caster(robot: Robot, name: str, at: Vector, radius: float) -> None:
    """Add a ball that slides and carries."""
    robot.link(f"{name}_caster", 0.3, sphere(radius, color="rubber"), friction=0.02)
    robot.joint(f"{name}_caster_joint", "base_link", f"{name}_caster", at)


def diff_base() -> Robot:
    """A flat transport robot with two driven wheels."""
    robot = Robot("diff_base", "A differential drive transport robot, 0.64 x 0.46 x 0.27 m, 1.5 m/s.")
    robot.link(
        "base_link", 30.0,
        box(0.64, 0.36, 0.14, (0.0, 0.0, 0.13), "graphite"),
        box(0.6, 0.42, 0.02, (0.0, 0.0, 0.21), "silver"),
        box(0.5, 0.34, 0.008, (0.0, 0.0, 0.224), "orange", collides=False),
        box(0.004, 0.3, 0.02, (0.321, 0.0, 0.17), "white", collides=False),
        box(0.004, 0.3, 0.02, (-0.321, 0.0, 0.17), "red", collides=False),
    )  # fmt: skip
    for side, y in (("left", 0.205), ("right", -0.205)):
        wheel(robot, side, (0.0, y, 0.09), 0.09, 0.045, 20.0, 18.0)
    for end, x in (("front", 0.25), ("rear", -0.25)):
        caster(robot, end, (x, 0.0, 0.035), 0.035)
    lidar(robot, (0.25, 0.0, 0.25))
    camera(robot, "base_link", (0.325, 0.0, 0.12))
    robot.frame("imu_link", "base_link", (0.0, 0.0, 0.13))
    return robot


def omni_base() -> Robot:
    """A square platform on four mecanum wheels."""
    robot = Robot("omni_base", "A platform on four mecanum wheels, 0.7 x 0.56 x 0.32 m, 1.5 m/s in any direction.")
    robot.link(
        "base_link", 40.0,
        box(0.7, 0.4, 0.16, (0.0, 0.0, 0.17), "blue"),
        box(0.66, 0.54, 0.02, (0.0, 0.0, 0.26), "silver"),
        box(0.56, 0.44, 0.008, (0.0, 0.0, 0.274), "graphite", collides=False),
        box(0.004, 0.34, 0.025, (0.351, 0.0, 0.21), "white", collides=False),
        box(0.004, 0.34, 0.025, (-0.351, 0.0, 0.21), "red", collides=False),
    )  # fmt: skip
    for end, x in (("front", 0.23), ("rear", -0.23)):
        for side, y in (("left", 0.24), ("right", -0.24)):
            wheel(robot, f"{end}_{side}", (x, y, 0.1), 0.1, 0.07, 25.0, 16.0)
    lidar(robot, (0.3, 0.2, 0.3))
    lidar(robot, (-0.3, -0.2, 0.3), "base_scan_rear", (0.0, 0.0, math.pi))
    camera(robot, "base_link", (0.355, 0.0, 0.15))
    robot.frame("imu_link", "base_link", (0.0, 0.0, 0.17))
    return robot


def car() -> Robot:
    """A small delivery car, whose front wheels are steered; its origin is on the ground below its rear axle."""
    robot = Robot("car", "A small delivery car, 1.1 x 0.6 x 0.72 m, wheelbase 0.7 m, turning radius 1.3 m, 3 m/s.")
    robot.link(
        "base_link", 60.0,
        box(1.06, 0.42, 0.16, (0.35, 0.0, 0.2), "graphite"),
        box(0.72, 0.5, 0.36, (0.2, 0.0, 0.5), "white"),
        box(0.16, 0.46, 0.12, (0.72, 0.0, 0.34), "blue"),
        box(0.004, 0.4, 0.14, (0.561, 0.0, 0.54), "glass", collides=False),
        box(0.5, 0.502, 0.02, (0.16, 0.0, 0.6), "blue", collides=False),
        box(0.004, 0.36, 0.03, (0.881, 0.0, 0.22), "white", collides=False),
        box(0.004, 0.36, 0.03, (-0.181, 0.0, 0.22), "red", collides=False),
    )  # fmt: skip
    for side, y in (("left", 0.26), ("right", -0.26)):
        wheel(robot, f"rear_{side}", (0.0, y, 0.13), 0.13, 0.08, 30.0, 30.0)
        robot.link(f"{side}_knuckle", 1.0, box(0.04, 0.04, 0.1, color="silver"))
        # The inner wheel of the tightest arc stands at 34 degrees.
        robot.joint(f"{side}_steering_joint", "base_link", f"{side}_knuckle", (0.7, y, 0.13), kind="revolute",
                    limits=(-0.65, 0.65), effort=20.0, velocity=2.0, damping=0.1)  # fmt: skip
        wheel(robot, f"front_{side}", ORIGIN, 0.13, 0.08, 30.0, 30.0, parent=f"{side}_knuckle")
    lidar(robot, (0.2, 0.0, 0.71))
    camera(robot, "base_link", (0.885, 0.0, 0.34))
    robot.frame("imu_link", "base_link", (0.35, 0.0, 0.2))
    return robot


def arm(robot: Robot, parent: str, at: Vector) -> None:
    """Add a six-axis arm with a parallel gripper and a camera at the wrist.

    At 0 the upper arm stands, the forearm lies along x and the tool points down.
    """
    robot.link("arm_base_link", 3.0, cylinder(0.085, 0.08, (0.0, 0.0, 0.04), color="graphite"))
    robot.joint("arm_mount_joint", parent, "arm_base_link", at)
    robot.link("shoulder_link", 3.5, cylinder(0.07, 0.14, (0.0, 0.0, 0.07), color="white"),
               cylinder(0.062, 0.17, (0.0, 0.0, 0.1), axis="y", color="orange"))  # fmt: skip
    robot.link("upper_arm_link", 5.0, box(0.09, 0.08, 0.34, (0.0, 0.0, 0.19), "white"),
               cylinder(0.055, 0.13, (0.0, 0.0, 0.38), axis="y", color="orange"))  # fmt: skip
    robot.link("forearm_link", 3.0, box(0.2, 0.07, 0.08, (0.13, 0.0, 0.0), "white"),
               cylinder(0.042, 0.03, (0.235, 0.0, 0.0), axis="x", color="orange"))  # fmt: skip
    robot.link("wrist_1_link", 1.5, cylinder(0.04, 0.09, (0.045, 0.0, 0.0), axis="x", color="white"))
    robot.link("wrist_2_link", 1.2, cylinder(0.042, 0.1, axis="y", color="orange"),
               cylinder(0.036, 0.05, (0.0, 0.0, -0.055), color="white"))  # fmt: skip
    robot.link("wrist_3_link", 0.4, cylinder(0.036, 0.02, (0.0, 0.0, 0.01), color="graphite"))
    big, small = {"effort": 180.0, "velocity": 2.0, "damping": 0.5}, {"effort": 40.0, "velocity": 3.0, "damping": 0.1}
    upright, across, along = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
    axes = (
        ("joint_1", "arm_base_link", "shoulder_link", (0.0, 0.0, 0.08), upright, (-3.1, 3.1), big),
        ("joint_2", "shoulder_link", "upper_arm_link", (0.0, 0.0, 0.1), across, (-2.0, 2.0), big),
        ("joint_3", "upper_arm_link", "forearm_link", (0.0, 0.0, 0.38), across, (-1.4, 2.6), big),
        ("joint_4", "forearm_link", "wrist_1_link", (0.25, 0.0, 0.0), along, (-3.1, 3.1), small),
        ("joint_5", "wrist_1_link", "wrist_2_link", (0.11, 0.0, 0.0), across, (-2.0, 2.0), small),
    )
    for name, above, below, place, axis, limits, motor in axes:
        robot.joint(name, above, below, place, kind="revolute", axis=axis, limits=limits, **motor)
    # From here on z points where the tool does.
    robot.joint("joint_6", "wrist_2_link", "wrist_3_link", (0.0, 0.0, -0.08), (math.pi, 0.0, 0.0), kind="revolute",
                axis=upright, limits=(-3.1, 3.1), **small)  # fmt: skip
    robot.frame("tool0", "wrist_3_link", (0.0, 0.0, 0.02))
    gripper(robot)
    camera(robot, "wrist_3_link", (0.065, 0.0, 0.03), (0.0, -math.pi / 2, math.pi), "wrist_camera")


def gripper(robot: Robot) -> None:
    """Add a gripper that opens 0.08 m; its fingers move along y, and tcp_link is between their tips."""
    robot.link("gripper_link", 0.6, box(0.06, 0.14, 0.05, (0.0, 0.0, 0.025), "graphite"))
    robot.joint("gripper_joint", "tool0", "gripper_link")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        jaw = box(0.03, 0.02, 0.07, (0.0, 0.01 * sign, 0.035), "silver")
        pad = box(0.026, 0.004, 0.03, (0.0, 0.001 * sign, 0.054), "rubber", collides=False)
        robot.link(f"{side}_finger", 0.1, jaw, pad, friction=1.2)
        robot.joint(f"{side}_finger_joint", "gripper_link", f"{side}_finger", (0.0, 0.0, 0.05), kind="prismatic",
                    axis=(0.0, sign, 0.0), limits=(0.0, 0.04), effort=60.0, velocity=0.2, damping=1.0)  # fmt: skip
    robot.frame("tcp_link", "gripper_link", (0.0, 0.0, 0.105))


def arm6() -> Robot:
    """An arm on a plate."""
    robot = Robot("arm6", "A six-axis arm with a parallel gripper; it reaches 0.9 m from its shoulder.")
    robot.link("base_link", 12.0, box(0.26, 0.26, 0.02, (0.0, 0.0, 0.01), "silver"))
    arm(robot, "base_link", (0.0, 0.0, 0.02))
    return robot


def rail_arm() -> Robot:
    """The arm on a carriage that slides along a rail."""
    robot = Robot("rail_arm", "The arm of arm6 on a rail of 3 m along x.")
    ends = [box(0.06, 0.34, 0.16, (x, 0.0, 0.08), "red") for x in (-1.53, 1.53)]
    rails = [box(3.0, 0.03, 0.03, (0.0, y, 0.115), "silver", collides=False) for y in (-0.11, 0.11)]
    robot.link("base_link", 90.0, box(3.0, 0.3, 0.1, (0.0, 0.0, 0.05), "graphite"), *ends, *rails)
    robot.link("carriage_link", 15.0, box(0.36, 0.32, 0.06, (0.0, 0.0, 0.03), "orange"))
    robot.joint("rail_joint", "base_link", "carriage_link", (0.0, 0.0, 0.13), kind="prismatic", axis=(1.0, 0.0, 0.0),
                limits=(-1.3, 1.3), effort=800.0, velocity=1.0, damping=5.0)  # fmt: skip
    arm(robot, "carriage_link", (0.0, 0.0, 0.06))
    return robot


def mobile_manipulator() -> Robot:
    """The arm on a differential base."""
    robot = Robot("mobile_manipulator", "The arm of arm6 on a differential base of 0.8 x 0.58 m, 1.2 m/s.")
    robot.link(
        "base_link", 70.0,
        box(0.8, 0.46, 0.3, (0.0, 0.0, 0.22), "graphite"),
        box(0.76, 0.52, 0.02, (0.0, 0.0, 0.38), "silver"),
        box(0.36, 0.4, 0.01, (-0.16, 0.0, 0.395), "wood", collides=False),
        box(0.004, 0.4, 0.03, (0.401, 0.0, 0.33), "white", collides=False),
        box(0.004, 0.4, 0.03, (-0.401, 0.0, 0.33), "red", collides=False),
    )  # fmt: skip
    for side, y in (("left", 0.26), ("right", -0.26)):
        wheel(robot, side, (0.0, y, 0.1), 0.1, 0.05, 40.0, 13.0)
    for end, x in (("front", 0.32), ("rear", -0.32)):
        for side, y in (("left", 0.18), ("right", -0.18)):
            caster(robot, f"{end}_{side}", (x, y, 0.035), 0.035)
    lidar(robot, (0.36, 0.0, 0.17))
    camera(robot, "base_link", (0.405, 0.0, 0.27))
    robot.frame("imu_link", "base_link", (0.0, 0.0, 0.2))
    arm(robot, "base_link", (0.22, 0.0, 0.39))
    return robot
