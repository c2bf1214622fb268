"""From degrees on the earth to metres: transverse Mercator projections of WGS 84, by the series of Krüger."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import trigonometry as trig

_A, _F = 6378137.0, 1.0 / 298.257223563
"""Half axis in m and flattening of WGS 84."""
_N = _F / (2.0 - _F)
_RADIUS = _A / (1.0 + _N) * (1.0 + _N**2 / 4.0 + _N**4 / 64.0)
_ALPHAS = (
    _N / 2.0 - 2.0 * _N**2 / 3.0 + 5.0 * _N**3 / 16.0,
    13.0 * _N**2 / 48.0 - 3.0 * _N**3 / 5.0,
    61.0 * _N**3 / 240.0,
)
_ECCENTRICITY = float(np.sqrt(_F * (2.0 - _F)))
WIDEST = 10.0
"""Degrees from the middle meridian within which the series holds."""


class Mercator(NamedTuple):
    """A projection: the point `latitude`, `longitude` in degrees lies at `east`, `north` in m."""

    latitude: float
    longitude: float
    scale: float
    east: float
    north: float

    def to_metres(self, degrees: Floats) -> Floats:
        """Return places (N, 2) in m, east and north, of `degrees` (N, 2), longitude and latitude.

        Raises InvalidValueError for places too far from the middle meridian, or beyond a pole.
        """
        far = np.abs(degrees[:, 0] - self.longitude)
        if not ((far <= WIDEST).all() and (np.abs(degrees[:, 1]) < 89.0).all()):
            raise InvalidValueError(
                f"places are longitude and latitude, within {WIDEST:g} degrees of {self.longitude:g}"
            )
        origin = np.array([[self.longitude, self.latitude]])
        places = self.scale * _RADIUS * (self._plane(degrees) - self._plane(origin))
        places += self.east, self.north
        return np.asarray(places)

    def _plane(self, degrees: Floats) -> Floats:
        """Return places (N, 2) as shares of the radius, from the middle meridian and the equator."""
        away, latitude = np.radians(degrees[:, 0] - self.longitude), np.radians(degrees[:, 1])
        sine = trig.sin(latitude)
        # The latitude on the sphere with the same angles, by the sine of its imaginary length.
        length = _artanh(sine) - _ECCENTRICITY * _artanh(_ECCENTRICITY * sine)
        tangent = _sinh(length)
        cosine = trig.cos(away)
        north = trig.arctan2(tangent, cosine)
        share = trig.sin(away) / np.sqrt(tangent * tangent + cosine * cosine)
        east = trig.log(share + np.sqrt(share * share + 1.0))
        place = np.stack((east, north), axis=1)
        for number, alpha in enumerate(_ALPHAS, 1):
            growth = _exp(2.0 * number * east)
            wide, high = 0.5 * (growth - 1.0 / growth), 0.5 * (growth + 1.0 / growth)
            place[:, 0] += alpha * trig.cos(2.0 * number * north) * wide
            place[:, 1] += alpha * trig.sin(2.0 * number * north) * high
        return place


def projection(name: str) -> Mercator:
    """Return the projection called EPSG:<number>: those of Singapore and UTM; raises InvalidValueError for others."""
    if name == "EPSG:3414":
        return Mercator(1.0 + 22.0 / 60.0, 103.0 + 50.0 / 60.0, 1.0, 28001.642, 38744.572)
    found = re.fullmatch(r"EPSG:32([67])(\d\d)", name)
    zone = int(found[2]) if found else 0
    if found is None or not 1 <= zone <= 60:
        raise InvalidValueError(
            f"known are EPSG:3414, and UTM with EPSG:32601 to 32660 and 32701 to 32760, got {name!r}"
        )
    return Mercator(0.0, 6.0 * zone - 183.0, 0.9996, 500_000.0, 0.0 if found[1] == "6" else 10_000_000.0)


def _artanh(values: Floats) -> Floats:
    return np.asarray(0.5 * trig.log((1.0 + values) / (1.0 - values)))


def _sinh(values: Floats) -> Floats:
    growth = _exp(values)
    return np.asarray(0.5 * (growth - 1.0 / growth))


def _exp(values: Floats) -> Floats:
    """Return e to the power of values within 6, with the same bits everywhere, which np.exp has not."""
    part = values / 64.0
    term, total = np.ones_like(part), np.ones_like(part)
    for number in range(1, 14):
        term = term * part / number
        total = total + term
    for _ in range(6):
        total = total * total
    return total
