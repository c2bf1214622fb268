"""Pictures taken by PyBullet's own software renderer, which is always there."""

from __future__ import annotations

import numpy as np

from fleet_sim.bullet.camera import capture, colors_of, metres_of
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.sensors.render.optics import engine_projection, engine_view
from fleet_sim.sensors.render.shot import NOTHING, Frame, Int32s, Lighting, Shot

_SAMPLE = (0.0, 1.0)
"""TinyRenderer looks at the lower left corner of each pixel."""
_LINK_SHIFT, _BODY_MASK = 24, (1 << 24) - 1


class TinyRenderer:
    """Takes pictures with PyBullet: it sees what PyBullet sees, also bodies that are no entity.

    It draws every triangle of every body for each picture, seen or not.
    """

    name = "tiny"

    def __init__(self, mirror: BulletMirror, *, lighting: Lighting | None = None) -> None:
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
        lens, wanted = shot.intrinsics, shot.channels
        image = capture(
            self._mirror,
            lens.width,
            lens.height,
            engine_view(shot.position, shot.orientation),
            engine_projection(lens, shot.near, shot.far, _SAMPLE),
            links="links" in wanted,
            shadow=False,
            lit_from=self.lighting.sun,
        )
        depth = metres_of(image.depth, image.segments, shot.near, shot.far)
        # What TinyRenderer draws beyond the far plane counts as nothing, as with the other renderer.
        beyond_mask = depth > shot.far
        segments = np.where(beyond_mask, np.int32(NOTHING), image.segments)
        depth[beyond_mask] = np.inf
        # With links, PyBullet packs the body into the lower 24 bits and link + 1 above.
        bodies = segments & np.int32(_BODY_MASK) if "links" in wanted else segments
        ids = self._ids(np.where(segments < 0, np.int32(NOTHING), bodies)) if wanted & {"ids", "links"} else None
        return Frame(
            rgb=colors_of(image.rgba) if "rgb" in wanted else None,
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
