"""The first objects of a class may be made in several threads at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet_sim import Path, Pose

THREADS, CLASSES = 4, 50


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switches")
def test_first_objects_of_a_class_are_made_in_many_threads() -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(CLASSES):
            members: dict[str, object] = {f"part_{number}": lambda path: path for number in range(100)}
            kind = type("Route", (Path,), members)
            made = list(pool.map(kind, [[Pose((0.0, 0.0, 0.0))]] * THREADS))
            assert [len(path) for path in made] == [1] * THREADS
