"""A scene in which no number of the node's messages is 0 or 1 by chance, and what really happened in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from heard_node import NS_PER_S, HeardNode, heard_node
from plain_geometry import Ball, Box, matrix

import fleet_sim as fs

WALL, SHELF = Box((4.4, 0.9, 0.5), 0.3, (0.2, 4.0, 0.5)), Box((0.9, 2.2, 0.4), -0.6, (1.1, 0.3, 0.4))
KERB, BUMPER, RADIUS = Box((-3.0, 5.5, 0.25), 0.4, (0.6, 0.3, 0.25)), (-2.87, 4.99, 0.2), 0.23
"""A robot that touches a kerb."""
POST = Ball((1.9, 0.75, 0.45), 0.35)
LOAD = Box((0.0, 0.0, 0.0), 0.0, (0.2, 0.15, 0.1))
VELOCITY, TURN = (0.31, 0.17), 0.6
"""Of the omnidirectional robot, in its own frame."""
MOUNT = {"scan": (0.11, -0.07, 0.2, 0.3), "imu": (0.13, 0.08, 0.05, 0.4), "range": (0.31, 0.05, 0.02, 0.2)}
MOUNT |= {"points": (0.02, 0.03, 0.31, 0.25), "eye": (0.2, 0.1, 0.1, 0.1)}
LENS = (70.0, 55.0, 30.0, 25.0)
"""fx, fy, cx, cy."""
BATTERY = {"capacity_wh": 480.0, "level": 0.63, "idle_power": 23.0, "drive_energy": 170.0, "voltage": 36.0}
GOAL = (-9.0, -6.0, 0.2)
DURATION = 0.8
"""At least so long, and forty steps at least."""


class Truth(NamedTuple):
    """What was where at one moment: positions and rotation matrices by name, and the joints of the arm."""

    places: dict[str, Any]
    turns: dict[str, Any]
    joints: Any
    links: dict[str, fs.Pose]


def box(name: str, body: Box, yaw: float, **more: Any) -> dict[str, Any]:
    """Return the entry of a box that does not move."""
    shape = {"shape_type": "box", "half_extents": body.half_extents.tolist(), "rgba_color": [0.3, 0.5, 0.7, 1.0]}
    return {"name": name, "pose": [*body.position.tolist(), yaw], "shape": shape, "collision_mode": "static", **more}


def scenario(timestep: float) -> dict[str, Any]:
    """Return the scene."""
    rates = ("clock", "tf", "links", "odom", "joint_states", "plan", "fleet_states", "markers", "map", "diagnostics")
    sensors: list[dict[str, Any]] = [
        {"type": "lidar", "pose": [*MOUNT["scan"]], "rays": 90, "range_min": 0.05, "range_max": 9.0}
        | {"intensities": True, "angle_min": -1.3, "angle_max": 2.1},
        {"type": "imu", "pose": [*MOUNT["imu"]], "gyro_noise": 1e-9, "accel_noise": 2e-9, "orientation_noise": 3e-9},
        {"type": "odometry"},
        {"type": "range", "pose": [*MOUNT["range"]], "rays": 101, "field_of_view": 0.4, "range_max": 8.0},
        {"type": "contact"},
        {"type": "lidar_3d", "pose": [*MOUNT["points"]], "rays": 9, "layers": 4, "range_max": 12.0}
        | {"angle_min": -1.1, "angle_max": 1.3, "elevation_min": -0.2, "elevation_max": 0.3},
        {"type": "camera", "name": "eye", "pose": [*MOUNT["eye"]], "width": 64, "height": 48, "intrinsics": [*LENS]},
    ]
    omni: dict[str, Any] = {"name": "omni", "pose": [0.3, -0.7, 0.15, 0.7], "motion_mode": "omnidirectional"}
    omni["shape"] = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15], "rgba_color": [0.9, 0.4, 0.2, 0.5]}
    omni |= {"battery": BATTERY, "sensors": [{"rate": None, **sensor} for sensor in sensors]}
    round_shape = {"shape_type": "cylinder", "radius": RADIUS, "height": 0.4}
    ball = {"shape_type": "sphere", "radius": POST.radius, "rgba_color": [0.9, 0.1, 0.2, 1.0]}
    crate = {"shape_type": "box", "half_extents": LOAD.half_extents.tolist()}
    return {
        "simulation": {"gui": False, "timestep": timestep, "seed": 3, "block_on_collision": True}
        | {"ignore_static_collision": False},
        "battery": {"publish_rate": None},
        "ros": {"rates": {**dict.fromkeys(rates), "feedback": None}, "map_resolution": 0.07, "map_height": 0.25},
        "robots": [
            omni,
            {"name": "hauler", "pose": [-7.0, -3.0, 0.2, 0.5], "shape": round_shape}
            | {"controller": {"type": "differential", "max_linear_vel": 0.7}},
            {"name": "stuck", "pose": [2.8, 4.4, 0.2, 0.1], "shape": round_shape, "block_on_collision": True},
            {"name": "bumper", "pose": [*BUMPER, 0.7], "shape": round_shape}
            | {"sensors": [{"type": "contact", "rate": None}]},
            {"name": "arm", "urdf_path": "arm_robot", "pose": [-20.0, 9.0, 0.3, 0.7], "use_fixed_base": True},
        ],
        "objects": [
            box("wall", WALL, 0.3, pickable=False),
            box("shelf", SHELF, -0.6, pickable=False),
            box("kerb", KERB, 0.4, pickable=False),
            {"name": "post", "pose": POST.position.tolist(), "shape": ball, "collision_mode": "static"},
            {"name": "crate", "pose": [-7.0, -3.0, 0.2], "shape": crate},
        ],
    }


class RosScene:
    """The scene at its end: all messages by topic, and the truth by the stamp in ns."""

    def __init__(self, heard: HeardNode, timestep: float) -> None:
        self.heard, self.timestep = heard, timestep
        self.truth: dict[int, Truth] = {}
        sim = heard.sim
        self.arm = sim.get_object("arm")
        sim.get_object("omni").set_velocity(*VELOCITY, 0.0, 0.0, 0.0, TURN)
        hauler = sim.get_object("hauler")
        hauler.attach_object(sim.get_object("crate"), relative_pose=fs.Pose((0.05, -0.03, 0.37)))
        hauler.add_action(fs.MoveTo(fs.Pose.from_euler(*GOAL, 0.0, 0.0, 0.7)))
        sim.get_object("stuck").set_goal_pose(fs.Pose((3.9, 4.4, 0.2)))
        self.arm.set_joints_targets_by_name(
            {"joint_1": 0.9, "joint_2": -0.7, "joint_3": 0.5, "left_finger_joint": 0.01}
        )
        for _ in range(max(40, round(DURATION / timestep))):
            heard.step()
            self._note()

    def _note(self) -> None:
        sim = self.heard.sim
        entities = [*sim.agents, *sim.sim_objects]
        stamp = round(sim.sim_time * NS_PER_S)
        self.truth[stamp] = Truth(
            {one.name: np.array(one.get_pose().position) for one in entities},
            {one.name: matrix(one.get_pose().orientation) for one in entities},
            np.array(self.arm.joint_positions),
            {name: self.arm.get_link_pose(name) for name in self.arm.robot_model.link_names},
        )

    @property
    def stamps(self) -> list[int]:
        """The stamps, in order."""
        return list(self.truth)

    def at(self, topic: str, stamp: int) -> Any:
        """Return the message of a topic with a stamp."""
        return self.heard.at(topic, stamp)

    def mounted(self, sensor: str, stamp: int) -> tuple[Any, Any]:
        """Return the position (3,) and the matrix of the frame of one of the sensors in MOUNT."""
        x, y, z, yaw = MOUNT[sensor]
        base, turn = self.truth[stamp].places["omni"], self.truth[stamp].turns["omni"]
        c, s = np.cos(yaw), np.sin(yaw)
        return base + turn @ np.array([x, y, z]), turn @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@contextmanager
def ros_scene(folder: Path, timestep: float) -> Iterator[RosScene]:
    """Run the scene in a node that is hosted here."""
    with heard_node(folder, scenario(timestep)) as heard:
        yield RosScene(heard, timestep)
