"""Limits the rate of repeated log lines."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

PERIOD = 2.0
"""The same line is not logged again within this time, in s."""

MOST_LINES = 256


class Throttle:
    """Logs each line at most once per PERIOD; new lines are always logged. May be used from any thread."""

    def __init__(self, log: Callable[[str], object]) -> None:
        self.count = 0
        """Number of lines, logged or not."""
        self._log = log
        self._logged: OrderedDict[str, float] = OrderedDict()

    def tell(self, line: str) -> None:
        """Log `line`, unless it was logged within PERIOD."""
        self.count += 1
        now = time.monotonic()
        if now - self._logged.get(line, -PERIOD) < PERIOD:
            return
        self._logged[line] = now
        self._logged.move_to_end(line)
        while len(self._logged) > MOST_LINES:
            self._logged.popitem(last=False)
        self._log(line)
