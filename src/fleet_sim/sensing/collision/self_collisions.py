"""Self-collisions: links of one robot that touch each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import AnyArray, Rows
from fleet_sim.base.errors import StateError
from fleet_sim.sensing.collision.contacts import ExactDistances
from fleet_sim.sensing.collision.contacts import LinkPair as ContactsLinkPair
from fleet_sim.world import steering
from fleet_sim.world.pipeline import Phase, Pipeline, System
from fleet_sim.world.shapes import BASE, RobotModel
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

LinkPair = tuple[int, int]
_NONE: frozenset[LinkPair] = frozenset()


class SelfCollisions(Stateful):
    """Finds the links that touch of robots spawned with `self_collision`, and emits events when that begins and ends.

    Its system is in the step from the first such robot on, and looks at robots whose joints moved.
    """

    STATE = ("_pairs",)

    def __init__(
        self, world: World, pipeline: Pipeline, *, touching: Callable[[int], list[LinkPair]], due: Callable[[], bool]
    ) -> None:
        """`touching` returns the links of a row that touch; `due` tells whether collisions are checked in this step."""
        self._world = world
        self._pipeline = pipeline
        self._touching = touching
        self._due = due
        self._active = False
        self._pairs: dict[int, frozenset[LinkPair]] = {}
        """The touching links of each row with any."""
        self._checked: dict[int, AnyArray] = {}
        """The joint positions of each row at its last check."""
        world.on_spawn.append(self._spawned)
        world.on_remove.append(self._removed)

    def run(self, dt: float) -> None:
        """Check robots whose joints moved since their last check, where a check is due; emit events."""
        if not self._due():
            return
        world, active_mask = self._world, self._world.collision_rules.active_mask()
        rows = world.rows[world.robots.self_collision[world.rows]]
        for row in rows.tolist():
            if not active_mask[row]:
                # Its links do not push each other either.
                self._checked.pop(row, None)
                self._update(row, _NONE)
                continue
            positions = world.joints.position[world.joints.of(world.robots, row)]
            if not np.array_equal(positions, self._checked.get(row, _UNKNOWN)):
                self._checked[row] = positions.copy()
                self._update(row, frozenset(self._touching(row)))

    def pairs(self, row: int) -> list[tuple[str, str]]:
        """Return the names of the links of `row` that touched at the last check, sorted by index.

        Raises StateError for what was not spawned with `self_collision`.
        """
        if not self._world.robots.self_collision[row]:
            raise StateError(
                f"{self._world.label(row)!r} was spawned without self_collision: its links are not checked"
            )
        return [self._names(row, pair) for pair in sorted(self._pairs.get(row, _NONE))]

    def _update(self, row: int, now: frozenset[LinkPair]) -> None:
        """Keep the pairs of links that touch `now`, and tell which began and which ended, in the order of links.

        Handlers may remove the robot; then nothing more is told of it.
        """
        before = self._pairs.pop(row, _NONE)
        if now:
            self._pairs[row] = now
        for event, pairs in (("self_collision_started", now - before), ("self_collision_ended", before - now)):
            for pair in sorted(pairs):
                handle = self._world.handles[row]
                # Removed by the handler of an earlier pair.
                if handle is None:
                    return
                link_a, link_b = self._names(row, pair)
                self._world.events.emit(event, agent=handle, link_a=link_a, link_b=link_b)
                self._world.entity_events.emit(row, event, link_a=link_a, link_b=link_b)

    def _names(self, row: int, pair: LinkPair) -> tuple[str, str]:
        model = self._world.model_of(row)
        assert model is not None
        # The base, -1, comes last.
        names = (*model.link_names, model.base_name)
        return names[pair[0]], names[pair[1]]

    # ---- life --------------------------------------------------------------------------------------------------------

    def _spawned(self, rows: Rows) -> None:
        if not self._active and self._world.robots.self_collision[rows].any():
            self._active = True
            self._pipeline.add(System("self_collisions", Phase.COLLIDE, self.run), after="collision_events")

    def _removed(self, rows: Rows) -> None:
        if self._checked:
            for row in rows.tolist():
                self._checked.pop(row, None)
                self._update(row, _NONE)

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned, without events."""
        super().restore(saved)
        self._checked = {}


_UNKNOWN = np.empty(0)


# Links of one robot that touch each other.


class _Links(NamedTuple):
    counted: list[ContactsLinkPair]
    exempt: list[ContactsLinkPair]


class LinkContacts:
    """Finds the pairs of links of a robot that are within `margin` m of each other.

    Pairs that are joined by a joint never count, nor do those that are within the margin in the rest posture: all
    joints at 0, or at the limit nearest to it. Their shapes overlap by design, as of fingers or of cables.
    """

    def __init__(self, world: World, exact: ExactDistances, *, margin: float) -> None:
        self._world = world
        self._exact = exact
        self._margin = margin
        self._known: dict[int, _Links] = {}
        """The pairs of each model by its number."""

    def touching(self, row: int) -> list[ContactsLinkPair]:
        """Return the pairs of links of `row` that touch, smaller index first, sorted."""
        return self._exact.touching_links(row, self._links_of(row).counted, self._margin)

    def exempt(self, row: int) -> list[ContactsLinkPair]:
        """Return the pairs of links of `row` that never count for how they are at rest."""
        return self._links_of(row).exempt

    def _links_of(self, row: int) -> _Links:
        number = int(self._world.robots.model[row])
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._measure(row, self._world.models[number])
        return known

    def _measure(self, row: int, model: RobotModel) -> _Links:
        """Return which pairs of links of a robot can touch by moving, and which touch already when it rests.

        Parents and children always touch and are left out. A robot rests with all joints at 0, or at the nearest limit.
        """
        lower, upper = model.lower[model.movable], model.upper[model.movable]
        rest = np.where(model.limited_mask[model.movable], np.clip(0.0, lower, np.maximum(lower, upper)), 0.0)
        solid = sorted({shape.link for shape in model.collisions})
        apart = [
            (one, other)
            for index, one in enumerate(solid)
            for other in solid[index + 1 :]
            if other > BASE and model.parents[other] != one
        ]
        resting = set(self._exact.touching_links(row, apart, self._margin, steering.led_positions(model, rest)))
        return _Links([pair for pair in apart if pair not in resting], sorted(resting))
