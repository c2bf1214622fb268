"""What MuJoCo has to make for each row: all that its model depends on, so that equal plans share one compiled model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.collision_rules import LinkPairs
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError

STILL, DRIVEN, DYNAMIC = range(3)
"""Bodies that only others move: by their poses alone, or with velocities, so that they drag; and those that fall."""
MOST_KINDS = 30
"""Kinds of rows that may or may not collide with each other: MuJoCo has a bit for each."""

# Group, mask, collides with nothing, is dynamic, and a row of its own or -1.
_Class = tuple[int, int, bool, bool, int]


class RowPlan(NamedTuple):
    """What is made for one row."""

    how: int
    shape: int
    model: int
    mass: float
    material: tuple[float, float, float, float, float]
    kind: int
    mimics: bool
    pose: tuple[float, ...] | None
    """Position and orientation (xyzw) of a fixture, else None."""
    exempt_links: tuple[tuple[int, int], ...] | None
    """With `self_collision` the pairs of links that do not push each other though no joint joins them, else None."""


class WorldPlan(NamedTuple):
    """What is made for all rows, in order; `meets` are the kinds that each kind collides with, as bits.

    `apart` are pairs of places in `rows` whose bodies pass through each other.
    """

    rows: tuple[RowPlan, ...]
    meets: tuple[int, ...]
    apart: tuple[tuple[int, int], ...]


def plan_world(
    world: World, rows: Rows, driven_mask: Bools, fixtures: tuple[Ints, Floats], exempt_links: LinkPairs
) -> WorldPlan:
    """Return the plan of `rows` (N,); `driven_mask` (N,) says which of the kinematic ones move with a velocity.

    `fixtures` are places (K,) in `rows` and their poses (K, 7). `exempt_links` is asked for robots with
    `self_collision` and a mass.

    Raises InvalidValueError for more kinds of collision filters than MuJoCo has bits.
    """
    dynamic = world.dynamic[rows]
    # Bodies that move with a velocity are made otherwise than those that stand.
    how = np.where(dynamic, DYNAMIC, np.where(driven_mask, DRIVEN, STILL))
    # The mass of what does not fall has no effect, and must not make another model.
    masses = np.where(dynamic, world.mass[rows], 0.0)
    material = world.material
    names = ("friction", "rolling_friction", "restitution", "linear_damping", "angular_damping")
    materials = np.stack([getattr(material, name)[rows] for name in names], axis=1)
    kinds, meets = _kinds(world, rows)
    robots = world.robots
    columns = (how, world.shape_id[rows], robots.model[rows], masses, materials, kinds, robots.mimics[rows])
    pushing = (robots.self_collision[rows] & dynamic).tolist()
    links = [tuple(exempt_links(row)) if own else None for row, own in zip(rows.tolist(), pushing, strict=True)]
    fixed = {place: tuple(pose) for place, pose in zip(*(array.tolist() for array in fixtures), strict=True)}
    poses = [fixed.get(place) for place in range(len(rows))]
    values = zip(*(column.tolist() for column in columns), poses, links, strict=True)
    plans = tuple(RowPlan(a, b, c, d, tuple(e), f, g, h, i) for a, b, c, d, e, f, g, h, i in values)
    return WorldPlan(plans, meets, _apart(world, rows))


def _kinds(world: World, rows: Rows) -> tuple[Ints, tuple[int, ...]]:
    """Return the kind (N,) of each row, and for each kind the bits of those that it collides with."""
    # What collides with nothing is one kind, whatever its groups.
    disabled = world.collision_mode[rows] == CollisionMode.DISABLED.code
    enabled = _enabled_pairs(world)
    alone = set(enabled.reshape(-1).tolist())
    columns = (world.collision_group[rows], world.collision_mask[rows], disabled, world.dynamic[rows])
    # What was set to collide whatever its groups say is a kind of its own.
    classes: list[_Class] = [
        (group, mask, off, moves, row if row in alone else -1)
        for group, mask, off, moves, row in zip(*(c.tolist() for c in columns), rows.tolist(), strict=True)
    ]
    # Numbered in the order of rows, so that equal worlds have equal plans.
    numbers = {found: number for number, found in enumerate(dict.fromkeys(classes))}
    if len(numbers) > MOST_KINDS:
        raise InvalidValueError(
            f"{len(numbers)} kinds of collision groups, masks and pairs; MuJoCo has bits for {MOST_KINDS}. Use fewer "
            "groups, or engine: bullet"
        )
    pairs = {frozenset(pair) for pair in enabled.tolist()}
    meets = tuple(
        # One bit for each kind that it meets.
        sum(1 << numbers[other] for other in numbers if _meet(one, other) or frozenset((one[4], other[4])) in pairs)
        for one in numbers
    )
    return np.array([numbers[found] for found in classes], np.int64), meets


def _meet(one: _Class, other: _Class) -> bool:
    """Return whether two kinds collide: two that only others move never push each other."""
    if one[2] or other[2] or not (one[3] or other[3]):
        return False
    return bool(one[0] & other[1]) and bool(other[0] & one[1])


def _enabled_pairs(world: World) -> Ints:
    """Return the pairs (K, 2) of rows that were set to collide, and do."""
    pairs = world.collision_filters.enabled_pairs()
    if not len(pairs):
        return pairs
    pairs = pairs[world.collision_rules.may_collide(pairs)]
    # Two bodies that only others move never push each other anyway.
    return pairs[world.dynamic[pairs].any(axis=1)]


def _apart(world: World, rows: Rows) -> tuple[tuple[int, int], ...]:
    """Return the pairs of places in `rows` that pass through each other because a rule lists them."""
    pairs = world.collision_rules.exempt_pairs()
    if not len(pairs):
        return ()
    pairs = pairs[~world.collision_rules.may_collide(pairs) & world.dynamic[pairs].any(axis=1)]
    places = np.full(world.capacity, -1, np.int64)
    places[rows] = np.arange(len(rows))
    found = places[pairs]
    return tuple((one, other) for one, other in found[(found >= 0).all(axis=1)].tolist())
