"""The catalogs of a world that columns refer to by number: shapes, robot models, motion laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.saving.checks import check_range
from fleet_sim.core.saving.objects import attributes_of, object_of
from fleet_sim.core.shapes import BodyShape
from fleet_sim.core.world import World
from fleet_sim.errors import StateFileError, brief

Tables = dict[str, dict[str, AnyArray]]


def catalogs_of(world: World) -> dict[str, Any]:
    """Return what the numbers in columns stand for."""
    laws, used = world.parts.laws, set(world.motion.law.tolist())
    return {
        "shapes": [world.shapes[number] for number in range(len(world.shapes))],
        "models": [attributes_of(model) for model in world.models],
        # Only those in use: others may not be known to the process that reads the file.
        "laws": [] if laws is None else [name if number in used else None for number, name in enumerate(laws.names())],
    }


def take_catalogs(world: World, catalogs: Any, tables: Tables) -> None:
    """Enter what a file's numbers stand for into the catalogs of `world`, and write their numbers here into `tables`.

    Raises StateFileError for a number that stands for nothing, and UnknownNameError for a law that is not known.
    """
    shapes = [world.shapes.intern(_shape(shape)) for shape in catalogs["shapes"]]
    _renumber(tables["body"], "shape_id", shapes)
    models = [_number_of(world, attributes) for attributes in catalogs["models"]]
    _renumber(tables["robots"], "model", models)
    laws = world.parts.laws
    names = [] if laws is None else list(laws.names())
    # The first law stands for none, and has no name to look up.
    numbers = [
        0 if name is None else names.index(name) if name in names else _loaded_law(world, name)
        for name in catalogs["laws"]
    ]
    _renumber(tables["motion"], "law", numbers)


def _shape(shape: Any) -> BodyShape:
    if not isinstance(shape, BodyShape):
        raise StateFileError(f"expected a shape, got {brief(shape)}")
    return shape


def _renumber(columns: dict[str, AnyArray], name: str, numbers: list[int]) -> None:
    column = columns[name]
    check_range(column, -1, max(len(numbers), 1), name)
    # The last entry is that of -1, which stands for none.
    of: Ints = np.array([*numbers, -1] if numbers else [0, -1], np.int64)
    columns[name] = of[column].astype(column.dtype)


def _number_of(world: World, attributes: Mapping[str, Any]) -> int:
    """Return the number of a model with `attributes` in the world, to which it is added if it is not there.

    Raises StateFileError where physics would use another description of the same file.
    """
    for number, known in enumerate(world.models):
        if _same(attributes_of(known), attributes):
            return number
    known_paths = {model.path for model in world.models}
    if attributes["path"] in known_paths and world.physics:
        raise StateFileError(f"{attributes['path']}: the robot description was changed since the state was saved")
    model = object_of(RobotModel, attributes)
    # Read-only, as the arrays of models that were read from a robot description are.
    for value in attributes.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    world.models.append(model)
    return len(world.models) - 1


def _same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return set(first) == set(second) and all(_equal(value, second[name]) for name, value in first.items())


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        # Bit by bit: here nan is equal to nan.
        return isinstance(second, np.ndarray) and first.tobytes() == second.tobytes()
    return type(first) is type(second) and bool(first == second)


def _loaded_law(world: World, name: str) -> int:
    """Return the number of a law of another package, which is loaded at its first use."""
    assert world.parts.laws is not None
    return world.parts.laws.index(name)
