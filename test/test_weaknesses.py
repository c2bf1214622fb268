"""Weaknesses of comparable simulators that this one does not have, one test each, through the public API.

The numbers are those of the list of known weaknesses the project started from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.2))
at = fs.Pose.from_xyz


def robot(sim: Sim, name: str = "a", x: float = 0.0, **params: Any) -> fs.Agent:
    params = {"motion_mode": "omnidirectional", "visual_shape": BOX, "collision_shape": BOX, **params}
    return sim.spawn(fs.AgentSpawnParams(name=name, initial_pose=at(x, 0, 0), **params))


def thing(sim: Sim, name: str, x: float, shape: fs.ShapeParams = BOX, **params: Any) -> fs.SimObject:
    return sim.spawn(
        fs.SimObjectSpawnParams(
            visual_shape=shape, collision_shape=shape, name=name, initial_pose=at(x, 0, 0), **params
        )
    )


def steps(sim: Sim, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def test_01_rates_are_exact(sim: Sim) -> None:
    calls: dict[float, list[float]] = {10.0: [], 3.0: [], 1.0: []}
    for frequency, dts in calls.items():
        sim.register_callback(lambda sim, dt, dts=dts: dts.append(dt), frequency)

    class Plugin(fs.SimPlugin):
        count = 0

        def on_step(self, dt: float) -> None:
            self.count += 1

    plugin = sim.register_plugin(Plugin, frequency=3.0)
    steps(sim, 100)
    assert {frequency: len(dts) for frequency, dts in calls.items()} == {10.0: 100, 3.0: 30, 1.0: 10}
    assert calls[1.0][0] == 1.0
    assert plugin.count == 30


def test_02_the_collision_margin_has_an_effect(make_sim: MakeSim) -> None:
    for margin, hits in ((0.02, 1), (0.005, 0)):
        sim = make_sim(collision_margin=margin)
        robot(sim, "a", 0.0)
        robot(sim, "b", 0.41)
        sim.step_once()
        assert len(sim.get_active_collision_pairs()) == hits


def test_03_a_collision_ends_when_one_of_the_two_is_removed(make_sim: MakeSim) -> None:
    sim, told = make_sim(collision_check_frequency=1.0), []
    a, b = robot(sim, "a"), robot(sim, "b", 0.1)
    sim.events.on("collision_started", lambda obj_a, obj_b: told.append(("started", obj_a.name, obj_b.name)))
    sim.events.on("collision_ended", lambda obj_a, obj_b: told.append(("ended", obj_a.name, obj_b.name)))
    b.events.on("collision_ended", lambda other: told.append(("b ended", other.name)))
    steps(sim, 10)
    sim.remove_object(a)
    assert told == [("started", "a", "b"), ("ended", "a", "b"), ("b ended", "a")]
    steps(sim, 20)
    assert len(told) == 3
    assert sim.get_active_collision_pairs() == []


def test_04_a_stored_pose_never_changes(sim: Sim) -> None:
    agent = robot(sim)
    agent.set_velocity(1.0)
    stored = agent.get_pose()
    steps(sim, 10)
    agent.set_pose(at(9, 9, 9))
    assert stored.position == (0, 0, 0)
    with pytest.raises((AttributeError, TypeError)):
        stored.position[0] = 1.0  # type: ignore[index]


def test_05_removing_in_an_update_skips_nobody(sim: Sim) -> None:
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


def test_06_shapes_survive_a_reset(make_sim: MakeSim, tmp_path: Any) -> None:
    pytest.importorskip("pybullet")
    mesh = tmp_path / "part.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    sim = make_sim()
    for clear in (sim.reset, sim.clear, sim.clear):
        clear()
        body = fs.SimObject.from_mesh(str(mesh), sim_core=sim, name=f"part {clear.__name__}").body_id
        assert len(sim.bullet.getVisualShapeData(body)) == 1
        assert len(sim.bullet.getCollisionShapeData(body, -1)) == 1


def test_07_every_simulation_has_its_own_pybullet(make_sim: MakeSim, tmp_path: Any) -> None:
    pytest.importorskip("pybullet")
    mesh = tmp_path / "part.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    for sim in [make_sim(enable_floor=False) for _ in range(3)]:
        agent = fs.Agent.from_mesh(str(mesh), sim_core=sim, name="a")
        assert sim.bullet.getNumBodies() == 1
        assert sim.bullet.getBodyUniqueId(0) == agent.body_id


def test_08_there_is_a_way_back_to_the_start(sim: Sim) -> None:
    agent, told = robot(sim), []
    agent.set_goal(at(5, 0, 0))
    for event, key in (("object_removed", "obj"), ("agent_removed", "agent")):
        sim.events.on(event, lambda event=event, key=key, **details: told.append((event, details[key].name)))
    start = sim.state_hash()
    steps(sim, 5)
    robot(sim, "late")
    sim.restore_initial()
    assert sim.state_hash() == start
    assert told == [("object_removed", "late"), ("agent_removed", "late")]
    steps(sim, 5)
    assert agent.get_pose().x > 0
    sim.clear()
    assert told[2:] == [("object_removed", "a"), ("agent_removed", "a")]
    assert sim.sim_objects == []


def test_09_one_seed_gives_one_run(make_sim: MakeSim) -> None:
    def places(seed: int) -> list[Any]:
        sim = make_sim(seed=seed)
        manager = fs.AgentManager(sim)
        manager.spawn_agents_grid(10, fs.GridSpawnParams.from_count(30), fs.AgentSpawnParams())
        types = [(fs.AgentSpawnParams(), 0.3), (fs.AgentSpawnParams(mass=1.0), 0.4)]
        manager.spawn_agents_grid_mixed(30, fs.GridSpawnParams.from_count(30), types)
        return [*sim.get_snapshot().positions.tolist(), [agent.mass for agent in sim.agents]]

    assert places(1) == places(1)
    assert places(1) != places(2)


def test_10_impossible_moves_fail(sim: Sim) -> None:
    fixed = robot(sim, "fixed", use_fixed_base=True)
    move, empty = fs.MoveTo(at(1, 0, 0)), fs.MoveAction([])
    fixed.add_action(move)
    robot(sim, "free", 5.0).add_action(empty)
    sim.step_once()
    assert (move.status, empty.status) == (fs.ActionStatus.FAILED, fs.ActionStatus.FAILED)
    assert "fixed base" in (move.error_message or "")
    assert "empty" in (empty.error_message or "")


def test_11_a_velocity_command_takes_over_from_an_action(sim: Sim) -> None:
    agent, action = robot(sim), fs.MoveTo(at(50, 0, 0))
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


def test_12_driven_by_a_velocity_is_moving(sim: Sim) -> None:
    agent, manager = robot(sim), fs.AgentManager(sim)
    manager.add_object(agent)
    agent.set_velocity(1.0, timeout=1.0)
    steps(sim, 2)
    assert agent.is_moving
    assert manager.get_moving_count() == 1
    steps(sim, 30)
    assert not agent.is_moving


def test_13_clearing_the_actions_stops_the_robot(sim: Sim) -> None:
    agent, told = robot(sim), []
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


def test_14_joint_targets_that_make_no_sense_fail(sim: Sim) -> None:
    arm = fs.Agent.from_urdf("panda", at(0, 0, 0), use_fixed_base=True, sim_core=sim)
    for targets in ({"panda_joint1": 10.0}, [0.0, 0.0], {"elbow": 0.0}):
        action = fs.JointAction(targets)
        arm.add_action(action)
        steps(sim, 2)
        assert action.status is fs.ActionStatus.FAILED
        assert action.error_message
    arm.set_joint_target(0, 10.0)
    steps(sim, 100)
    assert arm.get_joint_state(0)[0] == arm.get_joint_limits(0)[1]


def test_15_velocities_of_joints_are_true(sim: Sim) -> None:
    arm = fs.Agent.from_urdf("panda", at(0, 0, 0), use_fixed_base=True, sim_core=sim)
    arm.set_joint_target(0, 1.0)
    before = arm.get_joint_state(0)[0]
    steps(sim, 1)
    position, velocity = arm.get_joint_state(0)
    assert velocity == pytest.approx((position - before) / sim.params.timestep)
    assert velocity > 1.0


def test_16_pick_looks_around_the_robot_by_default(sim: Sim) -> None:
    agent, box = robot(sim), thing(sim, "box", 0.8)
    pick = fs.parse_action_goal("pick", '{"search_radius": 1.0, "use_approach": false}')
    agent.add_action(pick)
    steps(sim, 2)
    assert pick.status is fs.ActionStatus.COMPLETED
    assert agent.get_attached_objects() == [box]


@pytest.mark.parametrize("speed", [1.0, 20.0])
@pytest.mark.parametrize("mode", ["omnidirectional", "differential"])
def test_17_robots_can_be_stopped_by_walls_however_thin(make_sim: MakeSim, speed: float, mode: str) -> None:
    sim, blocked = make_sim(block_on_collision=True, ignore_static_collision=True), []
    wall = fs.ShapeParams("box", half_extents=(0.01, 5, 5))
    thing(sim, "wall", 5.0, wall, collision_mode="static")
    agent = robot(sim, motion_mode=mode, max_linear_vel=speed, max_linear_accel=100.0)
    agent.events.on("blocked", lambda: blocked.append(agent.blocked_by))
    agent.set_goal(at(10, 0, 0))
    steps(sim, 100)
    assert 4.0 < agent.get_pose().x <= 4.79 + 1e-6
    assert [obj.name for obj in blocked] == ["wall"]
    assert not agent.is_goal_reached()


def test_18_velocity_commands_obey_limits_on_exact_arcs(sim: Sim) -> None:
    agent = robot(sim, motion_mode="differential", max_linear_accel=5.0, max_angular_accel=1e9, max_linear_vel=2.0)
    agent.set_velocity(2.0)
    speeds = []
    for _ in range(6):
        sim.step_once()
        speeds.append(float(np.linalg.norm(agent.velocity)))
    assert speeds == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0, 2.0])
    agent.stop()
    agent.set_pose(fs.Pose.from_yaw(0, 0, 0, 0))
    turner = robot(sim, "b", 50.0, motion_mode="differential", max_linear_accel=1e9, max_angular_accel=1e9)
    turner.set_velocity(1.0, wz=1.0)
    sim.step_once()
    start = turner.get_pose()
    steps(sim, 31)
    angle = 3.1
    centre = (start.x - math.sin(start.yaw), start.y + math.cos(start.yaw))
    heading = start.yaw + angle
    expected = (centre[0] + math.sin(heading), centre[1] - math.cos(heading))
    assert turner.get_pose().position[:2] == pytest.approx(expected, abs=1e-9)


def test_19_callbacks_of_objects_run_at_a_frequency(sim: Sim) -> None:
    calls: list[tuple[str | None, float]] = []
    thing(sim, "box", 0.0).register_callback(lambda obj, dt: calls.append((obj.name, dt)), frequency=2.0)
    steps(sim, 20)
    assert calls == [("box", 0.5)] * 4


def test_20_a_users_fault_does_not_end_the_step(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    def fail(sim: Sim, dt: float) -> None:
        raise LookupError("mine")

    sim, strict = make_sim(), make_sim(raise_on_fault=True)
    for each in (sim, strict):
        robot(each).set_goal(at(1, 0, 0))
        each.register_callback(fail)
    steps(sim, 10)
    assert sim.get_object("a").get_pose().x > 0
    assert list(sim.guard.counts.values()) == [10]
    assert caplog.text.count("Traceback") == 1
    with pytest.raises(LookupError, match="mine"):
        strict.step_once()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"simulation": {"timestp": 0.1}}, r"simulation\.timestp: unknown key\. Did you mean 'timestep'"),
        ({"simulaton": {}, "robots": []}, "simulaton.*Did you mean 'simulation'"),
        ({"simulation": {"timestep": -1}}, r"simulation\.timestep"),
        (
            {"robots": [{"name": "g", "grid": {"count": 9}}, {"name": "a"}, {"name": "a"}]},
            r"robots\[2\].*'a' is already taken",
        ),
        ({"robots": [{"name": "a", "max_linear_vel": -2}]}, r"robots\[0\]\.max_linear_vel"),
        ({"robots": [{"name": "a", "pose": [0, 0, float("nan")]}]}, r"robots\[0\]\.pose"),
        ({"robots": [{"name": "a"}], "objects": [{"nam": "b"}]}, "objects"),
        ({"robots": {"name": "a"}}, "robots: must be a list"),
    ],
)
def test_21_bad_configurations_are_one_clear_error(config: dict[str, Any], message: str) -> None:
    complete = {**config, "simulation": {"gui": False, **config.get("simulation", {})}}
    with pytest.raises(fs.ConfigError, match=message):
        Sim.from_dict(complete)


def test_22_a_paused_run_rests_and_a_run_can_be_repeated(make_sim: MakeSim) -> None:
    sim = make_sim(target_rtf=0)
    assert [sim.run_simulation(0.5).steps for _ in range(2)] == [5, 5]
    sim.pause()
    run = Thread(target=sim.run_simulation)
    run.start()
    wall, cpu = time.perf_counter(), time.process_time()
    run.join(1.0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sim.stop()
    run.join(60)
    assert sim.step_count == 10
    assert cpu < 0.5 * wall


@pytest.mark.parametrize("offset", range(15))
def test_23_a_wait_takes_its_time_to_the_step(sim: Sim, offset: int) -> None:
    agent = robot(sim)
    steps(sim, offset)
    for seconds, ticks in ((1.0, 10), (0.1, 1), (0.7, 7), (0.3, 3)):
        wait = fs.Wait(seconds)
        agent.add_action(wait)
        taken = -1
        while not wait.is_complete():
            sim.step_once()
            taken += 1
        assert taken == ticks
        assert wait.get_duration() == pytest.approx(seconds)
