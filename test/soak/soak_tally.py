"""What a process of a soak has done, told to the program that watches it: a line of JSON each second or so."""

from __future__ import annotations

import json
import sys
import time
import traceback
from statistics import median


class Tally:
    """Counts of one process, or of another one that it watches. `part` is its name in the figures."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.operations = self.refused = self.lost = self.steps = 0
        self.step_times: list[float] = []
        """Of steps since the last line, in ms."""
        self._told = 0.0

    def fail(self, what: str) -> None:
        """Count something that is lost or wrong, and print what it was."""
        self.lost += 1
        print(f"{self.part}: {what}", file=sys.stderr, flush=True)

    def fail_with_traceback(self, what: str) -> None:
        """Count an exception that nobody expected, and print its traceback."""
        self.fail(f"{what}\n{traceback.format_exc()}")

    def tell(self) -> None:
        """Print the counts, at most once in a second."""
        now = time.monotonic()
        if now - self._told < 1.0:
            return
        self._told = now
        line = {
            "part": self.part,
            "steps": self.steps,
            "operations": self.operations,
            "refused": self.refused,
            "lost": self.lost,
            "step_ms": median(self.step_times) if self.step_times else None,
        }
        self.step_times.clear()
        print(json.dumps(line), flush=True)
