"""Whatever is sent, the log stays readable, and refusals are counted by their reasons without names and numbers."""

from __future__ import annotations

import pytest

from fleet_sim.ros import roster as throttle
from fleet_sim.ros.commands import LONGEST_REASON, MOST_REASONS, OTHERS, RefusalCounts
from fleet_sim.ros.roster import LONGEST_LINE, MOST_PER_PERIOD, PERIOD, Throttle


def test_a_flood_of_different_lines_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(throttle.time, "monotonic", lambda: now[0])
    lines: list[str] = []
    refusals = Throttle(lines.append)
    for number in range(1000):
        refusals.tell(f"robot_{number}: refused")
        refusals.tell("the same: refused")
    assert len(lines) == MOST_PER_PERIOD
    assert lines.count("the same: refused") == 1
    now[0] += PERIOD
    refusals.tell("later: refused")
    assert lines[-2:] == [f"{2000 - MOST_PER_PERIOD - 999} more lines like these were not logged", "later: refused"]
    assert refusals.count == 2001


def test_a_line_does_not_echo_all_that_was_sent() -> None:
    lines: list[str] = []
    Throttle(lines.append).tell("x" * 200_000)
    assert len(lines[0]) < LONGEST_LINE + 10


def test_names_and_numbers_make_no_other_reason() -> None:
    counts = RefusalCounts()
    for number in range(3):
        counts.add(f"path[{number}]: it is nowhere: {number * 1e30:g}, 'robot {number}'")
    counts.add("unknown robot")
    assert counts.most_common(5) == [("path[_]: it is nowhere: _, _", 3), ("unknown robot", 1)]


def test_neither_many_nor_long_reasons_fill_the_memory() -> None:
    counts = RefusalCounts()
    letters = "abcdefghijklmnopqrstuvwxyz"
    for first in letters:
        for second in letters:
            counts.add(f"{first}{second}" * 100_000)
    found = counts.most_common(1000)
    assert len(found) == MOST_REASONS + 1 and found[0] == (OTHERS, 26 * 26 - MOST_REASONS)
    assert max(len(reason) for reason, _ in found) == LONGEST_REASON
