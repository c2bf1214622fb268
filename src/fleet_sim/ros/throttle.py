"""Limits the rate of repeated log lines."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

PERIOD = 2.0
"""The same line is not logged again within this time, in s."""

MOST_LINES = 256

MOST_PER_PERIOD = 20
"""Different lines within PERIOD; what sends nonsense can make each one different."""

LONGEST_LINE = 4000
"""In characters: lines quote what was sent."""


class Throttle:
    """Logs each line at most once per PERIOD, and at most MOST_PER_PERIOD; then their number. For any thread.

    It keeps what goes wrong in every step from filling the log.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self.count = 0
        """Number of lines, logged or not."""
        self._log = log
        self._begin = -PERIOD
        self._in_period = 0
        self._held = 0
        self._logged: OrderedDict[str, float] = OrderedDict()

    def tell(self, line: str) -> None:
        """Log `line`, cut to LONGEST_LINE, unless it or too many others were logged within PERIOD."""
        self.count += 1
        line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
        now = time.monotonic()
        if now - self._begin >= PERIOD:
            held, self._held, self._begin, self._in_period = self._held, 0, now, 0
            if held:
                self._log(f"{held} more lines like these were not logged")
        if now - self._logged.get(line, -PERIOD) < PERIOD:
            return
        if self._in_period >= MOST_PER_PERIOD:
            self._held += 1
            return
        self._in_period += 1
        self._logged[line] = now
        # So that the line logged longest ago is the first to be forgotten.
        self._logged.move_to_end(line)
        while len(self._logged) > MOST_LINES:
            self._logged.popitem(last=False)
        self._log(line)
