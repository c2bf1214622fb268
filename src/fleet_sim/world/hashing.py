"""A hash of the state of a world, for testing determinism."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import AnyArray, Ints, Rows
from fleet_sim.world.columns import Column, ColumnTable, FeatureColumns
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

Words = npt.NDArray[np.uint64]

_MIX_A, _MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@lru_cache(maxsize=1 << 17)
def _key(label: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest(), "little"))


def _mixed(words: Words) -> Words:
    # A finaliser as in SplitMix64: each bit of the input changes about half of the bits of the output.
    words = (words ^ (words >> np.uint64(32))) * _MIX_A
    words = (words ^ (words >> np.uint64(29))) * _MIX_B
    return words ^ (words >> np.uint64(32))


def _words(values: AnyArray) -> Words:
    """Return `values` (N, ...) as (N, K) 64-bit words; equal numbers give equal words (-0.0 as 0.0)."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    # -0.0 + 0.0 is 0.0: numbers that compare equal must give the same word.
    flat = flat + 0.0 if flat.dtype == np.float64 else flat.astype(np.int64)
    words: Words = flat.view(np.uint64)
    return words


class _Meanings(NamedTuple):
    """What numbers in columns stand for, as keys of names: rows and motion laws. NO_ROW, the last row, counts as 0."""

    rows: Words
    laws: Words


def _words_of(spec: Column, values: AnyArray, meanings: _Meanings) -> Words:
    """Return the values of a column as words (N, K); rows and laws that they refer to count by their names."""
    # Numbers depend on the order of spawning and of registration, names do not.
    if spec.reference:
        return meanings.rows[np.where(values == NO_ROW, -1, values)][:, None]
    return meanings.laws[values][:, None] if spec.law else _words(values)


def _path_digests(world: World, rows: Rows) -> Words:
    """Return one word per row (N,) for the waypoints, in order, of the paths of `rows`."""
    motion, pool = world.motion, world.waypoints
    lengths = motion.path_length[rows]
    firsts = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
    points = np.repeat(motion.path_start[rows], lengths) + places
    # The place in the path is mixed in, as the sum below forgets the order. reduceat needs paths of at least one point.
    digests = _mixed(places.astype(np.uint64) + _key("waypoint"))
    for words in (_words(pool.position[points]), _words(pool.orientation[points])):
        for index in range(words.shape[1]):
            digests = _mixed(digests ^ words[:, index])
    if pool.limited:
        limits = pool.speed_limit[points]
        # A path without limits has the same hash whether or not another one has some.
        digests = np.where(np.isfinite(limits), _mixed(digests ^ _words(limits[:, None])[:, 0]), digests)
    return np.add.reduceat(digests, firsts)


def _joint_digests(world: World, rows: Rows) -> Words:
    """Return one word per row (N,) for the joints, in order, of `rows`, which must all have joints."""
    joints, counts = world.joints, world.robots.joint_count[rows]
    slots = joints.slots(world.robots, rows)
    firsts = np.cumsum(counts) - counts
    places = np.arange(len(slots)) - np.repeat(firsts, counts)
    digests = _mixed(places.astype(np.uint64) + _key("joint"))
    for _, spec, array in joints.columns():
        if spec.hashed:
            digests = _mixed(digests ^ _words(array[slots])[:, 0])
    return np.add.reduceat(digests, firsts)


def _with_columns(digest: Words, table_name: str, table: ColumnTable, rows: Rows, meanings: _Meanings) -> Words:
    """Return `digest` (N,) with the hashed columns of a table at `rows` (N,) mixed in."""
    for name, spec, array in table.columns():
        if not spec.hashed:
            continue
        values = array[rows]
        words = _words_of(spec, values, meanings)
        # Table, column and component are mixed in: the same number elsewhere must give another word.
        places = np.array([_key(f"{table_name}.{name}.{index}") for index in range(words.shape[1])])
        digest = _mixed(digest ^ np.add.reduce(_mixed(words ^ places), axis=1))
    return digest


def _owners(table: ColumnTable, rows: Rows) -> Ints:
    """Return the indices of the `rows` that have the feature of `table`."""
    assert isinstance(table, FeatureColumns)
    return np.flatnonzero(table.present[rows])


def _keys(world: World, rows: Rows) -> tuple[Words, _Meanings]:
    """Return the keys of `rows` (N,), and what references and laws mean."""
    keys = np.array([_key(world.label(row)) for row in rows.tolist()], np.uint64)
    # One entry more than rows: NO_ROW is index -1, which finds that entry and so counts as 0.
    key_of_row = np.zeros(world.capacity + 1, np.uint64)
    key_of_row[rows] = keys
    # A world of its own has no laws: its indices count as they are.
    laws = np.arange(1 << 8, dtype=np.uint64)
    for index, name in enumerate(world.laws.names() if world.has_part("laws") else ()):
        laws[index] = _key(f"law {name}")
    return keys, _Meanings(key_of_row, laws)


def state_hash(world: World) -> str:
    """Return 16 hex digits that depend on the tick and on hashed columns, path and joints of every living entity.

    Entities are identified by name (by id if they have none), not by row, so the order of rows does not matter. Two
    worlds with the same hash hold the same numbers, bit for bit.
    """
    rows = world.rows
    keys, meanings = _keys(world, rows)
    digest = _mixed(keys)
    features: list[str] = []
    for name, table in world.tables.items():
        if isinstance(table, FeatureColumns):
            features.append(name)
        else:
            digest = _with_columns(digest, name, table, rows, meanings)
    # In order of names: the order in which features were first used must not matter.
    for name in sorted(features):
        table = world.tables[name]
        owners = _owners(table, rows)
        if len(owners):
            digest[owners] = _with_columns(digest[owners], name, table, rows[owners], meanings)
    on_path = np.flatnonzero(world.motion.path_length[rows])
    if len(on_path):
        digest[on_path] = _mixed(digest[on_path] ^ _path_digests(world, rows[on_path]))
    jointed = np.flatnonzero(world.robots.joint_count[rows])
    if len(jointed):
        digest[jointed] = _mixed(digest[jointed] ^ _joint_digests(world, rows[jointed]))
    # A sum does not depend on the order of rows. Each digest holds a name, so equal entities do not cancel out.
    total = np.uint64(np.add.reduce(digest, dtype=np.uint64)) if len(rows) else np.uint64(0)
    final = hashlib.blake2b(digest_size=8)
    final.update(int(total).to_bytes(8, "little") + world.clock.tick.to_bytes(8, "little"))
    return final.hexdigest()


def column_hashes(world: World) -> dict[str, str]:
    """Return 16 hex digits for each hashed column, for the joints and for the paths of all living entities, by name.

    They tell which part of two worlds differs where `state_hash` does, and like it do not depend on the order of rows.
    """
    rows = world.rows
    keys, meanings = _keys(world, rows)
    parts: dict[str, Words] = {}
    for name, table in world.tables.items():
        owners = _owners(table, rows) if isinstance(table, FeatureColumns) else np.arange(len(rows))
        for column, spec, array in table.columns():
            if spec.hashed and len(owners):
                values = array[rows[owners]]
                words = _words_of(spec, values, meanings)
                places = np.array([_key(f"{index}") for index in range(words.shape[1])])
                sums = np.add.reduce(_mixed(words ^ places), axis=1)
                parts[f"{name}.{column}"] = _mixed(keys[owners] ^ sums)
    on_path = np.flatnonzero(world.motion.path_length[rows])
    if len(on_path):
        parts["paths"] = _mixed(keys[on_path] ^ _path_digests(world, rows[on_path]))
    jointed = np.flatnonzero(world.robots.joint_count[rows])
    if len(jointed):
        parts["joints"] = _mixed(keys[jointed] ^ _joint_digests(world, rows[jointed]))
    return {name: f"{int(np.add.reduce(digest, dtype=np.uint64)):016x}" for name, digest in parts.items()}
