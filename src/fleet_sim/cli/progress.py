"""The progress of what takes long, as one line."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import time

LENGTH = 20
"""Of a bar, in characters."""

IN_PLACE, IN_LINES = 0.1, 10.0
"""Seconds between two texts: rewritten in place, as people read, and as lines of a log."""


class StatusLine:
    """One line on standard error; on a terminal it is rewritten in place, elsewhere each text is a line of its own."""

    def __init__(self) -> None:
        self.in_place = sys.stderr.isatty()

    def write(self, text: str) -> None:
        """Show `text` in place of what was shown before."""
        if self.in_place:
            # Padded, so that a longer line before it does not show at its end. Cut, as \r goes back one line only.
            width = line_width()
            print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self.in_place:
            print(file=sys.stderr)

    def erase(self) -> None:
        """Take the line away, for other text in its place."""
        if self.in_place:
            print(f"\r{'':<{line_width()}}\r", end="", file=sys.stderr, flush=True)


class ProgressBar(StatusLine):
    """How much of a `total` (0: not known) is done, at what rate, and how long the rest takes.

    `wanted` says whether it is shown; None: on a terminal only. To be closed, which takes the line away.
    """

    def __init__(self, wanted: bool | None, unit: str, total: float = 0.0, label: str = "") -> None:
        super().__init__()
        self.shown = self.in_place if wanted is None else wanted
        self._unit, self._total, self._label = unit, total, label
        self._start = self._told = time.perf_counter()
        if self.shown:
            for handler in logging.getLogger().handlers:
                handler.addFilter(self._before_log)

    def show(self, done: float) -> None:
        """Show that so much is done, not more often than people read it."""
        now = time.perf_counter()
        if self.shown and now - self._told >= (IN_PLACE if self.in_place else IN_LINES):
            self._told = now
            self.write(self.text(done, now - self._start))

    def text(self, done: float, seconds: float) -> str:
        """Return the line when so much was done in `seconds`."""
        rate = done / seconds if seconds > 0.0 else 0.0
        speed = f"{rate:.3g} {self._unit} per second"
        if not self._total:
            return f"{self._label}{done:.6g} {self._unit}  {speed}"
        share = min(done / self._total, 1.0)
        left = f"  {(self._total - done) / rate:.0f} s left" if rate and done <= self._total else ""
        return f"{self._label}{bar(int(LENGTH * share))} {done:.6g}/{self._total:.6g} {self._unit}  {speed}{left}"

    def close(self) -> None:
        """Take the line away; may be called again."""
        if self.shown:
            self.shown = False
            self.erase()
            for handler in logging.getLogger().handlers:
                handler.removeFilter(self._before_log)

    def _before_log(self, record: logging.LogRecord) -> bool:
        # A filter is asked before a record is written: else the record would begin behind the progress.
        self.erase()
        return True


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for progress, or for none."""
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="show rate and remaining time on standard error (default: on a terminal)",
    )


def line_width() -> int:
    """Return how many characters a line may have on this terminal."""
    return max(1, min(100, shutil.get_terminal_size().columns - 1))


def bar(filled: int) -> str:
    """Return a bar of which so many of LENGTH characters are filled."""
    return f"[{'#' * filled}{'.' * (LENGTH - filled)}]"
