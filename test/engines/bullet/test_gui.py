"""The window, for real: PyBullet's GUI under a virtual X server, with keys pressed by xdotool."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from bullet_scene import Scene
from virtual_display import virtual_display

from fleet_sim.base.errors import ConfigError
from fleet_sim.engines.bullet.window import KEYS, Gui, Visualizer

PROGRAM = Path(__file__).with_name("window_program.py")


@dataclass(frozen=True)
class Screen:
    """A virtual X server: its display, and the file it keeps its pixels in."""

    display: str
    pixels: Path

    def red_share(self) -> float:
        """Return the share of red pixels on the screen, from its XWD file."""
        data = self.pixels.read_bytes()
        header, width, height, colors = (int.from_bytes(data[at : at + 4], "big") for at in (0, 16, 20, 76))
        start = header + 12 * colors
        image = np.frombuffer(data, np.uint8, 4 * width * height, start).reshape(-1, 4).astype(int)
        return float(((image[:, 2] > 100) & (image[:, 1] < 60) & (image[:, 0] < 60)).mean())


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """Start a virtual X server on a free display."""
    pytest.importorskip("pybullet")
    directory = tmp_path_factory.mktemp("screen")
    with virtual_display("-fbdir", str(directory)) as display:
        yield Screen(display, directory / "Xvfb_screen0")


class Window:
    """The program with the window, told what to do line by line."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.environment = {
            **os.environ,
            "DISPLAY": screen.display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        assert self.answer() == "ready"

    def answer(self) -> str:
        """Return the next answer; PyBullet's own chatter is no answer."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("> "):
                return line[2:].strip()
        raise AssertionError(f"the window's program ended with code {self.process.wait()}")

    def ask(self, question: str) -> str:
        """Send a command and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.answer()

    def wake(self) -> None:
        """Press a key until the window hears it: one that has just opened on a busy machine misses keys."""
        for _ in range(12):
            self._tap("space")
            if self.ask("action") != "nothing":
                break
        else:
            raise AssertionError("the window hears no keys")
        # Those that were late, not lost, would count as keys pressed later. They come before this one.
        action = self.press("period")
        while action == "pause":
            action = self.hear("period")
        assert action == "single_step"

    def press(self, key: str) -> str:
        """Press a key once in a window that is awake and return the action it means."""
        self._tap(key)
        return self.hear(key)

    def hear(self, key: str) -> str:
        """Return the next action of a key that was pressed."""
        for _ in range(12):
            action = self.ask("action")
            if action != "nothing":
                return action
        raise AssertionError(f"the window does not hear the key {key}")

    def _tap(self, key: str) -> None:
        subprocess.run(["xdotool", "key", key], check=True, env=self.environment, stderr=subprocess.DEVNULL)

    def await_red(self, low: float, high: float) -> float:
        """Wait until the share of red pixels on the screen is in [low, high], and return it."""
        for _ in range(300):
            share = self.screen.red_share()
            if low <= share <= high:
                return share
            self.ask("frame")
        raise AssertionError(f"the share of red pixels stays {share}, outside [{low}, {high}]")

    def await_camera(self, wanted: Callable[[float, float], bool]) -> tuple[float, float]:
        """Wait until pitch and distance of the window's camera are as `wanted`, and return them."""
        for _ in range(300):
            pitch, distance = map(float, self.ask("camera").split())
            if wanted(pitch, distance):
                return pitch, distance
            self.ask("frame")
        raise AssertionError(f"the camera stays at pitch {pitch}, distance {distance}")


@pytest.fixture
def window(screen: Screen) -> Iterator[Window]:
    """Return a window with a red robot and a grey wall in it."""
    window = Window(screen)
    yield window
    # Leaving the context closes the pipes and waits.
    with window.process:
        if window.process.poll() is None:
            window.process.kill()


def test_a_window_opens_takes_keys_and_closes(window: Window) -> None:
    everything = window.await_red(0.02, 1.0)
    window.wake()
    assert window.press("space") == "pause"
    assert window.press("period") == "single_step"

    for key, action in (("v", "visual_shapes"), ("c", "collision_shapes")):
        assert window.press(key) == action
        window.await_red(0.0, 0.1 * everything)
        assert window.press(key) == action
        window.await_red(0.9 * everything, 1.1 * everything)

    assert window.press("t") == "structure_transparency"
    assert window.ask("opacity") == "1.0 0.3"
    assert window.press("t") == "structure_transparency"
    assert window.ask("opacity") == "1.0 1.0"

    assert window.press("o") == "top_down"
    _, distance = window.await_camera(lambda pitch, _: pitch < -89.0)
    assert window.press("equal") == "zoom_in"
    window.await_camera(lambda _, now: now < 0.9 * distance)
    assert window.press("minus") == "zoom_out"
    window.await_camera(lambda _, now: now == pytest.approx(distance, rel=1e-3))

    assert window.ask("close") == "closed"
    assert window.process.wait(60) == 0


def test_a_second_window_in_one_process_is_refused(window: Window) -> None:
    assert "gui: false" in window.ask("second")
    assert window.ask("close") == "closed"


def test_without_a_window_there_are_no_keys(scene: Scene) -> None:
    scene.spawn(np.zeros((2, 3)))
    visualizer = Visualizer(scene.mirror)
    visualizer.configure({"enable_shadows": False, "enable_collision_shapes": True}, np.array([0]))
    gui = Gui(scene.mirror, visualizer)
    assert not gui.open
    assert gui.poll() == []
    assert not gui.apply("pause")
    assert not scene.client.connected
    assert len(set(KEYS.values())) == len(KEYS)


def test_wrong_settings_are_named(scene: Scene) -> None:
    visualizer = Visualizer(scene.mirror)
    with pytest.raises(ConfigError, match="enable_shadows"):
        visualizer.configure({"enable_shadow": True})
    with pytest.raises(ConfigError, match="true or false"):
        visualizer.configure({"enable_shadows": "yes"})  # type: ignore[dict-item]
