"""Samples as bytes, on their way from a run to the process that writes: of the entities, what changed.

An entity has 16 words of 8 bytes. A sample has a mask of 16 bits for each entity, which tells the words that follow,
then those, entity by entity, then the arrays of STATE that have other rows or single bytes, as they are. Paths are left
out where they are the arrays of the sample before.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.core.snapshot_taking import STATE, EntityRoster, GivenColors, StateArrays, snapshot_of
from fleet_sim.record.compiled_words import pack_changed
from fleet_sim.record.topic import Sample

WORDS = {
    "positions": slice(0, 3),
    "orientations": slice(3, 7),
    "velocities": slice(7, 10),
    "angular_velocities": slice(10, 13),
    "parents": slice(13, 14),
    "blocked_by": slice(14, 15),
    "path_lengths": slice(15, 16),
}
"""Which words of an entity each array has, in the order in which kernels take them."""
WIDTH = 16
_REST = tuple(name for name in STATE if name not in WORDS)
_HEAD = struct.Struct("<qqdqqqqq?7x")
"""Time in ns, tick, time in s, how many entities, waypoints, joints and pairs there are, how many words follow, and
whether paths are those of the sample before."""
_PATHS = ("path_positions", "path_orientations")
"""Arrays that a plan of thousands of waypoints makes longer than all others, and that change with it only."""
_ALL = np.uint16(0xFFFF)
_COUNTED = ("positions", "path_positions", "joint_positions", "pairs")


class SampleGiver:
    """Writes samples that build on each other: none may be left out but by `start_anew`."""

    def __init__(self) -> None:
        self._last: Ints = np.empty((0, WIDTH), np.int64)
        self._paths: tuple[AnyArray, ...] = ()
        self._anew = True

    def start_anew(self) -> None:
        """Have the next sample build on none: after spawns and removals, and where one was not taken."""
        self._anew = True

    def longest(self, state: StateArrays) -> int:
        """Return how many bytes the next sample has at most."""
        entities = len(state["positions"])
        rest = sum([state[name].nbytes for name in _REST])
        return _HEAD.size + _masks_size(entities) + 8 * WIDTH * entities + rest

    def write(
        self, place: memoryview, now: int, tick: int, time: float, state: StateArrays, *, with_kernels: bool
    ) -> int:
        """Write a sample of the time `now` in ns to `place`, and return how many bytes it has.

        Without kernels it has all words: comparing them takes as long as writing them.
        """
        entities = len(state["positions"])
        begin = _HEAD.size + _masks_size(entities)
        masks = np.frombuffer(place, np.uint16, entities, _HEAD.size)
        same_paths = self._has_same_paths(state)
        values = np.frombuffer(place, np.int64, WIDTH * entities, begin)
        if with_kernels and not self._anew:
            count = pack_changed(*[state[name] for name in WORDS], self._last, masks, values)  # type: ignore[call-arg]
        else:
            self._write_all(state, masks, values)
            count = len(values)
        _HEAD.pack_into(place, 0, now, tick, time, *[len(state[name]) for name in _COUNTED], count, same_paths)
        at = begin + 8 * count
        for name in _REST:
            if same_paths and name in _PATHS:
                continue
            array = state[name]
            # Views of arrays without elements cannot be cast.
            if array.nbytes:
                place[at : at + array.nbytes] = array.data.cast("B")
                at += array.nbytes
        return at

    def _has_same_paths(self, state: StateArrays) -> bool:
        """Return whether the paths are the same arrays as in the sample before, which nobody can have changed."""
        before, now = self._paths, tuple(state[name] for name in _PATHS)
        self._paths = now
        same = len(before) == len(now) and all(one is other for one, other in zip(before, now, strict=True))
        return same and not self._anew and not any(array.flags.writeable for array in now)

    def _write_all(self, state: StateArrays, masks: AnyArray, values: Ints) -> None:
        masks[:] = _ALL
        words = values.reshape(-1, WIDTH)
        for name, places in WORDS.items():
            # Not -1 for the width: no entities have none.
            words[:, places] = state[name].view(np.int64).reshape(len(words), places.stop - places.start)
        self._last, self._anew = words.copy(), False


class SampleTaker:
    """Reads what a SampleGiver wrote, sample by sample."""

    def __init__(self) -> None:
        self._words: Ints = np.empty((0, WIDTH), np.int64)
        self._paths: dict[str, AnyArray] = {}

    def read(self, data: bytes, roster: EntityRoster, colors: GivenColors, orders: tuple[Any, ...]) -> Sample:
        """Return the sample in `data`, which must not change any more. Features are not recorded."""
        now, tick, time, *counts, count, same_paths = _HEAD.unpack_from(data, 0)
        entities = counts[0]
        masks = np.frombuffer(data, np.uint8, 2 * entities, _HEAD.size)
        at = _HEAD.size + _masks_size(entities)
        values = np.frombuffer(data, np.int64, count, at)
        # Copied: the arrays of the sample before are those of its snapshot, which must not change.
        self._words = np.empty((entities, WIDTH), np.int64) if len(self._words) != entities else self._words.copy()
        changed_mask = np.unpackbits(masks, bitorder="little").view(np.bool_)
        # Half the time that `np.place` takes for it.
        self._words.reshape(-1)[changed_mask] = values
        at += values.nbytes
        state = dict[str, AnyArray]()
        for name, (counted, shape, kind) in STATE.items():
            rows = counts[counted]
            if name in WORDS:
                state[name] = self._words[:, WORDS[name]].view(kind).reshape(rows, *shape)
            elif same_paths and name in _PATHS:
                state[name] = self._paths[name]
            else:
                state[name] = np.frombuffer(data, kind, rows * math.prod(shape), at).reshape(rows, *shape)
                at += state[name].nbytes
        self._paths = {name: state[name] for name in _PATHS}
        return Sample(now, snapshot_of(state, roster, colors, tick=tick, time=time, features={}), orders)


def _masks_size(entities: int) -> int:
    """Return how many bytes masks take: words behind them are aligned."""
    return 2 * entities + -2 * entities % 8
