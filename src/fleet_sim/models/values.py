"""The values that descriptions of robots are made of."""

from __future__ import annotations

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""
Color = tuple[float, float, float, float]
"""Red, green, blue and opacity from 0 to 1."""

ORIGIN: Vector = (0.0, 0.0, 0.0)
UNTURNED: Quaternion = (0.0, 0.0, 0.0, 1.0)
DEFAULT_COLOR: Color = (0.8, 0.8, 0.8, 1.0)
