"""A recorded run, as readers of others see it, with what was so after each step."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

import fleet_sim as fs

STEPS, DT = 150, 0.05
SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "timestep": DT, "target_rtf": 0, "seed": 5},
    "robots": [
        {
            "name": "cart",
            "pose": [1.2, -0.7, 0.3, 0.7],
            "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1], "rgba_color": [0.2, 0.4, 0.6, 0.8]},
            "controller": {"type": "omni", "max_linear_vel": 0.9, "max_linear_accel": 0.7, "max_angular_vel": 1.1},
            "sensors": [
                {
                    "type": "lidar",
                    "rays": 24,
                    "range_min": 0.13,
                    "range_max": 5.5,
                    "rate": 10.0,
                    "pose": [0.2, 0.1, 0.05],
                },
                {"type": "imu", "gyro_noise": 0.01, "accel_noise": 0.02},
                {"type": "odometry", "linear_noise": 0.01},
            ],
        },
        {
            "name": "stopped",
            "pose": [-3.0, 2.0, 0.3, -0.4],
            "shape": {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]},
            "controller": {"type": "omni", "max_linear_vel": 1.0},
            "block_on_collision": True,
        },
        {"name": "arm", "urdf_path": "arm6", "pose": [5.0, 1.0, 0.0, 0.7], "use_fixed_base": True},
        {"name": "wall-e", "urdf_path": "arm6", "pose": [-2.0, -4.0, 0.1, 1.9], "use_fixed_base": True},
    ],
    "objects": [
        {"name": "parcel", "pose": [7.0, 0.0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.1, 0.2, 0.05]}},
        {"name": "block", "pose": [-1.8, 1.5, 0.3], "shape": {"shape_type": "box", "half_extents": [0.2, 0.4, 0.3]}},
        {"name": "crate", "pose": [2.0, 0.4, 0.3], "shape": {"shape_type": "box", "half_extents": [0.2, 0.3, 0.3]}},
    ],
}


class Tape(NamedTuple):
    """What other readers find in a recording, and what was so after each step, the beginning first."""

    found: dict[str, list[Any]]
    schemas: dict[str, tuple[str, str]]
    """By topic: type, and definition."""
    world: list[dict[str, Any]]
    readings: dict[str, list[Any]]
    """The latest readings of sensors after each step, by topic."""
    pairs: list[tuple[str, tuple[str, str], float]]
    """When pairs began and ended to collide."""


def state(sim: fs.MultiRobotSimulationCore) -> dict[str, Any]:
    """Return what is so now, by the public API."""
    things = {body.name: body for body in sim.sim_objects}
    robots = {agent.name: agent for agent in sim.agents}
    joints = {name: robots[name].get_all_joints_state_by_name() for name in ("arm", "wall-e")}
    return {
        "time": sim.sim_time,
        "poses": {name: body.get_pose() for name, body in things.items()},
        "robots": {
            name: {
                "linear": tuple(robot.velocity),
                "turning": robot.angular_velocity,
                "path": robot.path,
                "mode": robot.controller_mode.value,
                "moving": robot.is_moving,
                "busy": not robot.is_action_queue_empty(),
                "blocked": robot.blocked_by is not None,
                "carrying": bool(robot.get_attached_objects()),
            }
            for name, robot in robots.items()
        },
        "joints": joints,
        "links": {name: robots["arm"].get_link_pose(name) for name in ("forearm_link", "left_finger")},
        "colors": {name: body.get_color() for name, body in things.items()},
    }


def make_tape(path: Path) -> Tape:
    """Run the scenario, and record it at `path`."""
    pairs: list[tuple[str, tuple[str, str], float]] = []
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        cart, parcel = sim.get_object("cart"), sim.get_object("parcel")
        for event in ("started", "ended"):
            sim.events.on(
                f"collision_{event}",
                lambda obj_a, obj_b, event=event: pairs.append((event, (obj_a.name, obj_b.name), sim.sim_time)),
            )
        sensors = dict(zip(("scan", "imu", "odometry"), sim.sensors.of(cart.row), strict=True))
        readings: dict[str, list[Any]] = {name: [] for name in sensors}
        world = [state(sim)]
        with sim.record(path, rate=None, sensors=("lidar", "imu", "odometry")) as recording:
            cart.set_path([fs.Pose.from_yaw(2.1, 0.2, 0.3, 0.1), fs.Pose.from_yaw(2.6, 2.2, 0.3, -1.1)])
            sim.get_object("stopped").set_goal(fs.Pose((0.5, 0.9, 0.3)))
            for name, goal in (("arm", 0.6), ("wall-e", -0.4)):
                sim.get_object(name).set_all_joints_targets({"joint_1": goal, "joint_2": 0.3, "joint_4": -goal})
            for step in range(STEPS):
                if step == 20:
                    cart.attach_object(parcel, relative_pose=fs.Pose.from_yaw(0.05, 0.02, 0.15, 0.4))
                    parcel.set_color((0.9, 0.3, 0.1, 0.5))
                sim.step_once()
                world.append(state(sim))
                for name, sensor in sensors.items():
                    readings[name].append(sensor.latest)
        assert recording.error is None
    return Tape(*messages_in(path), world, readings, pairs)


def messages_in(path: Path) -> tuple[dict[str, list[Any]], dict[str, tuple[str, str]]]:
    """Return times in s and messages by topic, and by topic the type and its definition."""
    found: dict[str, list[Any]] = {}
    schemas: dict[str, tuple[str, str]] = {}
    with path.open("rb") as stream:
        for schema, channel, record, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            found.setdefault(channel.topic, []).append((record.log_time * 1e-9, message))
            schemas[channel.topic] = schema.name, schema.data.decode()
    return found, schemas
