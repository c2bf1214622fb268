"""Scenes for the tests of PyBullet's view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bullet_scene import Scene


@pytest.fixture
def make_scene() -> Iterator[Callable[..., Scene]]:
    """Return a maker of scenes, all closed at the end."""
    scenes: list[Scene] = []

    def make(*args: Any, **kwargs: Any) -> Scene:
        scenes.append(Scene(*args, **kwargs))
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.mirror.close()


@pytest.fixture
def scene(make_scene: Callable[..., Scene]) -> Scene:
    """Return a world that PyBullet sees on demand."""
    return make_scene()
