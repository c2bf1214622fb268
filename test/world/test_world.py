"""Rows: stable while an entity lives, used again afterwards, never confused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, SetVelocity
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StaleHandleError, StateError, UnknownNameError
from fleet_sim.world import steering
from fleet_sim.world.checkpoint import state_hash
from fleet_sim.world.clock import Clock
from fleet_sim.world.commands import NamedRows
from fleet_sim.world.entity_index import EntityIndex, FreeRows
from fleet_sim.world.schema import NO_ROW, BodyColumns
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


@pytest.mark.parametrize("part", ["actions", "bodies", "links", "sensors", "laws", "plan_controller"])
def test_a_part_that_is_not_connected_says_what_to_do(part: str) -> None:
    with pytest.raises(StateError, match=r"this world has no .*; use MultiRobotSimulationCore"):
        getattr(new_world(), part)


# ---- free rows -------------------------------------------------------------------------------------------------------


def test_rows_are_taken_from_the_front() -> None:
    free = FreeRows(8)
    assert free.take(3).tolist() == [0, 1, 2]
    assert free.take(1).tolist() == [3]
    assert len(free) == 4
    free.grow(8, 12)
    # What was free before comes before what is new.
    assert free.take(8).tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert len(free) == 0


def test_rows_given_back_are_the_next_ones() -> None:
    free = FreeRows(6)
    free.take(5)
    free.give_back(np.array([1, 3]), rest=False)
    assert free.take(3).tolist() == [1, 3, 5]


def test_what_is_taken_does_not_change_when_rows_come_back() -> None:
    free = FreeRows(100)
    taken = free.take(40)
    free.give_back(np.arange(39, -1, -1), rest=False)
    assert taken.tolist() == list(range(40))


def test_rows_used_before_are_told_from_fresh_ones() -> None:
    free = FreeRows(5)
    assert free.used_before(free.take(3)).tolist() == []
    free.give_back(np.array([1]), rest=False)
    assert free.used_before(free.take(2)).tolist() == [1]


@pytest.mark.parametrize("seed", range(5))
def test_no_row_is_taken_twice_whatever_happens(seed: int) -> None:
    rng, capacity = np.random.default_rng(seed), 32
    free, living, resting = FreeRows(capacity), set[int](), set[int]()
    for _ in range(400):
        what = int(rng.integers(4))
        if what == 0:
            count = int(rng.integers(1, 40))
            if count > len(free):
                free.grow(capacity, capacity + count)
                capacity += count
            rows = free.take(count).tolist()
            assert not living.intersection(rows)
            assert not resting.intersection(rows)
            living.update(rows)
        elif what == 1 and living:
            gone = rng.permutation(sorted(living))[: int(rng.integers(1, 40))]
            rest = bool(rng.integers(2))
            free.give_back(gone, rest=rest)
            living.difference_update(gone.tolist())
            if rest:
                resting.update(gone.tolist())
        elif what == 2:
            free.end_step()
            resting.clear()
        assert len(free) + len(living) + len(resting) == capacity
    free.end_step()
    assert sorted(living | set(free.take(len(free)).tolist())) == list(range(capacity))


def test_a_checkpoint_brings_back_the_order_and_leaves_new_rows_for_later() -> None:
    free = FreeRows(8)
    free.take(4)
    free.give_back(np.array([2, 0]), rest=False)
    saved = free.save()
    first = free.take(3).tolist()
    free.give_back(np.array([3]), rest=True)
    free.grow(8, 10)
    free.restore(saved, 8, 10)
    assert free.take(3).tolist() == first
    # What rested belonged to the state that was left.
    free.end_step()
    assert len(free) == 5
    assert free.take(5).tolist() == [5, 6, 7, 8, 9]


def test_what_was_saved_does_not_change_later() -> None:
    free = FreeRows(4)
    saved = free.save()
    free.take(4)
    free.give_back(np.array([3, 2, 1, 0]), rest=False)
    assert saved.tolist() == [3, 2, 1, 0]


# ---- entity index ----------------------------------------------------------------------------------------------------


class Registry:
    """An index with its columns, and beside it what it must know: the name and the row of each living id."""

    def __init__(self, capacity: int) -> None:
        self.body = BodyColumns(capacity)
        self.index = EntityIndex(self.body)
        self.known: dict[int, tuple[str | None, int]] = {}
        self.free = list(range(capacity - 1, -1, -1))
        self.next_id = 0

    def add(self, names: list[str | None]) -> None:
        rows = np.array([self.free.pop() for _ in names], np.int64)
        ids = np.arange(self.next_id, self.next_id + len(names))
        self.next_id += len(names)
        self.body.alive[rows], self.body.object_id[rows] = True, ids
        self.index.check_new(names)
        self.index.add(rows, names)
        self.known |= dict(zip(ids.tolist(), zip(names, rows.tolist(), strict=True), strict=True))

    def remove(self, ids: list[int]) -> None:
        rows = [self.known.pop(number)[1] for number in ids]
        self.index.discard(np.array(rows, np.int64))
        self.body.alive[rows] = False
        self.free += rows

    def check(self) -> None:
        assert len(self.index) == len(self.known)
        for number, (name, row) in self.known.items():
            assert self.index.row_of(number) == row
            assert self.index.names[row] == name
            if name is not None:
                assert self.index.row_named(name) == row
        assert self.index.rows_of(list(self.known)).tolist() == [row for _, row in self.known.values()]
        gone = sorted({*range(self.next_id)} - {*self.known})
        for number in gone[:5]:
            with pytest.raises(UnknownNameError):
                self.index.row_of(number)


@pytest.mark.parametrize("seed", range(6))
def test_every_living_entity_is_found_and_no_other(seed: int) -> None:
    rng, made = np.random.default_rng(seed), Registry(64)
    for turn in range(120):
        what = int(rng.integers(4))
        if what <= 1 and len(made.free) > 8:
            made.add([f"e{turn}_{place}" if rng.integers(3) else None for place in range(int(rng.integers(1, 8)))])
        elif what == 2 and made.known:
            made.remove([int(number) for number in rng.permutation(list(made.known))[: int(rng.integers(1, 10))]])
        elif made.known:
            number = int(rng.choice(list(made.known)))
            name, row = f"renamed_{turn}", made.known[number][1]
            made.index.rename(row, name)
            made.known[number] = name, row
        made.check()
    names = list(made.index.names)
    # Names of a checkpoint; what came after it is gone.
    made.index.restore(names[:40])
    made.known = {number: (names[row] if row < 40 else None, row) for number, (_, row) in made.known.items()}
    made.check()


def test_names_are_looked_up_many_at_once() -> None:
    made = Registry(8)
    made.add(["a", None, "b"])
    assert made.index.rows_named(["b", "x", "a", "b"]).tolist() == [2, NO_ROW, 0, 2]
    assert made.index.has_name("a")
    made.remove([0])
    assert not made.index.has_name("a")
    assert made.index.rows_named(["a"]).tolist() == [NO_ROW]


def test_a_fleet_spawned_at_once_is_found_by_name() -> None:
    made = Registry(4096)
    made.add(["first"])
    made.add([f"robot_{number}" for number in range(3000)])
    made.remove([2000])
    made.check()
    # Many at once, and then one by one.
    made.add(["last"])
    made.check()


@pytest.mark.parametrize("name", ["", 3, b"a", ["a"], True])
def test_a_name_is_a_text(name: object) -> None:
    with pytest.raises(InvalidValueError, match="a name is a text that is not empty, or None"):
        Registry(4).index.check_new(["ok", name])  # type: ignore[list-item]


@pytest.mark.parametrize("number", [1.0, "1", True, None])
def test_an_id_is_a_whole_number(number: object) -> None:
    made = Registry(4)
    made.add(["a", "b"])
    with pytest.raises(InvalidValueError, match="expected a name or an object id"):
        made.index.row_of(number)  # type: ignore[arg-type]


# ---- handles on demand -----------------------------------------------------------------------------------------------


DISC = {"shape_type": "cylinder", "radius": 0.3, "height": 0.2}
FLEET = {
    "simulation": {"timestep": 0.1},
    "robots": [{"name": "r", "shape": DISC, "grid": {"count": 6, "spacing": [2.0, 2.0, 0.0]}}],
    "objects": [{"name": "box", "shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}, "pose": [0, -3, 0.1]}],
}


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def new_fleet() -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore.from_dict(FLEET)


def test_a_scenario_makes_none_and_each_entity_has_one() -> None:
    sim = new_fleet()
    assert not dict(sim.world.handles.made(sim.world.rows))
    run(sim, 3)
    assert not dict(sim.world.handles.made(sim.world.rows))
    third = sim.population.get("r_2")
    assert sim.population.agents[2] is third
    assert sim.population.objects == [*sim.population.agents, sim.population.get("box")]
    assert [type(entity) for entity in sim.population.objects] == [fs.Agent] * 6 + [fs.SimObject]
    assert [agent.object_id for agent in sim.population.agents] == list(range(6))


def test_an_entity_that_lives_again_has_the_handle_that_was_made_meanwhile() -> None:
    sim = new_fleet()
    before = sim.save_state()
    early, other = sim.population.get("r_1"), sim.population.get("r_4")
    sim.population.remove_all([early, other])
    with pytest.raises(StaleHandleError, match="r_1"):
        early.get_pose()
    newcomer = sim.population.spawn(fs.SimObjectSpawnParams(name="new", initial_pose=fs.Pose((0, 9, 0))))
    sim.restore_state(before)
    assert not newcomer.is_alive
    assert sim.population.get("r_4") is other
    assert sim.population.agents[1] is early
    assert early.name == "r_1"


def test_a_file_and_what_it_refers_to_give_one_handle(tmp_path: Path) -> None:
    sim = new_fleet()
    carrier = sim.population.get("r_0")
    carrier.attach_object(sim.population.get("box"))
    sim.population.get("r_3").add_action(fs.MoveTo(fs.Pose((4.0, 4.0, 0.0))))
    run(sim, 5)
    sim.save_state(tmp_path / "a.fleet")
    again = new_fleet()
    known = again.population.get("r_5")
    again.population.remove(again.population.get("box"))
    again.load_state(tmp_path / "a.fleet")
    assert again.population.get("r_5") is known
    assert again.state.hash() == sim.state.hash()
    (box,) = again.population.get("r_0").get_attached_objects()
    assert box is again.population.get("box")
    for simulation in (sim, again):
        run(simulation, 10)
    assert again.state.hash() == sim.state.hash()


def test_what_a_handler_removes_is_still_in_what_spawning_returns() -> None:
    sim = fs.MultiRobotSimulationCore()
    sim.events.on("object_spawned", lambda obj: obj.name == "b" and sim.population.remove(obj))
    made = sim.population.spawn_all([fs.SimObjectSpawnParams(name=name) for name in "abc"])
    assert [entity.is_alive for entity in made] == [True, False, True]
    assert repr(made[1]) == "<SimObject b (removed)>"


def test_ids_are_found_after_rows_were_used_again() -> None:
    sim = new_fleet()
    sim.population.remove_all(sim.population.agents[1:3])
    late = sim.population.spawn(fs.SimObjectSpawnParams(name="late"))
    assert late.object_id == 7
    assert late.row == 1
    assert sim.population.get(7) is late
    ids = [entity.object_id for entity in sim.population.objects]
    assert ids == [0, 3, 4, 5, 6, 7]
    points, _ = sim.population.get_poses(ids)
    assert points.tolist() == [list(entity.get_pose().position) for entity in sim.population.objects]
    for wrong in ([1], [0, 99], [-1], [2.0], [1 << 62]):
        with pytest.raises(UnknownNameError):
            sim.population.get_poses(wrong)


# ---- Names that know their rows: plain names to everybody else, and never a way to the wrong entity ------------------


FORWARD = {"linear": [[1.0, 0.0, 0.0]] * 2, "angular": [[0.0, 0.0, 0.0]] * 2}


def pair(sim: MultiRobotSimulationCore) -> NamedRows:
    """Two robots a and b, by name and row."""
    rows = [sim.spawn(AgentSpawnParams(name=name)).row for name in "ab"]
    return NamedRows(sim.world, "ab", np.array(rows))


def drive(sim: MultiRobotSimulationCore, names: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    ack = sim.dispatcher.dispatch(SetVelocity(names=names, **FORWARD))  # type: ignore[arg-type]
    return ack.accepted_names, ack.rejected


def test_they_are_the_plain_tuple_to_others(sim: MultiRobotSimulationCore) -> None:
    names = pair(sim)
    assert names == ("a", "b") and hash(names) == hash(("a", "b"))
    for copied in (pickle.loads(pickle.dumps(names)), copy.deepcopy(names)):
        assert copied == names and type(copied) is tuple


def test_rows_count_while_they_are_those_of_the_names(sim: MultiRobotSimulationCore) -> None:
    names = pair(sim)
    assert names.rows_in(sim.world) is not None
    assert drive(sim, names) == (("a", "b"), {})


@pytest.mark.parametrize("change", ["removed", "replaced", "renamed", "went back"])
def test_a_row_that_is_somebody_elses_is_never_driven(sim: MultiRobotSimulationCore, change: str) -> None:
    moment = sim.save_state()
    names = pair(sim)
    if change == "went back":
        sim.restore_state(moment)
        sim.spawn(AgentSpawnParams(name="b"))
    elif change == "renamed":
        sim.get_object("a").set_name("c")
    else:
        sim.remove_object(sim.get_object("a"))
        if change == "replaced":
            sim.spawn(AgentSpawnParams(name="c"))
    assert names.rows_in(sim.world) is None
    assert drive(sim, names) == (("b",), {"a": "unknown robot"})
    if change in ("replaced", "renamed"):
        assert not sim.get_object("c").is_moving


def test_rows_of_another_simulation_count_for_nothing(make_sim) -> None:  # type: ignore[no-untyped-def]
    first, second = make_sim(), make_sim()
    names = pair(first)
    assert pair(second).rows_in(first.world) is None
    second.remove_object(second.get_object("b"))
    assert drive(second, names) == (("a",), {"b": "unknown robot"})


def test_a_row_given_twice_is_driven_once(sim: MultiRobotSimulationCore) -> None:
    row = sim.spawn(AgentSpawnParams(name="a")).row
    names = NamedRows(sim.world, ("a", "a"), np.array([row, row]))
    ack = sim.dispatcher.dispatch(SetVelocity(names=names, linear=[[1, 0, 0], [2, 0, 0]], angular=np.zeros((2, 3))))  # type: ignore[arg-type]
    assert (ack.accepted_names, ack.rejected) == (("a",), {"a": "duplicate target"})
    assert sim.world.motion.command_linear[row, 0] == 1.0


def test_unknown_names_take_nobodys_place(sim: MultiRobotSimulationCore) -> None:
    count = sim.world.capacity
    names = tuple(sim.spawn(AgentSpawnParams(name=f"r_{index}")).name for index in range(count))
    given = ("nobody", *names, "nobody")
    assert sim.world.capacity == count, "the last row is taken, where a row of -1 would point"
    zeros = np.zeros((count + 2, 3))
    ack = sim.dispatcher.dispatch(SetVelocity(names=given, linear=zeros, angular=zeros))
    assert (ack.accepted_names, ack.rejected) == (names, {"nobody": "unknown robot"})


# ---- The state hash: equal for equal states whatever the rows, different for everything else -------------------------


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


def drive_hashing(world: World) -> None:
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    steering.give_paths(world, np.array([0]), np.array([3]), np.arange(9.0).reshape(3, 3), turns)


def last_waypoint(world: World) -> None:
    drive_hashing(world)
    world.waypoints.position[world.motion.path_start[0] + 2, 0] += 1e-9


def swapped_waypoints(world: World) -> None:
    drive_hashing(world)
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
    "a path": drive_hashing,
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
        drive_hashing(used)
    drive_hashing(fresh)
    assert used.motion.path_start[0] != fresh.motion.path_start[0]
    assert state_hash(fresh) == state_hash(used)
