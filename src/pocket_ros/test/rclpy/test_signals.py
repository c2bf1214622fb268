"""What signals do to a program that spins."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[..., Any]


@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "shut down")])
def test_a_signal_ends_the_spin_cleanly(start: Start, number: signal.Signals, said: str) -> None:
    talker = start("talker")
    talker.wait_for("spinning")
    talker.signal(number)
    assert talker.wait_for(said) == said
    assert talker.wait() == 0
    assert "Traceback" not in talker.errors()


def test_a_program_that_shuts_nothing_down_ends_well(start: Start) -> None:
    forgetful = start("forgetful")
    forgetful.wait_for("done")
    assert forgetful.wait() == 0
    assert forgetful.errors() == ""
