"""The light of a picture: a sun, the sky's own light, and what is seen where nothing is."""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Lighting:
    """How the rasteriser lights the world. Colours are red, green, blue in [0, 1].

    `sun` points to the sun. What faces it gets `sun_colour` and the ambient light; what faces away gets the ambient
    light only, which goes from `ground_colour` on undersides to `sky_colour` on tops. `shadows` are those that
    entities cast on the floor.
    """

    sun: tuple[float, float, float] = (0.4, -0.6, 1.0)
    sun_colour: Colour = (0.52, 0.51, 0.48)
    sky_colour: Colour = (0.54, 0.55, 0.58)
    ground_colour: Colour = (0.36, 0.36, 0.38)
    background: Colour = (0.87, 0.91, 0.95)
    shadows: bool = True
