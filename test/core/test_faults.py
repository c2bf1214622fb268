"""Faults of user code are survived, counted, and logged once."""

from __future__ import annotations

import logging
from functools import partial

import pytest

from fleet_sim.core.faults import FaultGuard


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
