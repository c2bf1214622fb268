"""Which entities a request means: by expression, categories, tags and bounds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from simulation_interfaces.msg import Bounds, TagsFilter

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.patterns import Pattern
from fleet_sim.ros.simulation.answers import unsupported
from fleet_sim.ros.simulation.infos import EntityInfos
from fleet_sim.simulation import MultiRobotSimulationCore


def matching(sim: MultiRobotSimulationCore, infos: EntityInfos, filters: Any) -> list[str]:
    """Return the names of the entities that pass all `filters`, in order of spawning; call it between two steps.

    Raises Refusal for bounds that are not supported, and InvalidValueError for what is malformed.
    """
    wanted = Pattern(filters.filter, "filters.filter")
    categories = {one.category for one in filters.categories}
    inside = _inside(sim, filters.bounds)
    world = sim.world
    found = []
    for row in world.rows.tolist():
        name = world.label(row)
        if not wanted.search(name) or (inside is not None and row not in inside):
            continue
        info = infos.of(row)
        if (not categories or info.category.category in categories) and has_tags(info.tags, filters.tags):
            found.append(name)
    return found


def has_tags(tags: Collection[str], wanted: Any) -> bool:
    """Return whether `tags` pass the TagsFilter `wanted`; raises InvalidValueError for an unknown mode."""
    if wanted.filter_mode not in (TagsFilter.FILTER_MODE_ANY, TagsFilter.FILTER_MODE_ALL):
        raise InvalidValueError(f"filter_mode: expected ANY (0) or ALL (1), got {wanted.filter_mode}")
    if not wanted.tags:
        return True
    test = all if wanted.filter_mode == TagsFilter.FILTER_MODE_ALL else any
    return test(tag in tags for tag in wanted.tags)


def _inside(sim: MultiRobotSimulationCore, bounds: Any) -> set[int] | None:
    """Return the rows that overlap `bounds`, None where there are no bounds."""
    if bounds.type == Bounds.TYPE_EMPTY:
        return None
    if bounds.type not in (Bounds.TYPE_BOX, Bounds.TYPE_SPHERE):
        raise unsupported(f"filters.bounds: EMPTY (0), BOX (1) and SPHERE (3) are supported, got type {bounds.type}")
    first, second = _two_points(bounds)
    if bounds.type == Bounds.TYPE_SPHERE:
        found = sim.queries.overlap_sphere(first, float(second[0]))
    else:
        # The definition names the upper corner first; either order is meant well.
        found = sim.queries.overlap_box(np.minimum(first, second), np.maximum(first, second))
    return {entity.row for entity in found}


def _two_points(bounds: Any) -> Floats:
    points = np.array([(point.x, point.y, point.z) for point in bounds.points], np.float64)
    if len(points) != 2 or not np.isfinite(points).all():
        raise InvalidValueError(f"filters.bounds.points: expected two finite points, got {points.tolist()}")
    return points
