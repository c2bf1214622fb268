"""Lights as they are written down."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting

FASTEST_BLINK = 100.0
"""In Hz."""


@dataclass
class LightSettings(Checked):
    """A signal light: the object is bright in its color while it is lit, and dark otherwise."""

    color: tuple[float, float, float] = setting((1.0, 0.7, 0.1), low=0, high=1, doc="Red, green and blue of its light.")
    lit: bool = setting(True, doc="Whether it is switched on at first.")
    blink: float = setting(
        0.0, low=0.0, high=FASTEST_BLINK, unit="Hz", doc="How often it is lit while it is switched on; 0: all the time."
    )
