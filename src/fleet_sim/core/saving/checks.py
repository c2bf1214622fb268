"""What is read from a state file is checked before it becomes a world: kinds, lengths, and every number of a row.

A file may be of another version, damaged, or made by somebody else. A number that leads beyond an array would be found
much later, in some step; here it is refused with its table and column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.core.columns import Column, ColumnTable
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, StateFileError, brief
from fleet_sim.gate.bounds import check_extent

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
