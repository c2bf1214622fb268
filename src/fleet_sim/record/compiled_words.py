"""What changed of the entities since the last sample, by compiled code."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints
from fleet_sim.kernels import compiled, inlined


@compiled
def pack_changed(
    positions: Floats,
    orientations: Floats,
    velocities: Floats,
    angular_velocities: Floats,
    parents: Ints,
    blocked_by: Ints,
    path_lengths: Ints,
    last: Ints,
    masks: AnyArray,
    values: Ints,
) -> int:
    """Write to `values` what differs from `last` (N, 16), bit by bit, and return how many words that are.

    Bit k of `masks` (N,) tells whether word k of an entity is among them; `last` has all words of now afterwards.
    """
    position, orientation = positions.view(np.int64), orientations.view(np.int64)
    velocity, turn = velocities.view(np.int64), angular_velocities.view(np.int64)
    count = 0
    for entity in range(len(masks)):
        mask = 0
        for axis in range(3):
            if _packs(position[entity, axis], axis, entity, last, values, count):
                mask, count = mask | 1 << axis, count + 1
        for axis in range(4):
            if _packs(orientation[entity, axis], 3 + axis, entity, last, values, count):
                mask, count = mask | 8 << axis, count + 1
        for axis in range(3):
            if _packs(velocity[entity, axis], 7 + axis, entity, last, values, count):
                mask, count = mask | 128 << axis, count + 1
        for axis in range(3):
            if _packs(turn[entity, axis], 10 + axis, entity, last, values, count):
                mask, count = mask | 1024 << axis, count + 1
        if _packs(parents[entity], 13, entity, last, values, count):
            mask, count = mask | 8192, count + 1
        if _packs(blocked_by[entity], 14, entity, last, values, count):
            mask, count = mask | 16384, count + 1
        if _packs(path_lengths[entity], 15, entity, last, values, count):
            mask, count = mask | 32768, count + 1
        masks[entity] = mask
    return count


@inlined
def _packs(word: int, place: int, entity: int, last: Ints, values: Ints, count: int) -> bool:
    """Replace a word where it differs, and write it to `values`; return whether it does."""
    # A branch, as robots that stand or drive do so for many samples: without one, each word is written.
    if word == last[entity, place]:
        return False
    last[entity, place] = word
    values[count] = word
    return True
