"""Going back, starting over, ending: checkpoints, reset, clear, close."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import pairwise

import pytest
from hashed_run import hashed_run
from small_world import BOX, MakeSim, robot

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore


# ---- handles ---------------------------------------------------------------------------------------------------------


def test_a_stale_handle_says_what_it_stood_for(sim: Sim) -> None:
    agent, unnamed = robot(sim, "forklift"), robot(sim, None, 5.0)
    sim.remove_objects([agent, unnamed])
    robot(sim, "next")
    for use in (agent.get_pose, agent.stop, lambda: agent.name, lambda: sim.remove_object(agent)):
        with pytest.raises(fs.StaleHandleError, match="Agent forklift was removed"):
            use()
    with pytest.raises(fs.StaleHandleError, match="#1 was removed"):
        unnamed.get_pose()
    assert not agent.is_alive
    assert repr(agent) == "<Agent forklift (removed)>"
    assert agent != sim.get_object("next")


def test_a_removed_robot_lets_go_and_its_queue_ends(sim: Sim) -> None:
    carrier, load = robot(sim, "a"), sim.spawn(fs.SimObjectSpawnParams(name="load"))
    carrier.attach_object(load)
    actions = [fs.MoveTo(fs.Pose.from_xyz(9, 0, 0)), fs.Wait(1)]
    carrier.add_action_sequence(actions)
    sim.step_once()
    sim.remove_object(carrier)
    assert not load.is_attached()
    assert [action.status for action in actions] == [fs.ActionStatus.CANCELLED] * 2
    assert "removed" in (actions[0].error_message or "")
    sim.step_once()
    assert [obj.name for obj in sim.sim_objects] == ["load"]


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def busy(sim: Sim) -> list[fs.Action]:
    """Fill a simulation with everything that has state."""
    a, b = robot(sim, "a"), robot(sim, "b", 4.0, motion_mode="differential")
    load = sim.spawn(fs.SimObjectSpawnParams(name="load", initial_pose=fs.Pose.from_xyz(1, 0, 0)))
    a.attach_object(load, keep_world_pose=True)
    actions = [fs.Wait(0.35), fs.MoveTo(fs.Pose.from_xyz(2, 3, 0)), fs.Wait(0.2), fs.MoveTo(fs.Pose.from_xyz(0, 0, 0))]
    a.add_action_sequence(actions)
    b.set_path([fs.Pose.from_yaw(1, 1, 0, 2), fs.Pose.from_yaw(0, 4, 0, 1), fs.Pose.from_yaw(4, 4, 0, 0)])
    robot(sim, "c", 8.0).set_velocity(0.5, wz=0.3, timeout=2.0)

    def wander(owner: fs.Agent, dt: float) -> None:
        x, y = sim.world.random.stream("wander").random(2)
        owner.set_goal(fs.Pose.from_xyz(x, y, 0))

    robot(sim, "d", 12.0).register_callback(wander, 1.0)
    return actions


@pytest.mark.parametrize("moment", [0, 7])
def test_going_back_repeats_everything(make_sim: MakeSim, moment: int) -> None:
    sim = make_sim(seed=5)
    actions = busy(sim)
    hashed_run(sim, moment)
    saved, statuses = sim.save_state(), [action.status for action in actions]
    present, future = sim.state_hash(), hashed_run(sim, 40)
    ends = [(action.status, action.start_time, action.end_time) for action in actions]
    for _ in range(2):
        sim.restore_state(saved)
        assert sim.state_hash() == present
        assert sim.step_count == moment
        assert [action.status for action in actions] == statuses
        assert hashed_run(sim, 40) == future
        assert [(action.status, action.start_time, action.end_time) for action in actions] == ends


def test_removed_entities_live_again_with_all_that_was_theirs(sim: Sim) -> None:
    calls: list[str] = []

    class Plugin(fs.AgentPlugin):
        def on_init(self) -> None:
            calls.append("init")

        def on_destroy(self) -> None:
            calls.append("destroy")

    agent = robot(sim, "a", user_data={"colour": "red"})
    agent.register_callback(lambda owner, dt: calls.append(f"callback {owner.name}"))
    agent.add_plugin(Plugin)
    agent.events.on("arrived", lambda: calls.append("arrived"))
    agent.add_action_sequence([fs.Wait(0.1), fs.MoveTo(fs.Pose.from_xyz(0.01, 0, 0))])
    saved = sim.save_state()
    sim.remove_object(agent)
    later = robot(sim, "later")
    assert not agent.is_alive
    told: list[str] = []
    sim.events.on("object_removed", lambda obj: told.append(f"-{obj.name}"))
    sim.events.on("agent_spawned", lambda agent: told.append(f"+{agent.name}"))
    sim.restore_state(saved)
    assert told == ["-later", "+a"]
    assert agent.is_alive
    assert not later.is_alive
    assert sim.sim_objects == [agent]
    assert agent.user_data == {"colour": "red"}
    assert agent.get_action_queue_size() == 2
    assert isinstance(agent.get_plugin(Plugin), Plugin)
    calls.clear()
    for _ in range(5):
        sim.step_once()
    assert calls.count("callback a") == 5
    assert calls.count("arrived") == 1
    with pytest.raises(fs.UnknownNameError):
        sim.get_object("later")


def test_hooks_of_those_who_stay_are_left_alone(sim: Sim) -> None:
    agent, calls = robot(sim, "a"), []
    saved = sim.save_state()
    agent.register_callback(lambda *_: calls.append("callback"))
    agent.events.on("post_update", lambda **_: calls.append("event"))
    sim.register_callback(lambda *_: calls.append("sim"))
    sim.restore_state(saved)
    sim.step_once()
    assert calls == ["callback", "event", "sim"]


def test_checkpoints_of_another_simulation_are_refused(make_sim: MakeSim) -> None:
    sim, other = make_sim(), make_sim()
    robot(sim, "a")
    before = sim.state_hash()
    with pytest.raises(fs.InvalidValueError, match="another simulation"):
        sim.restore_state(other.save_state())
    with pytest.raises(fs.InvalidValueError, match="save_state"):
        sim.restore_state("start")  # type: ignore[arg-type]
    assert sim.state_hash() == before


def test_pybullet_follows_a_restore(sim: Sim) -> None:
    pytest.importorskip("pybullet")
    agent, other = robot(sim, "a", 1.0), robot(sim, "b", 2.0)
    saved, ask = sim.save_state(), sim.bullet.getBasePositionAndOrientation
    assert ask(agent.body_id)[0][0] == 1.0
    sim.remove_object(other)
    agent.set_pose(fs.Pose.from_xyz(7, 0, 0))
    robot(sim, "c")
    sim.restore_state(saved)
    assert [ask(obj.body_id)[0][0] for obj in (agent, other)] == [1.0, 2.0]
    assert sim.bullet.getNumBodies() == 2 + sim.params.enable_floor


# ---- reset, clear, close ---------------------------------------------------------------------------------------------


def test_reset_goes_back_to_the_start(make_sim: MakeSim) -> None:
    sim, calls = make_sim(seed=5), []
    actions = busy(sim)
    start = sim.state_hash()
    future = hashed_run(sim, 40)
    sim.register_callback(lambda *_: calls.append(1))
    sim.events.on("reset", lambda: calls.append("reset"))
    robot(sim, "late")
    sim.remove_object(sim.get_object("b"))
    sim.reset()
    assert calls == ["reset"]
    assert (sim.state_hash(), sim.sim_time) == (start, 0.0)
    assert {action.status for action in actions} == {fs.ActionStatus.NOT_STARTED}
    assert hashed_run(sim, 40) == future
    assert calls == ["reset", *[1] * 40]
    sim.restore_initial()
    assert sim.state_hash() == start


def test_a_reset_after_clear_goes_back_to_the_first_step_since(make_sim: MakeSim) -> None:
    sim = make_sim()
    sim.step_once()
    sim.clear()
    crate = sim.spawn(fs.SimObjectSpawnParams(name="crate"))
    sim.step_once()
    crate.set_pose(fs.Pose.from_xyz(5.0, 0.0, 0.0))
    sim.step_once()
    sim.reset()
    assert sim.step_count == 0 and sim.get_object("crate").position[0] == 0.0


def test_clear_leaves_an_empty_world_that_is_as_new(make_sim: MakeSim) -> None:
    sim, fresh, removed, rates = make_sim(seed=5), make_sim(seed=5), [], []
    manager = fs.AgentManager(sim)
    manager.register_callback(lambda owner, dt: rates.append(dt), 2.0)
    sim.register_callback(lambda owner, dt: rates.append(dt), 1.0)
    sim.events.on("object_removed", lambda obj: removed.append(obj.name))
    busy(sim)
    robot(sim, None, 0.1)
    hashed_run(sim, 27)
    assert sim.collision_count > 0
    sim.clear()
    assert len(removed) == 6
    assert (sim.sim_objects, sim.step_count, sim.sim_time, sim.collision_count) == ([], 0, 0.0, 0)
    assert manager.objects == []
    for each in (sim, fresh):
        busy(each)
        robot(each, None, 0.1)
    rates.clear()
    assert hashed_run(sim, 20) == hashed_run(fresh, 20)
    assert rates == [0.5, 0.5, 1.0] * 2
    assert sim.collision_count == fresh.collision_count
    sim.reset()
    assert len(sim.sim_objects) == 6


def test_closing_is_final_but_reading_goes_on(make_sim: MakeSim) -> None:
    with make_sim() as sim:
        agent = robot(sim, "a", 3.0)
        sim.step_once()
    sim.close()
    assert agent.get_pose().x == 3.0
    assert len(sim.state_hash()) == 16
    for call in (sim.step_once, sim.run_simulation):
        with pytest.raises(fs.StateError, match="closed"):
            call()


def test_closing_ends_a_run_from_inside(make_sim: MakeSim) -> None:
    sim = make_sim()
    report = sim.run_simulation(update_callback=lambda sim, dt: sim.close() if sim.step_count == 3 else None)
    assert (report.steps, report.reason) == (3, "stopped")


def test_simulations_do_not_know_of_each_other(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sims = [make_sim(seed=seed) for seed in range(3)]
    for index, sim in enumerate(sims):
        agent = robot(sim, "a", float(index))
        agent.set_goal(fs.Pose.from_xyz(index + 1.0, 0, 0))
        assert sim.bullet.getBasePositionAndOrientation(agent.body_id)[0][0] == index
    sims[1].close()
    for _ in range(30):
        sims[0].step_once()
        sims[2].step_once()
    assert [sim.get_object("a").get_pose().x for sim in sims] == [1.0, 1.0, 3.0]
    foreign = sims[0].get_object("a")
    for call in (sims[2].remove_object, sims[2].add_object, sims[2].get_object("a").attach_object):
        with pytest.raises(fs.InvalidValueError, match="simulation"):
            call(foreign)


# ---- Many spawns and removals leave nothing behind: no memory, no rows, no bodies ------------------------------------


@pytest.mark.slow
def test_ten_thousand_cycles_leave_nothing_behind(make_sim: MakeSim) -> None:
    # Of compiled code numba keeps 0.1 MB for itself, over the first thousand steps.
    sim = make_sim(keep_initial_state=False, compiled_code="never")
    manager = fs.AgentManager(sim)
    params = fs.AgentSpawnParams(visual_shape=BOX, collision_shape=BOX, motion_mode="omnidirectional")
    grid = fs.GridSpawnParams.from_count(100)

    def cycles(count: int) -> None:
        for _ in range(count):
            agents = manager.spawn_agents_grid(100, grid, params, name_prefix="r")
            agents[0].attach_object(agents[1])
            agents[2].register_callback(print, 1e-3)
            agents[3].events.on("arrived", print)
            agents[4].user_data["x"] = 1
            agents[5].set_path([fs.Pose.from_xyz(1, 0, 0)] * 5)
            agents[6].add_action(fs.Wait(1e6))
            agents[7].add_action(fs.MoveTo(fs.Pose.from_xyz(1e3, 0, 0), timeout=1e6))
            sim.step_once()
            sim.remove_objects(agents)
        manager.get_object_count()
        gc.collect()

    cycles(5)
    columns, shapes = sim.get_memory_usage()["columns_mb"], len(sim.world.shapes)
    tracemalloc.start()
    try:
        cycles(5)
        # What robots leave behind grows each time. What something else in this process makes once, does not.
        traced = [tracemalloc.get_traced_memory()[0]]
        for _ in range(2):
            cycles(95)
            traced.append(tracemalloc.get_traced_memory()[0])
        grown = min(after - before for before, after in pairwise(traced))
    finally:
        tracemalloc.stop()
    assert len(sim.world) == 0
    assert sim.world.capacity <= 256
    assert (sim.get_memory_usage()["columns_mb"], len(sim.world.shapes)) == (columns, shapes)
    assert grown < 100_000, f"{grown} bytes more after 9,500 robots came and went"


def test_bodies_of_removed_robots_are_gone_from_pybullet(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(pose_flush="step", enable_floor=False)
    for _ in range(20):
        agents = [robot(sim, f"r{index}", 2.0 * index) for index in range(10)]
        sim.step_once()
        assert sim.bullet.getNumBodies() == 10
        sim.remove_objects(agents)
    assert sim.bullet.getNumBodies() == 0
