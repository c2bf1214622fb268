"""What happens to samples when writing is slower than the run."""

from __future__ import annotations

from threading import Thread

import pytest

pytest.importorskip("mcap")

from fleet_sim.record.queue import SampleQueue
from fleet_sim.record.topic import Sample

SAMPLE = Sample.__new__(Sample)


def test_a_full_queue_drops_and_counts_where_on_full_says_so() -> None:
    queue = SampleQueue(on_full="drop", length=4)
    assert [queue.put(SAMPLE) for _ in range(6)] == [True] * 4 + [False] * 2
    assert queue.dropped == 2
    assert len(queue.get(0.0)) == 2
    assert queue.put(SAMPLE), "there is room again"


def test_a_full_queue_makes_the_run_wait_otherwise() -> None:
    queue = SampleQueue(on_full="wait", length=4)
    taken: list[bool] = []
    run = Thread(target=lambda: taken.extend(queue.put(SAMPLE) for _ in range(6)), daemon=True)
    run.start()
    written = 0
    while written < 6:
        written += len(queue.get(0.01))
    run.join()
    assert taken == [True] * 6 and queue.dropped == 0
