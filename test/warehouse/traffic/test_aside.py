"""Calls that may never return."""

from __future__ import annotations

import gc
from threading import Event, current_thread

import pytest

from fleet_sim.warehouse.traffic.planning import Aside, Late


def test_calls_share_a_thread_until_one_is_late() -> None:
    aside: Aside[object] = Aside()
    first = aside.call(current_thread, 60.0)
    assert aside.call(current_thread, 60.0) is first is not current_thread()
    with pytest.raises(ZeroDivisionError):
        aside.call(lambda: 1 / 0, 60.0)
    assert aside.call(current_thread, 60.0) is first
    open_gate, ended = Event(), Event()

    def hang() -> str:
        open_gate.wait(60.0)
        ended.set()
        return "too late"

    with pytest.raises(Late):
        aside.call(hang, 0.01)
    # Its answer is nobody's, whenever it comes.
    open_gate.set()
    assert ended.wait(60.0)
    second = aside.call(current_thread, 60.0)
    assert second is not first
    del aside
    # Errors that were raised hold the frames that they passed.
    gc.collect()
    # Both threads end with what asked them.
    for thread in (first, second):
        thread.join(60.0)  # type: ignore[attr-defined]
        assert not thread.is_alive()  # type: ignore[attr-defined]
