"""Whatever is sent, the log stays readable: each line once in a while, few in all, none of them long."""

from __future__ import annotations

import pytest

from fleet_sim.ros import throttle
from fleet_sim.ros.throttle import LONGEST_LINE, MOST_PER_PERIOD, PERIOD, Throttle


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
