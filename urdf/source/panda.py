"""The arm that is called `panda` where PyBullet, which brings meshes of it, is not installed.

Frames, speeds and efforts are those that the maker publishes. Names and numbers of joints are PyBullet's, and so are
the limits, a few degrees wider than those of the machine: scenarios, actions and recordings mean the same with both
files. The shapes are ours: cylinders, boxes and pads of the sizes of the machine.
"""

from __future__ import annotations

from math import pi

from parts import ORIGIN, Robot, Vector, box, cylinder

RADIUS = 0.055
"""Of the tubes of the arm, in m."""
STRONG, WEAK = {"effort": 87.0, "velocity": 2.175}, {"effort": 12.0, "velocity": 2.61}
QUARTER = pi / 2
AXES: tuple[tuple[Vector, Vector, tuple[float, float], dict[str, float]], ...] = (
    ((0.0, 0.0, 0.333), ORIGIN, (-2.9671, 2.9671), STRONG),
    (ORIGIN, (-QUARTER, 0.0, 0.0), (-1.8326, 1.8326), STRONG),
    ((0.0, -0.316, 0.0), (QUARTER, 0.0, 0.0), (-2.9671, 2.9671), STRONG),
    ((0.0825, 0.0, 0.0), (QUARTER, 0.0, 0.0), (-3.1416, 0.0), STRONG),
    ((-0.0825, 0.384, 0.0), (-QUARTER, 0.0, 0.0), (-2.9671, 2.9671), WEAK),
    (ORIGIN, (QUARTER, 0.0, 0.0), (-0.0873, 3.8223), WEAK),
    ((0.088, 0.0, 0.0), (QUARTER, 0.0, 0.0), (-2.9671, 2.9671), WEAK),
)
"""Place, turn, limits and motor of each joint, from its parent's frame; all turn about z."""


def panda() -> Robot:
    """An arm of seven joints with a hand of two fingers."""
    robot = Robot("panda", "A seven-axis arm with a parallel gripper, with the kinematics of a Franka Emika Panda.")
    _tubes(robot)
    for number, (at, rpy, limits, motor) in enumerate(AXES, start=1):
        robot.joint(f"panda_joint{number}", f"panda_link{number - 1}", f"panda_link{number}", at, rpy, kind="revolute",
                    limits=limits, **motor)  # fmt: skip
    robot.link("panda_link8")
    robot.joint("panda_joint8", "panda_link7", "panda_link8", (0.0, 0.0, 0.107))
    _hand(robot)
    return robot


def _tubes(robot: Robot) -> None:
    """Add the links between the joints; where a joint turns, each of its links has one half of the housing."""
    robot.link("panda_link0", 2.9, cylinder(0.06, 0.14, (0.0, 0.0, 0.07), color="white"),
               box(0.19, 0.15, 0.08, (-0.055, 0.0, 0.04), "white"))  # fmt: skip
    robot.link("panda_link1", 2.7, cylinder(RADIUS, 0.192, (0.0, 0.0, -0.096), color="white"),
               cylinder(RADIUS, 0.129, (0.0, -0.0645, 0.0), axis="y", color="white"))  # fmt: skip
    robot.link("panda_link2", 2.73, cylinder(RADIUS, 0.194, (0.0, -0.097, 0.0), axis="y", color="white"),
               cylinder(RADIUS, 0.129, (0.0, 0.0, 0.0645), color="white"))  # fmt: skip
    robot.link("panda_link3", 2.04, cylinder(RADIUS, 0.121, (0.0, 0.0, -0.0605), color="white"),
               box(0.0825, 0.09, 0.09, (0.04125, 0.045, 0.0), "white"),
               cylinder(RADIUS, 0.111, (0.0825, 0.0555, 0.0), axis="y", color="white"))  # fmt: skip
    robot.link("panda_link4", 2.08, cylinder(RADIUS, 0.111, (0.0, 0.0, 0.0555), color="white"),
               box(0.0825, 0.09, 0.09, (-0.04125, 0.0, 0.045), "white"),
               cylinder(RADIUS, 0.124, (-0.0825, 0.062, 0.0), axis="y", color="white"))  # fmt: skip
    robot.link("panda_link5", 3.0, cylinder(RADIUS, 0.12, (0.0, 0.0, -0.2), color="white"),
               box(0.1, 0.11, 0.14, (0.0, 0.05, -0.07), "white"),
               cylinder(0.05, 0.08, (0.0, 0.089, 0.0), axis="y", color="white"))  # fmt: skip
    robot.link("panda_link6", 1.3, cylinder(0.048, 0.099, (0.0, 0.0, 0.0055), color="white"),
               box(0.088, 0.06, 0.08, (0.044, 0.0, 0.0), "white"),
               cylinder(0.044, 0.12, (0.088, 0.01, 0.0), axis="y", color="white"))  # fmt: skip
    robot.link("panda_link7", 0.2, cylinder(0.044, 0.055, (0.0, 0.0, 0.0795), color="graphite"),
               cylinder(0.03, 0.03, (0.05, 0.05, 0.085), color="graphite"))  # fmt: skip


def _hand(robot: Robot) -> None:
    """Add the hand, its fingers that slide apart along y, and the point that they grasp at."""
    robot.joint("panda_hand_joint", "panda_link8", "panda_hand", rpy=(0.0, 0.0, -pi / 4))
    robot.link("panda_hand", 0.81, box(0.06, 0.204, 0.03, (0.0, 0.0, 0.015), "white"),
               box(0.042, 0.2, 0.036, (0.0, 0.0, 0.048), "white"))  # fmt: skip
    for number, (side, sign) in enumerate((("left", 1.0), ("right", -1.0)), start=1):
        robot.link(
            f"panda_{side}finger", 0.1,
            box(0.021, 0.023, 0.02, (0.0, 0.014 * sign, 0.01), "silver"),
            box(0.0195, 0.021, 0.018, (0.0, 0.0105 * sign, 0.029), "silver"),
            box(0.0175, 0.016, 0.0158, (0.0, 0.008 * sign, 0.0459), "rubber"),
            friction=1.0, spinning=0.1,
        )  # fmt: skip
        # The second follows the first, unless what spawns the arm wants to move them apart from each other.
        robot.joint(f"panda_finger_joint{number}", "panda_hand", f"panda_{side}finger", (0.0, 0.0, 0.0584),
                    kind="prismatic", axis=(0.0, sign, 0.0), limits=(0.0, 0.04), effort=20.0, velocity=0.2,
                    mimic="panda_finger_joint1" if number == 2 else None)  # fmt: skip
    robot.link("panda_grasptarget")
    robot.joint("panda_grasptarget_hand", "panda_hand", "panda_grasptarget", (0.0, 0.0, 0.105))
