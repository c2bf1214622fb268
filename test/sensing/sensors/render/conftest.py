"""Scenes and renderers for the tests of pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from bullet_scene import Scene

from fleet_sim.sensing.sensors.render.renderer import Renderer, make_renderer
from fleet_sim.sensing.sensors.render.shot import Lighting


@pytest.fixture
def make_scene() -> Iterator[Callable[..., Scene]]:
    """Return a maker of scenes, closed at the end."""
    scenes: list[Scene] = []

    def make(**settings: object) -> Scene:
        scenes.append(Scene(**settings))
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.mirror.close()


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Renderer]]:
    """Return a maker of renderers, by name; closed at the end."""
    made: list[Renderer] = []

    def renderer(scene: Scene, name: str, lighting: Lighting | None = None) -> Renderer:
        if name == "opengl":
            request.getfixturevalue("opengl")
        made.append(make_renderer(scene.mirror, name, lighting=lighting))
        return made[-1]

    yield renderer
    for each in made:
        each.close()
