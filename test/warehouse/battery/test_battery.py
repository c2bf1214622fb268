"""Batteries drain with time and way, to the exact number; an empty one stops its robot; chargers fill them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    ConfigError,
    MoveTo,
    MultiRobotSimulationCore,
    Navigate,
    Pose,
    SetVelocity,
    StateError,
)
from fleet_sim.warehouse.battery import Battery, BatterySettings, SetCharging

Sim = MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
DT = 0.125
FULL = 3600.0
# Binary fractions hold what comes of these: 1 J per step standing, 2 J at 0.5 m/s, 1.5 J up to it, 4 J from a charger.
SETTINGS: dict[str, Any] = {
    "capacity_wh": 1.0,
    "idle_power": 8.0,
    "drive_energy": 16.0,
    "charge_power": 32.0,
    "low_level": 0.5,
}


@pytest.fixture
def sim(make_sim: MakeSim) -> Sim:
    """Return a simulation with steps of 1/8 s."""
    return make_sim(timestep=DT)


def robot(sim: Sim, name: str = "robot", x: float = 0.0, **battery: Any) -> tuple[Agent, Battery]:
    params = AgentSpawnParams(
        name=name,
        initial_pose=Pose((x, 0, 0)),
        motion_mode="omnidirectional",
        max_linear_accel=1000.0,
        features={"battery": {**SETTINGS, **battery}},
    )
    agent: Agent = sim.spawn(params)
    return agent, Battery.of(agent)


def steps(sim: Sim, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def way(count: int) -> float:
    """Return how far a robot comes in its first `count` steps at 0.5 m/s: in the first one it gets up to that speed."""
    return (count - 0.5) * DT * 0.5


def heard(sim: Sim) -> list[tuple[str, str, int]]:
    """Return a list that grows with the events of batteries: what, who, at which tick."""
    told: list[tuple[str, str, int]] = []
    for event in ("battery_low", "battery_empty", "battery_full"):
        sim.events.on(
            event, lambda agent, event=event: told.append((event.removeprefix("battery_"), agent.name, sim.step_count))
        )
    return told


# ---- empty -----------------------------------------------------------------------------------------------------------


def test_an_empty_battery_stops_its_robot_and_refuses_to_drive(sim: Sim) -> None:
    agent, battery = robot(sim, level=7.5 / FULL)
    told = heard(sim)
    agent.set_velocity(vx=0.5)
    steps(sim, 4)
    assert battery.is_empty and told == [("empty", "robot", 3)]
    # It stands from the next step on, where it was when the last of it was drawn.
    assert agent.get_pose().x == way(4)
    steps(sim, 3)
    assert agent.get_pose().x == way(4) and not agent.is_moving
    with pytest.raises(StateError, match="its battery is empty"):
        agent.set_goal_pose(Pose((1, 0, 0)))
    for command in (
        SetVelocity(names=("robot",), linear=[[1, 0, 0]], angular=[[0, 0, 0]]),  # type: ignore[arg-type]
        Navigate(names=("robot",), positions=[[1, 0, 0]], orientations=[[0, 0, 0, 1]]),  # type: ignore[arg-type]
    ):
        answer = sim.inbox.put(command)
        sim.step_once()
        assert answer.result().rejected == {"robot": "its battery is empty"}


def test_an_action_of_an_empty_robot_is_cancelled_with_the_reason(sim: Sim) -> None:
    agent, _ = robot(sim, level=0.0)
    action = MoveTo(Pose((3, 0, 0)))
    agent.add_action(action)
    steps(sim, 3)
    assert (action.status.name, action.error_message) == ("CANCELLED", "its battery is empty")
    assert agent.get_pose().x == 0.0


def test_a_robot_may_be_told_to_drive_on_when_empty(sim: Sim) -> None:
    agent, battery = robot(sim, level=0.0, stops_when_empty=False)
    agent.set_velocity(vx=0.5)
    steps(sim, 2)
    assert battery.is_empty and agent.get_pose().x == way(2)


def test_a_charged_robot_drives_again(sim: Sim) -> None:
    agent, battery = robot(sim, level=0.0)
    steps(sim, 2)
    battery.set_charging()
    steps(sim, 1)
    assert battery.energy == 3.0
    agent.set_velocity(vx=0.5)
    steps(sim, 1)
    assert agent.get_pose().x == way(1)


# ---- charging and events ---------------------------------------------------------------------------------------------


def test_events_come_in_order_of_spawning(sim: Sim) -> None:
    told = heard(sim)
    first, _ = robot(sim, "first")
    robot(sim, "b", x=2.0, level=1.0 / FULL)
    sim.remove_object(first)
    robot(sim, "a", x=4.0, level=1.0 / FULL)
    assert sim.get_object("a").row < sim.get_object("b").row
    steps(sim, 1)
    assert [name for _, name, _ in told] == ["b", "a"]


def test_many_are_charged_by_name(sim: Sim) -> None:
    batteries = [robot(sim, f"r{index}", x=2.0 * index, level=0.5)[1] for index in range(3)]
    sim.spawn(AgentSpawnParams(name="wound_up", initial_pose=Pose((0, 9, 0))))
    answer = sim.inbox.put(SetCharging(names=("r0", "r2", "wound_up", "ghost"), command_id="7"))
    steps(sim, 1)
    ack = answer.result()
    assert (ack.command_id, ack.accepted_names) == ("7", ("r0", "r2"))
    assert ack.rejected == {"wound_up": "it has no battery", "ghost": "unknown robot"}
    assert [battery.is_charging for battery in batteries] == [True, False, True]
    assert [battery.energy for battery in batteries] == [1803.0, 1799.0, 1803.0]


# ---- in scenarios, saved states and hashes ---------------------------------------------------------------------------


def scenario(**battery: Any) -> dict[str, Any]:
    robots = [{"name": "r", "grid": {"count": 3}, "motion_mode": "omnidirectional", "battery": battery}]
    return {"simulation": {"gui": False, "timestep": DT}, "robots": robots}


def test_a_scenario_gives_batteries() -> None:
    with Sim.from_dict({**scenario(**SETTINGS), "battery": {"publish_rate": 5.0}}) as sim:
        steps(sim, 4)
        assert [Battery.of(agent).energy for agent in sim.agents] == [FULL - 4.0] * 3
        assert sim.features.use("battery").section.publish_rate == 5.0
    for wrong, message in (
        (scenario(levels=1.0), r"robots\[0\].battery.levels: unknown key. Did you mean 'level'"),
        (scenario(level=1.5), r"robots\[0\].battery.level: must be"),
        (scenario(capacity_wh=1e308), r"robots\[0\].battery.capacity_wh: must be"),
        ({**scenario(), "battery": {"publish_rate": -1.0}}, r"battery\.publish_rate: must be"),
    ):
        with pytest.raises(ConfigError, match=message):
            Sim.from_dict(wrong)


def test_nothing_is_loaded_without_batteries() -> None:
    code = (
        "import sys, fleet_sim as fs\n"
        "scenario = {'simulation': {'gui': False}, 'robots': [{'name': 'r'}]}\n"
        "with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:\n"
        "    sim.step_once()\n"
        "    names = [*sim.world.tables, *(system.name for system in sim.pipeline.systems)]\n"
        "print(*(name for name in [*sys.modules, *names] if 'battery' in name or name == 'importlib.metadata'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_settings_are_objects_too(sim: Sim) -> None:
    agent = sim.spawn(AgentSpawnParams(name="r", features={"battery": BatterySettings(capacity_wh=2.0, level=0.25)}))
    assert Battery.of(agent).energy == 1800.0
    with pytest.raises(StateError, match="'plain' has no battery"):
        Battery.of(sim.spawn(AgentSpawnParams(name="plain")))
