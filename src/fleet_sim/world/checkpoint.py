"""Checkpoints: the complete state from which a simulation continues as if nothing had happened since; and its hash."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import AnyArray, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateFileError, brief, unknown_name
from fleet_sim.base.limits import check_extent
from fleet_sim.base.registry import saved_name
from fleet_sim.base.request_budget import Work
from fleet_sim.world.columns import Column, ColumnTable, FeatureColumns
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Forms, PartState, attributes_of
from fleet_sim.world.world import World, restore_world, save_world

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


_Meanings = tuple[Words, Words]
"""What numbers in columns stand for, as keys of names: rows and motion laws. NO_ROW, the last row, counts as 0."""


def _words_of(spec: Column, values: AnyArray, meanings: _Meanings) -> Words:
    """Return the values of a column as words (N, K); rows and laws that they refer to count by their names."""
    # Numbers depend on the order of spawning and of registration, names do not.
    rows, laws = meanings
    if spec.reference:
        return rows[np.where(values == NO_ROW, -1, values)][:, None]
    return laws[values][:, None] if spec.law else _words(values)


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
    return keys, (key_of_row, laws)


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


# Checkpoints.


# What is read from a state file is checked before it becomes a world: kinds, lengths, and every number of a row. A
# file may be of another version, damaged, or made by somebody else. A number that leads beyond an array would be
# found much later, in some step; here it is refused with its table and column.


Tables = Mapping[str, Mapping[str, AnyArray]]
MOST_TICKS = 1 << 62


def check_tables(world: World, tables: Any) -> int:
    """Return how many rows all `tables` have; raises StateFileError unless they are the tables of `world`."""
    own = {name: table for name, table in world.tables.items() if not table.transient}
    if not isinstance(tables, dict) or set(tables) != set(own):
        raise StateFileError(f"its tables are {brief(sorted(tables))}, and here are {', '.join(sorted(own))}")
    alive = tables["body"].get("alive") if isinstance(tables["body"], dict) else None
    if not isinstance(alive, np.ndarray) or alive.ndim != 1:
        raise StateFileError("table body: `alive` is missing")
    count = len(alive)
    for name, table in own.items():
        check_columns(table, tables[name], count, name)
    return count


def check_columns(table: ColumnTable, columns: Any, count: int, what: str) -> None:
    """Raise StateFileError unless `columns` are those of `table`, each with `count` rows."""
    if not isinstance(columns, dict) or set(columns) != set(table.schema):
        raise StateFileError(f"{what}: its columns are not those of this version of fleet_sim")
    for name, spec in table.schema.items():
        _check_column(columns[name], spec, count, f"{what}.{name}")


def _check_column(array: Any, spec: Column, count: int, what: str) -> None:
    shape = (count, *spec.shape)
    if not isinstance(array, np.ndarray) or array.dtype != spec.dtype or array.shape != shape:
        raise StateFileError(f"{what}: expected an array of {spec.dtype} {shape}")
    # Some columns begin with it; in all others it would spread.
    if array.dtype.kind == "f" and not np.isnan(spec.default).any() and np.isnan(array).any():
        raise StateFileError(f"{what}: numbers that are none")
    if spec.reference:
        check_range(array, -1, count, what)


def check_range(array: AnyArray, low: int, end: int, what: str) -> None:
    """Raise StateFileError unless all numbers of `array` are from `low` up to `end`, without that."""
    if array.size and not (array.min() >= low and array.max() < end):
        raise StateFileError(f"{what}: expected numbers from {low} to {end - 1}, got {array.min()} to {array.max()}")


def check_world(world: World, tables: Tables, names: Any, saved: Any, clock: Any) -> None:
    """Raise StateFileError unless all numbers of rows, joints and waypoints in a saved world are there."""
    body = tables["body"]
    alive = body["alive"]
    check_clock(clock)
    _check_names(names, alive)
    ids = body["object_id"][alive]
    free, next_id = saved["free"], saved["next_id"]
    if (
        not isinstance(free, np.ndarray)
        or free.dtype != np.int64
        or not np.array_equal(np.sort(free), np.flatnonzero(~alive))
    ):
        raise StateFileError("the free rows are not those without an entity")
    # Not `isinstance`: True is an int as well.
    if type(next_id) is not int or len(np.unique(ids)) != len(ids):
        raise StateFileError("object ids are not unique")
    check_range(ids, 0, next_id, "object_id")
    try:
        check_extent(body["position"][alive], world.extent)
    except InvalidValueError as error:
        raise StateFileError(str(error)) from error
    if set(saved["user_data"]) - set(np.flatnonzero(alive).tolist()):
        raise StateFileError("user data of entities that do not live")
    _check_joints(world, tables["robots"], saved["joints"], alive)
    _check_waypoints(tables["motion"], saved["waypoints"], alive)


def check_row(world: World, row: Any) -> None:
    """Raise StateFileError unless `row` is one of the world's."""
    if type(row) is not int or not 0 <= row < world.capacity:
        raise StateFileError(f"{brief(row)} is not a row")


def check_clock(clock: Any) -> None:
    """Raise StateFileError unless `clock` is what `Clock.save` returns."""
    tick, progress = clock
    pairs = [number for pair in progress.values() for number in pair]
    if not all(type(number) is int and abs(number) < MOST_TICKS for number in (tick, *progress, *pairs)) or tick < 0:
        raise StateFileError("the time is not a number of steps")


def _check_names(names: Any, alive: AnyArray) -> None:
    if not isinstance(names, list) or len(names) != len(alive):
        raise StateFileError("there is not one name for each row")
    given = [name for name, lives in zip(names, alive.tolist(), strict=True) if lives and name is not None]
    if not all(isinstance(name, str) and name for name in given) or len(set(given)) != len(given):
        raise StateFileError("names of entities are texts, each given once")


def _check_joints(world: World, robots: Mapping[str, AnyArray], saved: Any, alive: AnyArray) -> None:
    arrays = saved["arrays"]
    used = len(arrays["robot"])
    check_columns(world.joints, arrays, used, "joints")
    check_range(arrays["robot"], -1, len(alive), "joints.robot")
    check_range(arrays["leader"], -1, used, "joints.leader")
    _check_spans(robots["joint_start"][alive], robots["joint_count"][alive], used, "joints")
    check_range(robots["model"][alive], -1, len(world.models), "robots.model")


def _check_waypoints(motion: Mapping[str, AnyArray], saved: Any, alive: AnyArray) -> None:
    """Raise StateFileError unless the paths of all entities lie within the saved waypoints."""
    used = len(saved["position"])
    shapes = {"position": (used, 3), "orientation": (used, 4)}
    for name in ("position", "orientation", "speed_limit", "pass_speed", "braking"):
        array = saved[name]
        if array.dtype != np.float64 or array.shape != shapes.get(name, (used,)):
            raise StateFileError(f"waypoints.{name}: not as it was written")
    lengths = motion["path_length"][alive]
    _check_spans(motion["path_start"][alive], lengths, used, "paths")
    on_path = lengths > 0
    # Relative to the lengths, as each path has its own.
    check_range(motion["waypoint"][alive][on_path] - lengths[on_path], -used - 1, 1, "motion.waypoint")
    if int(saved["live"]) != int(lengths.sum()):
        raise StateFileError("the number of waypoints in use is not that of all paths")


def _check_spans(starts: Ints, lengths: Ints, used: int, what: str) -> None:
    some = lengths > 0
    check_range(lengths, 0, used + 1, what)
    check_range(starts[some], 0, used + 1, what)
    check_range(starts[some] + lengths[some], 0, used + 1, what)


# What a part reads from a file is compared with what it would write now: kinds of arrays, numbers, truth values.


def check_alike(own: Any, given: Any, where: str) -> None:
    """Raise StateFileError where `given` holds another kind of array or number than `own` at the same place.

    Members of lists and of tables by number come and go, so they are not compared; None may stand for a number.
    """
    if isinstance(own, np.ndarray):
        if not isinstance(given, np.ndarray) or given.dtype != own.dtype or given.ndim != own.ndim:
            raise StateFileError(f"{where}: expected an array of {own.dtype} in {own.ndim} dimensions")
    elif isinstance(own, PartState):
        check_alike(own.values, own.check(given, where), where)
    elif isinstance(given, PartState):
        raise StateFileError(f"{where}: expected {brief(own)}, got the state of a part")
    elif isinstance(own, bool):
        if not isinstance(given, bool):
            raise StateFileError(f"{where}: expected true or false, got {brief(given)}")
    elif isinstance(own, (int, float)):
        # A count that was never added to is 0 and may have become 0.5.
        if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float, np.number))):
            raise StateFileError(f"{where}: expected a number, got {brief(given)}")
    elif isinstance(own, dict) and isinstance(given, dict):
        for key in own.keys() & given.keys():
            if isinstance(key, str):
                check_alike(own[key], given[key], f"{where}.{key}")
    elif isinstance(own, tuple) and isinstance(given, tuple) and len(own) == len(given):
        for index, (one, other) in enumerate(zip(own, given, strict=True)):
            check_alike(one, other, f"{where}[{index}]")
    elif type(own) is type(given) and saved_name(type(own)) is not None:
        mine, theirs = attributes_of(own), attributes_of(given)
        if not mine.keys() <= theirs.keys():
            raise StateFileError(f"{where}: {', '.join(mine.keys() - theirs.keys())} is missing")
        check_alike(mine, theirs, where)


class Participant(Protocol):
    """A part that keeps state outside the columns."""

    def save(self) -> Any:
        """Return the state as copies, which later changes do not affect.

        State files hold it too: numbers, texts, arrays, the usual containers, objects of classes marked with `saved`,
        and what the part has a `Form` for.
        """

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; called after the world was restored.

        A part that has `check_saved(saved)` as well checks by itself what is read from a state file: it raises
        StateFileError for what `save` never returns. Errors of other kinds are reported, too.
        """


@dataclass(frozen=True, eq=False, repr=False)
class Checkpoint:
    """A saved moment of one simulation; valid as long as that simulation lives, and in no other."""

    owner: World
    clock: Any
    world: dict[str, Any]
    parts: dict[str, Any]


class Checkpoints:
    """Takes and restores checkpoints of a world and of the parts that registered."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._parts: dict[str, Participant] = {}
        self._beginnings: dict[str, Any] = {}

        self.forms = Forms()
        """How state files write what is not a plain value."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that registered, in order."""
        return tuple(self._parts)

    def register(self, name: str, part: Participant) -> None:
        """Include `part` in checkpoints from now on; its `forms()`, if there are any, are of objects in its state."""
        self._parts[name] = part
        for form in getattr(part, "forms", tuple)():
            self.forms.add(form)

    def unregister(self, name: str) -> None:
        """Leave the part called `name` out of checkpoints from now on."""
        self._parts.pop(name, None)
        self._beginnings.pop(name, None)

    def register_late(self, name: str, part: Participant) -> None:
        """Include `part`, which was created late: older checkpoints restore it to the state it has now."""
        self._beginnings[name] = part.save()
        self.register(name, part)

    def check_parts(self, parts: Any) -> None:
        """Raise StateFileError unless `parts` are those that registered here; late ones may be missing."""
        unknown = sorted(set(parts) - set(self._parts))
        missing = sorted(set(self._parts) - set(parts) - set(self._beginnings))
        if unknown or missing:
            shown = ", ".join(map(str, unknown)) or "none"
            raise StateFileError(
                f"it is of a simulation with other parts: {shown} are in the file and not here"
                + (f"; {', '.join(missing)} are here and not in the file" if missing else "")
            )
        for name, saved in parts.items():
            part = self._parts[name]
            # What it holds is compared only where asking for it changes nothing.
            check = getattr(part, "check_saved", None)
            if check is not None:
                check(saved)
            else:
                check_alike(part.save(), saved, name)

    def take(self) -> Checkpoint:
        """Return a checkpoint of the present state."""
        parts = {name: part.save() for name, part in self._parts.items()}
        return Checkpoint(self._world, self._world.clock.save(), save_world(self._world), parts)

    def check(self, checkpoint: Checkpoint) -> None:
        """Raise InvalidValueError unless `checkpoint` was taken here."""
        if not isinstance(checkpoint, Checkpoint):
            raise InvalidValueError(f"expected what save_state() returned, got {checkpoint!r}")
        if checkpoint.owner is not self._world:
            raise InvalidValueError("the checkpoint was taken in another simulation; it is valid only there")

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore `checkpoint`: clock, world, then the parts in the order of registration."""
        self.check(checkpoint)
        self._world.clock.restore(checkpoint.clock)
        restore_world(self._world, checkpoint.world)
        # After the world, as the parts look at its rows.
        for name, part in self._parts.items():
            part.restore(checkpoint.parts[name] if name in checkpoint.parts else self._beginnings[name])


# Saved states of a simulation, by name.


MOST = 100
"""Maximum number of saved states; each is a copy of all state."""
KEPT = Work("entities in saved states", 100_000, 1_000_000)

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class NamedCheckpoints:
    """Checkpoints by name, the newest last.

    They are kept in memory and end with the simulation; `sim.save_state(path)` writes one to a file.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Checkpoint] = {}
        self._sizes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """The names of all saved states."""
        return list(self._kept)

    def check(self, name: str, size: int) -> None:
        """Raise InvalidValueError if a state of `size` entities cannot be saved as `name`."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            allowed = "1 to 64 letters, digits, _, - and ."
            raise InvalidValueError(f"name: expected {allowed}, got {name!r}; moments are kept in memory, not in files")
        if name not in self._kept and len(self._kept) >= MOST:
            raise InvalidValueError(f"{MOST} moments are kept already; save under one of their names to replace it")
        KEPT.charge(size, sum(self._sizes.values()) - self._sizes.get(name, 0))

    def keep(self, name: str, checkpoint: Checkpoint, size: int) -> None:
        """Save `checkpoint` as `name`, which was checked."""
        self._sizes[name] = size
        # Taken out first, so that a replaced state becomes the newest.
        self._kept.pop(name, None)
        self._kept[name] = checkpoint

    def named(self, name: str) -> Checkpoint:
        """Return the state saved as `name`; raises UnknownNameError with the closest name."""
        checkpoint = self._kept.get(name)
        if checkpoint is None:
            raise unknown_name("saved moment", name, self._kept)
        return checkpoint
