"""The monitor: figures of a run, in the terminal and in a window in a process of its own."""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from system_packages import need_tkinter
from virtual_display import virtual_display

import fleet_sim as fs
from fleet_sim.base.errors import MissingDependencyError


class Recorder:
    """An output that keeps what it is shown, and has enough after `limit` figures."""

    def __init__(self, limit: int = 1000) -> None:
        self.shown: list[fs.MonitorFigures] = []
        self.closed = False
        self.limit = limit

    def show(self, figures: fs.MonitorFigures) -> bool:
        self.shown.append(figures)
        return len(self.shown) < self.limit

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    need_tkinter()
    with virtual_display() as name:
        monkeypatch.setenv("DISPLAY", name)
        yield name


def windows(title: str) -> list[str]:
    """The ids of the windows with this title."""
    found = subprocess.run(["xdotool", "search", "--name", title], capture_output=True, text=True, check=False)
    return found.stdout.split()


def await_that(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Return what `condition` returns as soon as that is true."""
    limit = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < limit, "it did not come true"
        time.sleep(0.02)
    return value


def test_figures_tell_what_the_simulation_holds(make_sim: Any) -> None:
    sim = make_sim(timestep=0.1, target_rtf=0)
    sim.spawn(fs.SimObjectSpawnParams(name="crate"))
    robots = [sim.spawn(fs.AgentSpawnParams(name=f"r{i}", initial_pose=fs.Pose((i, 0, 0)))) for i in range(3)]
    robots[0].set_goal(fs.Pose((0, 9, 0)))
    sim.monitor_figures()
    for _ in range(5):
        sim.step_once()
    figures = sim.monitor_figures()
    assert (figures.agents, figures.objects, figures.moving, figures.steps) == (3, 1, 1, 5)
    assert figures.sim_time == pytest.approx(0.5)
    assert figures.step_time > 0.0
    assert figures.fps > 0.0
    assert figures.actual_rtf == pytest.approx(0.1 * figures.fps)
    assert dict(figures.lines())["Moving"] == "1"


def test_a_run_shows_figures_as_it_goes(make_sim: Any) -> None:
    sim = make_sim(timestep=0.1, target_rtf=1)
    output = Recorder(limit=2)
    assert sim.setup_monitor(output) is output
    sim.run_simulation(60.0, update_callback=lambda sim, dt: output.closed and sim.stop())
    assert len(output.shown) == 2
    assert output.shown[0].steps < output.shown[1].steps


def test_a_paused_run_says_so(make_sim: Any) -> None:
    sim = make_sim(timestep=0.1)
    output = Recorder(limit=1)
    sim.setup_monitor(output)
    sim.pause()
    sim.inbox.put(fs.Call(function=lambda sim: sim.stop()))
    sim.run_simulation(1.0)
    assert output.shown[0].paused
    assert output.closed


def test_without_a_window_there_is_no_monitor(make_sim: Any) -> None:
    sim = make_sim(gui=False, monitor=True)
    assert sim.setup_monitor() is None
    sim.run_simulation(0.1)


def test_the_terminal_gets_one_line_each_time_where_it_is_none(make_sim: Any) -> None:
    text = io.StringIO()
    sim = make_sim(timestep=0.1)
    sim.setup_monitor(fs.TerminalMonitor(text))
    sim.update_monitor()
    sim.step_once()
    sim.update_monitor()
    first, second = text.getvalue().splitlines()
    assert "agents: 0" in first
    assert "steps: 1" in second


def test_the_window_lives_in_a_process_of_its_own_and_closes_with_the_monitor(display: str) -> None:
    monitor = fs.DataMonitor(title="figures of a run", width=240, height=320, x=10, y=20)
    monitor.start()
    monitor.start()
    assert monitor.write_data({"Steps": 12})
    window = await_that(lambda: windows("figures of a run"))[0]
    place = subprocess.run(["xdotool", "getwindowgeometry", window], capture_output=True, text=True, check=True)
    assert "240x320" in place.stdout
    assert monitor.is_open
    monitor.close()
    monitor.close()
    assert not monitor.is_open
    assert not monitor.write_data({"Steps": 13})
    assert not windows("figures of a run")


def test_a_run_goes_on_when_the_window_is_closed(display: str, make_sim: Any) -> None:
    sim = make_sim(timestep=0.1, target_rtf=1)
    monitor = fs.DataMonitor(title="closed early")
    monitor.start()
    sim.setup_monitor(monitor)
    await_that(lambda: windows("closed early"))
    subprocess.run(["xdotool", "search", "--name", "closed early", "windowclose"], check=True)
    await_that(lambda: not monitor.is_open)
    sim.run_simulation(0.8)
    assert sim.step_count == 8


def test_without_a_display_the_window_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(MissingDependencyError, match="no display"):
        fs.DataMonitor().start()
