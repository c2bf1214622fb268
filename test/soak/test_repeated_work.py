"""The same work again and again keeps nothing: no objects of Python, no rows, no shapes."""

from __future__ import annotations

import gc
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

WARM_UP, ROUNDS = 2, 4


@pytest.mark.slow
def test_no_kind_of_object_grows_with_each_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import soak_library

    monkeypatch.setitem(soak_library.SCENARIO["simulation"], "target_rtf", 0)
    library = soak_library.Library(tmp_path)
    library.tally.tell = lambda: None

    def play() -> Counter[str]:
        for work, _ in soak_library.WORK:
            work(library)
        library.tally.step_times.clear()
        gc.collect()
        world = library.sim.world
        counts = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
        return counts | Counter({"rows": world.capacity, "shapes": len(world.shapes), "bytes": world.position.nbytes})

    for _ in range(WARM_UP):
        play()
    counts = [play() for _ in range(ROUNDS)]
    # What a cache took in one round is no leak; what is kept grows in each, as these counters do.
    grown = {name for name in counts[-1] if all(after[name] > before[name] for before, after in pairwise(counts))}
    assert grown == {"collections.Counter"}
    assert library.tally.lost == 0
    library.sim.close()
