"""Robots, their commands and actions: what takes over from what, and how long things take."""

from __future__ import annotations

import pytest
from small_world import BOX, robot

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
at = fs.Pose.from_xyz


def steps(sim: Sim, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def test_removing_in_an_update_skips_nobody(sim: Sim) -> None:
    agents = [robot(sim, f"r{index}", 2.0 * index) for index in range(10)]
    updated: list[str | None] = []

    def update(agent: fs.Agent, dt: float) -> None:
        updated.append(agent.name)
        if agent.name in ("r2", "r5"):
            sim.remove_object(agent)
        if agent.name == "r6":
            sim.remove_object(sim.get_object("r8"))

    for agent in agents:
        agent.register_callback(update)
        agent.set_velocity(1.0)
    sim.step_once()
    assert updated == [f"r{index}" for index in range(10) if index != 8]
    updated.clear()
    sim.step_once()
    assert updated == [f"r{index}" for index in range(10) if index not in (2, 5, 8)]
    assert all(agent.get_pose().x > agent.object_id * 2.0 for agent in sim.agents)


def test_a_velocity_command_takes_over_from_an_action(sim: Sim) -> None:
    agent, action = robot(sim, "a"), fs.MoveTo(at(50, 0, 0))
    agent.add_action(action)
    steps(sim, 5)
    agent.set_velocity(0.0)
    assert action.status is fs.ActionStatus.CANCELLED
    assert "velocity" in (action.error_message or "")
    steps(sim, 20)
    assert not agent.is_moving
    agent.set_goal(at(0, 1, 0))
    steps(sim, 60)
    assert agent.is_goal_reached()


def test_clearing_the_actions_stops_the_robot(sim: Sim) -> None:
    agent, told = robot(sim, "a"), []
    sim.events.on("action_completed", lambda agent, action, status: told.append((action, status)))
    action = fs.MoveTo(at(50, 0, 0))
    agent.add_action(action)
    steps(sim, 10)
    place = agent.get_pose()
    agent.clear_actions()
    assert told == [(action, fs.ActionStatus.CANCELLED)]
    assert action.get_duration() == pytest.approx(1.0)
    steps(sim, 20)
    assert agent.get_pose() == place
    assert not agent.is_moving


def test_velocities_of_joints_are_true(sim: Sim) -> None:
    arm = fs.Agent.from_urdf("panda", at(0, 0, 0), use_fixed_base=True, sim_core=sim)
    arm.set_joint_target(0, 1.0)
    before = arm.get_joint_state(0)[0]
    steps(sim, 1)
    position, velocity = arm.get_joint_state(0)
    assert velocity == pytest.approx((position - before) / sim.params.timestep)
    assert velocity > 1.0


def test_pick_looks_around_the_robot_by_default(sim: Sim) -> None:
    agent, box = robot(sim, "a"), sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, at(0.8, 0, 0), name="box"))
    pick = fs.parse_action_goal("pick", '{"search_radius": 1.0, "use_approach": false}')
    agent.add_action(pick)
    steps(sim, 2)
    assert pick.status is fs.ActionStatus.COMPLETED
    assert agent.get_attached_objects() == [box]


def test_a_wait_takes_its_time_to_the_step(sim: Sim) -> None:
    agent = robot(sim, "a")
    for seconds, ticks in ((1.0, 10), (0.1, 1), (0.7, 7), (0.3, 3)) * 15:
        wait = fs.Wait(seconds)
        agent.add_action(wait)
        taken = -1
        while not wait.is_complete():
            sim.step_once()
            taken += 1
        assert taken == ticks
        assert wait.get_duration() == pytest.approx(seconds)
