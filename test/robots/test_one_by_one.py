"""Entities that are spawned one by one with equal params: nothing is taken over that has changed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs

LINK = (
    '<link name="a"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial><collision><geometry><box size="{size} 1 1"/></geometry></collision></link>'
)


def write(path: Path, mass: float, size: float) -> None:
    """Write a robot of one link."""
    path.write_text(f'<robot name="r">{LINK.format(mass=mass, size=size)}</robot>')


def test_a_description_that_has_changed_is_read_again(sim: fs.MultiRobotSimulationCore, tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    masses, sizes = [], []
    for mass, size in ((2.0, 1.0), (2.0, 1.0), (30.0, 0.5), (4.0, 2.25)):
        write(path, mass, size)
        robot = fs.Agent.from_urdf(str(path), sim_core=sim)
        masses.append(robot.mass)
        sizes.append(float(sim.world.half_extents[robot.row, 0]))
    assert masses == [2.0, 2.0, 30.0, 4.0]
    assert sizes == [0.5, 0.5, 0.25, 1.125]


def test_a_list_that_has_changed_is_read_again(sim: fs.MultiRobotSimulationCore) -> None:
    positions = [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    robots = []
    for value in (0.1, 0.5):
        positions[0] = value
        params = fs.AgentSpawnParams(urdf_path="arm6", joint_positions=positions, use_fixed_base=True)
        robots.append(sim.spawn(params))
    assert [robot.get_joint_state_by_name("joint_1")[0] for robot in robots] == pytest.approx([0.1, 0.5])


def test_params_that_have_changed_are_checked_again(sim: fs.MultiRobotSimulationCore) -> None:
    params = fs.AgentSpawnParams(urdf_path="diff_base", max_linear_vel=1.0)
    slow = sim.spawn(params)
    params.max_linear_vel = 2.0
    fast = sim.spawn(params)
    params.motion_mode = "omnidirectionl"
    with pytest.raises(fs.InvalidValueError, match="omnidirectional"):
        sim.spawn(params)
    assert sim.world.motion.linear_limit[[slow.row, fast.row]].tolist() == [1.0, 2.0]


def test_values_of_ones_own_are_not_shared(sim: fs.MultiRobotSimulationCore) -> None:
    own = {"load": 1}
    first = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", user_data=own))
    own["load"] = 2
    second = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", user_data=own))
    assert (first.user_data["load"], second.user_data["load"]) == (1, 2)


def test_one_by_one_equals_in_bulk() -> None:
    hashes = set()
    for bulk in (False, True):
        with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0)) as sim:
            poses = [fs.Pose.from_xyz(2.0 * i, 0.0, 0.0) for i in range(5)]
            params = [fs.AgentSpawnParams(urdf_path="mobile_manipulator", initial_pose=pose) for pose in poses]
            if bulk:
                sim.spawn_all(params)
            else:
                for each in params:
                    sim.spawn(each)
            hashes.add(sim.state_hash())
    assert len(hashes) == 1
