"""Pictures for people: they show the scene in the middle, and change nothing."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from system_packages import need_tkinter
from virtual_display import press_key, virtual_display, window_environment

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Bytes
from fleet_sim.base.errors import MissingDependencyError

RED = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=(1.0, 0.0, 0.0, 1.0))


@pytest.fixture
def sim_drawing() -> Iterator[fs.MultiRobotSimulationCore]:
    params = fs.SimulationParams(gui=False, enable_floor=False)
    with fs.MultiRobotSimulationCore(params) as sim_drawing:
        for x, y in ((0.0, 0.0), (9.0, 0.0), (9.0, 4.0)):
            sim_drawing.spawn(
                fs.SimObjectSpawnParams(visual_shape=RED, collision_shape=RED, initial_pose=fs.Pose((x, y, 0.5)))
            )
        yield sim_drawing


def red_mask(rgb: Bytes) -> Bools:
    return (rgb[..., 0] > 1.5 * rgb[..., 1]) & (rgb[..., 0] > 60)


@pytest.mark.parametrize("size", [(160, 120), (60, 150)])
@pytest.mark.parametrize("view", [{}, {"camera_yaw": 200, "camera_pitch": -10}, {"camera_view_type": "top_down"}])
def test_the_scene_is_in_the_middle_and_fills_the_picture(
    sim_drawing: fs.MultiRobotSimulationCore, size: tuple[int, int], view: dict[str, object]
) -> None:
    rgb = sim_drawing.draw_picture(*size, {**view, "camera_auto_scale": 0.9})
    assert rgb.shape == (size[1], size[0], 3)
    lines, columns = np.nonzero(red_mask(rgb))
    assert lines.min() + lines.max() == pytest.approx(size[1], abs=0.1 * size[1])
    assert columns.min() + columns.max() == pytest.approx(size[0], abs=0.1 * size[0])
    assert max(np.ptp(lines) / size[1], np.ptp(columns) / size[0]) == pytest.approx(0.9, abs=0.06)


def test_a_picture_changes_nothing(sim_drawing: fs.MultiRobotSimulationCore) -> None:
    before = sim_drawing.state_hash()
    sim_drawing.draw_picture(40, 30)
    assert sim_drawing.state_hash() == before


def test_what_only_the_engine_knows_is_drawn_too(sim_drawing: fs.MultiRobotSimulationCore) -> None:
    view = {"camera_mode": "manual", "camera_target": [0, 20, 0], "camera_distance": 5.0, "camera_pitch": -80}
    empty = sim_drawing.draw_picture(40, 30, view)
    shape = sim_drawing.bullet.createVisualShape(
        sim_drawing.bullet.GEOM_SPHERE, radius=1.0, rgbaColor=[1.0, 0.0, 0.0, 1.0]
    )
    sim_drawing.bullet.createMultiBody(0.0, -1, shape, [0.0, 20.0, 0.0])
    assert not red_mask(empty).any()
    assert red_mask(sim_drawing.draw_picture(40, 30, view)).any()


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (9000, 10), (10, 1.5)])
def test_impossible_sizes_are_refused(sim_drawing: fs.MultiRobotSimulationCore, size: tuple[int, int]) -> None:
    with pytest.raises(fs.InvalidValueError, match="expected a whole number of pixels"):
        sim_drawing.draw_picture(*size)


def test_an_empty_world_has_a_picture() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim_drawing:
        assert sim_drawing.draw_picture(40, 30).shape == (30, 40, 3)


# ---- The window of a simulation: opened by its settings, served by its run, under a virtual X server -----------------


PROGRAM = Path(__file__).with_name("simulation_window_program.py")


@pytest.fixture
def display() -> Iterator[str]:
    """Start a virtual X server on a free display and return its name."""
    pytest.importorskip("pybullet")
    with virtual_display() as name:
        yield name


@pytest.mark.slow
def test_keys_pause_step_fade_and_resume(display: str) -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdout=subprocess.PIPE, text=True, env=window_environment(display)
    ) as program:
        assert program.stdout is not None

        def heard(word: str) -> list[str]:
            """Return the next line that begins with `word`."""
            for line in program.stdout or ():
                words = line.split()
                if words[:1] == [">"]:
                    assert words[1] == word, f"expected {word!r}, the program said {line!r}"
                    return words[2:]
            raise AssertionError(f"the program ended with code {program.wait()} before it said {word!r}")

        try:
            assert heard("view") == ["(1.0,", "0.0,", "0.0)"]
            heard("ready")
            for word in ("transparent", "opaque"):
                press_key("t", display)
                heard(word)
            press_key("space", display)
            steps = int(heard("paused")[0])
            for _ in range(2):
                press_key("period", display)
                heard("stepped")
            press_key("space", display)
            assert int(heard("resumed")[0]) == steps + 2
            program.send_signal(signal.SIGINT)
            assert heard("ended") == ["interrupted"]
            assert program.wait(60) == 0
        finally:
            program.kill()


def test_without_a_window_the_calls_change_nothing(sim: fs.MultiRobotSimulationCore) -> None:
    box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
    sim.spawn(fs.SimObjectSpawnParams(collision_shape=box, name="a", initial_pose=fs.Pose.from_xyz(4, 0, 0)))
    before = sim.state_hash()
    view = sim.setup_camera()
    assert view.target == pytest.approx((4, 0, 0))
    manual = sim.setup_camera({"camera_mode": "manual", "camera_distance": 3.0, "camera_target": [1, 2, 3]})
    assert (manual.distance, manual.target) == (3.0, (1, 2, 3))
    sim.configure_visualizer(enable_shadows=False)
    sim.disable_rendering()
    sim.enable_rendering()
    assert not sim.serve_window()
    for call, message in (
        (lambda: sim.setup_camera({"camera_distanc": 1}), "camera_distance"),
        (lambda: sim.configure_visualizer(enable_shadow=True), "enable_shadows"),
    ):
        with pytest.raises(fs.ConfigError, match=message):
            call()
    assert sim.state_hash() == before


def test_a_window_needs_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pybullet")
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(fs.StateError, match="gui: false"):
        fs.MultiRobotSimulationCore(fs.SimulationParams(gui=True))


# ---- The monitor: figures of a run, in the terminal and in a window in a process of its own --------------------------


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
def display_monitor(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
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


def test_the_window_lives_in_a_process_of_its_own_and_closes_with_the_monitor(display_monitor: str) -> None:
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


def test_a_run_goes_on_when_the_window_is_closed(display_monitor: str, make_sim: Any) -> None:
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
