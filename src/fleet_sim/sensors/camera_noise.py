"""Noise of cameras: a function of the camera, the time and the pixel, as for all sensors."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bytes
from fleet_sim.sensors.render.shot import Float32s

_COLOURS, _DEPTH = range(2)


def noisy_colours(rgb: Bytes, deviation: float, key: int, tick: int) -> None:
    """Add noise to `rgb` (H, W, 3), in place; `deviation` is a share of full brightness."""
    drawn = _normals(key, tick, _COLOURS, rgb.shape)
    drawn *= np.float32(255.0 * deviation)
    drawn += rgb
    np.clip(np.rint(drawn, out=drawn), 0.0, 255.0, out=drawn)
    rgb[...] = drawn


def noisy_depth(depth: Float32s, deviation: float, near: float, far: float, key: int, tick: int) -> None:
    """Add noise to `depth` (H, W), in place; `deviation` is in m. Noisy depths stay between near and far."""
    drawn = _normals(key, tick, _DEPTH, depth.shape)
    drawn *= np.float32(deviation)
    drawn += depth
    # Nothing stays nothing: a pixel without depth gets no noise.
    seen_mask = np.isfinite(depth)
    depth[seen_mask] = np.clip(drawn[seen_mask], near, far)


def _normals(key: int, tick: int, channel: int, shape: tuple[int, ...]) -> Float32s:
    # Millions of numbers: a generator of its own, seeded with all they depend on, is many times faster than hashing.
    generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence((key, tick, channel))))
    return generator.standard_normal(shape, np.float32)
