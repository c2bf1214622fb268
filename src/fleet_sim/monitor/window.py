"""Shows the figures of a run in a small window, in a separate process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from fleet_sim.errors import MissingDependencyError
from fleet_sim.monitor import window_program
from fleet_sim.monitor.figures import MonitorFigures


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
            [sys.executable, window_program.__file__, self.title, f"{self.width}x{self.height}{place}"],
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
