"""Framebuffers to draw into and read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.sensors.render.shot import CHANNELS, Color, Frame

if TYPE_CHECKING:
    import moderngl


class Target:
    """Textures for the channels of pictures of one size.

    All channels but the colors are floats that are 0 where nothing is.
    """

    def __init__(self, context: moderngl.Context, size: tuple[int, int], channels: frozenset[str]) -> None:
        self.channels = tuple(name for name in CHANNELS if name in channels)
        self._size = size
        textures = [context.texture(size, 4) if name == "rgb" else context.texture(size, 1, dtype="f4")
                    for name in self.channels]  # fmt: skip
        colored = [name == "rgb" for name in self.channels]
        self._all = _mask([True] * len(colored))
        self._others_only = _mask([not each for each in colored])
        self._colors_only = _mask(colored) if any(colored) else None
        self.framebuffer = context.framebuffer(textures, context.depth_renderbuffer(size))

    def clear(self, background: Color) -> None:
        """Clear the target and make it the current one."""
        framebuffer = self.framebuffer
        # One clear writes all attachments alike, but colors begin with the background and all others with 0. Masks
        # make it two clears.
        if self._colors_only is not None:
            framebuffer.color_mask = self._colors_only
            framebuffer.clear(*background)
            framebuffer.color_mask = self._others_only
        framebuffer.clear()
        framebuffer.color_mask = self._all
        framebuffer.use()

    def read(self) -> Frame:
        """Return the picture as new arrays."""
        arrays = {name: self._read_channel(attachment, name) for attachment, name in enumerate(self.channels)}
        return Frame(**arrays)

    def _read_channel(self, attachment: int, name: str) -> AnyArray:
        """Return one channel of the picture (H, W): colors, depth in m with inf for nothing, or ids with -1."""
        width, height = self._size
        if name == "rgb":
            rgb = np.empty((height, width, 3), np.uint8)
            self.framebuffer.read_into(rgb, components=3, attachment=attachment, alignment=1)
            return rgb
        values = np.empty((height, width), np.float32)
        self.framebuffer.read_into(values, components=1, attachment=attachment, alignment=1, dtype="f4")
        if name == "depth":
            # One over 0, where nothing was drawn, is the infinite depth that is wanted there.
            with np.errstate(divide="ignore"):
                return np.reciprocal(values, out=values)
        # Ids were stored plus one, so that the cleared 0 becomes -1.
        values -= 1.0
        return values.astype(np.int32)


def _mask(written: list[bool]) -> Any:
    """Return which attachments are written, as a framebuffer takes it."""
    # With one attachment moderngl takes its mask alone, not in a tuple.
    masks = tuple((each,) * 4 for each in written)
    return masks if len(masks) > 1 else masks[0]
