"""Faults of user code are survived, counted, and logged once."""

from __future__ import annotations

import logging
from functools import partial

import pytest

from fleet_sim.core.faults import FAILED, FaultGuard


class Plugin:
    """User code that fails."""

    def run(self, *args: object) -> None:
        raise LookupError("broken")

    def __call__(self) -> None:
        raise LookupError("broken too")


def test_results_pass_through() -> None:
    assert FaultGuard().call("sum", max, 1, 5) == 5


def test_a_thousand_instances_are_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    guard = FaultGuard()
    with caplog.at_level(logging.ERROR, "fleet_sim"):
        for index in range(1000):
            assert guard.call("plugin", partial(Plugin().run, index)) is None
    assert guard.counts == {"plugin (Plugin.run)": 1000}
    assert guard.total == 1000
    assert len(caplog.records) == 1
    assert "LookupError: broken" in caplog.text


def test_functions_of_one_name_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    guard = FaultGuard()
    first, second = (lambda: 1 / 0), (lambda: [][0])
    for function in (first, second, first, second):
        guard.call("callback", function)
    assert len(caplog.records) == 2
    assert guard.total == 4


@pytest.mark.parametrize("function", [Plugin(), partial(Plugin()), 3])
def test_anything_can_fail(function: object) -> None:
    guard = FaultGuard()
    guard.call("thing", function)  # type: ignore[arg-type]
    assert guard.total == 1


def test_raising_on_request_counts_too() -> None:
    guard = FaultGuard(raise_on_fault=True)
    with pytest.raises(LookupError, match="broken"):
        guard.call("plugin", Plugin().run)
    assert guard.total == 1


def test_an_interrupt_is_no_fault() -> None:
    guard = FaultGuard()

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard.call("callback", interrupt)
    assert guard.total == 0


def test_none_is_told_from_a_fault() -> None:
    guard = FaultGuard()
    assert guard.attempt("plugin", lambda: None) is None
    assert guard.attempt("plugin", Plugin().run) is FAILED


def test_a_part_is_switched_off_after_so_many_faults_in_a_row(caplog: pytest.LogCaptureFixture) -> None:
    guard, calls = FaultGuard(max_failures=3), list[int]()
    part = guard.part("callback")

    def moody(good: bool) -> None:
        calls.append(good)
        if not good:
            raise LookupError

    with caplog.at_level(logging.ERROR, "fleet_sim"):
        for good in (False, False, True, False, False, True, *[False] * 10, True):
            part.call(moody, good)
    assert calls == [0, 0, 1, 0, 0, 1, 0, 0, 0]
    assert part.is_off
    assert sum(guard.switched_off.values()) == 1
    assert len([record for record in caplog.records if "switched off until a reset" in record.message]) == 1
    guard.revive()
    part.call(moody, True)
    assert (calls[-1], part.is_off, guard.switched_off) == (1, False, {})


def test_a_part_is_never_switched_off_where_that_is_wanted() -> None:
    guard = FaultGuard(max_failures=0)
    part = guard.part("callback")
    for _ in range(500):
        part.call(Plugin().run)
    assert guard.total == 500
