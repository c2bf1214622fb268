"""The interface between cameras and renderers, and the choice of a renderer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.errors import InvalidValueError, MissingDependencyError, StateError, did_you_mean
from fleet_sim.registry import Fit, Registry
from fleet_sim.sensors.render.gl.renderer import GlRenderer
from fleet_sim.sensors.render.shot import Frame, Lighting, Shot
from fleet_sim.sensors.render.tiny import TinyRenderer

log = logging.getLogger(__name__)


class Renderer(Protocol):
    """Takes pictures of one world, as it is when asked."""

    name: str
    lighting: Lighting

    @property
    def device(self) -> str:
        """The name of the device that draws."""

    def render(self, shot: Shot) -> Frame:
        """Return the picture, arrays of its own; raises InvalidValueError for files that cannot be used."""

    def close(self) -> None:
        """Free the resources; may be called again."""


RendererMaker = Callable[[BulletMirror, "Lighting | None"], Renderer]
"""Returns a renderer for the world of a mirror, in some lighting or, for None, the usual one.

Raises MissingDependencyError or StateError where the renderer is not available on this machine.
"""

AUTO = "auto"
"""The choice of the best renderer that is available: "opengl", else "tiny"."""


def _opengl(mirror: BulletMirror, lighting: Lighting | None) -> Renderer:
    renderer = GlRenderer(mirror.world, floor=mirror.client.floor, lighting=lighting)
    log.info("cameras are drawn by OpenGL on EGL (%s)", renderer.device)
    return renderer


def _tiny(mirror: BulletMirror, lighting: Lighting | None) -> Renderer:
    return TinyRenderer(mirror, lighting=lighting)


RENDERERS: Registry[RendererMaker] = Registry(
    "renderer",
    Fit("a function of a mirror and a lighting", callable),
    group="fleet_sim.renderer",
    built_in={"opengl": _opengl, "tiny": _tiny},
)
"""What makes renderers, by the name that cameras give. "opengl" rasterises from the columns, with the extra `camera`
and EGL; "tiny" is PyBullet's own."""


def check_renderer(choice: object) -> str:
    """Return `choice`, which must be "auto" or a name in RENDERERS; raises InvalidValueError with the closest one."""
    if isinstance(choice, str) and (choice == AUTO or choice in RENDERERS):
        return choice
    raise InvalidValueError(f"unknown renderer {choice!r}.{did_you_mean(str(choice), [AUTO, *RENDERERS])}")


def make_renderer(mirror: BulletMirror, choice: str = AUTO, *, lighting: Lighting | None = None) -> Renderer:
    """Return a renderer for the world of `mirror`, and say in the log which one it is.

    Raises InvalidValueError for an unknown choice; MissingDependencyError or StateError where what was chosen by name
    is not available, or nothing is.
    """
    if check_renderer(choice) != AUTO:
        return RENDERERS.get(choice)(mirror, lighting)
    try:
        return RENDERERS.get("opengl")(mirror, lighting)
    except (MissingDependencyError, StateError) as error:
        if find_spec("pybullet") is None:
            raise MissingDependencyError(
                f"nothing can draw for a camera: {error}; or install PyBullet, which draws slowly: "
                "pip install 'fleet_sim[bullet]'"
            ) from error
        log.warning("cameras are drawn by PyBullet's TinyRenderer, which is slow, since OpenGL is not there: %s", error)
    return RENDERERS.get("tiny")(mirror, lighting)
