"""What the entities of a recording are made of, read back from its JSON, whoever wrote that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.shapes import BodyShape, Geometry
from fleet_sim.core.snapshot import EntityBodies
from fleet_sim.core.snapshot_taking import SnapshotEntities
from fleet_sim.errors import FleetSimError, InvalidValueError, brief
from fleet_sim.gate.bounds import LARGEST_SIZE
from fleet_sim.gate.json_values import json_in, number_of, text_of
from fleet_sim.gate.remote import may_read, remote_input
from fleet_sim.models.loading import load_robot_model
from fleet_sim.models.resolver import model_folders
from fleet_sim.models.scaling import scaled_model
from fleet_sim.paths import cache_folder
from fleet_sim.spatial.shapes import ShapeKind

MOST_ENTITIES = 1_000_000


@dataclass(frozen=True, eq=False)
class RecordedRoster(SnapshotEntities):
    """The entities of a stretch of a recording."""

    joint_counts: Ints
    joint_names: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    """What of them cannot be shown here, and why."""


def read_roster(text: str, folders: Sequence[str | Path] = ()) -> RecordedRoster:
    """Return the entities in the JSON `text`; raises InvalidValueError for what no recording says.

    Files of models and meshes are read from `folders` and the folders of models only. What is elsewhere, or is not
    there any more, is shown as a box, and a note says so.
    """
    content = json_in(text, "the list of entities")
    entries, notes = _list(content, "entities"), dict[str, None]()
    if len(entries) > MOST_ENTITIES:
        raise InvalidValueError(f"{len(entries)} entities; at most {MOST_ENTITIES} are read")
    # The JSON may be of somebody else: it must not name other files of this machine.
    with remote_input([*model_folders(), cache_folder("models"), *folders]):
        shapes = [_shape(entry, notes) for entry in _list(content, "shapes")]
        paths = [text_of(path) for path in _list(content, "models")]
        made = [_entity(entry, shapes, paths, notes) for entry in entries]
    names = tuple(text_of(entry.get("name")) for entry in entries)
    if len(set(names)) != len(names):
        raise InvalidValueError("two entities have one name")
    joint_names = tuple(tuple(text_of(name) for name in _list(entry, "joints")) for entry in entries)
    joint_counts = np.array([len(joints) for joints in joint_names], np.int64)
    bodies = EntityBodies(
        models=tuple(model for model, _ in made),
        shapes=tuple(shape for _, shape in made),
        half_extents=_vectors([entry.get("half_extents") for entry in entries]),
        centres=_vectors([entry.get("centre") for entry in entries]),
        motor_mask=np.array([entry.get("motors") is True for entry in entries], np.bool_),
        span=None,
    )
    return RecordedRoster(
        names=names,
        object_ids=np.array([_count(entry.get("id"), 2**62) for entry in entries], np.int64),
        agent_mask=np.array([entry.get("robot") is True for entry in entries], np.bool_),
        bodies=bodies,
        joint_counts=joint_counts,
        joint_names=joint_names,
        notes=tuple(notes),
    )


def _entity(
    entry: Any, shapes: Sequence[BodyShape | None], paths: Sequence[str], notes: dict[str, None]
) -> tuple[RobotModel | None, BodyShape | None]:
    """Return model and shape of one entity; `notes` gets the reason where it is shown as a box instead."""
    if not isinstance(entry, dict):
        raise InvalidValueError(f"expected an entity, got {brief(entry)}")
    shape = shapes[_count(entry["shape"], len(shapes) - 1)] if "shape" in entry else None
    if "model" not in entry:
        return None, shape
    path = paths[_count(entry["model"], len(paths) - 1)]
    model = _model(path, notes)
    if model is not None and shape is not None and shape.scale != 1.0:
        model = scaled_model(model, shape.scale)
    # Joint values are by their order, so they fit a model with the same joints only.
    if model is not None and len(model.movable) != len(_list(entry, "joints")):
        notes[f"{path} has other joints now than in the recording: its robots are shown as boxes"] = None
        model = None
    return model, shape


def _model(path: str, notes: dict[str, None]) -> RobotModel | None:
    """Return the model in a file of a folder that may be read; None, with a note, where that fails."""
    if not may_read(path):
        notes[f"{path} is in no folder of models: its robots are shown as boxes; name its folder"] = None
        return None
    try:
        return load_robot_model(path)
    except (FleetSimError, OSError) as error:
        notes[f"{path} cannot be read: its robots are shown as boxes ({error})"] = None
        return None


def _shape(entry: Any, notes: dict[str, None]) -> BodyShape:
    """Return a shape; raises InvalidValueError unless it has exactly the fields of a BodyShape."""
    if not isinstance(entry, dict) or set(entry) != {item.name for item in fields(BodyShape)}:
        raise InvalidValueError(f"expected a shape, got {brief(entry)}")
    return BodyShape(
        visual=_geometry(entry["visual"], notes),
        collision=_geometry(entry["collision"], notes),
        model_path=text_of(entry["model_path"]),
        fixed_base=entry["fixed_base"] is True,
        scale=_number(entry["scale"], 1e-9),
    )


def _geometry(entry: Any, notes: dict[str, None]) -> Geometry | None:
    """Return a geometry; a box, with a note, for a mesh in a folder that may not be read."""
    if entry is None:
        return None
    if not isinstance(entry, dict) or set(entry) != {item.name for item in fields(Geometry)}:
        raise InvalidValueError(f"expected a geometry, got {brief(entry)}")
    kind, mesh = _count(entry["kind"], max(ShapeKind)), text_of(entry["mesh_path"])
    if kind == ShapeKind.MESH and not may_read(mesh):
        notes[f"{mesh} is in no folder of models: a box is shown for it; name its folder"] = None
        kind, mesh = int(ShapeKind.BOX), ""
    return Geometry(
        kind=kind,
        half_extents=_vector(entry["half_extents"]),
        radius=_number(entry["radius"]),
        height=_number(entry["height"]),
        mesh_path=mesh,
        mesh_scale=_vector(entry["mesh_scale"]),
        rgba=_numbers(entry["rgba"], 4),  # type: ignore[arg-type]  # of that length
        position=_numbers(entry["position"], 3),
        orientation=_numbers(entry["orientation"], 4),
        concave=entry["concave"] is True,
    )


# ---- plain values ----------------------------------------------------------------------------------------------------


def _list(content: Any, key: str) -> list[Any]:
    if not isinstance(content, dict) or not isinstance(content.get(key), list):
        raise InvalidValueError(f"expected a list {key!r} in {brief(content)}")
    found: list[Any] = content[key]
    return found


def _count(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise InvalidValueError(f"expected a whole number from 0 to {most}, got {brief(value)}")
    return value


def _number(value: object, low: float = -LARGEST_SIZE) -> float:
    return number_of(value, low, LARGEST_SIZE)


def _numbers(value: object, count: int) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != count:
        raise InvalidValueError(f"expected {count} numbers, got {brief(value)}")
    return tuple(map(_number, value))


def _vector(value: object) -> tuple[float, float, float]:
    x, y, z = _numbers(value, 3)
    return x, y, z


def _vectors(values: Sequence[object]) -> Floats:
    found = np.array([_vector(value) for value in values], np.float64).reshape(-1, 3)
    assert not len(found) or math.isfinite(float(np.abs(found).max()))
    found.flags.writeable = False
    return found
