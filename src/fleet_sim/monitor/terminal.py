"""Shows the figures of a run in the terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from fleet_sim.monitor.figures import MonitorFigures


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
