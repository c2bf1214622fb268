"""The window of a simulation: opened by its settings, served by its run, under a virtual X server."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from virtual_display import press_key, virtual_display, window_environment

import fleet_sim as fs

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
