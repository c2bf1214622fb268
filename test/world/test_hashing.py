"""The state hash: equal for equal states whatever the rows, different for everything else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fleet_sim.world import steering
from fleet_sim.world.clock import Clock
from fleet_sim.world.hashing import state_hash
from fleet_sim.world.world import World


def world_of(*names: str) -> World:
    world = World(Clock(0.1), capacity=1)
    for name in names:
        rows = world.allocate([name])
        world.position[rows] = [float(ord(name[0])), 1.0, 2.0]
        world.announce(rows)
    return world


def test_rows_and_order_do_not_matter() -> None:
    plain, shuffled = world_of("a", "b", "c"), world_of("x", "c", "a", "b")
    shuffled.release(np.array([shuffled.index.row_named("x")]))
    for world in (plain, shuffled):
        world.parent[world.index.row_named("a")] = world.index.row_named("b")
    assert state_hash(plain) == state_hash(shuffled)


def test_minus_zero_is_zero() -> None:
    first, second = world_of("a"), world_of("a")
    second.velocity[0] = -0.0
    assert state_hash(first) == state_hash(second)


def drive(world: World) -> None:
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    steering.give_paths(world, np.array([0]), np.array([3]), np.arange(9.0).reshape(3, 3), turns)


def last_waypoint(world: World) -> None:
    drive(world)
    world.waypoints.position[world.motion.path_start[0] + 2, 0] += 1e-9


def swapped_waypoints(world: World) -> None:
    drive(world)
    first = world.motion.path_start[0] + 1
    world.waypoints.position[[first, first + 1]] = world.waypoints.position[[first + 1, first]]


CHANGES: dict[str, Callable[[World], object]] = {
    "a tick": lambda world: setattr(world.clock, "tick", 1),
    "the last bit of a position": lambda world: world.position.__setitem__((0, 0), np.nextafter(97.0, 98.0)),
    "who carries what": lambda world: world.parent.__setitem__(0, 1),
    "who is carried": lambda world: world.parent.__setitem__(1, 0),
    "a name": lambda world: world.rename(0, "z"),
    "an entity more": lambda world: world.allocate(["more"]),
    "an entity less": lambda world: world.release(np.array([1])),
    "a collision mode": lambda world: world.collision_mode.__setitem__(0, 2),
    "a path": drive,
    "a waypoint far ahead": last_waypoint,
    "the order of waypoints": swapped_waypoints,
}


def test_every_change_shows() -> None:
    hashes = {"nothing": state_hash(world_of("a", "b"))}
    for what, change in CHANGES.items():
        world = world_of("a", "b")
        change(world)
        hashes[what] = state_hash(world)
    assert len(set(hashes.values())) == len(hashes), hashes


def test_swapped_values_show() -> None:
    first, second = world_of("a", "b"), world_of("a", "b")
    second.position[[0, 1]] = second.position[[1, 0]]
    assert state_hash(first) != state_hash(second)


def test_where_a_path_lies_in_the_pool_does_not_matter() -> None:
    fresh, used = world_of("a"), world_of("a")
    for _ in range(3):
        drive(used)
    drive(fresh)
    assert used.motion.path_start[0] != fresh.motion.path_start[0]
    assert state_hash(fresh) == state_hash(used)


@pytest.mark.parametrize("names", [(), ("a",)])
def test_small_worlds_have_a_hash(names: tuple[str, ...]) -> None:
    assert len(state_hash(world_of(*names))) == 16
