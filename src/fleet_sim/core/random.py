"""Random streams: one seed, one independent generator per purpose."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


class RandomStreams:
    """Named generators derived from one seed.

    `stream("spawn")` is the same sequence in every run with the same seed, whatever other streams were used before
    it, so adding a consumer of randomness never changes what another one draws.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, np.random.Generator] = {}

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the generator of `purpose`, made at its first use."""
        generator = self._generators.get(purpose)
        if generator is None:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(purpose.encode()),))
            generator = self._generators[purpose] = np.random.Generator(np.random.PCG64(sequence))
        return generator

    def save(self) -> dict[str, Any]:
        """Return the state of every stream, for a checkpoint."""
        return {purpose: generator.bit_generator.state for purpose, generator in self._generators.items()}

    def restore(self, states: dict[str, Any]) -> None:
        """Take back what `save` returned; streams not in it start anew."""
        self._generators.clear()
        for purpose, state in states.items():
            self.stream(purpose).bit_generator.state = state
