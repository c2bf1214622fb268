"""What services of simulation_interfaces share: result codes, filters, and what is known about entities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3
from simulation_interfaces.msg import Bounds, EntityCategory, EntityInfo, Result, TagsFilter

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError, UnknownNameError
from fleet_sim.base.limits import searcher
from fleet_sim.ros.interface import Bridge
from fleet_sim.sensing.collision.bounds import refresh_bounds, world_aabbs
from fleet_sim.sensing.sensors.occupancy import immovable_rows
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World


class Refusal(Exception):
    """A request is rejected with a result code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


Work = Callable[[Any, Any], Awaitable["str | None"]]
"""Fills in a response. What it returns, if anything, is told beside the result OK."""


def serve(bridge: Bridge, kind: Any, name: str, work: Work) -> None:
    """Serve sim/<name> with `work`; errors become result codes."""
    bridge.serve(kind, f"sim/{name}", _answering(work))


def result_of(error: Exception) -> Result:
    """Return the result that tells of `error`."""
    code = Result.RESULT_OPERATION_FAILED
    if isinstance(error, Refusal):
        code = error.code
    elif isinstance(error, UnknownNameError):
        code = Result.RESULT_NOT_FOUND
    elif isinstance(error, StateError):
        code = Result.RESULT_INCORRECT_STATE
    return Result(result=code, error_message=str(error))


def unsupported(reason: str) -> Refusal:
    """Return the refusal of what this simulator does not do."""
    return Refusal(Result.RESULT_FEATURE_UNSUPPORTED, reason)


def _answering(work: Work) -> Callable[[Any, Any], Awaitable[None]]:
    """Return a service callback that fills in the response's result."""

    async def answer(request: Any, response: Any) -> None:
        try:
            note = await work(request, response)
            result = Result(result=Result.RESULT_OK, error_message=note or "")
        except (Refusal, FleetSimError) as error:
            result = result_of(error)
        # The service that lists the features has none.
        if hasattr(response, "result"):
            response.result = result

    return answer


# What is known about entities: category, description and tags.


CATEGORIES = (
    EntityCategory.CATEGORY_OBJECT,
    EntityCategory.CATEGORY_ROBOT,
    EntityCategory.CATEGORY_HUMAN,
    EntityCategory.CATEGORY_DYNAMIC_OBJECT,
    EntityCategory.CATEGORY_STATIC_OBJECT,
)
MOST_TAGS = 100
LONGEST_TEXT = 10_000
"""In characters, of a description or a tag: what clients set is kept."""
LONGEST_IN_ALL = 10_000_000
"""In characters, of all that is kept."""


class EntityInfos:
    """The infos of all entities of a world; to be used between two steps.

    What nobody has set follows from what an entity is. Infos last as long as their entity: they are no part of saved
    states, and one that comes back from a saved state has its own again.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        # By row and generation: rows and, after a reset, ids are used again, generations never count back.
        self._given: dict[tuple[int, int], EntityInfo] = {}
        self._length = 0

    def of(self, row: int) -> EntityInfo:
        """Return the info of the entity in `row`."""
        given = self._given.get(self._key(row))
        return EntityInfo(category=EntityCategory(category=self._category(row))) if given is None else given

    def give(self, row: int, info: Any) -> None:
        """Set the info of an entity; raises InvalidValueError."""
        if info.category.category not in CATEGORIES:
            raise InvalidValueError(f"info.category: expected one of {CATEGORIES}, got {info.category.category}")
        if len(info.tags) > MOST_TAGS or max(map(len, (info.description, *info.tags))) > LONGEST_TEXT:
            raise InvalidValueError(f"info: at most {MOST_TAGS} tags, and {LONGEST_TEXT} characters in each text")
        before = self._given.get(self._key(row))
        length = self._length + _length(info) - (0 if before is None else _length(before))
        if length > LONGEST_IN_ALL:
            raise InvalidValueError(f"info: at most {LONGEST_IN_ALL:,} characters are kept of all entities together")
        self._given[self._key(row)], self._length = info, length

    def forget_gone(self) -> None:
        """Forget the infos of entities that are gone."""
        living = {self._key(row) for row in self._world.rows.tolist()}
        self._given = {key: info for key, info in self._given.items() if key in living}
        self._length = sum(map(_length, self._given.values()))

    def _key(self, row: int) -> tuple[int, int]:
        return row, int(self._world.generation[row])

    def _category(self, row: int) -> int:
        if self._world.kind[row] == KIND_AGENT:
            return int(EntityCategory.CATEGORY_ROBOT)
        if self._world.dynamic[row]:
            return int(EntityCategory.CATEGORY_DYNAMIC_OBJECT)
        if is_static(self._world, row):
            return int(EntityCategory.CATEGORY_STATIC_OBJECT)
        return int(EntityCategory.CATEGORY_OBJECT)


def _length(info: Any) -> int:
    return sum(map(len, (info.description, *info.tags)))


def is_static(world: World, row: int) -> bool:
    """Return whether the entity in `row` never moves by itself."""
    return row in immovable_rows(world)


def bounds_of(world: World, row: int) -> Bounds:
    """Return the box around the collision shape of an entity, along the axes of its own frame."""
    # The boxes of robots follow their joints when somebody asks.
    refresh_bounds(world)
    rows = np.array([row])
    lower, upper = world_aabbs(
        world.shape_kind[rows],
        world.shape_position[rows],
        world.shape_orientation[rows],
        world.half_extents[rows],
        world.radius[rows],
    )
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()) or (upper <= lower).all():
        return Bounds(type=Bounds.TYPE_EMPTY)
    # The upper corner first, as in the definition.
    corners = [Vector3(x=x, y=y, z=z) for x, y, z in (upper[0].tolist(), lower[0].tolist())]
    return Bounds(type=Bounds.TYPE_BOX, points=corners)


# Which entities a request means: by expression, categories, tags and bounds.


def matching(sim: MultiRobotSimulationCore, infos: EntityInfos, filters: Any) -> list[str]:
    """Return the names of the entities that pass all `filters`, in order of spawning; call it between two steps.

    Raises Refusal for bounds that are not supported, and InvalidValueError for what is malformed.
    """
    matches = searcher(filters.filter, "filters.filter")
    categories = {one.category for one in filters.categories}
    inside = _inside(sim, filters.bounds)
    world = sim.world
    found = []
    for row in world.rows.tolist():
        name = world.label(row)
        if not matches(name) or (inside is not None and row not in inside):
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
