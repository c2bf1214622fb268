"""Random numbers in kernels."""

from __future__ import annotations

import numpy as np

from fleet_sim.kernels import compiled
from fleet_sim.traffic.tables import Words


@compiled
def below(words: Words, count: int) -> int:
    """Return a random number from 0 to `count` - 1; `words` (1,) is the state."""
    word = words[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    words[0] = word
    # Signed, so that it stays a whole number when it is added to others.
    return np.int64((word >> np.uint64(11)) % np.uint64(count))  # type: ignore[return-value]
