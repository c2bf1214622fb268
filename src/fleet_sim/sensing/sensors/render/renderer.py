"""The interface between cameras and renderers, and the choice of a renderer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, StateError, did_you_mean
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.sensing.sensors.render.gl import GlRenderer
from fleet_sim.sensing.sensors.render.shot import (
    NOTHING,
    Frame,
    Int32s,
    Lighting,
    Shot,
    engine_projection,
    engine_view,
    in_bands,
)
from fleet_sim.world.world import World


class EngineView(Protocol):
    """PyBullet's view of a world, as its mirror has it."""

    world: World
    client: Any
    """`floor` says whether there is one."""

    def ensure(self) -> None:
        """Bring all bodies up to date."""

    def rows_of_bodies(self, bodies: object) -> Rows:
        """Return the rows of PyBullet `bodies`, -1 for bodies without an entity."""

    def capture(
        self, width: int, height: int, view_matrix: Any, projection: Any, *, links: bool, shadow: bool, lit_from: Any
    ) -> Any:
        """Render an image with PyBullet's renderer."""


# Pictures taken by PyBullet's own software renderer, which is always there.


MOST_AT_ONCE = 1 << 20
"""Pixels that PyBullet draws in one call: they take a second."""

_SAMPLE = (0.0, 1.0)
"""TinyRenderer looks at the lower left corner of each pixel."""
_LINK_SHIFT, _BODY_MASK = 24, (1 << 24) - 1


class TinyRenderer:
    """Takes pictures with PyBullet: it sees what PyBullet sees, also bodies that are no entity.

    It draws every triangle of every body for each picture, seen or not.
    """

    name = "tiny"

    def __init__(self, mirror: EngineView, *, lighting: Lighting | None = None) -> None:
        """Take pictures of the world of `mirror`; of `lighting` only the direction of the sun counts."""
        self.lighting = lighting or Lighting()
        self._mirror = mirror

    @property
    def device(self) -> str:
        """What draws."""
        return "PyBullet's TinyRenderer"

    def render(self, shot: Shot) -> Frame:
        """Return the picture; raises MissingDependencyError without pybullet, InvalidValueError for unusable files."""
        self._mirror.ensure()
        return in_bands(shot, MOST_AT_ONCE, self._draw)

    def _draw(self, shot: Shot) -> Frame:
        lens, wanted = shot.intrinsics, shot.channels
        image = self._mirror.capture(
            lens.width,
            lens.height,
            engine_view(shot.position, shot.orientation),
            engine_projection(lens, shot.near, shot.far, _SAMPLE),
            links="links" in wanted,
            shadow=False,
            lit_from=self.lighting.sun,
        )
        depth = image.metres(shot.near, shot.far)
        # What TinyRenderer draws beyond the far plane counts as nothing, as with the other renderer.
        beyond_mask = depth > shot.far
        segments = np.where(beyond_mask, np.int32(NOTHING), image.segments)
        depth[beyond_mask] = np.inf
        # With links, PyBullet packs the body into the lower 24 bits and link + 1 above.
        bodies = segments & np.int32(_BODY_MASK) if "links" in wanted else segments
        ids = self._ids(np.where(segments < 0, np.int32(NOTHING), bodies)) if wanted & {"ids", "links"} else None
        return Frame(
            rgb=image.colors() if "rgb" in wanted else None,
            depth=depth if "depth" in wanted else None,
            ids=ids if "ids" in wanted else None,
            links=_links(segments, ids) if ids is not None and "links" in wanted else None,
        )

    def close(self) -> None:
        """Nothing is held."""

    def _ids(self, bodies: Int32s) -> Int32s:
        """Return the object ids (H, W) of PyBullet `bodies`."""
        mirror = self._mirror
        rows = mirror.rows_of_bodies(np.arange(int(bodies.max(initial=0)) + 1))
        known = np.where(rows >= 0, mirror.world.object_id[rows], NOTHING).astype(np.int32)
        # Nothing, -1, finds the last one.
        return np.append(known, np.int32(NOTHING))[bodies]


def _links(segments: Int32s, ids: Int32s) -> Int32s:
    return np.where(ids == NOTHING, np.int32(NOTHING), (segments >> np.int32(_LINK_SHIFT)) - np.int32(1))


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


RendererMaker = Callable[[EngineView, "Lighting | None"], Renderer]
"""Returns a renderer for the world of a mirror, in some lighting or, for None, the usual one.

Raises MissingDependencyError or StateError where the renderer is not available on this machine.
"""

AUTO = "auto"
"""The choice of the best renderer that is available: "opengl", else "tiny"."""


def _opengl(mirror: EngineView, lighting: Lighting | None) -> Renderer:
    renderer = GlRenderer(mirror.world, floor=mirror.client.floor, lighting=lighting)
    log.info("cameras are drawn by OpenGL on EGL (%s)", renderer.device)
    return renderer


def _tiny(mirror: EngineView, lighting: Lighting | None) -> Renderer:
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


def make_renderer(mirror: EngineView, choice: str = AUTO, *, lighting: Lighting | None = None) -> Renderer:
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
