"""/fleet/entities, /fleet/details and /fleet/blocked, as JSON for `Recording`.

They hold what there is, who carries what and given colors, and what stands before whom.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from fleet_sim.core.ros_names import Frames
from fleet_sim.core.shapes import BodyShape
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import LATCHED, McapFile
from fleet_sim.record.message_types import make, serializer
from fleet_sim.record.topic import RecordedChannel, RecordedTopic, Sample

ENTITIES, DETAILS, BLOCKED, KIND = "/fleet/entities", "/fleet/details", "/fleet/blocked", "std_msgs/msg/String"


def entities_to_json(snapshot: Snapshot) -> str:
    """Return what the entities of `snapshot` are made of; equal shapes and models are written once."""
    bodies = snapshot.bodies
    shapes: dict[BodyShape, int] = {}
    models: dict[str, int] = {}
    entities: list[dict[str, Any]] = []
    for index, name in enumerate(snapshot.names):
        shape, model = bodies.shapes[index], bodies.models[index]
        entity: dict[str, Any] = {"name": name, "id": int(snapshot.object_ids[index])}
        entity["robot"] = bool(snapshot.agent_mask[index])
        entity["half_extents"] = bodies.half_extents[index].tolist()
        entity["centre"] = bodies.centres[index].tolist()
        entity["motors"] = bool(bodies.motor_mask[index])
        entity["joints"] = [] if model is None else list(model.movable_names)
        if shape is not None:
            entity["shape"] = shapes.setdefault(shape, len(shapes))
        if model is not None:
            entity["model"] = models.setdefault(model.path, len(models))
        entities.append(entity)
    content = {"entities": entities, "shapes": [asdict(shape) for shape in shapes], "models": list(models)}
    return json.dumps(content, separators=(",", ":"))


def details_to_json(snapshot: Snapshot) -> str:
    """Return who carries what, and the colors given at run time, by name."""
    names = snapshot.names
    carried = {names[index]: names[snapshot.carriers[index]] for index in np.flatnonzero(snapshot.carriers >= 0)}
    painted = np.flatnonzero(snapshot.colors[:, 0] >= 0.0).tolist()
    content = {
        "carried": carried,
        "colors": {names[index]: snapshot.colors[index].tolist() for index in painted},
        "link_colors": {names[index]: dict(colors) for index, colors in snapshot.link_colors.items()},
    }
    return json.dumps(content, separators=(",", ":"))


def blocked_to_json(snapshot: Snapshot) -> str:
    """Return what stands before whom, by name."""
    names = snapshot.names
    standing = np.flatnonzero(snapshot.blockers >= 0).tolist()
    blocked = {names[index]: names[snapshot.blockers[index]] for index in standing}
    return json.dumps({"blocked_by": blocked}, separators=(",", ":"))


class RecordedBodies(RecordedTopic):
    """Records the entities when some were spawned, removed or renamed, and details when they changed."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        super().__init__(file, frames)
        self._entities = RecordedChannel(file, ENTITIES, KIND, LATCHED)
        self._details = RecordedChannel(file, DETAILS, KIND, LATCHED)
        # On its own: in a jam it changes all the time.
        self._blocked = RecordedChannel(file, BLOCKED, KIND, LATCHED)
        self._last: Snapshot | None = None

    def on_bodies_changed(self, sample: Sample) -> None:
        """Write what there is again, and the details of all, as those are by name."""
        text = entities_to_json(sample.snapshot)
        self._entities.send(sample.now, serializer(KIND)(make(KIND, data=text)))
        # Details are by name, so those under the old names are void.
        self._last = None

    def write(self, sample: Sample) -> None:
        """Write the details of all entities, if those of one have changed, and the same for what blocks them."""
        last, now = self._last, sample.snapshot
        if last is None or not _same_details(last, now):
            self._details.send(sample.now, serializer(KIND)(make(KIND, data=details_to_json(now))))
        if last is None or not np.array_equal(last.blockers, now.blockers):
            self._blocked.send(sample.now, serializer(KIND)(make(KIND, data=blocked_to_json(now))))
        self._last = now


def _same_details(one: Snapshot, other: Snapshot) -> bool:
    arrays = ((one.carriers, other.carriers), (one.colors, other.colors))
    return one.link_colors == other.link_colors and all(a is b or np.array_equal(a, b) for a, b in arrays)
