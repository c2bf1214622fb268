"""Rows: stable while an entity lives, used again afterwards, never confused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.base.errors import DuplicateNameError, StateError, UnknownNameError
from fleet_sim.world.clock import Clock
from fleet_sim.world.ports import Parts
from fleet_sim.world.world import World, restore_world, save_world


def new_world(capacity: int = 4) -> World:
    return World(Clock(0.1), capacity=capacity)


def spawn(world: World, *names: str | None) -> list[int]:
    rows = world.allocate(names)
    world.announce(rows)
    return rows.tolist()


def test_rows_stay_when_others_go_and_the_world_grows() -> None:
    world = new_world(capacity=2)
    a, b = spawn(world, "a", "b")
    world.position[b] = (1, 2, 3)
    world.release(np.array([a]))
    spawn(world, *[f"x{index}" for index in range(500)])
    assert world.index.row_named("b") == b
    assert world.position[b].tolist() == [1, 2, 3]
    assert len(world) == 501
    assert world.index.names[b] == "b"


def test_a_row_used_again_starts_from_the_defaults_in_another_generation() -> None:
    world = new_world()
    (row,) = spawn(world, "a")
    world.position[row] = 7
    world.motion.control[row] = 2
    generation = int(world.generation[row])
    world.release(np.array([row]))
    assert not world.is_live(row, generation)
    assert spawn(world, "b") == [row]
    assert not world.is_live(row, generation)
    assert world.is_live(row, int(world.generation[row]))
    assert world.position[row].tolist() == [0, 0, 0]
    assert world.motion.control[row] == 0


def test_rows_freed_in_a_step_rest_until_its_end() -> None:
    world = new_world()
    (row,) = spawn(world, "a")
    world.in_step = True
    world.release(np.array([row]))
    assert row not in spawn(world, "b", "c", "d", "e", "f")
    world.in_step = False
    world.end_step()
    assert row in spawn(world, *"ghijklmn")


def test_rows_are_in_order_of_spawning() -> None:
    world = new_world()
    rows = spawn(world, "a", "b", "c")
    world.release(np.array(rows[:1]))
    (late,) = spawn(world, "late")
    assert late == rows[0]
    assert world.rows.tolist() == [rows[1], rows[2], late]
    with pytest.raises(ValueError, match="read-only"):
        world.rows[0] = 1


def test_names_are_unique_and_errors_say_which() -> None:
    world = new_world()
    a, b = spawn(world, "a", None)
    with pytest.raises(DuplicateNameError, match="'a'"):
        spawn(world, "c", "a")
    with pytest.raises(DuplicateNameError, match="'c'"):
        spawn(world, "c", "c")
    with pytest.raises(DuplicateNameError, match="'a'"):
        world.rename(b, "a")
    assert len(world) == 2
    assert not world.index.has_name("c")
    world.rename(b, "bob")
    world.rename(a, None)
    spawn(world, "a")
    assert world.label(a) == "#0"
    with pytest.raises(UnknownNameError, match="Did you mean 'bob'"):
        world.index.row_named("bobb")
    with pytest.raises(UnknownNameError, match="99"):
        world.index.rows_of([0, 99])


def test_listeners_hear_of_rows_while_their_values_are_there() -> None:
    world = new_world()
    heard: list[tuple[str, list[str | None]]] = []
    world.on_spawn.append(lambda rows: heard.append(("+", [world.index.names[row] for row in rows])))
    world.on_remove.append(lambda rows: heard.append(("-", [world.index.names[row] for row in rows])))
    rows = spawn(world, "a", "b")
    world.release(np.array(rows))
    world.release(np.array([], np.int64))
    assert heard == [("+", ["a", "b"]), ("-", ["a", "b"])]


def test_restoring_brings_entities_back_and_takes_others_away() -> None:
    world = new_world()
    a, b = spawn(world, "a", "b")
    world.position[b] = 5
    generations = world.generation[[a, b]].tolist()
    saved = save_world(world)
    world.release(np.array([a]))
    (c,) = spawn(world, "c")
    spawn(world, *[f"x{index}" for index in range(50)])
    assert c == a
    stale = int(world.generation[c])
    world.position[b] = 6
    world.rename(b, "bee")
    restore_world(world, saved)
    assert [world.index.names[row] for row in world.rows] == ["a", "b"]
    assert [world.is_live(*pair) for pair in zip((a, b), generations, strict=True)] == [True, True]
    assert not world.is_live(c, stale)
    assert world.position[b].tolist() == [5, 5, 5]
    assert not world.index.has_name("c")
    assert not world.index.has_name("bee")
    assert len(set(spawn(world, *"cdefghijklmnop")) & {a, b}) == 0


def test_a_generation_never_comes_back() -> None:
    world = new_world(capacity=1)
    seen = set()
    saved = save_world(world)
    for _ in range(5):
        (row,) = spawn(world, "a")
        seen.add(int(world.generation[row]))
        restore_world(world, saved)
    assert len(seen) == 5


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=60))
def test_books_agree_after_any_history(history: list[tuple[bool, int]]) -> None:
    world = new_world(capacity=1)
    alive: dict[str, int] = {}
    for spawning, number in history:
        name = f"n{number}"
        if spawning and name not in alive:
            (alive[name],) = spawn(world, name)
        elif not spawning and name in alive:
            world.release(np.array([alive.pop(name)]))
    assert {name: world.index.row_named(name) for name in alive} == alive
    assert sorted(world.rows.tolist()) == sorted(alive.values())
    assert [world.index.row_of(int(world.object_id[row])) for row in world.rows] == world.rows.tolist()
    assert int(world.alive.sum()) == len(world) == len(alive)
    spare = world.capacity - len(world)
    assert len(spawn(world, *[None] * spare)) == spare
    assert world.capacity == max(1, len(world))


@pytest.mark.parametrize("part", ["actions", "bodies", "links", "sensors", "laws", "controllers"])
def test_a_part_that_is_not_connected_says_what_to_do(part: str) -> None:
    with pytest.raises(StateError, match=r"this world has no .*; use MultiRobotSimulationCore"):
        getattr(new_world(), part)


def test_parts_are_connected_once() -> None:
    world, links = new_world(), NoLinks()
    world.connect(Parts(links=links))
    assert world.links is links
    with pytest.raises(StateError, match="connected"):
        world.connect(Parts())


class NoLinks:
    """A LinkBook of a world without robots."""

    def link_poses(self, rows: Rows, links: Ints) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def link_velocities(self, rows: Rows, links: Ints, points: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def refresh_boxes(self) -> Rows:
        return NO_ROWS
