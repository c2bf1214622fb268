"""The collision systems of the step: bounds, check, events; and the links of a robot that touch each other."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import StateError
from fleet_sim.base.params import CollisionDetectionMethod, CollisionMode
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.collision.bounds import active_mask, refresh_bounds, shape_arrays
from fleet_sim.sensing.collision.broad import BroadPhase
from fleet_sim.sensing.collision.contacts import ExactDistances, LinkPair
from fleet_sim.sensing.collision.distances import DistanceSolver, contact_pairs, upright_contacts
from fleet_sim.world import steering
from fleet_sim.world.clock import Schedule
from fleet_sim.world.collision_rules import NO_PAIRS
from fleet_sim.world.pipeline import ANY, Phase, Pipeline, System
from fleet_sim.world.shapes import BASE, RobotModel
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# The set of pairs in contact, and the changes from one update to the next.


# A pair is stored as one integer, the smaller row in the high bits: integers sort and compare much faster than rows
# of an array, and keep the order of the pairs.
_SHIFT = 32
_LOW_BITS = 0xFFFFFFFF


class PairSet:
    """The current pairs of rows (i < j), and the differences from one update to the next.

    A pair starts once and ends once, however often it is reported in between. Call `remove_rows` when an entity is
    removed: a new entity in the same row then starts without pairs.
    """

    def __init__(self) -> None:
        self._keys: Ints = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def pairs(self) -> Ints:
        """The current pairs (M, 2), i < j, sorted."""
        return _pairs(self._keys)

    def update(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Make `pairs` (M, 2) the current ones and return (started, ended), sorted, i < j.

        The order of rows in a pair, the order of pairs and repetitions do not matter.
        """
        keys = _keys(pairs)
        old = self._keys
        self._keys = keys
        if len(keys) == len(old) and (keys == old).all():
            return _pairs(keys[:0]), _pairs(keys[:0])
        return _pairs(keys[~_contained_mask(keys, old)]), _pairs(old[~_contained_mask(old, keys)])

    def remove_rows(self, rows: Rows) -> Ints:
        """End every pair with one of `rows` and return those pairs (M, 2), sorted."""
        pairs = _pairs(self._keys)
        gone_mask = np.isin(pairs[:, 0], rows) | np.isin(pairs[:, 1], rows)
        self._keys = self._keys[~gone_mask]
        return pairs[gone_mask]

    def clear(self) -> Ints:
        """End every pair and return them (M, 2), sorted."""
        ended, self._keys = _pairs(self._keys), self._keys[:0]
        return ended


def _keys(pairs: Ints) -> Ints:
    """Return pairs as sorted unique integers."""
    low = np.minimum(pairs[:, 0], pairs[:, 1])
    keys = (low << _SHIFT) | np.maximum(pairs[:, 0], pairs[:, 1])
    # The broad phase delivers pairs sorted and once: then there is nothing to sort.
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        keys = np.unique(keys)
    return np.asarray(keys, np.int64)


def _pairs(keys: Ints) -> Ints:
    out = np.empty((len(keys), 2), np.int64)
    # Most often there are none, at each check and in each sample.
    if not len(keys):
        return out
    np.right_shift(keys, _SHIFT, out=out[:, 0])
    np.bitwise_and(keys, _LOW_BITS, out=out[:, 1])
    return out


def _contained_mask(keys: Ints, others: Ints) -> Bools:
    """Return which sorted `keys` are among the sorted `others`."""
    if not len(others):
        return np.zeros(len(keys), bool)
    places = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return np.asarray(others[places] == keys)


_LAST_SIMPLE = int(ShapeKind.PLANE)


class CollisionSystem:
    """Finds the pairs of bodies within `margin` of each other and emits events when they start and end.

    Two bodies collide if the distance between their shapes is at most the margin or, depending on the method, the
    engine reports a contact, and if `World.collision_rules` allow the pair. Pairs with one static body count only if
    `ignore_static` is off.
    """

    def __init__(
        self,
        world: World,
        *,
        method: CollisionDetectionMethod,
        margin: float,
        ignore_static: bool,
        broad: BroadPhase,
        solve: DistanceSolver,
        contacts: Callable[[], Ints],
    ) -> None:
        """`solve` measures pairs without a closed form; `contacts` returns the pairs the physics engine reports."""
        self.method = method
        self.margin = margin
        self.ignore_static = ignore_static
        self.broad = broad
        self.count = 0
        """Collisions that started so far."""
        self.static_count = 0
        """Those of them with a static body."""
        self.breakdown: dict[str, float] = {}
        self._world = world
        self._solve = solve
        self._contacts = contacts
        self._kernels = False
        self._pairs = PairSet()
        self.schedule: Schedule | None = world.clock.schedule(None)
        self.due = False
        """Whether a check was due in this step."""
        self._changed = True
        self._checked_versions = (world.collision_rules.version, world.bounds_version)
        self.started, self.ended = NO_PAIRS, NO_PAIRS
        world.on_remove.append(self._removed)
        world.on_spawn.append(self._spawned)

    def use_kernels(self) -> None:
        """Use compiled code from now on where it is faster; results are the same. Needs the extra `fast`."""
        self.broad.use_kernels()
        self._kernels = True

    def set_frequency(self, frequency: float | None) -> None:
        """Check `frequency` times per simulated second; None: in each step; 0: never, which ends current collisions."""
        self.schedule = None if frequency == 0 else self._world.clock.schedule(frequency)
        # While there were no checks, nobody looked at what moved.
        self._changed = True
        if self.schedule is None:
            self.breakdown, self.due = {}, False
            self.started, self.ended = NO_PAIRS, self._pairs.clear()
            self.emit(0.0)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def bounds(self, dt: float) -> None:
        """Update the AABBs."""
        refresh_bounds(self._world)

    def span(self) -> int:
        """Return how many ticks may pass between two checks: any, where nobody is told of what they find."""
        events, rate = self._world.events, self.schedule and self.schedule.frequency
        told = events.has_handlers("collision_started") or events.has_handlers("collision_ended")
        return 1 if rate is not None or told or len(self._world.entity_events) else ANY

    def run(self, dt: float) -> None:
        """Run a check if one is due and anything moved since the last one."""
        self.breakdown = {}
        self.due = self.schedule is not None and self.schedule.poll() is not None
        if not self.due:
            return
        # Boxes may also have been computed anew between steps, for a query.
        versions = self._world.collision_rules.version, self._world.bounds_version
        # The engine's contacts may change even if no column does.
        engine = self.method is not CollisionDetectionMethod.CLOSEST_POINTS
        if self._changed or engine or versions != self._checked_versions:
            self._changed, self._checked_versions = False, versions
            started, ended = self._pairs.update(self.find())
            self._count(started)
            self.started = started
            self.ended = ended if not len(self.ended) else np.concatenate((self.ended, ended))

    def _count(self, started: Ints) -> None:
        if len(started):
            self.count += len(started)
            # Of these pairs only: there may be thousands of other rows.
            static_mask = self._world.collision_mode[started] == CollisionMode.STATIC.code
            self.static_count += int(np.count_nonzero(static_mask.any(axis=1)))

    def restart_count(self) -> None:
        """Count from 0 again."""
        self.count = self.static_count = 0

    def emit(self, dt: float) -> None:
        """Emit an event for each pair that started or ended, once per pair."""
        started, ended = self.started, self.ended
        # Cleared before a handler runs: if one ends the step, the same events must not be emitted in the next.
        self.started = self.ended = NO_PAIRS
        for event, pairs in (("collision_started", started), ("collision_ended", ended)):
            if len(pairs):
                self._emit_pairs(event, pairs)

    def _emit_pairs(self, event: str, pairs: Ints) -> None:
        """Emit `event` for each of `pairs` (K, 2) of rows: once for the simulation, once for each of the two entities.

        Nobody is told of an entity that an earlier handler removed.
        """
        world = self._world
        if not world.events.has_handlers(event) and not len(world.entity_events):
            return
        handles = world.handles
        for a, b in pairs.tolist():
            obj_a, obj_b = handles[a], handles[b]
            # Removed by the handler of an earlier pair.
            if obj_a is None or obj_b is None:
                continue
            world.events.emit(event, obj_a=obj_a, obj_b=obj_b)
            world.entity_events.emit(a, event, other=obj_b)
            world.entity_events.emit(b, event, other=obj_a)

    # ---- queries -----------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> Ints:
        """The pairs (M, 2) of rows that collided at the last check."""
        return self._pairs.pairs

    def candidates(self, ignore_static: bool | None = None) -> Ints:
        """Return the pairs (M, 2) of rows whose AABBs are within the margin."""
        world = self._world
        static_mask = world.collision_rules.static_mask()
        pairs = self.broad.pairs(
            world.aabb_lower,
            world.aabb_upper,
            margin=self.margin,
            active_mask=active_mask(world),
            static_mask=static_mask if np.count_nonzero(static_mask) else None,
            ignore_static=self.ignore_static if ignore_static is None else ignore_static,
        )
        return world.collision_rules.permitted(pairs)

    def find(self) -> Ints:
        """Return the pairs (M, 2) of rows that collide now, by the chosen method."""
        if self.method is CollisionDetectionMethod.CONTACT_POINTS:
            return self._contact_pairs()
        begin = perf_counter()
        pairs = self.candidates()
        middle = perf_counter()
        world = self._world
        physical = NO_PAIRS
        if self.method is CollisionDetectionMethod.HYBRID:
            physical = self._contact_pairs()
            # The engine decides pairs with a dynamic body; the narrow phase decides the others.
            dynamic_mask = world.dynamic
            pairs = pairs[~(dynamic_mask[pairs[:, 0]] | dynamic_mask[pairs[:, 1]])]
        hits = self._hits(pairs)
        if len(physical):
            hits = np.unique(np.concatenate((hits, physical)), axis=0)
        end = perf_counter()
        self.breakdown = {
            "spatial_hashing": 1000.0 * (middle - begin),
            "contact_points": 1000.0 * (end - middle),
            "total": 1000.0 * (end - begin),
        }
        return hits

    def _hits(self, pairs: Ints) -> Ints:
        """Return those of `pairs` that collide, in their order."""
        kinds = self._world.shape_kind
        # No formula covers robots made of links and meshes: they need no look at their boxes.
        open_mask = (kinds.take(pairs[:, 0]) > _LAST_SIMPLE) | (kinds.take(pairs[:, 1]) > _LAST_SIMPLE)
        if not np.count_nonzero(open_mask):
            return self._narrow(pairs)
        hit_mask = np.zeros(len(pairs), np.bool_)
        open_rows = np.flatnonzero(open_mask)
        hit_mask[open_rows] = self._solve(pairs[open_rows], self.margin) <= self.margin
        hits = pairs[hit_mask]
        if len(open_rows) == len(pairs):
            return hits
        rest = self._narrow(pairs[~open_mask])
        if not len(rest):
            return hits
        hits = np.concatenate((hits, rest))
        return hits[np.lexsort((hits[:, 1], hits[:, 0]))]

    def _narrow(self, pairs: Ints) -> Ints:
        """Return those of `pairs` (K, 2) that touch, in order of rows."""
        if not len(pairs):
            return pairs
        world = self._world
        hits, left = np.empty_like(pairs), np.empty_like(pairs)
        shapes = world.shape_kind, world.shape_centred, world.position, world.orientation
        kernel = upright_contacts if self._kernels else upright_contacts.in_python
        found, count = kernel(pairs, *shapes, world.half_extents, world.radius, self.margin, hits, left)
        hits, left = hits[:found], left[:count]
        if not len(left):
            return hits
        # What is not upright, or not at the origin of its body, is placed first.
        rows, inverse = np.unique(left, return_inverse=True)

        def solve(local_pairs: Ints, margin: float) -> Floats:
            return self._solve(rows[local_pairs], margin)

        # NumPy before 2.0 returns the inverse flat.
        local = inverse.reshape(left.shape)
        more = rows[contact_pairs(local, shape_arrays(world, rows), self.margin, solve, compiled=self._kernels)]
        if not len(hits):
            return more
        hits = np.concatenate((hits, more))
        return hits[np.lexsort((hits[:, 1], hits[:, 0]))]

    def _contact_pairs(self) -> Ints:
        pairs = self._contacts()
        if not len(pairs):
            return NO_PAIRS
        return pairs[self._world.collision_rules.may_collide(pairs, ignore_static=self.ignore_static)]

    # ---- spawn and remove --------------------------------------------------------------------------------------------

    def _spawned(self, rows: Rows) -> None:
        self._changed = True

    def _removed(self, rows: Rows) -> None:
        """End the collisions of bodies that are about to be removed, while their handles are still valid."""
        self._changed = True
        ended = self._pairs.remove_rows(rows)
        if len(ended):
            self._emit_pairs("collision_ended", ended)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the current pairs, the counts, and when the next check is due."""
        progress = None if self.schedule is None else self.schedule.progress
        return self._pairs.pairs.copy(), self.count, self.static_count, progress

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned, without events."""
        pairs, self.count, self.static_count, progress = saved
        if self.schedule is not None and progress is not None:
            self.schedule.progress = progress
        self._pairs.clear()
        self._pairs.update(pairs)
        self.started = self.ended = NO_PAIRS
        self._changed = True


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


class LinkContacts:
    """Finds the pairs of links of a robot that are within `margin` m of each other.

    Pairs that are joined by a joint never count, nor do those that are within the margin in the rest posture: all
    joints at 0, or at the limit nearest to it. Their shapes overlap by design, as of fingers or of cables.
    """

    def __init__(self, world: World, exact: ExactDistances, *, margin: float) -> None:
        self._world = world
        self._exact = exact
        self._margin = margin
        self._known: dict[int, tuple[list[LinkPair], list[LinkPair]]] = {}
        """By the number of a model: its pairs that count, and those that never do for how they are at rest."""

    def touching(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that touch, smaller index first, sorted."""
        return self._exact.touching_links(row, self._links_of(row)[0], self._margin)

    def exempt(self, row: int) -> list[LinkPair]:
        """Return the pairs of links of `row` that never count for how they are at rest."""
        return self._links_of(row)[1]

    def _links_of(self, row: int) -> tuple[list[LinkPair], list[LinkPair]]:
        number = int(self._world.robots.model[row])
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._measure(row, self._world.models[number])
        return known

    def _measure(self, row: int, model: RobotModel) -> tuple[list[LinkPair], list[LinkPair]]:
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
        return [pair for pair in apart if pair not in resting], sorted(resting)
