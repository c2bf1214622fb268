"""The light of a picture: a sun, ambient light, and the background."""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Lighting:
    """How the rasteriser lights the world. Colours are red, green, blue in [0, 1].

    `sun` points to the sun. What faces it gets `sun_colour` and the ambient light; what faces away gets the ambient
    light only, which goes from `ground_colour` on undersides to `sky_colour` on tops.
    """

    sun: tuple[float, float, float] = (0.4, -0.6, 1.0)
    sun_colour: Colour = (0.46, 0.45, 0.42)
    sky_colour: Colour = (0.60, 0.61, 0.64)
    ground_colour: Colour = (0.43, 0.43, 0.45)
    background: Colour = (0.87, 0.91, 0.95)
