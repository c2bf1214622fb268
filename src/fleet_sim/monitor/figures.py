"""The figures of a run, the measurement of their rates, and the interface of their outputs."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Protocol, TextIO

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
            back = f"\x1b[{self._shown}F" if self._shown else ""
            text = "\n".join(f"\x1b[2K{name:<18}{value}" for name, value in lines)
            self._stream.write(f"{back}{text}\n")
            self._shown = len(lines)
        else:
            self._stream.write("  ".join(f"{name.lower()}: {value}" for name, value in lines) + "\n")
        self._stream.flush()
        return True

    def close(self) -> None:
        """Stop; the last figures remain in the terminal."""
        self._shown = 0
