"""Noise as a function: of the seed, the sensor, the time and the place in the reading.

Nothing is drawn from a stream, so what one sensor reads depends neither on the other sensors, nor on how often it was
read before, and there is no state to save.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats

Keys = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


def stream_key(seed: int, stream: str) -> int:
    """Return the 64-bit key of the noise called `stream` in a simulation with `seed`."""
    digest = hashlib.blake2b(f"{seed}\n{stream}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mixed(words: Keys) -> Keys:
    """Scatter the bits of `words`, in place (the finalizer of SplitMix64)."""
    words ^= words >> np.uint64(30)
    words *= _MIX_A
    words ^= words >> np.uint64(27)
    words *= _MIX_B
    words ^= words >> np.uint64(31)
    return words


def _steps(count: int) -> np.uint64:
    return np.uint64(count * int(_STEP) & 0xFFFFFFFFFFFFFFFF)


def uniforms(keys: Keys, tick: int, count: int, channel: int = 0) -> Floats:
    """Return `count` numbers in (0, 1] for each key, (N, count), that belong to `tick`.

    Different `channel`s are independent of each other.
    """
    words = _mixed(keys + _steps(tick + 1))
    words = _mixed(words + _steps(channel + 1))
    bits = _mixed(words[:, None] + np.arange(1, count + 1, dtype=np.uint64) * _STEP)
    out: Floats = ((bits >> np.uint64(11)).astype(np.float64) + 1.0) * _TO_UNIT
    return out


def normals(keys: Keys, tick: int, count: int, channel: int = 0) -> Floats:
    """Return `count` standard normal numbers for each key, (N, count), that belong to `tick`."""
    half = (count + 1) // 2
    drawn = uniforms(keys, tick, 2 * half, channel)
    radii = np.sqrt(-2.0 * np.log(np.ascontiguousarray(drawn[:, :half])))
    angles = 2.0 * np.pi * np.ascontiguousarray(drawn[:, half:])
    return np.concatenate((radii * np.cos(angles), radii * np.sin(angles)), axis=1)[:, :count]
