"""Links of one robot that touch each other are reported, and push each other in the engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arms import PANDA, READY

import fleet_sim as fs

Make = Callable[..., fs.MultiRobotSimulationCore]
FOLDED = {"panda_joint2": 1.7, "panda_joint4": -3.0}
"""The forearm in the base."""


def spawn(sim: fs.MultiRobotSimulationCore, **settings: Any) -> fs.Agent:
    given = {"mass": 0.0, "self_collision": True, "joint_positions": READY, "name": "arm", **settings}
    agent: fs.Agent = fs.Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, **given)
    return agent


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def listen(sim: fs.MultiRobotSimulationCore) -> list[tuple[str, str, str, str]]:
    seen: list[tuple[str, str, str, str]] = []
    for event in ("self_collision_started", "self_collision_ended"):
        sim.events.on(
            event, lambda agent, link_a, link_b, event=event: seen.append((event, agent.name, link_a, link_b))
        )
    return seen


def test_links_that_touch_are_reported_by_name(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    seen = listen(sim)
    own: list[Any] = []
    arm.events.on("self_collision_started", lambda link_a, link_b: own.append((link_a, link_b)))
    run(sim, 2)
    assert seen == [] and sim.get_self_collisions(arm) == []
    arm.set_joints_targets(FOLDED)
    run(sim, 30)
    pairs = sim.get_self_collisions("arm")
    assert ("panda_link0", "panda_link5") in pairs or ("panda_link1", "panda_link5") in pairs
    assert set(pairs) <= set(own) == {entry[2:] for entry in seen if entry[:2] == ("self_collision_started", "arm")}
    arm.set_joints_targets({"panda_joint2": 0.0, "panda_joint4": -1.5})
    run(sim, 30)
    assert sim.get_self_collisions(arm) == []
    assert sorted(entry[2:] for entry in seen if "ended" in entry[0]) == sorted(own)


def test_neighbours_and_what_touches_at_rest_are_exempt(make_sim: Make) -> None:
    """The fingers touch when the gripper is closed, as it is with all joints at 0; links 4 and 6 overlap."""
    sim = make_sim()
    arm = spawn(sim, joint_positions=None)
    run(sim, 2)
    assert sim.get_self_collisions(arm) == []


def test_without_the_setting_nothing_is_looked_at(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim, self_collision=False)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    with pytest.raises(fs.StateError, match="'arm' was spawned without self_collision"):
        sim.get_self_collisions(arm)
    assert "self_collisions" not in sim.pipeline.times


def test_a_disabled_robot_reports_nothing(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    seen = listen(sim)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    touching = sim.get_self_collisions(arm)
    assert touching
    arm.set_collision_mode("disabled")
    run(sim, 2)
    assert sim.get_self_collisions(arm) == []
    assert sorted(entry[2:] for entry in seen if "ended" in entry[0]) == sorted(touching)
    arm.set_collision_mode("normal_3d")
    run(sim, 2)
    assert sim.get_self_collisions(arm) == touching


def test_going_back_and_removal(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    run(sim, 1)
    moment = sim.save_state()
    arm.set_joint_positions(FOLDED)
    run(sim, 1)
    touching = sim.get_self_collisions(arm)
    folded = sim.save_state()
    sim.restore_state(moment)
    seen = listen(sim)
    run(sim, 1)
    assert touching and seen == [] and sim.get_self_collisions(arm) == []
    sim.restore_state(folded)
    run(sim, 1)
    assert seen == [] and sim.get_self_collisions(arm) == touching
    sim.remove_object(arm)
    assert [entry[0] for entry in seen] == ["self_collision_ended"] * len(touching)


def test_it_keeps_to_the_rate_of_checks(make_sim: Make) -> None:
    sim = make_sim(collision_check_frequency=0)
    arm = spawn(sim)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    assert sim.get_self_collisions(arm) == []


@pytest.mark.parametrize("self_collision", [False, True])
def test_links_push_each_other_in_the_engine(make_sim: Make, self_collision: bool) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    arm = spawn(sim, mass=None, self_collision=self_collision)
    arm.set_joints_targets(FOLDED)
    run(sim, 150)
    left = abs(arm.get_joint_state("panda_joint4")[0] + 3.0) + abs(arm.get_joint_state("panda_joint2")[0] - 1.7)
    assert (left > 0.05) is self_collision
    if self_collision:
        assert sim.get_self_collisions(arm)
    assert bool(sim.bullet.getContactPoints(arm.body_id, arm.body_id)) is self_collision


def test_a_motored_arm_at_rest_is_not_pushed_by_its_own_shapes(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm = spawn(sim, mass=None, joint_positions=None)
    run(sim, 20)
    assert not sim.bullet.getContactPoints(arm.body_id, arm.body_id)
    moment = sim.save_state()
    hashes = [sim.state_hash() for _ in range(4) if sim.step_once() is None]
    sim.restore_state(moment)
    assert [sim.state_hash() for _ in range(4) if sim.step_once() is None] == hashes


@pytest.mark.parametrize("suffix", ["sdf", "SDF"])
def test_where_it_cannot_act_it_is_refused(make_sim: Make, tmp_path: Path, suffix: str) -> None:
    sim = make_sim(physics=True)
    box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
    with pytest.raises(fs.InvalidValueError, match="a shape has no links"):
        sim.spawn(fs.AgentSpawnParams(box, box, self_collision=True))
    file = tmp_path / f"two.{suffix}"
    link = "<link name='{0}'><inertial><mass>1</mass></inertial></link>"
    file.write_text(f"<sdf version='1.6'><model name='two'>{link.format('a')}</model></sdf>")
    with pytest.raises(fs.InvalidValueError, match="URDF files only"):
        fs.Agent.from_urdf(str(file), sim_core=sim, self_collision=True)
