"""The rule of who may collide, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.arrays import Bools, Ints, Rows
from fleet_sim.base.params import CollisionMode
from fleet_sim.world.clock import Clock
from fleet_sim.world.collision_rules import CollisionRule
from fleet_sim.world.world import World


def world_of(count: int, parents: dict[int, int] | None = None) -> World:
    """Return a world of `count` rows; `parents` by child."""
    world = World(Clock(0.1), capacity=2)
    rows = world.allocate([None] * count)
    assert rows.tolist() == list(range(count))
    for child, parent in (parents or {}).items():
        world.parent[child] = parent
    return world


def array(*pairs: tuple[int, int]) -> Ints:
    return np.array(pairs, np.int64).reshape(-1, 2)


def both_ways(world: World, pairs: Ints, **options: bool) -> list[bool]:
    """Return what the rules say; the order within a pair must mean nothing."""
    found = world.collision_rules.may_collide(pairs, **options).tolist()
    assert world.collision_rules.may_collide(pairs[:, ::-1], **options).tolist() == found
    return found


@pytest.mark.parametrize(
    ("one", "other", "expected", "expected_without_static"),
    [
        ("normal_3d", "normal_3d", True, True),
        ("normal_3d", "normal_2d", True, True),
        ("normal_2d", "normal_2d", True, True),
        ("normal_3d", "static", True, False),
        ("normal_2d", "static", True, False),
        ("static", "static", False, False),
        ("disabled", "normal_3d", False, False),
        ("disabled", "static", False, False),
        ("disabled", "disabled", False, False),
    ],
)
def test_collision_modes(one: str, other: str, expected: bool, expected_without_static: bool) -> None:
    world = world_of(2)
    world.collision_mode[:2] = CollisionMode(one).code, CollisionMode(other).code
    assert both_ways(world, array((0, 1))) == [expected]
    assert both_ways(world, array((0, 1)), ignore_static=True) == [expected_without_static]


def test_nothing_collides_with_itself_nor_with_what_is_gone() -> None:
    world = world_of(3)
    world.release(np.array([2]))
    assert both_ways(world, array((0, 0), (0, 1), (0, 2))) == [False, True, False]
    assert world.collision_rules.active_mask()[:3].tolist() == [True, True, False]


def test_carriers_and_all_they_carry() -> None:
    """0 carries 1 and 4, 1 carries 2, 2 carries 3; 5 stands beside."""
    world = world_of(6, {1: 0, 2: 1, 3: 2, 4: 0})
    kept_apart = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3)]
    pairs = array(*((a, b) for a in range(6) for b in range(a + 1, 6)))
    allowed = dict(zip(map(tuple, pairs.tolist()), both_ways(world, pairs), strict=True))
    assert [pair for pair, may in allowed.items() if not may] == kept_apart
    assert world.collision_rules.exempt_pairs().tolist() == [list(pair) for pair in kept_apart]
    assert world.collision_rules.permitted(pairs).tolist() == [list(pair) for pair, may in allowed.items() if may]
    world.parent[2] = -1
    assert both_ways(world, array((0, 3), (1, 2), (2, 3))) == [True, True, False]


@given(st.lists(st.integers(-1, 10), min_size=1, max_size=10))
def test_what_can_be_listed_is_what_is_not_allowed(parents: list[int]) -> None:
    """A forest of any shape: everybody's parent has a smaller row."""
    given_parents = {row: parent for row, parent in enumerate(parents) if 0 <= parent < row}
    world = world_of(len(parents), given_parents)
    pairs = array(*((a, b) for a in range(len(parents)) for b in range(a + 1, len(parents))))
    mask = world.collision_rules.may_collide(pairs)
    assert pairs[~mask].tolist() == world.collision_rules.exempt_pairs().tolist()


class Apart(CollisionRule):
    """Keeps all pairs with one row from colliding."""

    def __init__(self, row: int) -> None:
        self.row = row

    def allows(self, first: Rows, second: Rows) -> Bools:
        return np.asarray((first != self.row) & (second != self.row))


def test_added_rules_count_besides_each_other() -> None:
    world = world_of(4, {1: 0})
    rules = world.collision_rules
    pairs = array((0, 1), (0, 2), (1, 3), (2, 3))
    before = rules.version
    rules.add(Apart(2))
    assert rules.version > before
    assert both_ways(world, pairs) == [False, False, True, False]
    rules.add(Apart(3))
    assert both_ways(world, pairs) == [False, False, False, False]
    assert rules.permitted(array()).shape == (0, 2)
    assert rules.exempt_pairs().tolist() == [[0, 1]]
