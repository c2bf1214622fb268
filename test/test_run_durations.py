"""How long a run takes, what it calls, and what ends it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 10), (0.3, 3), (0.25, 3), (0.1 + 0.2, 3)])
def test_a_run_takes_as_many_steps_as_its_duration(sim: Sim, duration: float, steps: int) -> None:
    report = sim.run_simulation(duration)
    assert (report.steps, report.reason, report.late_steps) == (steps, "duration", 0)
    assert report.sim_time == sim.sim_time == pytest.approx(steps * 0.1)
    assert report.rtf > 0


def test_a_run_can_go_on(sim: Sim) -> None:
    for count in (1, 2, 3):
        assert sim.run_simulation(1.0).steps == 10
        assert sim.step_count == 10 * count


def test_the_duration_of_the_settings_is_the_default(make_sim: MakeSim) -> None:
    assert make_sim(duration=0.5).run_simulation().steps == 5


@pytest.mark.parametrize("duration", [-1, float("nan"), float("inf"), "long", True])
def test_bad_durations_are_refused(sim: Sim, duration: Any) -> None:
    with pytest.raises(fs.InvalidValueError, match="duration in s"):
        sim.run_simulation(duration)
    assert not sim.is_running


def test_callbacks_of_a_run(sim: Sim) -> None:
    calls: list[Any] = []
    sim.run_simulation(0.3, lambda sim, dt: calls.append((sim.step_count, dt)), lambda sim: calls.append("final"))
    assert calls == [(1, 0.1), (2, 0.1), (3, 0.1), "final"]


def test_a_run_without_end_ends_when_told(sim: Sim) -> None:
    report = sim.run_simulation(0, update_callback=lambda sim, dt: sim.stop() if sim.step_count == 7 else None)
    assert (report.steps, report.reason) == (7, "stopped")


def test_a_failing_callback_is_a_fault_like_others(make_sim: MakeSim) -> None:
    def fail(*_: object) -> None:
        raise LookupError("mine")

    sim = make_sim()
    assert sim.run_simulation(0.5, fail, fail).steps == 5
    assert sim.guard.total == 6
    final: list[int] = []
    strict = make_sim(raise_on_fault=True)
    with pytest.raises(LookupError, match="mine"):
        strict.run_simulation(0.5, fail, lambda sim: final.append(sim.step_count))
    assert final == [1]
    assert not strict.is_running
    assert strict.run_simulation(0.5).steps == 5


def test_ctrl_c_ends_a_run_properly(sim: Sim) -> None:
    final: list[str] = []
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        report = sim.run_simulation(
            update_callback=lambda sim, dt: signal.raise_signal(signal.SIGINT) if sim.step_count == 4 else None,
            final_callback=lambda sim: final.append("final"),
        )
        assert (report.steps, report.reason, final) == (4, "interrupted", ["final"])
        sim.pause()
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
        assert sim.run_simulation().reason == "interrupted"
    finally:
        signal.signal(signal.SIGINT, old)
    sim.resume()
    assert sim.run_simulation(1.0).steps == 10
