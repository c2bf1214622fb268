"""Randomness from one seed: a key per purpose, generators by purpose, and counter-based random numbers.

Each consumer of random numbers has a purpose and uses `purpose_key(seed, purpose)`, or a stream made from it. So
adding a consumer never changes the numbers of another one.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats, Ints
from fleet_sim.spatial import trigonometry as trig

Keys = npt.NDArray[np.uint64]

# SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW_BITS = 0xFFFFFFFFFFFFFFFF
_TO_UNIT = 2.0**-53
_TURN = 2.0 * np.pi


@lru_cache(maxsize=1 << 14)
def purpose_key(seed: int, purpose: str) -> int:
    """Return the 64-bit key for `purpose` in a simulation with `seed`."""
    # Not Python's `hash`, which for texts differs from process to process.
    digest = hashlib.blake2b(f"{seed}\n{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class RandomStreams:
    """Named generators derived from one seed.

    `stream("spawn")` gives the same sequence in every run with the same seed, whichever other streams were used before.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, np.random.Generator] = {}

    def key(self, purpose: str) -> int:
        """Return the 64-bit key of `purpose`, for counter-based numbers."""
        return purpose_key(self.seed, purpose)

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the generator of `purpose`, created at its first use."""
        generator = self._generators.get(purpose)
        if generator is None:
            generator = self._generators[purpose] = np.random.Generator(np.random.PCG64(self.key(purpose)))
        return generator

    def reseed(self, seed: int) -> None:
        """Start all over with another seed: streams and keys are from now on what they are with it from the start."""
        self.seed = seed
        self._generators.clear()

    def save(self) -> dict[str, Any]:
        """Return the seed and the state of every stream, for a checkpoint."""
        states = {purpose: generator.bit_generator.state for purpose, generator in self._generators.items()}
        return {"seed": self.seed, "states": states}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned; streams not in it start again."""
        self.reseed(saved["seed"])
        for purpose, state in saved["states"].items():
            self.stream(purpose).bit_generator.state = state


# ---- numbers as functions of (key, id, count) ------------------------------------------------------------------------
# These numbers are not drawn from a stream: a number does not depend on other consumers, on the order or on repeated
# calls, and there is no state to save. `key` is the purpose (`purpose_key`), `id` the sequence (an entity or a time),
# `count` the index in that sequence; `lane` separates sequences of one purpose. All broadcast against each other.


def uniforms(keys: Keys | int, ids: Ints | int, counts: Ints | int, lane: int = 0) -> Floats:
    """Return the `counts`-th numbers in [0, 1) of the sequences `ids`, of the shape to which all broadcast."""
    # The xor makes a new array: `_mixed` works in place, and the stem may be a cached one.
    words = _mixed(_stem(keys, lane) ^ _words(ids))
    words = _mixed(words ^ _words(counts))
    # The upper 53 bits: a double holds them exactly, and the result stays below 1.
    words >>= np.uint64(11)
    out: Floats = words.astype(np.float64)
    out *= _TO_UNIT
    return out


def normals(keys: Keys | int, ids: Ints | int, counts: Ints | int, lane: int = 0) -> Floats:
    """Return the `counts`-th standard normal numbers of the sequences `ids`, of the shape to which all broadcast.

    Box-Muller transform: the numbers 2k and 2k + 1 come from the uniform numbers 2k and 2k + 1 of the same lane.
    """
    counts = np.asarray(counts)
    # Both numbers of a pair are computed from the counts alone, so no number needs those before it.
    odd = counts & 1
    even = counts - odd
    radii = _radii(uniforms(keys, ids, even, lane))
    angles = _TURN * uniforms(keys, ids, even + 1, lane)
    return np.asarray(radii * np.where(odd, *trig.sin_cos(angles)))


def normal_rows(keys: Keys, ids: int, count: int, lane: int = 0) -> Floats:
    """Return the first `count` normal numbers of sequence `ids` of each of `keys` (N,): (N, count).

    They are those of `normals(keys[:, None], ids, arange(count), lane)`, in half the time.
    """
    half = (count + 1) // 2
    evens, odds = uniforms(keys[:, None], ids, _evens_then_odds(half), lane)
    radii, angles = _radii(evens), _TURN * odds
    out = np.empty((len(keys), half, 2))
    sines, cosines = trig.sin_cos(angles)
    np.multiply(radii, cosines, out=out[:, :, 0])
    np.multiply(radii, sines, out=out[:, :, 1])
    return out.reshape(len(keys), 2 * half)[:, :count]


@lru_cache(maxsize=64)
def _evens_then_odds(half: int) -> Ints:
    """Return 0, 2, ... and 1, 3, ... (2, 1, half): contiguous halves, on which logarithms and sines are fast."""
    return np.ascontiguousarray(np.arange(2 * half).reshape(half, 2).T).reshape(2, 1, half)


def _radii(drawn: Floats) -> Floats:
    # Of 1 - u and not of u: u may be 0, which has no logarithm, but is never 1.
    return np.asarray(np.sqrt(-2.0 * trig.log(1.0 - drawn)))


def _stem(keys: Keys | int, lane: int) -> Keys:
    """Return the number `lane` of SplitMix64 for each key; the result must not be written to."""
    if isinstance(keys, int):
        return _known_stem(keys, lane)
    return _mixed(keys + np.uint64(lane * int(_GOLDEN) & _LOW_BITS))


@lru_cache(maxsize=1 << 12)
def _known_stem(key: int, lane: int) -> Keys:
    return _stem(np.array([key & _LOW_BITS], np.uint64), lane)


def _words(values: Ints | int) -> Keys | np.uint64:
    return np.uint64(values) if isinstance(values, int) else values.astype(np.uint64)


def _mixed(words: Keys) -> Keys:
    """Scatter the bits of `words`, in place: one step of SplitMix64."""
    words += _GOLDEN
    words ^= words >> np.uint64(30)
    words *= _MIX_1
    words ^= words >> np.uint64(27)
    words *= _MIX_2
    words ^= words >> np.uint64(31)
    return words
