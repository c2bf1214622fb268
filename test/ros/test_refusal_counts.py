"""Refusals are counted by their reasons, whatever names and numbers are in them."""

from __future__ import annotations

from fleet_sim.ros.refusal_counts import LONGEST_REASON, MOST_REASONS, OTHERS, RefusalCounts


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
