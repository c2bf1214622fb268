"""Random numbers that belong to an agent: a function of (key, agent, how many were drawn before).

They do not depend on who else draws, nor in which order, so agents moved together, one after the other, or alone draw
the same. The key comes from a component's seed.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats, Ints
from fleet_sim.swarm.agents import Group

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniforms(key: int, ids: Ints, counts: Ints, lane: int = 0) -> Floats:
    """Return one number (N,) in [0, 1) for each of `ids` (N,), the `counts`-th (N,) of its sequence.

    `lane` tells sequences of one key apart, below 2**16. All bits of key, id and count go through the finaliser of
    SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) one after the other.
    """
    seed = np.uint64((key * 0x10001 + lane) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        state = _mixed(np.full(1, seed)) ^ ids.astype(np.uint64)
        state = _mixed(state) ^ counts.astype(np.uint64)
        bits = _mixed(state)
    return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def normals(key: int, ids: Ints, counts: Ints, lane: int = 0) -> Floats:
    """Return one standard normal number (N,) for each of `ids`, by Box and Muller; takes this lane and the next."""
    radius = np.sqrt(-2.0 * np.log1p(-uniforms(key, ids, counts, lane)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniforms(key, ids, counts, lane + 1)))


class AgentDraws:
    """The random numbers of a component of a group: each agent has a sequence of its own.

    `seed` fixes the sequences whatever the world's seed; None takes them from the world's seed, the group and the slot.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = seed

    def uniforms(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) number in [0, 1) of each agent of `group`."""
        return uniforms(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def normals(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) standard normal number of each agent of `group`; takes this lane and the next."""
        return normals(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def _key(self, group: Group, slot: str) -> int:
        if self.seed is not None:
            return self.seed
        return group.columns.random.seed * 0x100000000 + zlib.crc32(f"swarm {group.index} {slot}".encode())


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return np.asarray(values ^ (values >> np.uint64(31)))
