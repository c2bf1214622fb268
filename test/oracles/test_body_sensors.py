"""Odometry, IMUs and bumpers, and what a robot carries, against finite differences of poses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import rigid
from oracle_rows import holds

import fleet_sim as fs

MOUNT = fs.Pose.from_euler(0.31, -0.17, 0.23, 0.4, -0.3, 0.9)
SKY = fs.Pose.from_euler(1.3, -0.8, 0.4, 0.0, 0.0, 0.7)
GRAVITY = np.array([0.0, 0.0, 9.81])


def simulation(dt: float, **settings: Any) -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, **settings))


def cart(sim: fs.MultiRobotSimulationCore, mode: str = "omnidirectional", **settings: Any) -> fs.Agent:
    box = fs.ShapeParams("box", half_extents=(0.4, 0.25, 0.15))
    params = {"max_linear_accel": 0.9, "max_angular_accel": 1.3, "max_linear_vel": 1.7, **settings}
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(box, box, SKY, name="cart", motion_mode=mode, **params))
    return agent


def readings_of(sim: fs.MultiRobotSimulationCore, sensor: Any, robot: fs.Agent, steps: int, act: Any) -> list[Any]:
    """Return (time, pose of the robot, reading or None) at each step, the state before the first one included."""
    seen: list[Any] = []
    sensor.on_reading(lambda _, reading: seen.append(reading))
    out = [(0.0, rigid.frame_of(robot.get_pose()), None)]
    for step in range(steps):
        act(step)
        sim.step_once()
        reading = seen.pop() if seen else None
        out.append((sim.sim_time, rigid.frame_of(robot.get_pose()), reading))
    return out


@pytest.mark.parametrize(("dt", "rate"), [(0.05, None), (0.013, 9.0)])
@pytest.mark.parametrize("mode", ["omnidirectional", "differential"])
@holds(
    "ros:nav_msgs/Odometry.twist.twist.*", "ros:nav_msgs/Odometry.pose.pose.*", "api:OdometryReading.*",
    fault="sensing/sensors/imu.py: the sideways velocity has the other sign; `way / elapsed` is 2 % too large",
)  # fmt: skip
def test_odometry_is_the_motion_of_its_frame(dt: float, rate: float | None, mode: str) -> None:
    sim = simulation(dt)
    robot = cart(sim, mode)
    odometry = sim.add_sensor(fs.OdometryParams(pose=MOUNT, rate=rate), robot)
    mount = rigid.frame_of(MOUNT)
    start = rigid.frame_of(robot.get_pose()) @ mount

    def act(step: int) -> None:
        if step == 3:
            robot.set_velocity(0.8, -0.55, wz=0.9)
        if step == round(1.1 / dt):
            robot.set_velocity(-0.3, 0.4, wz=-0.6)

    last, told = (0.0, start), 0
    for time, body, reading in readings_of(sim, odometry, robot, round(2.2 / dt), act):
        if reading is None:
            continue
        here = body @ mount
        seen = rigid.inverse(start) @ here
        assert reading.time == pytest.approx(time)
        assert np.allclose(reading.position, seen[:3, 3], atol=1e-9)
        assert np.allclose(rigid.rotation(reading.orientation), seen[:3, :3], atol=1e-9)
        assert np.allclose(reading.origin_position, start[:3, 3], atol=1e-12)
        assert np.allclose(rigid.rotation(reading.origin_orientation), start[:3, :3], atol=1e-9)
        velocity, spin = rigid.twist_between(last[1], here, time - last[0])
        assert np.allclose(reading.angular_velocity, spin, atol=1e-8)
        assert np.allclose(reading.linear_velocity, velocity, atol=2e-6)
        last, told = (time, here), told + 1
    assert told == (round(2.2 / dt) if rate is None else math.floor(2.2 * rate))


@pytest.mark.parametrize(("dt", "rate"), [(0.05, None), (0.013, 9.0)])
@holds(
    "ros:sensor_msgs/Imu.*", "api:ImuReading.*",
    fault="sensing/sensors/imu.py: the arm from the base to the sensor has the other sign",
)  # fmt: skip
def test_an_imu_off_the_axis_of_a_robot_feels_what_moves_it(dt: float, rate: float | None) -> None:
    sim = simulation(dt)
    robot = cart(sim)
    imu = sim.add_sensor(fs.ImuParams(pose=MOUNT, rate=rate), robot)
    mount = rigid.frame_of(MOUNT)
    velocities: list[tuple[np.ndarray, np.ndarray]] = []

    def act(step: int) -> None:
        velocities.append((robot.velocity.copy(), np.array([0.0, 0.0, robot.angular_velocity])))
        if step == 2:
            robot.set_velocity(0.9, -0.5, wz=0.8)

    states = readings_of(sim, imu, robot, round(2.0 / dt), act)
    act(0)
    last = (0.0, np.zeros(3))
    for (time, body, reading), (velocity, spin) in zip(states, velocities, strict=True):
        if reading is None:
            continue
        foot = body @ mount
        moved = velocity + np.cross(spin, body[:3, :3] @ mount[:3, 3])
        felt = (moved - last[1]) / (time - last[0]) + GRAVITY
        assert np.allclose(rigid.rotation(reading.orientation), foot[:3, :3], atol=1e-9)
        assert np.allclose(reading.angular_velocity, foot[:3, :3].T @ spin, atol=1e-9)
        assert np.allclose(reading.linear_acceleration, foot[:3, :3].T @ felt, atol=1e-9)
        last = (time, moved)
    # Long at a constant twist: w x (v + w x r), as a mean over the step.
    w, r = np.array([0.0, 0.0, 0.8]), mount[:3, 3]
    steady = np.cross(w, np.array([0.9, -0.5, 0.0]) + np.cross(w, r))
    assert np.allclose(reading.linear_acceleration, mount[:3, :3].T @ (steady + GRAVITY), atol=0.06)


@pytest.mark.parametrize(("dt", "rate"), [(0.013, None), (0.05, 5.0)])
@holds(
    "ros:sensor_msgs/Imu.*", "api:ImuReading.*",
    fault="sensing/sensors/imu.py: `positions - old` is `positions + old` for an IMU on a link that joints move",
)  # fmt: skip
def test_an_imu_on_a_moving_arm_feels_the_second_difference_of_its_poses(dt: float, rate: float | None) -> None:
    sim = simulation(dt)
    arm: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(urdf_path="panda", use_fixed_base=True, name="arm", initial_pose=SKY, mass=0.0)
    )
    imu = sim.add_sensor(fs.ImuParams(pose=MOUNT, rate=rate, link="panda_hand"), arm)
    arm.set_joints_targets({"panda_joint1": 1.3, "panda_joint4": -1.9, "panda_joint6": 0.9, "panda_joint7": -0.8})
    mount = rigid.frame_of(MOUNT)

    def hand() -> np.ndarray:
        return rigid.frame_of(arm.get_link_pose("panda_hand")) @ mount

    feet = [hand()]
    states = readings_of(sim, imu, arm, round(0.8 / dt), lambda step: feet.append(hand()) if step else None)
    feet.append(hand())
    last = (0.0, feet[0], np.zeros(3))
    count = 0
    for (time, _, reading), foot in zip(states, feet, strict=True):
        if reading is None:
            continue
        span = time - last[0]
        velocity = (foot[:3, 3] - last[1][:3, 3]) / span
        spin = rigid.turned_by(foot[:3, :3] @ last[1][:3, :3].T) / span
        back = foot[:3, :3].T
        assert np.allclose(reading.angular_velocity, back @ spin, atol=1e-8)
        assert np.allclose(reading.linear_acceleration, back @ ((velocity - last[2]) / span + GRAVITY), atol=1e-8)
        assert np.allclose(rigid.rotation(reading.orientation), foot[:3, :3], atol=1e-9)
        last, count = (time, foot, velocity), count + 1
    assert count == (round(0.8 / dt) if rate is None else 4)


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:ContactReading.*", "ros:fleet_sim_msgs/Contacts.*",
    fault="sensing/sensors/contact.py: `angle_max - angle_min` is `angle_max + angle_min`",
)  # fmt: skip
def test_a_bumper_tells_who_touches_its_side_and_where(compiled: str) -> None:
    sim = simulation(0.05, compiled_code=compiled)
    robot = cart(sim)
    tilted = fs.Pose.from_euler(*(np.array(SKY.position) + [0.42, 0.3, 0.1]), 0.5, -0.6, 1.9)
    half = np.array([0.21, 0.12, 0.33])
    box = fs.ShapeParams("box", half_extents=tuple(half))
    ball, radius = np.array(SKY.position) + [-0.5, 0.1, 0.12], 0.23
    sphere = fs.ShapeParams("sphere", radius=radius)
    crate = sim.spawn(fs.SimObjectSpawnParams(box, box, tilted, name="crate"))
    globe = sim.spawn(fs.SimObjectSpawnParams(sphere, sphere, fs.Pose(tuple(ball)), name="globe"))
    sim.spawn(fs.SimObjectSpawnParams(sphere, sphere, fs.Pose((9.0, 9.0, 1.0)), name="far"))
    here = rigid.frame_of(SKY) @ rigid.frame_of(MOUNT)
    back = rigid.inverse(here)
    # Of a box the nearest point by its coordinates, of a ball on the line to its centre.
    inside = rigid.inverse(rigid.frame_of(tilted)) @ here[:, 3]
    corner = back @ rigid.frame_of(tilted) @ np.append(np.clip(inside[:3], -half, half), 1.0)
    out = here[:3, 3] - ball
    rim = back @ np.append(ball + radius * out / np.linalg.norm(out), 1.0)
    wanted = {crate.object_id: corner[:3], globe.object_id: rim[:3]}
    # Of round bars on the line to their axis; a capsule ends in balls, and a cylinder in discs.
    for kind, place in (("capsule", (-0.15, -0.33, 0.1)), ("cylinder", (0.05, 0.36, -0.05))):
        lying = fs.Pose.from_euler(*(rigid.frame_of(SKY) @ np.append(place, 1.0))[:3], 0.9, 0.4, -0.8)
        bar = fs.ShapeParams(kind, radius=0.14, height=0.34)
        x, y, z, _ = rigid.inverse(rigid.frame_of(lying)) @ here[:, 3]
        core = np.array((0.0, 0.0, z if kind == "cylinder" else np.clip(z, -0.17, 0.17)))
        near = core + 0.14 * (np.array((x, y, z)) - core) / np.linalg.norm(np.array((x, y, z)) - core)
        near[2] = np.clip(z, -0.17, 0.17) if kind == "cylinder" else near[2]
        made = sim.spawn(fs.SimObjectSpawnParams(bar, bar, lying, name=kind))
        wanted[made.object_id] = (back @ rigid.frame_of(lying) @ np.append(near, 1.0))[:3]
    bearings = {key: math.atan2(point[1], point[0]) for key, point in wanted.items()}
    ends = [(-math.pi, math.pi), *((at + low, at + low + 0.4) for at in bearings.values() for low in (-0.3, 0.01))]
    sides = [
        (low, high, [key for key in sorted(wanted) if (bearings[key] - low) % math.tau <= high - low])
        for low, high in ends
    ]
    assert [] in [felt for _, _, felt in sides] and [4] in [felt for _, _, felt in sides]
    bumpers = [
        sim.add_sensor(fs.ContactParams(pose=MOUNT, name=f"b{index}", angle_min=low, angle_max=high), robot)
        for index, (low, high, _) in enumerate(sides)
    ]
    sim.step_once()
    for bumper, (_, _, felt) in zip(bumpers, sides, strict=True):
        reading = bumper.read()
        assert reading.others.tolist() == felt and reading.touching == bool(felt)
        assert np.allclose(reading.points, np.array([wanted[key] for key in felt]).reshape(-1, 3), atol=1e-9)
        assert np.allclose(reading.bearings, [bearings[key] for key in felt], atol=1e-9)


@pytest.mark.parametrize(("dt", "compiled"), [(0.05, "never"), (0.013, "always")])
@holds(
    "api:SimObject.attach_object", "api:SimObject.velocity", "record:carriers",
    fault="robots/attachments.py: the arm of a load turns the other way, `cross(arms, spins)`",
)  # fmt: skip
def test_loads_follow_links_and_each_other(dt: float, compiled: str) -> None:
    sim = simulation(dt, compiled_code=compiled)
    arm: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(urdf_path="mobile_manipulator", name="mm", initial_pose=SKY, mass=0.0)
    )
    box = fs.ShapeParams("box", half_extents=(0.05, 0.04, 0.03))
    loads = [sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose((9.0, index, 1.0)))) for index in range(3)]
    grips = [MOUNT, fs.Pose.from_euler(-0.2, 0.3, 0.1, 0.7, 0.2, -1.4), fs.Pose.from_euler(0.1, -0.4, 0.6, -0.5, 0.3)]
    tool = arm.get_num_joints() - 1
    arm.attach_object(loads[0], parent_link_index=tool, relative_pose=grips[0])
    loads[0].attach_object(loads[1], relative_pose=grips[1])
    arm.attach_object(loads[2], relative_pose=grips[2])
    arm.set_velocity(0.4, wz=-0.6)
    arm.set_all_joints_targets([0.9] * len(arm.movable_joint_names))
    frames: list[list[np.ndarray]] = []
    for _ in range(round(0.6 / dt)):
        sim.step_once()
        hand, base = rigid.frame_of(arm.get_link_pose(tool)), rigid.frame_of(arm.get_pose())
        first = hand @ rigid.frame_of(grips[0])
        frames.append([first, first @ rigid.frame_of(grips[1]), base @ rigid.frame_of(grips[2])])
        for load, frame in zip(loads, frames[-1], strict=True):
            assert np.allclose(rigid.frame_of(load.get_pose()), frame, atol=1e-9)
    for index, load in enumerate(loads):
        # Backward differences of second order, at the end of the last step.
        last = [part[index][:3, 3] for part in frames[-3:]]
        velocity = (3.0 * last[2] - 4.0 * last[1] + last[0]) / (2.0 * dt)
        assert np.allclose(load.velocity, velocity, atol=2.0 * dt * dt)
