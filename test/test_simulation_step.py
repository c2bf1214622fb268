"""The step as its users see it: poses, events in their order, and the profile."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from small_world import MakeSim, robot

import fleet_sim as fs


def seen_by(ask: Any, body: int) -> float:
    """The x that PyBullet has for a body."""
    return ask(body)[0][0]


# ---- poses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["step", "demand"])
@pytest.mark.parametrize("raw", [False, True])
def test_poses_are_buffered_in_a_step_and_immediate_outside(make_sim: MakeSim, policy: str, raw: bool) -> None:
    pybullet = pytest.importorskip("pybullet")
    sim = make_sim(pose_flush=policy)
    agent = robot(sim, "a")
    if raw:
        client = sim.client

        def ask(body: int) -> Any:
            return pybullet.getBasePositionAndOrientation(body, physicsClientId=client)
    else:
        ask = sim.bullet.getBasePositionAndOrientation
    seen: list[tuple[str, float, float]] = []

    def note(where: str) -> None:
        seen.append((where, agent.get_pose().x, seen_by(ask, agent.body_id)))

    def write(sim: Any, dt: float) -> None:
        note("before")
        agent.set_pose(fs.Pose.from_xyz(5, 0, 0))
        note("written")

    sim.register_callback(write)
    sim.events.on("post_step", lambda **_: note("post_step"))
    agent.set_pose(fs.Pose.from_xyz(2, 0, 0))
    note("outside")
    sim.step_once()
    note("after")
    assert seen == [("outside", 2, 2), ("before", 2, 2), ("written", 5, 2), ("post_step", 5, 5), ("after", 5, 5)]


@pytest.mark.parametrize("hook", ["pre_step", "pre_update", "post_update", "action", "controller", "command"])
def test_any_code_in_phase_1_may_ask_pybullet(make_sim: MakeSim, hook: str) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(raise_on_fault=True)
    agent = robot(sim, "a", 3.0)
    agent.set_goal(fs.Pose.from_xyz(9, 0, 0))
    seen: list[float] = []

    def ask(*_: object, **__: object) -> None:
        seen.append(seen_by(sim.bullet.getBasePositionAndOrientation, agent.body_id))

    class Look(fs.Action):
        def start(self, agent: fs.Agent) -> None:
            ask()
            self.complete()

    class Controller:
        compute = staticmethod(ask)

    if hook == "action":
        robot(sim, "b", 20.0).add_action(Look())
    elif hook == "controller":
        agent.add_controller(Controller())
    elif hook == "command":
        future = sim.inbox.put(fs.Call(function=ask))
    else:
        sim.events.on(hook, ask)
    sim.step_once()
    if hook == "command":
        future.result(0)
    assert seen
    assert set(seen) == {3.0}


def test_set_poses_is_one_write_for_many(sim: fs.MultiRobotSimulationCore) -> None:
    ids = [robot(sim, name, x).object_id for name, x in (("a", 0), ("b", 5))]
    before = sim.state_hash()
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    for positions, orientations, error in (
        (np.zeros((2, 2)), turns, ValueError),
        (np.zeros((1, 3)), turns, ValueError),
        (np.full((2, 3), np.nan), turns, ValueError),
        (np.zeros((2, 3)), np.zeros((2, 4)), ValueError),
    ):
        with pytest.raises(error):
            sim.set_poses(ids, positions, orientations)
    with pytest.raises(KeyError, match="99"):
        sim.set_poses([ids[0], 99], np.zeros((2, 3)), turns)
    assert sim.state_hash() == before
    sim.set_poses(ids, [[1, 2, 3], [4, 5, 6]], turns * 2)
    positions, orientations = sim.get_poses(ids[::-1])
    assert positions.tolist() == [[4, 5, 6], [1, 2, 3]]
    assert orientations.tolist() == turns.tolist()
    positions[:] = 0
    assert sim.get_object("a").get_pose().position == (1, 2, 3)


def test_what_is_carried_is_never_seen_behind(sim: fs.MultiRobotSimulationCore) -> None:
    carrier, load, seen = robot(sim, "a"), robot(sim, "load", 1.0), []
    carrier.attach_object(load, keep_world_pose=True)
    carrier.set_goal(fs.Pose.from_xyz(9, 0, 0))
    for place in ("post_update", "post_step"):
        sim.events.on(place, lambda **_: seen.append(load.get_pose().x - carrier.get_pose().x))
    sim.register_callback(lambda *_: seen.append(load.get_pose().x - carrier.get_pose().x))
    for _ in range(5):
        sim.step_once()
    assert carrier.get_pose().x > 0
    assert seen == pytest.approx([1.0] * len(seen))


# ---- events ----------------------------------------------------------------------------------------------------------


def test_events_come_in_the_documented_order(sim: fs.MultiRobotSimulationCore) -> None:
    log: list[str] = []
    a, _ = robot(sim, "a"), robot(sim, "b", 0.1)
    for event in (
        *("pre_step", "pre_update", "action_started", "action_completed", "post_update"),
        *("collision_started", "collision_ended", "post_step"),
    ):
        sim.events.on(event, lambda event=event, **details: log.append(f"{event} {' '.join(sorted(details))}"))
    a.events.on("pre_update", lambda **details: log.append("a pre_update"))
    a.events.on("action_started", lambda action: log.append("a action_started"))
    a.events.on("collision_started", lambda other: log.append(f"a collision_started {other.name}"))
    sim.register_callback(lambda *_: log.append("callback"))

    class Plugin(fs.SimPlugin):
        def on_step(self, dt: float) -> None:
            log.append("plugin")

    sim.register_plugin(Plugin)
    a.add_action(fs.Wait(0))
    sim.step_once()
    assert log == [
        "pre_step dt sim_time",
        *("pre_update dt entity", "a pre_update", "pre_update dt entity"),
        *("action_started action agent", "a action_started", "action_completed action agent status"),
        *["post_update dt entity moved"] * 2,
        *("callback", "plugin", "collision_started obj_a obj_b", "a collision_started b", "post_step dt sim_time"),
    ]


def test_spawned_and_removed_are_told(sim: fs.MultiRobotSimulationCore) -> None:
    log: list[tuple[str, str | None]] = []
    for event, key in (("object", "obj"), ("agent", "agent")):
        for what in ("spawned", "removed"):
            name = f"{event}_{what}"
            sim.events.on(name, lambda name=name, key=key, **details: log.append((name, details[key].name)))
    agent, thing = robot(sim, "a"), sim.spawn(fs.SimObjectSpawnParams(name="thing"))
    sim.remove_objects([thing, agent, thing])
    assert log == [
        *(("object_spawned", "a"), ("agent_spawned", "a"), ("object_spawned", "thing")),
        *(("object_removed", "thing"), ("object_removed", "a"), ("agent_removed", "a")),
    ]
    assert sim.sim_objects == []


def test_a_handler_of_removals_may_remove_and_spawn(sim: fs.MultiRobotSimulationCore) -> None:
    a, b = robot(sim, "a"), robot(sim, "b")
    told: list[str | None] = []

    def handler(obj: fs.SimObject) -> None:
        told.append(obj.name)
        if obj.name == "a":
            sim.remove_object(b)
            robot(sim, "new")

    sim.events.on("object_removed", handler)
    sim.remove_objects([a, b])
    assert told == ["a", "b"]
    assert [agent.name for agent in sim.agents] == ["new"]


def test_the_first_step_sees_time_zero(sim: fs.MultiRobotSimulationCore) -> None:
    times: list[tuple[float, float]] = []
    sim.events.on("pre_step", lambda dt, sim_time: times.append((sim_time, sim.sim_time)))
    sim.events.on("post_step", lambda dt, sim_time: times.append((sim_time, sim.sim_time)))
    sim.step_once()
    sim.step_once()
    assert times == [(0, 0), (0, 0), (0.1, 0.1), (0.1, 0.1)]
    assert (sim.step_count, sim.sim_time) == (2, 0.2)


def test_handlers_may_remove_what_is_being_removed(sim: fs.MultiRobotSimulationCore) -> None:
    agents = [robot(sim, name, 0.1 * index) for index, name in enumerate("abc")]

    class Plugin(fs.AgentPlugin):
        def on_destroy(self) -> None:
            sim.remove_object(self.agent)

    agents[0].add_plugin(Plugin)
    sim.events.on("collision_ended", lambda obj_a, obj_b: sim.remove_objects([obj_a, obj_b]))
    sim.step_once()
    assert sim.collision_count == 3
    sim.remove_objects(agents[:1])
    assert sim.sim_objects == []
    assert sim.guard.total == 0
    assert len({robot(sim, name).row for name in "abcde"}) == 5


def test_stepping_inside_a_step_is_refused(make_sim: MakeSim) -> None:
    sim = make_sim(raise_on_fault=True)
    for call in ("step_once", "run_simulation", "reset", "clear", "save_state", "close"):
        callback = sim.register_callback
        function = lambda sim, dt, call=call: getattr(sim, call)()  # noqa: E731
        callback(function)
        with pytest.raises(fs.StateError, match="inside a step"):
            sim.step_once()
        sim.unregister_callback(function)
    sim.step_once()


# ---- the profile -----------------------------------------------------------------------------------------------------


def test_the_profile_has_the_documented_keys(sim: fs.MultiRobotSimulationCore) -> None:
    robot(sim, "a").set_goal(fs.Pose.from_xyz(5, 0, 0))
    robot(sim, "b", 0.1)
    sim.register_callback(lambda sim, dt: sim.record_profiling("mine", 2.5))
    for _ in range(20):
        stats = sim.step_once(return_profiling=True)
        assert stats is not None
        assert {
            *("agent_update", "phase1_update", "phase2_pose_flush", "phase3_aabb_grid_flush", "callbacks", "total"),
            *("step_simulation", "collision_check", "events_pre_step", "events_post_step", "events_collision"),
            *("monitor_update", "collision_breakdown", "systems", "mine"),
        } <= stats.keys()
        assert 0 < stats["agent_update"] <= stats["phase1_update"] <= stats["total"]
        assert sum(stats["systems"].values()) <= stats["total"]
        assert stats["callbacks"] == stats["systems"]["callbacks"] > 0
    assert {"spatial_hashing", "total"} <= stats["collision_breakdown"].keys()
    assert sim.last_profiling == sim.get_profiling_stats() == stats


def test_profile_and_memory_are_logged_on_request(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    sim = make_sim(enable_time_profiling=True, enable_memory_profiling=True, profiling_interval=5)
    for _ in range(10):
        sim.step_once()
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in lines] == ["step 5", "step 5", "step 10", "step 10"]
    assert "ms" in lines[0]
    assert "columns_mb" in lines[1]


def test_memory_profiling_can_be_switched_on_later(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    sim = make_sim(profiling_interval=1)
    with caplog.at_level(logging.INFO, "fleet_sim.profile"):
        sim.step_once()
        assert caplog.text == "" and not sim.enable_memory_profiling
        sim.enable_memory_profiling = True
        sim.step_once()
    assert "peak_rss_mb" in caplog.text
