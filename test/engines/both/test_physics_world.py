"""Physics as users of a simulation see it: stacks, friction, bouncing, contacts, grasping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import FINGERS
from small_world import MakeSim

import fleet_sim as fs
from fleet_sim.base.files import data_file

Sim = fs.MultiRobotSimulationCore

CUBE = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
BALL = fs.ShapeParams("sphere", radius=0.1)


def spawn(sim: Sim, name: str, shape: fs.ShapeParams, *place: float, **settings: object) -> fs.SimObject:
    settings = {"mass": 1.0, **settings}
    params = fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(*place), name=name, **settings)  # type: ignore[arg-type]
    thing: fs.SimObject = sim.spawn(params)
    return thing


def run(sim: Sim, seconds: float) -> None:
    for _ in range(round(seconds / sim.params.timestep)):
        sim.step_once()


def test_a_stack_of_five_stands_for_five_seconds(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    cubes = [spawn(sim, f"cube_{level}", CUBE, 0.0, 0.0, 0.1 + 0.2 * level) for level in range(5)]
    run(sim, 5.0)
    for level, cube in enumerate(cubes):
        assert cube.position == pytest.approx([0.0, 0.0, 0.1 + 0.2 * level], abs=0.005)
    assert np.abs([cube.velocity for cube in cubes]).max() < 0.01


def test_contacts_name_who_touches_and_how_hard(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    lower = spawn(sim, "lower", CUBE, 0.0, 0.0, 0.1)
    upper = spawn(sim, "upper", CUBE, 0.0, 0.0, 0.3, mass=2.0)
    alone = spawn(sim, "alone", CUBE, 3.0, 0.0, 5.0, mass=0.0)
    assert lower.get_contacts() == []
    run(sim, 1.0)
    assert {contact.other for contact in lower.get_contacts()} == {None, upper}
    onto = upper.get_contacts()
    assert {contact.other for contact in onto} == {lower}
    assert sum(contact.normal_force for contact in onto) == pytest.approx(2.0 * 9.81, rel=0.02)
    assert all(contact.normal == pytest.approx((0.0, 0.0, 1.0), abs=0.01) for contact in onto)
    assert alone.get_contacts() == []
    assert make_sim().spawn(fs.SimObjectSpawnParams(CUBE, CUBE)).get_contacts() == []


def test_an_object_gains_and_loses_its_mass(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    cube = spawn(sim, "cube", CUBE, 0.0, 0.0, 2.0, mass=0.0)
    run(sim, 0.2)
    assert cube.position[2] == 2.0
    cube.set_mass(1.0)
    run(sim, 0.2)
    assert 1.7 < cube.position[2] < 1.9
    cube.set_mass(0.0)
    height = cube.position[2]
    run(sim, 0.2)
    assert cube.position[2] == height
    for call, error in (
        (lambda: cube.set_mass(-1.0), fs.InvalidValueError),
        (lambda: cube.set_material(friction=-1.0), fs.InvalidValueError),
        (lambda: cube.set_material(frictoin=1.0), fs.UnknownNameError),
    ):
        with pytest.raises(error):
            call()
    arm = fs.Agent.from_urdf("panda", use_fixed_base=True, sim_core=sim)
    with pytest.raises(fs.StateError, match="spawned with motors"):
        arm.set_mass(0.0)


def test_an_arm_grasps_a_box_by_friction_and_lifts_it(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    above = [0.0, 0.63, 0.0, -1.985, 0.0, 2.615, 0.785, 0.04, 0.04]
    arm = fs.Agent.from_urdf("panda", use_fixed_base=True, sim_core=sim, joint_positions=above, friction=1.0)
    tip = arm.get_link_pose(11).position
    table_top = tip[2] - 0.02
    spawn(
        sim,
        "table",
        fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.5 * table_top)),
        tip[0],
        0.0,
        0.5 * table_top,
        mass=0.0,
    )
    small = fs.ShapeParams("box", half_extents=(0.02, 0.02, 0.02))
    box = spawn(sim, "box", small, tip[0], tip[1], tip[2], mass=0.1, friction=1.0)
    run(sim, 0.3)
    arm.set_joints_targets(dict.fromkeys(FINGERS, 0.0), max_force=20.0)
    run(sim, 0.4)
    assert {contact.other for contact in box.get_contacts()} >= {arm}
    before = box.position[2]
    arm.set_joints_targets({"panda_joint2": 0.2, "panda_joint4": -1.985})
    run(sim, 1.5)
    assert box.position[2] > before + 0.15
    assert {contact.other for contact in box.get_contacts()} == {arm}
    arm.set_joints_targets(dict.fromkeys(FINGERS, 0.04), max_force=20.0)
    run(sim, 0.5)
    assert box.position[2] < before + 0.1, "let go, it falls"


def test_a_robot_that_becomes_unstable_leaves_no_broken_numbers_and_no_files(
    make_sim: MakeSim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A finger whose body is 100 km away from its joint: one of the engines makes no numbers of that.
    text = data_file("urdf", "arm6.urdf").read_text().replace('xyz="0 -0.01 0.035"', 'xyz="0 -0.01 1e5"')
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    monkeypatch.chdir(tmp_path)
    sim = make_sim(physics=True)
    sim.spawn(fs.AgentSpawnParams(urdf_path=str(file), mass=1.0))
    ball = spawn(sim, "ball", BALL, 0.0, 50.0, 9.0)
    for _ in range(5):
        sim.step_once()
        assert 0.0 < ball.get_pose().position[2] <= 9.0
        assert np.isfinite(sim.world.joints.position).all() and np.isfinite(sim.world.half_extents).all()
    assert list(tmp_path.iterdir()) == [file], "no engine writes files where it runs"
