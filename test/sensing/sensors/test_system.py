"""Which sensors are read, when, in how many calls, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from probes import Probe, ProbeParams, agents
from things import run as steps

import fleet_sim as fs
from fleet_sim.sensing.sensors import Sensor, list_sensors, register_sensor

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


@pytest.fixture(autouse=True)
def calls() -> list[int]:
    Probe.calls.clear()
    return Probe.calls


def test_nothing_is_read_without_a_consumer(sim: Sim, calls: list[int]) -> None:
    probes = [sim.add_sensor("probe", agent) for agent in agents(sim, 3)]
    steps(sim, 3)
    assert calls == []
    assert [probe.latest for probe in probes] == [None] * 3


def test_all_that_are_due_are_read_in_one_call(sim: Sim, calls: list[int]) -> None:
    fleet = agents(sim, 5)
    probes = [sim.add_sensor("probe", agent, pose=[0.1 * i, 0, 0], name=f"p{i}") for i, agent in enumerate(fleet)]
    for probe in probes[1:]:
        probe.subscribe()
    sim.step_once()
    assert calls == [4]
    assert probes[0].latest is None
    assert probes[2].latest.place == pytest.approx(np.array(probes[2].get_pose().position))


def test_another_rate_or_setting_is_another_call(sim: Sim, calls: list[int]) -> None:
    (agent,) = agents(sim, 1)
    for index, settings in enumerate([{}, {"rate": 5}, {"gain": 2}]):
        sim.add_sensor("probe", agent, name=f"p{index}", **settings).subscribe()
    steps(sim, 2)
    assert calls == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(("rate", "expected"), [(None, 100), (3, 30), (10, 100), (100, 100), (0.1, 1)])
def test_the_rate_is_exact(sim: Sim, rate: float | None, expected: int) -> None:
    readings: list[Any] = []
    (agent,) = agents(sim, 1)
    probe = sim.add_sensor("probe", agent, rate=rate)
    probe.on_reading(lambda sensor, reading: readings.append(reading))
    steps(sim, 100)
    assert len(readings) == expected
    assert readings[-1].tick == sim.step_count
    assert readings[-1].time == sim.sim_time


def test_a_reading_holds_at_the_end_of_its_step(sim: Sim) -> None:
    (agent,) = agents(sim, 1)
    probe = sim.add_sensor("probe", agent)
    probe.subscribe()
    agent.set_velocity(1.0)
    steps(sim, 5)
    assert probe.latest.place == pytest.approx(np.array(agent.get_pose().position))
    assert probe.latest.time == sim.sim_time
    again = probe.read()
    assert (again.time, again.noise.tolist()) == (sim.sim_time, again.noise.tolist())
    with pytest.raises(ValueError, match="read-only"):
        again.place[0] = 3.0


def test_readings_stop_with_the_last_consumer(sim: Sim, calls: list[int]) -> None:
    probe = sim.add_sensor("probe", agents(sim, 1)[0])
    heard: list[Sensor] = []

    def hear(sensor: Sensor, reading: Any) -> None:
        heard.append(sensor)

    probe.on_reading(hear)
    probe.subscribe()
    sim.step_once()
    assert probe.off_reading(hear)
    assert not probe.off_reading(hear)
    sim.step_once()
    probe.unsubscribe()
    probe.unsubscribe()
    sim.step_once()
    assert (heard, calls, probe.has_consumer) == ([probe], [1, 1], False)


def test_a_failing_handler_does_not_stop_the_others(sim: Sim) -> None:
    probe = sim.add_sensor("probe", agents(sim, 1)[0])
    heard = []
    probe.on_reading(lambda sensor, reading: 1 / 0)
    probe.on_reading(lambda sensor, reading: heard.append(reading))
    steps(sim, 2)
    assert len(heard) == 2
    assert sim.guard.total == 2


def test_many_are_read_at_once_on_demand(sim: Sim, calls: list[int]) -> None:
    probes = [sim.add_sensor("probe", agent) for agent in agents(sim, 4)]
    readings = sim.sensors.read([probes[3], probes[1], probes[3]])
    assert calls == [2]
    assert [reading.place[0] for reading in readings] == [6.0, 2.0, 6.0]
    assert probes[1].latest.place[0] == 2.0


# ---- noise -----------------------------------------------------------------------------------------------------------


def test_noise_depends_on_seed_name_and_time_alone(make_sim: MakeSim) -> None:
    def noise(count: int, seed: int = 1, others: int = 0, extra_reads: int = 0) -> list[list[float]]:
        sim = make_sim(seed=seed)
        fleet = agents(sim, count + others)
        probe = sim.add_sensor("probe", fleet[count - 1])
        for agent in fleet[count:]:
            sim.add_sensor("probe", agent).subscribe()
        probe.subscribe()
        out = []
        for _ in range(3):
            sim.step_once()
            for _ in range(extra_reads):
                probe.read()
            out.append(probe.latest.noise.tolist())
        return out

    expected = noise(1)
    assert noise(1) == expected
    assert noise(1, others=30) == expected
    assert noise(1, extra_reads=2) == expected
    assert noise(1, seed=2) != expected
    assert noise(2) != expected
    assert len({number for reading in expected for number in reading}) == 15


# ---- spreading -------------------------------------------------------------------------------------------------------


def test_expensive_sensors_are_spread_over_the_steps_of_their_period(sim: Sim, calls: list[int]) -> None:
    fleet = agents(sim, 7, sensors=[{"type": "slow_probe", "rate": 2.5}])
    for agent in fleet:
        agent.sensor("probe").subscribe()
    steps(sim, 40)
    assert sorted(calls) == [1] * 10 + [2] * 30
    ticks = {agent.sensor("probe").latest.tick for agent in fleet}
    assert ticks == {37, 38, 39, 40}


# ---- coming and going ------------------------------------------------------------------------------------------------


def test_sensors_go_with_their_robot(sim: Sim) -> None:
    fleet = agents(sim, 3, sensors=[{"type": "probe"}, {"type": "imu"}])
    probes = [agent.sensor("probe") for agent in fleet]
    for probe in probes:
        probe.subscribe()
    sim.remove_object(fleet[1])
    sim.step_once()
    assert [probe.is_alive for probe in probes] == [True, False, True]
    assert probes[2].latest.place[0] == 4.0
    assert len(sim.sensors) == 4
    with pytest.raises(fs.StateError, match="was removed"):
        probes[1].read()
    probes[1].unsubscribe()


def test_a_sensor_of_another_simulation_is_not_read(sim: Sim) -> None:
    with fs.MultiRobotSimulationCore() as other:
        probe = other.add_sensor("probe")
        with pytest.raises(fs.StateError, match="belongs to another simulation"):
            sim.sensors.read([probe])


def test_one_sensor_can_be_removed(sim: Sim) -> None:
    fleet = agents(sim, 2, sensors=[{"type": "probe"}])
    first, second = (agent.sensor("probe") for agent in fleet)
    second.subscribe()
    sim.remove_sensor(first)
    sim.step_once()
    assert fleet[0].sensors == []
    assert second.latest.place[0] == 2.0
    with pytest.raises(fs.UnknownNameError, match="unknown sensor of 'r0' 'probe'"):
        fleet[0].sensor("probe")
    assert sim.add_sensor("probe", fleet[0]).is_alive


def test_sensors_fixed_in_the_world(sim: Sim) -> None:
    probe = sim.add_sensor("probe", pose=[1, 2, 3, 0.5])
    assert probe.read().place.tolist() == [1, 2, 3]
    assert sim.get_sensor("probe") is probe
    sim.clear()
    assert not probe.is_alive
    assert sim.sensors.all == []


def test_a_scenario_has_sensors_on_robots_and_in_the_world() -> None:
    config = {
        "simulation": {"gui": False},
        "robots": [{"name": "amr", "grid": {"count": 3}, "sensors": [{"type": "probe", "rate": 5, "gain": 2}]}],
        "sensors": [{"type": "probe", "name": "gate", "pose": [1, 2, 3]}],
    }
    with Sim.from_dict(config) as sim:
        probes = [agent.sensor("probe") for agent in sim.agents]
        assert [probe.params for probe in probes] == [ProbeParams(rate=5, gain=2)] * 3
        assert sim.get_sensor("gate").get_pose() == fs.Pose.from_xyz(1, 2, 3)
        assert sim.get_sensor("amr_1/probe") is probes[1]


# ---- going back ------------------------------------------------------------------------------------------------------


def history(sim: Sim, sensor: Sensor, count: int) -> list[Any]:
    out = []
    for _ in range(count):
        sim.step_once()
        latest = sensor.latest
        out.append(latest and (latest.tick, latest.count, latest.place.tolist(), latest.noise.tolist()))
    return out


def test_reset_begins_anew(sim: Sim) -> None:
    probe = agents(sim, 1, sensors=["probe"])[0].sensor("probe")
    probe.subscribe()
    expected = history(sim, probe, 4)
    sim.reset()
    assert probe.latest is None
    assert history(sim, probe, 4) == expected


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "prob"}, r"sensors\[0\].type: unknown sensor 'prob'. Did you mean 'probe'"),
        ({"type": "probe", "gian": 1}, r"sensors\[0\].gian: unknown key. Did you mean 'gain'"),
        ({"type": "probe", "gain": -1}, r"sensors\[0\].gain: must be a number at least 0, got -1"),
        ({"type": "probe", "rate": 0}, r"sensors\[0\].rate: must be"),
        ({"gain": 1}, r"sensors\[0\]: must be a mapping with `type`"),
        ({"type": "probe", "pose": [1, 2]}, r"sensors\[0\].pose: expected 3 or 4 numbers"),
        ({"type": "probe", "link": "arm"}, r"r0 has no link 'arm'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_spawned(sim: Sim, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.FleetSimError, match=message):
        agents(sim, 1, sensors=[spec])
    assert len(sim.world) == 0
    assert len(sim.sensors) == 0


def test_names_are_unique_on_a_robot(sim: Sim) -> None:
    with pytest.raises(fs.ConfigError, match=r"sensors\[1\].name: there are two sensors named 'probe'"):
        agents(sim, 1, sensors=["probe", "probe"])
    (agent,) = agents(sim, 1, sensors=["probe"])
    with pytest.raises(fs.DuplicateNameError, match="'r0' has a sensor named 'probe' already"):
        sim.add_sensor("probe", agent)
    assert sim.add_sensor("probe", agent, name="second").name == "second"


def test_kinds_are_registered_once() -> None:
    assert "probe" in list_sensors()
    with pytest.raises(fs.DuplicateNameError):
        register_sensor("probe", Probe)
    with pytest.raises(fs.InvalidValueError, match="it is that of 'probe'"):
        register_sensor("other_probe", Probe)
    with pytest.raises(fs.InvalidValueError, match="derived from SensorKind"):
        register_sensor("number", int)  # type: ignore[arg-type]
