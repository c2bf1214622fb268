"""The figures of a run, the measurement of their rates, and the interface of their outputs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol, TextIO

from fleet_sim.base import monitor_window
from fleet_sim.base.errors import MissingDependencyError

PERIOD = 0.5
"""Seconds of real time between two updates."""


@dataclass(frozen=True)
class MonitorFigures:
    """Current figures of a run. Times in s; `fps` is steps per real second, `step_time` the mean time of one step.

    `actual_rtf`, `fps` and `step_time` are averages since the previous figures.
    """

    sim_time: float
    real_time: float
    steps: int
    timestep: float
    target_rtf: float
    actual_rtf: float
    fps: float
    step_time: float
    agents: int
    objects: int
    moving: int
    collisions: int
    collision_count: int
    physics: bool
    paused: bool

    def lines(self) -> list[tuple[str, str]]:
        """Return names and values as shown to the user."""
        target = f"{self.target_rtf:g}" if self.target_rtf > 0.0 else "max"
        return [
            ("Simulated", f"{self.sim_time:.2f} s"),
            ("Real time", f"{self.real_time:.2f} s"),
            ("RTF", f"{self.actual_rtf:.2f} of {target}"),
            ("Steps", f"{self.steps}"),
            ("Time step", f"{1000.0 * self.timestep:.2f} ms"),
            ("FPS", f"{self.fps:.0f}"),
            ("Step time", f"{1000.0 * self.step_time:.3f} ms"),
            ("Agents", f"{self.agents}"),
            ("Moving", f"{self.moving}"),
            ("Objects", f"{self.objects}"),
            ("Collisions", f"{self.collisions}"),
            ("Collisions so far", f"{self.collision_count}"),
            ("Physics", "on" if self.physics else "off"),
            ("State", "paused" if self.paused else "running"),
        ]


class MonitorOutput(Protocol):
    """An output that shows figures."""

    def show(self, figures: MonitorFigures) -> bool:
        """Show `figures`; return False once the output is closed."""

    def close(self) -> None:
        """Close the output."""


class RunMeter:
    """Measures real time and steps of a run and computes rates."""

    def __init__(self, steps: int, sim_time: float) -> None:
        self._begin = self._last = time.perf_counter()
        self._last_step = steps
        self._last_sim_time = sim_time

    def due(self) -> bool:
        """Return whether it is time for new figures."""
        return time.perf_counter() - self._last >= PERIOD

    def rates(self, steps: int, sim_time: float) -> dict[str, float]:
        """Return the `real_time` of the run, and `actual_rtf` and `fps` since the previous call."""
        now = time.perf_counter()
        seconds = max(now - self._last, 1e-9)
        made, simulated = steps - self._last_step, sim_time - self._last_sim_time
        self._last, self._last_step, self._last_sim_time = now, steps, sim_time
        return {
            "real_time": now - self._begin,
            # A reset sets the simulated time back.
            "actual_rtf": max(0.0, simulated / seconds),
            "fps": max(0.0, made / seconds),
        }


class TerminalMonitor:
    """Prints figures to the terminal, as a table rewritten in place; to other streams, as one line each time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._in_place = self._stream.isatty()
        self._shown = 0

    def show(self, figures: MonitorFigures) -> bool:
        """Print `figures`."""
        lines = figures.lines()
        if self._in_place:
            # ANSI codes: F goes up to the start of an earlier line, 2K clears a line.
            control = getattr(self._stream, "control", self._stream.write)
            control(f"\x1b[{self._shown}F" if self._shown else "")
            for name, value in lines:
                control("\x1b[2K")
                self._stream.write(f"{name:<18}{value}\n")
            self._shown = len(lines)
        else:
            self._stream.write("  ".join(f"{name.lower()}: {value}" for name, value in lines) + "\n")
        self._stream.flush()
        return True

    def close(self) -> None:
        """Stop; the last figures remain in the terminal."""
        self._shown = 0


# Shows the figures of a run in a small window, in a separate process.


class DataMonitor:
    """A small window with the figures of a run, in a separate process, so that it does not slow down the simulation.

    Needs a display and tkinter. The window may be closed at any time; the simulation goes on without it.
    """

    __slots__ = ("_process", "height", "title", "width", "x", "y")

    def __init__(self, title: str = "fleet_sim", width: int = 200, height: int = 290, x: int = -1, y: int = -1) -> None:
        self.title, self.width, self.height, self.x, self.y = title, width, height, x, y
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Open the window; a second call does nothing. Raises MissingDependencyError without display or tkinter."""
        if self._process is not None:
            return
        hindrance = window_hindrance()
        if hindrance:
            raise MissingDependencyError(f"the monitor's window cannot be opened: {hindrance}")
        place = "" if self.x < 0 or self.y < 0 else f"+{self.x}+{self.y}"
        # The program is run as a file: run as a module, it would import the whole package first.
        # The window closes at the end of its input, so also when this process ends in any way.
        self._process = subprocess.Popen(
            [sys.executable, monitor_window.__file__, self.title, f"{self.width}x{self.height}{place}"],
            stdin=subprocess.PIPE,
            text=True,
        )

    @property
    def is_open(self) -> bool:
        """Whether the window is open."""
        return self._process is not None and self._process.poll() is None

    def write_data(self, data: Mapping[str, Any]) -> bool:
        """Show names and values; return whether the window is still open."""
        process = self._process
        if process is None or process.stdin is None or process.poll() is not None:
            return False
        try:
            process.stdin.write(json.dumps({str(name): str(value) for name, value in data.items()}) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def show(self, figures: MonitorFigures) -> bool:
        """Show `figures`; return whether the window is still open."""
        return self.write_data(dict(figures.lines()))

    def close(self) -> None:
        """Close the window; may be called again."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def window_hindrance() -> str:
    """Return why no window can be opened here, or ""."""
    # Without a display, tkinter would fail in the other process, where the reason is not visible.
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display (DISPLAY is not set)"
    if find_spec("tkinter") is None or find_spec("_tkinter") is None:
        return "this Python has no tkinter; on Debian and Ubuntu: apt install python3-tk"
    return ""
