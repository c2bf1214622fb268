"""One scene for the tests of its parts: making it takes longer than they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim.learning.manipulation import BinScene, FrankaArm


@pytest.fixture(scope="module")
def made_scene() -> Iterator[BinScene]:
    scene = BinScene(config=small_bin(objects=(4, 4)))
    yield scene
    scene.sim.close()


@pytest.fixture
def scene(made_scene: BinScene) -> BinScene:
    """The scene, just reset, with four boxes."""
    made_scene.reset(rng=np.random.default_rng(2))
    return made_scene


@pytest.fixture
def arm(scene: BinScene) -> FrankaArm:
    return scene.arms[0]
