"""The example of a scripted pick finds things by their depth and brings them to the other bin."""

from __future__ import annotations

import numpy as np
import pytest
from example import load_example


# With PyBullet's renderer the same seed is another run: its depths differ a little, and one thing may slip.
@pytest.mark.usefixtures("opengl")
def test_things_are_seen_where_they_are_and_brought_to_the_other_bin() -> None:
    example = load_example("scripted_pick")
    picker = example.Picker(example.settings(2, 2))
    picker.scene.reset(rng=np.random.default_rng(0))
    picker.leave()
    seen = example.seen_things(example.world_points(picker.camera), picker.pick_bin)
    places = sorted(thing.get_pose().position[:2] for thing in picker.pick_bin.objects)
    assert sorted(thing.centre.tolist() for thing in seen) == [
        pytest.approx(list(place), abs=0.003) for place in places
    ]
    score = picker.empty_bin(0)
    assert score.brought == score.successes == 2
    assert score.attempts <= 4
