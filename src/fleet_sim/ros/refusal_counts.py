"""RefusalCounts: how often what came over ROS was refused, by the reason."""

from __future__ import annotations

import re
from collections import Counter
from threading import Lock

MOST_REASONS = 100
"""Reasons that are told apart; further ones are counted together."""
LONGEST_REASON = 100
"""Characters of a reason that count."""
OTHERS = "other reasons"
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\b\d[\w.+-]*")


class RefusalCounts:
    """Counts refusals by the reason, without the names and numbers in it. For any thread.

    /diagnostics shows them, so that rejected commands are seen by whoever does not read the log.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, reason: object) -> None:
        """Count one refusal."""
        # What is quoted may be of any length: it is cut first, and names that the cut leaves open stay as they are.
        kind = _DETAILS.sub("_", str(reason)[: 4 * LONGEST_REASON])[:LONGEST_REASON]
        with self._lock:
            if kind not in self._counts and len(self._counts) >= MOST_REASONS:
                kind = OTHERS
            self._counts[kind] += 1

    def most_common(self, count: int) -> list[tuple[str, int]]:
        """Return the `count` most frequent reasons with their numbers."""
        with self._lock:
            return self._counts.most_common(count)
