"""Samples as words of 8 bytes, on their way from a run to the process that writes: of the entities, what changed.

An entity has 16 words, in five groups. A sample has a head, a byte for each entity that tells which of its groups
follow, padding, those groups, entity by entity, then positions and orientations of waypoints, point by point, then
positions, velocities and efforts of joints, then the pairs in collision.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Ints
from fleet_sim.core.snapshot_board import SnapshotBoard
from fleet_sim.core.snapshot_taking import (
    EntityRoster,
    GivenColors,
    StateArrays,
    StateColumns,
    snapshot_of,
)
from fleet_sim.record.compiled_words import pack_changed
from fleet_sim.record.topic import Sample

WIDTH = 16
GROUPS = (3, 4, 3, 3, 3)
"""Words of an entity: position; orientation; velocity; angular velocity; and the row that carries it, the row that
blocks it, and its state: in bytes, its mode, what it waits for, and from the third one on the length of its path."""
POINT = 7
"""Words of a waypoint."""
_HEAD = struct.Struct("<qqdqqqqq")
"""Time in ns, tick, time in s, how many entities, waypoints, joints and pairs there are, and how many words of entities
follow."""
_HEAD_WORDS = _HEAD.size // 8
_ALL = (1 << len(GROUPS)) - 1
_WORDS_OF_MASK = np.repeat(
    np.unpackbits(np.arange(_ALL + 1, dtype=np.uint8)[:, None], axis=1, count=len(GROUPS), bitorder="little"),
    GROUPS,
    axis=1,
).view(np.bool_)
"""(32, 16) which words the groups of a byte have."""


class SampleGiver:
    """Writes samples that build on each other: none may be left out but by `start_anew`."""

    def __init__(self) -> None:
        # The words of the last sample that compiled code wrote.
        self._last: Ints = np.empty((0, WIDTH), np.int64)
        self._whole = 1

    def start_anew(self) -> None:
        """Have the next sample build on none: after spawns and removals, and where one was not taken."""
        self._whole = 1

    def longest(self, board: SnapshotBoard, roster: EntityRoster, columns: StateColumns) -> int:
        """Return how many bytes the next sample has at most."""
        entities, joints = len(roster.names), len(roster.joint_slots)
        points = POINT * len(columns.path_position)
        begin = _HEAD_WORDS + _mask_words(entities)
        return 8 * (begin + WIDTH * entities + points + 3 * joints + 2 * len(board.pairs))

    def write(
        self,
        memory: Ints,
        begin: int,
        now: int,
        tick: int,
        board: SnapshotBoard,
        roster: EntityRoster,
        columns: StateColumns,
    ) -> int:
        """Write a sample of the time `now` in ns from the word `begin` of `memory` on; return how many bytes it has.

        Without compiled code it has all words: comparing them takes as long as writing them.
        """
        entities, joints, pairs = len(roster.names), len(roster.joint_slots), board.pairs
        content = begin + _HEAD_WORDS
        if board.compiled:
            if self._whole and len(self._last) != entities:
                self._last = np.empty((entities, WIDTH), np.int64)
            words, points = pack_changed(*columns, self._last, self._whole, memory, content)
            self._whole = 0
        else:
            words, points = _pack_all(board.look()[0], memory, content)
            self._whole = 1
        at = content + _mask_words(entities) + words + POINT * points
        if joints:
            at = _pack_joints(board, roster, memory, at)
        if len(pairs):
            memory[at : at + 2 * len(pairs)] = pairs.reshape(-1)
            at += 2 * len(pairs)
        counts = (entities, points, joints, len(pairs), words)
        _HEAD.pack_into(memory.data, 8 * begin, now, tick, board.time_of(tick), *counts)
        return 8 * (at - begin)


def _pack_all(state: StateArrays, memory: Ints, begin: int) -> tuple[int, int]:
    """Write all words of the entities, and the waypoints; return how many there are of each."""
    entities, points = len(state["positions"]), len(state["path_positions"])
    at = begin + _mask_words(entities)
    memory.view(np.uint8)[8 * begin : 8 * begin + entities] = _ALL
    words = memory[at : at + WIDTH * entities].reshape(entities, WIDTH)
    numbers = words.view(np.float64)
    numbers[:, 0:3], numbers[:, 3:7] = state["positions"], state["orientations"]
    numbers[:, 7:10], numbers[:, 10:13] = state["velocities"], state["angular_velocities"]
    words[:, 13], words[:, 14] = state["parents"], state["blocked_by"]
    words[:, 15] = state["path_lengths"] << 16 | state["waiting"].astype(np.int64) << 8 | state["modes"]
    at += WIDTH * entities
    waypoints = memory[at : at + POINT * points].view(np.float64).reshape(points, POINT)
    waypoints[:, :3], waypoints[:, 3:] = state["path_positions"], state["path_orientations"]
    return WIDTH * entities, points


def _pack_joints(board: SnapshotBoard, roster: EntityRoster, memory: Ints, at: int) -> int:
    """Write positions, velocities and efforts of joints from the word `at` on; return up to where they are."""
    joints, slots = board.joints, roster.joint_slots
    for column in (joints.position, joints.velocity, joints.effort):
        memory[at : at + len(slots)].view(np.float64)[:] = column[slots]
        at += len(slots)
    return at


class SampleTaker:
    """Reads what a SampleGiver wrote, sample by sample."""

    def __init__(self) -> None:
        self._words: Ints = np.empty((0, WIDTH), np.int64)

    def read(self, data: bytes, roster: EntityRoster, colors: GivenColors, orders: tuple[Any, ...]) -> Sample:
        """Return the sample in `data`, which must not change any more. Features are not recorded."""
        now, tick, time, entities, points, joints, pairs, count = _HEAD.unpack_from(data, 0)
        masks = np.frombuffer(data, np.uint8, entities, _HEAD.size)
        content = np.frombuffer(data, np.int64, offset=_HEAD.size + 8 * _mask_words(entities))
        ends = np.cumsum([count, POINT * points, joints, joints, joints])
        values, waypoints, *of_joints, colliding = np.split(content, ends)
        self._take_words(masks, values)
        state = _state_of(self._words, waypoints.view(np.float64).reshape(points, POINT))
        for name, array in zip(("joint_positions", "joint_velocities", "joint_efforts"), of_joints, strict=True):
            state[name] = array.view(np.float64)
        state["pairs"] = colliding.reshape(pairs, 2)
        return Sample(now, snapshot_of(state, roster, colors, tick=tick, time=time, features={}), orders)

    def _take_words(self, masks: AnyArray, values: Ints) -> None:
        # Copied: the arrays of the sample before are those of its snapshot, which must not change.
        same = len(self._words) == len(masks)
        self._words = self._words.copy() if same else np.empty((len(masks), WIDTH), np.int64)
        # Half the time that `np.place` takes for it.
        self._words.reshape(-1)[_WORDS_OF_MASK[masks].reshape(-1)] = values


def _state_of(words: Ints, waypoints: Floats) -> dict[str, AnyArray]:
    numbers, state = words.view(np.float64), words[:, 15]
    return {
        "positions": numbers[:, 0:3],
        "orientations": numbers[:, 3:7],
        "velocities": numbers[:, 7:10],
        "angular_velocities": numbers[:, 10:13],
        "parents": words[:, 13],
        "blocked_by": words[:, 14],
        "modes": (state & 0xFF).astype(np.uint8),
        "waiting": (state >> 8 & 0xFF).astype(np.uint8),
        "path_lengths": state >> 16,
        "path_positions": waypoints[:, :3].copy(),
        "path_orientations": waypoints[:, 3:].copy(),
    }


def _mask_words(entities: int) -> int:
    """Return how many words the bytes take that tell the groups of entities."""
    return (entities + 7) // 8
