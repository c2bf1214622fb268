"""Cameras that wait for their turn, where a step may take only so many pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import fleet_sim as fs

MakeSim = Callable[..., fs.MultiRobotSimulationCore]
TINY = {"width": 8, "height": 6, "channels": ["depth"]}


def watch(sim: fs.MultiRobotSimulationCore, name: str, rate: float | None, log: list[tuple[int, str]]) -> Any:
    camera = sim.add_sensor("camera", name=name, rate=rate, **TINY)
    camera.on_reading(lambda sensor, reading: log.append((reading.tick, sensor.name)))
    return camera


@pytest.mark.usefixtures("pictures")
def test_no_step_takes_more_pictures_than_it_may_and_all_get_theirs(make_sim: MakeSim) -> None:
    """Twelve pictures a step are asked for, four are taken: each camera gets its share of them."""
    sim, log = make_sim(camera_budget=4), []
    for number in range(12):
        watch(sim, f"camera{number}", None, log)
    for _ in range(30):
        sim.step_once()
    assert set(Counter(tick for tick, _ in log).values()) == {4}
    assert set(Counter(name for _, name in log).values()) == {10}


@pytest.mark.usefixtures("pictures")
def test_rates_are_kept_while_the_budget_allows(make_sim: MakeSim) -> None:
    sim, log = make_sim(camera_budget=3), []
    for name, rate in (("fast", None), ("slow", 2.0), ("other", 5.0)):
        watch(sim, name, rate, log)
    for _ in range(20):
        sim.step_once()
    assert Counter(name for _, name in log) == {"fast": 20, "slow": 4, "other": 10}


@pytest.mark.usefixtures("pictures")
def test_a_slow_camera_is_not_kept_waiting_by_fast_ones(make_sim: MakeSim) -> None:
    sim, log = make_sim(camera_budget=1), []
    for name, rate in (("a", None), ("b", None), ("slow", 1.0)):
        watch(sim, name, rate, log)
    for _ in range(40):
        sim.step_once()
    # It is due at the end of steps 10, 20 and 30, and has two others before it at most.
    assert [tick for tick, name in log if name == "slow"] == pytest.approx([10, 20, 30], abs=2.1)


@pytest.mark.usefixtures("pictures")
def test_who_left_has_no_turn(make_sim: MakeSim) -> None:
    sim, log = make_sim(camera_budget=1), []
    first, second, third = (watch(sim, name, None, log) for name in "abc")
    sim.step_once()
    second.remove()
    sim.step_once()
    assert [name for _, name in log] == ["a", "c"]
    third.unsubscribe()
    for _ in range(3):
        sim.step_once()
    assert [name for _, name in log] == ["a", "c", "a", "a", "a"]
    assert first.latest.tick == 5


def test_turns_go_on_where_a_checkpoint_left_them(make_sim: MakeSim) -> None:
    sim, log = make_sim(camera_budget=2), []
    for name in "abcde":
        watch(sim, name, None, log)
    for _ in range(3):
        sim.step_once()
    saved = sim.save_state()
    log.clear()
    for _ in range(4):
        sim.step_once()
    before = list(log)
    sim.restore_state(saved)
    log.clear()
    for _ in range(4):
        sim.step_once()
    assert log == before


def test_asking_is_not_waiting(make_sim: MakeSim) -> None:
    sim = make_sim(camera_budget=1)
    cameras = [sim.add_sensor("camera", name=name, **TINY) for name in "abc"]
    assert all(reading.depth is not None for reading in sim.sensors.read(cameras))


def test_a_budget_of_nothing_is_refused(make_sim: MakeSim) -> None:
    with pytest.raises(fs.ConfigError, match="camera_budget"):
        make_sim(camera_budget=0)
