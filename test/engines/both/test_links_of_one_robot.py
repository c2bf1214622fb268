"""`self_collision`: links of one robot push each other with each engine, and those that belong together do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet_sim import Agent, MultiRobotSimulationCore

MakeSim = Callable[..., MultiRobotSimulationCore]
READY = {"panda_joint2": -0.4, "panda_joint4": -2.0, "panda_joint6": 1.6, "panda_joint7": 0.8}
FOLDED = {"panda_joint2": 1.7, "panda_joint4": -3.0}
"""The forearm in the base."""


def spawn(sim: MultiRobotSimulationCore, **settings: object) -> Agent:
    agent: Agent = Agent.from_urdf(
        "panda", use_fixed_base=True, sim_core=sim, name="arm", mass=None, joint_positions=READY, **settings
    )
    return agent


@pytest.mark.parametrize("self_collision", [False, True])
def test_links_push_each_other(make_sim: MakeSim, self_collision: bool) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    arm = spawn(sim, self_collision=self_collision)
    for _ in range(20):
        sim.step_once()
    # Nothing pushes where nothing folds: links that joints join overlap where they meet.
    assert max(abs(arm.get_joint_state(name)[0] - value) for name, value in READY.items()) < 0.01
    arm.set_joints_targets(FOLDED)
    for _ in range(150):
        sim.step_once()
    left = sum(abs(arm.get_joint_state(name)[0] - value) for name, value in FOLDED.items())
    assert (left > 0.05) is self_collision
    if self_collision:
        assert sim.get_self_collisions(arm)


def test_a_run_is_the_same_again(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    arm = spawn(sim, self_collision=True)
    arm.set_joints_targets(FOLDED)
    for _ in range(60):
        sim.step_once()
    moment = sim.save_state()
    hashes = [sim.state_hash() for _ in range(10) if sim.step_once() is None]
    sim.restore_state(moment)
    assert [sim.state_hash() for _ in range(10) if sim.step_once() is None] == hashes
