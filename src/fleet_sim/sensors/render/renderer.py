"""The seam between cameras and what draws for them, and the choice of it."""

from __future__ import annotations

import logging
from typing import Protocol

from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.errors import InvalidValueError, MissingDependencyError, StateError, did_you_mean
from fleet_sim.sensors.render.gl.renderer import GlRenderer
from fleet_sim.sensors.render.lighting import Lighting
from fleet_sim.sensors.render.shot import Frame, Shot
from fleet_sim.sensors.render.tiny import TinyRenderer

log = logging.getLogger(__name__)

RENDERERS = ("auto", "opengl", "tiny")


class Renderer(Protocol):
    """Takes pictures of one world, as it is when asked."""

    name: str
    lighting: Lighting

    @property
    def device(self) -> str:
        """What draws, as its makers call it."""

    def render(self, shot: Shot) -> Frame:
        """Return the picture, arrays of its own; raises InvalidValueError for files that cannot be used."""

    def close(self) -> None:
        """Free what the pictures needed; may be called again."""


def make_renderer(mirror: BulletMirror, choice: str = "auto", *, lighting: Lighting | None = None) -> Renderer:
    """Return a renderer for the world of `mirror`, and say in the log which one it is.

    "opengl" rasterises from the columns, with the extra `camera` and EGL; "tiny" is PyBullet's own; "auto" is the first
    of the two that is there. Raises InvalidValueError for another choice; MissingDependencyError or StateError where
    "opengl" is not there.
    """
    if choice not in RENDERERS:
        raise InvalidValueError(f"renderer: unknown {choice!r}.{did_you_mean(str(choice), RENDERERS)}")
    if choice == "tiny":
        return TinyRenderer(mirror, lighting=lighting)
    try:
        renderer = GlRenderer(mirror.world, floor=mirror.client.floor, lighting=lighting)
    except (MissingDependencyError, StateError) as error:
        if choice == "opengl":
            raise
        log.warning("cameras are drawn by PyBullet's TinyRenderer, which is slow, since OpenGL is not there: %s", error)
        return TinyRenderer(mirror, lighting=lighting)
    log.info("cameras are drawn by OpenGL on EGL (%s)", renderer.device)
    return renderer
