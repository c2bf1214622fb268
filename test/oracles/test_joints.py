"""Joints that nothing but a command moves, against speed times time: their own limits, fallbacks, curves, followers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

JOINTS = {
    # Type, lower, upper, velocity in the file, what it moves at.
    "swift": ("revolute", -1.9, 1.4, 2.7, 2.7),
    "plain": ("revolute", -1.9, 1.4, 0.0, 2.0),
    "endless": ("continuous", None, None, 0.0, 2.0),
    "slide": ("prismatic", -0.3, 0.7, 0.0, 0.5),
    "crawl": ("prismatic", -0.3, 0.7, 0.11, 0.11),
    "follower": ("revolute", -9.0, 9.0, 0.4, None),
}
FORMS = [(1, "never", 0.05), (7, "never", 0.013)]


def description(folder: Path) -> str:
    parts = ['<link name="base"/>']
    for name, (kind, lower, upper, speed, _) in JOINTS.items():
        ends = "" if lower is None else f' lower="{lower}" upper="{upper}"'
        mimic = '<mimic joint="swift" multiplier="-0.6" offset="0.25"/>' if name == "follower" else ""
        parts.append(
            f'<link name="l_{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
            f'iyz="0"/></inertial></link><joint name="{name}" type="{kind}"><parent link="base"/>'
            f'<child link="l_{name}"/><axis xyz="0 1 2"/><limit{ends} velocity="{speed}" effort="9"/>{mimic}</joint>'
        )
    path = folder / "joints.urdf"
    path.write_text(f'<robot name="joints">{"".join(parts)}</robot>')
    return str(path)


def fleet(folder: Path, count: int, compiled: str, dt: float) -> tuple[Any, list[fs.Agent]]:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, compiled_code=compiled)
    sim = fs.MultiRobotSimulationCore(params)
    path = description(folder)
    return sim, [
        sim.spawn(
            fs.AgentSpawnParams(
                urdf_path=path, name=f"r{index}", use_fixed_base=True, initial_pose=fs.Pose((2.0 * index, 0.7, 0.1))
            )
        )
        for index in range(count)
    ]


def targets(index: int) -> dict[str, float]:
    """Targets of unequal ways, some beyond a limit."""
    return {
        "swift": -1.7 + 0.05 * (index % 60), "plain": 2.0 - 0.06 * index, "endless": 7.1 - 0.2 * index,
        "slide": -0.5 + 0.02 * index, "crawl": 0.17 - 0.003 * index,
    }  # fmt: skip


@pytest.mark.parametrize(("count", "compiled", "dt"), FORMS)
@holds(
    "api:Agent.set_joints_targets", "api:Agent.get_joint_state", "ros:sensor_msgs/JointState.position",
    "ros:sensor_msgs/JointState.velocity",
    fault="robots/motion/system.py: a joint is there already when it is two steps away",
)  # fmt: skip
def test_a_joint_moves_at_its_speed_and_stops_at_its_target(
    tmp_path: Path, count: int, compiled: str, dt: float
) -> None:
    sim, robots = fleet(tmp_path, count, compiled, dt)
    for index, robot in enumerate(robots):
        robot.set_joints_targets(targets(index))
    for step in range(1, round(2.2 / dt)):
        sim.step_once()
        for index in {0, count // 2, count - 1}:
            state = robots[index].get_all_joints_state_by_name()
            for name, (_, lower, upper, _, speed) in JOINTS.items():
                if speed is None:
                    continue
                goal = targets(index)[name]
                goal = goal if lower is None else min(max(goal, lower), upper)
                gone = min(speed * dt * step, abs(goal))
                moves = speed * dt * step < abs(goal) - 1e-9
                assert state[name][0] == pytest.approx(math.copysign(gone, goal), abs=1e-12)
                assert state[name][1] == (pytest.approx(math.copysign(speed, goal)) if moves else 0.0)
                assert moves or state[name][0] == goal
            assert state["follower"][0] == pytest.approx(-0.6 * state["swift"][0] + 0.25, abs=1e-12)
            assert state["follower"][1] == pytest.approx(-0.6 * state["swift"][1], abs=1e-12)


@pytest.mark.parametrize(("count", "compiled", "dt"), FORMS)
@holds(
    "api:Agent.set_joint_velocity", "api:Agent.get_joint_state",
    fault="robots/motion/system.py: a joint at a velocity heads for its lower limit both ways",
)  # fmt: skip
def test_a_velocity_lasts_until_the_limit(tmp_path: Path, count: int, compiled: str, dt: float) -> None:
    sim, robots = fleet(tmp_path, count, compiled, dt)
    speeds = {"swift": 1.3, "plain": -1.1, "endless": 1.7, "slide": 0.4, "crawl": -5.0}
    for robot in robots:
        for name, speed in speeds.items():
            robot.set_joint_velocity(name, speed)
    for step in range(1, round(2.9 / dt)):
        sim.step_once()
        state = robots[-1].get_all_joints_state_by_name()
        for name, speed in speeds.items():
            lower, upper, most = JOINTS[name][1], JOINTS[name][2], JOINTS[name][4]
            assert most is not None
            capped = math.copysign(min(abs(speed), most), speed)
            free = capped * dt * step
            end = free if lower is None else min(max(free, lower), upper)
            assert state[name][0] == pytest.approx(end, abs=1e-9), (name, step)
            moves = lower is None or lower + 1e-9 < free < upper - 1e-9
            assert state[name][1] == (pytest.approx(capped) if moves else 0.0)


@holds(
    "api:JointTrajectoryAction", "api:Agent.get_joint_state",
    fault="robots/motion/system.py: the curve is looked up at the beginning of the step",
)  # fmt: skip
def test_a_trajectory_is_where_it_should_be_at_each_time(tmp_path: Path) -> None:
    dt = 0.013
    sim, (robot,) = fleet(tmp_path, 1, "never", dt)
    times, places = [0.8, 1.5, 2.6], [0.9, 0.9, -0.4]
    action = fs.JointTrajectoryAction(["swift"], times=times, positions=[[place] for place in places])
    robot.add_action(action)
    for _ in range(round(3.0 / dt)):
        sim.step_once()
        # Begun in the first step, at its beginning.
        place = np.interp(sim.sim_time, [0.0, *times], [0.0, *places])
        slope = (place - np.interp(sim.sim_time - dt, [0.0, *times], [0.0, *places])) / dt
        position, velocity = robot.get_joint_state("swift")
        assert position == pytest.approx(place, abs=1e-9)
        if sim.sim_time < times[-1]:
            assert velocity == pytest.approx(slope, abs=1e-9)
    assert action.status == "completed" and robot.get_joint_state("swift") == (-0.4, 0.0)
