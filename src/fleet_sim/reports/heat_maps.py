"""Maps of where robots passed and where they waited, as pictures within the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.images import transparent_png_bytes

RAMPS = {
    "passages": (
        (0.0, (147, 197, 253, 26)),
        (0.35, (57, 135, 229, 150)),
        (0.7, (124, 84, 222, 225)),
        (1.0, (220, 38, 127, 255)),
    ),
    "waited": (
        (0.0, (253, 224, 140, 26)),
        (0.35, (237, 161, 0, 160)),
        (0.7, (227, 73, 72, 230)),
        (1.0, (150, 10, 60, 255)),
    ),
}
"""Colors with their opacity from the least to the most: what is little lets the page through, light or dark."""
WALL = (128, 128, 132, 120)


def peak_of(maps: Sequence[Floats]) -> float:
    """Return the value of the strongest color: what 99.5 % of all squares in use keep below. Rare peaks look alike."""
    used = np.concatenate([values[values > 0.0] for values in maps]) if maps else np.zeros(0)
    return float(np.percentile(used, 99.5)) if len(used) else 0.0


def picture(values: Floats, free_mask: Bools, peak: float, ramp: str) -> str:
    """Return a data URI with a pixel for each square: `values` (H, W), colored up to `peak`, and walls."""
    stops = RAMPS[ramp]
    # Without a peak all is 0; dividing by it would make NaN of it.
    shares = np.clip(values / peak if peak > 0.0 else values * 0.0, 0.0, 1.0)
    places = [place for place, _ in stops]
    # Band by band: a color between two stops is a mixture of both.
    pixels = np.stack([np.interp(shares, places, [color[band] for _, color in stops]) for band in range(4)], axis=-1)
    # Unused squares are transparent, so that they look the same in light and dark pages.
    pixels[values <= 0.0] = 0.0
    pixels[~free_mask] = WALL
    return "data:image/png;base64," + b64encode(transparent_png_bytes(pixels.round().astype(np.uint8))).decode("ascii")


def gradient(ramp: str) -> str:
    """Return the colors as a CSS gradient."""
    parts = [
        f"rgba({red},{green},{blue},{alpha / 255:.2f}) {place:.0%}" for place, (red, green, blue, alpha) in RAMPS[ramp]
    ]
    return f"linear-gradient(90deg,{','.join(parts)})"
