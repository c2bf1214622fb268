"""What changed of the entities since the last sample, by compiled code: from columns to the other process at once."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Ints
from fleet_sim.kernels import compiled, inlined

# Places to write to are unsigned: a signed one is checked each time for counting from the end.
_NONE, _ONE, _TWO, _THREE, _FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@compiled
def pack_changed(
    position: Floats,
    orientation: Floats,
    velocity: Floats,
    angular_velocity: Floats,
    parent: Ints,
    blocked_by: Ints,
    control: Bytes,
    waiting: Bytes,
    first: int,
    path_length: Ints,
    path_start: Ints,
    path_position: Floats,
    path_orientation: Floats,
    first_path: int,
    last: Ints,
    whole: int,
    memory: Ints,
    begin: int,
) -> tuple[int, int]:
    """Write the groups of words that differ from `last` (N, 16), all of them where `whole` is 1, and all waypoints.

    From the word `begin` of `memory` on, a byte for each entity tells which groups follow, then those, then 7 words for
    each waypoint. Returns how many words of entities there are, and how many waypoints. Words are compared bit by bit;
    `last` has those of now afterwards.
    """
    end, masks = first + len(last), memory.view(np.uint8)[8 * begin :]
    # Sliced here, so that the compiler knows that no index counts from the end.
    places, turns = position.view(np.int64)[first:end], orientation.view(np.int64)[first:end]
    speeds, spins = velocity.view(np.int64)[first:end], angular_velocity.view(np.int64)[first:end]
    parents, blockers, modes, waits = parent[first:end], blocked_by[first:end], control[first:end], waiting[first:end]
    lengths, starts = path_length[first_path:], path_start[first_path:]
    values, count = memory[begin + (len(last) + 7) // 8 :], _NONE
    for entity in range(len(last)):
        mask = 0
        if _packs_three(*_row(places, entity), entity, 0, whole, last, values, count):
            mask, count = 1, count + _THREE
        if _packs_four(turns, entity, whole, last, values, count):
            mask, count = mask | 2, count + _FOUR
        if _packs_three(*_row(speeds, entity), entity, 7, whole, last, values, count):
            mask, count = mask | 4, count + _THREE
        if _packs_three(*_row(spins, entity), entity, 10, whole, last, values, count):
            mask, count = mask | 8, count + _THREE
        state = lengths[entity] << 16 | np.int64(waits[entity]) << 8 | np.int64(modes[entity])
        if _packs_three(parents[entity], blockers[entity], state, entity, 13, whole, last, values, count):
            mask, count = mask | 16, count + _THREE
        masks[entity] = mask
    words = np.int64(count)
    points = _pack_paths(lengths[: len(last)], starts, path_position, path_orientation, values[words:])
    return words, points  # type: ignore[return-value]  # compiled, both are plain numbers


@inlined
def _row(words: Ints, entity: int) -> tuple[int, int, int]:
    return words[entity, 0], words[entity, 1], words[entity, 2]


@inlined
def _packs_three(
    one: int, two: int, three: int, entity: int, place: int, whole: int, last: Ints, values: Ints, count: np.uint64
) -> bool:
    """Replace three words of an entity where one of them differs, and write them to `values`; return whether it did."""
    # A branch, as robots that stand or drive do so for many samples.
    if (one ^ last[entity, place]) | (two ^ last[entity, place + 1]) | (three ^ last[entity, place + 2]) | whole == 0:
        return False
    last[entity, place], last[entity, place + 1], last[entity, place + 2] = one, two, three
    values[count], values[count + _ONE], values[count + _TWO] = one, two, three
    return True


@inlined
def _packs_four(words: Ints, entity: int, whole: int, last: Ints, values: Ints, count: np.uint64) -> bool:
    """Do the same for the four words of an orientation."""
    one, two, three, four = words[entity, 0], words[entity, 1], words[entity, 2], words[entity, 3]
    differs = (one ^ last[entity, 3]) | (two ^ last[entity, 4]) | (three ^ last[entity, 5]) | (four ^ last[entity, 6])
    if differs | whole == 0:
        return False
    last[entity, 3], last[entity, 4], last[entity, 5], last[entity, 6] = one, two, three, four
    values[count], values[count + _ONE], values[count + _TWO], values[count + _THREE] = one, two, three, four
    return True


@inlined
def _pack_paths(lengths: Ints, starts: Ints, position: Floats, orientation: Floats, words: Ints) -> int:
    """Write position and orientation of each waypoint to `words`; return how many waypoints there are."""
    numbers, count = words.view(np.float64).reshape(-1), 0
    for entity in range(len(lengths)):
        for point in range(starts[entity], starts[entity] + lengths[entity]):
            for axis in range(3):
                numbers[7 * count + axis] = position[point, axis]
            for axis in range(4):
                numbers[7 * count + 3 + axis] = orientation[point, axis]
            count += 1
    return count
