"""User code in the step: callbacks, plugins and managers, their rates, and faults in them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from small_world import MakeSim, robot

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import Lidar


def test_callbacks_run_at_their_rates(sim: fs.MultiRobotSimulationCore) -> None:
    calls: dict[object, list[float]] = {}
    agent, manager = robot(sim, "a"), fs.AgentManager(sim)

    def counter(name: object) -> Callable[..., None]:
        return lambda owner, dt: calls.setdefault(name, []).append(dt)

    for frequency in (None, 1.0, 3.0, 10.0, 100.0):
        sim.register_callback(counter(("sim", frequency)), frequency)
        agent.register_callback(counter(("agent", frequency)), frequency)
        manager.register_callback(counter(("manager", frequency)), frequency)
    for _ in range(100):
        sim.step_once()
    for owner in ("sim", "agent", "manager"):
        counts = [len(calls[owner, frequency]) for frequency in (None, 1.0, 3.0, 10.0, 100.0)]
        assert counts == [100, 10, 30, 100, 100], owner
        assert calls[owner, 1.0] == [1.0] * 10
        assert sum(calls[owner, 3.0]) == pytest.approx(10.0)


def test_a_callback_may_take_itself_out(sim: fs.MultiRobotSimulationCore) -> None:
    calls: list[str] = []

    def once(sim: fs.MultiRobotSimulationCore, dt: float) -> None:
        calls.append("once")
        assert sim.unregister_callback(once)

    sim.register_callback(once)
    sim.register_callback(lambda *_: calls.append("other"))
    sim.step_once()
    sim.step_once()
    assert calls == ["once", "other", "other"]
    assert not sim.unregister_callback(once)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sim: sim.register_callback(3), "expected a function, got 3"),
        (lambda sim: sim.register_callback(print, 0), "frequency in Hz must be above 0"),
        (lambda sim: sim.register_plugin(dict), "SimPlugin"),
        (lambda sim: sim.register_plugin(3), "SimPlugin"),
        (lambda sim: sim.get_object("a").add_plugin(fs.SimPlugin), "AgentPlugin"),
        (lambda sim: sim.get_object("a").register_callback(None), "expected a function, got None"),
        (lambda sim: fs.AgentManager(sim).register_callback(print, 0), "frequency in Hz must be above 0"),
        (lambda sim: sim.remove_object("a"), "expected a SimObject or an Agent, got 'a'"),
        (lambda sim: sim.remove_objects([sim.get_object("a"), None]), "got None"),
        (lambda sim: sim.get_object("aa"), "Did you mean 'a'"),
        (lambda sim: sim.get_object(77), "object id 77"),
        (lambda sim: sim.get_manager("fleet"), "manager 'fleet'"),
        (lambda sim: sim.single_step(), "paused"),
        (lambda sim: fs.MultiRobotSimulationCore({"gui": False}), "SimulationParams"),
        (lambda sim: sim.spawn({"name": "x"}), "SpawnParams"),
    ],
)
def test_misuse_is_refused_and_changes_nothing(sim: fs.MultiRobotSimulationCore, call: Any, message: str) -> None:
    robot(sim, "a")
    before = sim.state_hash()
    with pytest.raises(fs.FleetSimError, match=message):
        call(sim)
    assert sim.state_hash() == before
    assert [agent.name for agent in sim.agents] == ["a"]


def test_a_plugin_lives_from_init_to_shutdown(make_sim: MakeSim) -> None:
    log: list[Any] = []

    class Plugin(fs.SimPlugin):
        def on_init(self) -> None:
            log.append(("init", self.config))

        def on_step(self, dt: float) -> None:
            log.append((dt, self.sim.sim_time))

        def on_reset(self) -> None:
            log.append("reset")

        def on_shutdown(self) -> None:
            log.append("shutdown")

    sim = make_sim()
    plugin = sim.register_plugin(Plugin, {"x": 1}, frequency=5.0)
    assert sim.plugins == [plugin]
    for _ in range(3):
        sim.step_once()
    sim.reset()
    for _ in range(2):
        sim.step_once()
    sim.close()
    sim.close()
    assert log == [("init", {"x": 1}), (0.2, 0.1), "reset", (0.2, 0.1), "shutdown"]
    assert not sim.unregister_plugin(plugin)


def test_an_agents_plugins_and_controllers_go_with_it(sim: fs.MultiRobotSimulationCore) -> None:
    log: list[str] = []

    class Plugin(fs.AgentPlugin):
        def on_update(self, dt: float) -> None:
            log.append(f"update {self.agent.name}")

        def on_destroy(self) -> None:
            log.append(f"destroy {self.agent.name}")

    class Drive:
        def compute(self, agent: fs.Agent, dt: float) -> None:
            agent.set_velocity(1.0)

    agent = robot(sim, "a", plugins=[Plugin])
    agent.add_controller(Drive())
    assert isinstance(agent.get_plugin(Plugin), Plugin)
    for _ in range(20):
        sim.step_once()
    assert agent.velocity[0] == pytest.approx(1.0)
    sim.remove_object(agent)
    sim.step_once()
    assert log == ["update a"] * 20 + ["destroy a"]


def test_managers_come_and_go(sim: fs.MultiRobotSimulationCore) -> None:
    first, second = fs.AgentManager(sim), fs.AgentManager(sim)
    assert sim.unregister_manager(first)
    third = fs.AgentManager(sim)
    named = fs.AgentManager(sim, name="fleet")
    assert sim.get_manager("fleet") is named
    assert {sim.get_manager("manager_0"), sim.get_manager("manager_1")} == {second, third}
    with pytest.raises(fs.DuplicateNameError, match="fleet"):
        fs.AgentManager(sim, name="fleet")
    assert not sim.unregister_manager(first)
    assert sim.unregister_manager("fleet")


def test_without_listeners_nothing_is_kept_for_them(sim: fs.MultiRobotSimulationCore) -> None:
    agent = robot(sim, "a")
    agent.register_callback(print)
    plugin = agent.add_plugin(fs.AgentPlugin)
    assert sim.world.hooks
    assert agent.unregister_callback(print)
    assert not agent.unregister_callback(print)
    assert agent.remove_plugin(plugin)
    assert not agent.remove_plugin(plugin)
    assert not sim.world.hooks


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_faults_are_isolated_counted_and_logged_once(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    sim = make_sim()
    agents = [robot(sim, f"r{index}", 2.0 * index) for index in range(3)]

    def fail(owner: object, dt: float) -> None:
        raise LookupError("user error")

    class Plugin(fs.SimPlugin):
        def on_step(self, dt: float) -> None:
            raise LookupError("plugin error")

    for agent in agents:
        agent.register_callback(fail)
        agent.set_goal(fs.Pose.from_xyz(5, 0, 0))
    sim.register_plugin(Plugin)
    sim.events.on("pre_step", lambda **_: 1 / 0)
    with caplog.at_level(logging.ERROR, "fleet_sim"):
        for _ in range(10):
            sim.step_once()
    assert sim.step_count == 10
    assert agents[0].get_pose().x > 0
    assert sorted(sim.guard.counts.values()) == [10, 10, 30]
    assert len(caplog.records) == 3
    assert "user error" in caplog.text


def test_faults_can_be_raised_and_the_world_goes_on(make_sim: MakeSim) -> None:
    sim = make_sim(raise_on_fault=True)
    agent = robot(sim, "a")
    agent.set_goal(fs.Pose.from_xyz(1, 0, 0))

    def fail(sim: object, dt: float) -> None:
        raise LookupError("user error")

    sim.register_callback(fail)
    with pytest.raises(LookupError, match="user error"):
        sim.step_once()
    sim.unregister_callback(fail)
    while agent.is_moving:
        sim.step_once()
    assert agent.get_pose().x == 1.0


def test_a_plugin_that_cannot_be_made_leaves_nobody_spawned(sim: fs.MultiRobotSimulationCore) -> None:
    class Broken(fs.AgentPlugin):
        def __init__(self, agent: fs.Agent, config: dict[str, object] | None = None) -> None:
            raise RuntimeError("no battery inside")

    entries = [fs.AgentSpawnParams(name="a"), fs.AgentSpawnParams(name="b", plugins=[Broken])]
    with pytest.raises(RuntimeError, match="no battery"):
        sim.spawn_all(entries)
    assert sim.agents == []
    sim.spawn(fs.AgentSpawnParams(name="a"))
    sim.step_once()


def test_what_fails_again_and_again_is_switched_off_until_a_reset(make_sim: MakeSim) -> None:
    sim = make_sim(max_failures=4)
    agent = robot(sim, "a")
    calls: list[str] = []

    def failing(name: str) -> Callable[..., None]:
        def call(*args: object, **details: object) -> None:
            calls.append(name)
            raise LookupError

        return call

    class Plugin(fs.SimPlugin):
        on_step = failing("plugin")

    class AgentPlugin(fs.AgentPlugin):
        on_update = failing("agent plugin")

    class Controller:
        compute = failing("controller")

    sim.register_callback(failing("callback"))
    sim.register_plugin(Plugin)
    agent.register_callback(failing("agent callback"))
    agent.add_plugin(AgentPlugin)
    agent.set_controller(Controller())
    sim.events.on("pre_step", failing("handler"))
    agent.events.on("post_update", failing("agent handler"))
    sim.add_sensor("imu", agent).on_reading(failing("sensor handler"))
    good: list[int] = []
    sim.register_callback(lambda sim, dt: good.append(sim.step_count))
    for _ in range(10):
        sim.step_once()
    assert (set(Counter(calls).values()), len(set(calls))) == ({4}, 8)
    assert len(good) == 10, "what works is called on"
    assert sum(sim.guard.switched_off.values()) == 8
    sim.reset()
    sim.step_once()
    assert (set(Counter(calls).values()), sim.guard.switched_off) == ({5}, {})


def test_a_sensor_that_cannot_be_computed_is_switched_off(make_sim: MakeSim) -> None:
    sim = make_sim(max_failures=2)
    agent = robot(sim, "a")
    lidar, imu = sim.add_sensor("lidar", agent), sim.add_sensor("imu", agent)
    lidar.subscribe()
    imu.subscribe()
    with patch.object(Lidar, "sense", side_effect=MemoryError):
        for _ in range(5):
            sim.step_once()
    assert sim.guard.switched_off == {"Lidar sensors (SensorGroup.compute_wanted)": 1}
    assert imu.latest.tick == 5


def test_an_action_whose_handlers_fail_goes_on(make_sim: MakeSim) -> None:
    sim = make_sim()
    agent = robot(sim, "a")
    sim.events.on("told", lambda: 1 / 0)

    class Telling(fs.Action):
        def update(self, agent: fs.Agent, dt: float) -> None:
            sim.events.emit("told")

    action = Telling()
    agent.add_action(action)
    for _ in range(3):
        sim.step_once()
    assert (action.status, sim.guard.total) == (fs.ActionStatus.IN_PROGRESS, 2)
