"""The request to a renderer, its light, and its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bytes, Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.sensors.render.optics import Intrinsics
from fleet_sim.spatial import quaternions

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Lighting:
    """How the rasteriser lights the world. Colors are red, green, blue in [0, 1].

    `sun` points to the sun. What faces it gets `sun_color` and the ambient light; what faces away gets the ambient
    light only, which goes from `ground_color` on undersides to `sky_color` on tops. `floor` are the colors of the
    floor's squares.
    """

    sun: tuple[float, float, float] = (0.4, -0.6, 1.0)
    sun_color: Color = (0.46, 0.45, 0.42)
    sky_color: Color = (0.60, 0.61, 0.64)
    ground_color: Color = (0.43, 0.43, 0.45)
    background: Color = (0.87, 0.91, 0.95)
    floor: tuple[Color, Color] = ((0.64, 0.73, 0.88), (0.94, 0.94, 0.94))


CHANNELS = ("rgb", "depth", "ids", "links")
NOTHING = -1
"""The id of the floor, of bodies that are no entity, and of pixels without anything."""

Int32s = npt.NDArray[np.int32]
Float32s = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture to be taken.

    `position` (3,) and `orientation` (4,) place the optical frame, x right, y down, z forward, in the world. What is
    nearer than `near` or farther than `far`, in m along the optical axis, is not seen. `channels` are some of
    CHANNELS. `shadows` are those that entities cast on the floor, where the renderer can draw them.
    """

    intrinsics: Intrinsics
    position: Floats
    orientation: Floats
    near: float = 0.05
    far: float = 100.0
    channels: frozenset[str] = frozenset({"rgb", "depth"})
    shadows: bool = False

    @classmethod
    def checked(
        cls,
        intrinsics: Intrinsics,
        position: object,
        orientation: object,
        near: float = 0.05,
        far: float = 100.0,
        channels: Iterable[str] = ("rgb", "depth"),
        shadows: bool = False,
    ) -> Shot:
        """Return a shot from values of a user; raises InvalidValueError saying which one is wrong."""
        near = as_float(near, "near in m", low=1e-4)
        far = as_float(far, "far in m", low=near * (1.0 + 1e-6))
        turn = quaternions.normalized(as_floats(orientation, (4,), "camera orientation")[None], "camera orientation")
        place = as_floats(position, (3,), "camera position")
        return cls(intrinsics, place, turn[0], near, far, check_channels(channels), shadows)


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture, height x width; what was not asked for is None.

    - `rgb` (H, W, 3) uint8.
    - `depth` (H, W) float32: m along the optical axis, +inf where nothing is between near and far.
    - `ids` (H, W) int32: object id of the entity seen, -1 for the floor, other bodies and nothing.
    - `links` (H, W) int32: link of the entity seen, -1 for its base, and where `ids` is -1.
    """

    rgb: Bytes | None = None
    depth: Float32s | None = None
    ids: Int32s | None = None
    links: Int32s | None = None


def check_channels(channels: Iterable[str]) -> frozenset[str]:
    """Return the channels; raises InvalidValueError for an unknown one, or none."""
    chosen = frozenset([channels] if isinstance(channels, str) else channels)
    for channel in chosen:
        if channel not in CHANNELS:
            raise InvalidValueError(f"channels: unknown {channel!r}.{did_you_mean(str(channel), CHANNELS)}")
    if not chosen:
        raise InvalidValueError(f"channels: expected some of {', '.join(CHANNELS)}, got none")
    return chosen
