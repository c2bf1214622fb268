"""Collisions of a simulation, from robots that meet to events, by every method and setting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.apps.cli.summary import WallPassages
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.collision.bounds import world_aabbs
from fleet_sim.sensing.collision.system import PairSet

BOX = fs.ShapeParams("box", half_extents=(0.25, 0.25, 0.25))
Make = Callable[..., fs.MultiRobotSimulationCore]


@pytest.fixture
def make() -> Any:
    sims: list[fs.MultiRobotSimulationCore] = []

    def build(**settings: Any) -> fs.MultiRobotSimulationCore:
        settings = {"timestep": 0.1, "gui": False, "target_rtf": 0, **settings}
        sims.append(fs.MultiRobotSimulationCore(fs.SimulationParams(**settings)))
        return sims[-1]

    yield build
    for sim in sims:
        sim.close()


def put(sim: fs.MultiRobotSimulationCore, name: str, x: float, **params: Any) -> fs.SimObject:
    shape = params.pop("shape", BOX)
    pose = params.pop("pose", fs.Pose((x, 0.0, 0.25)))
    return sim.spawn(fs.SimObjectSpawnParams(collision_shape=shape, name=name, initial_pose=pose, **params))


def record(sim: fs.MultiRobotSimulationCore) -> list[tuple[str, frozenset[str | None]]]:
    seen: list[tuple[str, frozenset[str | None]]] = []
    for event in ("collision_started", "collision_ended"):
        sim.events.on(
            event, lambda obj_a, obj_b, event=event: seen.append((event, frozenset((obj_a.name, obj_b.name))))
        )
    return seen


AB = frozenset(("a", "b"))


def test_a_pair_starts_once_and_ends_once(make: Make) -> None:
    sim = make()
    a, _ = put(sim, "a", 0.0), put(sim, "b", 2.0)
    seen = record(sim)
    for x in (0.0, 1.6, 1.7, 1.7, 0.0, 0.0):
        a.set_pose(fs.Pose((x, 0.0, 0.25)))
        sim.step_once()
    assert seen == [("collision_started", AB), ("collision_ended", AB)]
    assert sim.collision_count == 1


def test_a_question_about_boxes_between_steps_hides_no_collision(make: Make) -> None:
    sim = make()
    a, _ = put(sim, "a", 0.0), put(sim, "b", 2.0)
    seen = record(sim)
    for x in (0.0, 1.7, 0.0):
        a.set_pose(fs.Pose((x, 0.0, 0.25)))
        sim.get_aabbs()
        sim.step_once()
    assert seen == [("collision_started", AB), ("collision_ended", AB)]


def test_what_moved_while_there_were_no_checks_is_found_by_the_next_one(make: Make) -> None:
    sim = make(collision_check_frequency=0)
    a, _ = put(sim, "a", 0.0), put(sim, "b", 2.0)
    sim.step_once()
    a.set_pose(fs.Pose((1.7, 0.0, 0.25)))
    sim.step_once()
    seen = record(sim)
    sim.collision_queries.set_frequency(None)
    sim.step_once()
    assert seen == [("collision_started", AB)]


@pytest.mark.parametrize(("gap", "hit"), [(0.019, True), (0.021, False)])
def test_the_margin_is_the_distance_of_surfaces(make: Make, gap: float, hit: bool) -> None:
    sim = make(collision_margin=0.02)
    put(sim, "a", 0.0)
    put(sim, "b", 0.5 + gap)
    sim.step_once()
    assert bool(sim.get_active_collision_pairs()) is hit


def test_both_hear_of_it_on_their_own_bus(make: Make) -> None:
    sim = make()
    a, b = put(sim, "a", 0.0), put(sim, "b", 0.3)
    heard: list[tuple[str, Any]] = []
    a.events.on("collision_started", lambda other: heard.append(("a", other)))
    b.events.on("collision_started", lambda other: heard.append(("b", other)))
    sim.step_once()
    assert heard == [("a", b), ("b", a)]


def test_removing_and_disabling_end_collisions(make: Make) -> None:
    sim = make()
    put(sim, "a", 0.0)
    b, c = put(sim, "b", 0.3), put(sim, "c", -0.3)
    sim.step_once()
    seen = record(sim)
    sim.remove_object(b)
    c.set_collision_mode("disabled")
    sim.step_once()
    ended = [pair for event, pair in seen if event == "collision_ended"]
    assert sorted(map(sorted, ended)) == [["a", "b"], ["a", "c"]]
    assert sim.get_active_collision_pairs() == []


def test_the_check_rate_is_exact_and_zero_is_never(make: Make) -> None:
    sim = make(collision_check_frequency=2.0)
    a, _ = put(sim, "a", 0.0), put(sim, "b", 2.0)
    a.set_pose(fs.Pose((2.0, 0.0, 0.25)))
    found = []
    for _ in range(5):
        sim.step_once()
        found.append(len(sim.get_active_collision_pairs()))
    assert found == [0, 0, 0, 0, 1]
    seen = record(sim)
    sim.set_collision_check_frequency(0)
    assert seen == [("collision_ended", AB)]
    sim.step_once()
    assert sim.get_active_collision_pairs() == []
    assert len(sim.check_collisions()[0]) == 1


@pytest.mark.parametrize("ignore", [True, False])
def test_static_bodies_pair_only_when_asked_for(make: Make, ignore: bool) -> None:
    sim = make(ignore_static_collision=ignore)
    put(sim, "a", 0.0)
    put(sim, "wall", 0.3, collision_mode="static")
    put(sim, "floor", 0.35, collision_mode="static")
    sim.step_once()
    names = sorted(sorted((a.name, b.name)) for a, b in sim.get_active_collision_pairs())
    assert names == ([] if ignore else [["a", "floor"], ["a", "wall"]])


@pytest.mark.parametrize("mode", ["normal_3d", "normal_2d"])
def test_heights_always_count(make: Make, mode: str) -> None:
    sim = make()
    put(sim, "a", 0.0, collision_mode=mode)
    put(sim, "b", 0.0, collision_mode=mode, pose=fs.Pose((0.0, 0.0, 5.0)))
    sim.step_once()
    assert sim.get_active_collision_pairs() == []


def test_carrier_and_carried_never_collide(make: Make) -> None:
    sim = make()
    robot = sim.spawn(fs.AgentSpawnParams(collision_shape=BOX, name="robot"))
    crate = put(sim, "crate", 0.3)
    assert robot.attach_object(crate, keep_world_pose=True)
    sim.step_once()
    assert sim.get_active_collision_pairs() == []
    robot.detach_object(crate)
    sim.step_once()
    assert sim.get_active_collision_pairs() == [(robot, crate)]


def test_frames_of_shapes_count(make: Make) -> None:
    sim = make()
    put(sim, "a", 0.0, collision_frame_pose=fs.Pose((1.0, 0.0, 0.0)))
    put(sim, "b", 1.0)
    put(sim, "c", 0.0)
    sim.step_once()
    assert [{a.name, b.name} for a, b in sim.get_active_collision_pairs()] == [{"a", "b"}]


@pytest.mark.parametrize("method", ["contact_points", "hybrid"])
def test_a_falling_box_hits_what_it_lands_on(make: Make, method: str) -> None:
    sim = make(physics=True, collision_detection_method=method, ignore_static_collision=False, enable_floor=False)
    put(sim, "a", 0.0, collision_mode="static", shape=fs.ShapeParams("box", half_extents=(2.0, 2.0, 0.25)))
    put(sim, "b", 0.0, mass=1.0, pose=fs.Pose((0.0, 0.0, 1.5)))
    seen = record(sim)
    for _ in range(20):
        sim.step_once()
    assert ("collision_started", AB) in seen


def test_kinematic_robots_collide_with_physics_on(make: Make) -> None:
    sim = make(physics=True)
    put(sim, "a", 0.0)
    put(sim, "b", 0.3)
    sim.step_once()
    assert len(sim.get_active_collision_pairs()) == 1


def test_a_fast_robot_stops_at_a_thin_wall_and_goes_on_when_it_is_gone(make: Make) -> None:
    sim = make(block_on_collision=True)
    thin = fs.ShapeParams("box", half_extents=(0.005, 3.0, 1.0))
    wall = put(sim, "wall", 5.0, shape=thin, collision_mode="static")
    robot = sim.spawn(
        fs.AgentSpawnParams(
            collision_shape=BOX,
            motion_mode="omnidirectional",
            max_linear_vel=20.0,
            max_linear_accel=200.0,
            initial_pose=fs.Pose((0.0, 0.0, 0.25)),
        )
    )
    blocked: list[Any] = []
    sim.events.on("blocked", lambda agent: blocked.append(agent.blocked_by))
    move = fs.MoveTo(fs.Pose((10.0, 0.0, 0.25)))
    robot.execute_action(move)
    for _ in range(20):
        sim.step_once()
    assert blocked == [wall]
    assert robot.get_pose().x == pytest.approx(5.0 - 0.005 - 0.25, abs=2e-3)
    assert np.array_equal(robot.velocity, np.zeros(3))
    assert move.status is fs.ActionStatus.IN_PROGRESS
    sim.remove_object(wall)
    for _ in range(20):
        sim.step_once()
    assert robot.get_pose().x == 10.0
    assert move.status is fs.ActionStatus.COMPLETED
    assert robot.blocked_by is None


def test_a_mesh_blocks_too(make: Make, tmp_path: Path) -> None:
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-2, 2) for z in (-1, 1)]
    faces = [(1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8), (3, 8, 7)]
    mesh = tmp_path / "slab.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    mesh.write_text("\n".join(lines) + "\n")
    sim = make(block_on_collision=True)
    shape = fs.ShapeParams("mesh", mesh_path=str(mesh))
    slab = put(sim, "slab", 3.0, shape=shape, collision_mode="static")
    robot = sim.spawn(fs.AgentSpawnParams(collision_shape=BOX, initial_pose=fs.Pose((0.0, 0.0, 0.25))))
    robot.set_goal(fs.Pose((6.0, 0.0, 0.25)))
    for _ in range(60):
        sim.step_once()
    assert robot.blocked_by == slab
    assert robot.get_pose().x == pytest.approx(3.0 - 0.1 - 0.25, abs=5e-3)


# ---- Pairs start once and end once -----------------------------------------------------------------------------------


pair_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(7, 12)), max_size=12)


def array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2)


def test_differences_from_update_to_update() -> None:
    current = PairSet()
    started, ended = current.update(array([(4, 2), (0, 1), (0, 1)]))
    assert started.tolist() == [[0, 1], [2, 4]] and ended.tolist() == []
    started, ended = current.update(array([(2, 4), (3, 5)]))
    assert started.tolist() == [[3, 5]] and ended.tolist() == [[0, 1]]
    assert current.pairs.tolist() == [[2, 4], [3, 5]] and len(current) == 2
    started, ended = current.update(array([(3, 5), (2, 4)]))
    assert not len(started) and not len(ended)


@given(st.lists(pair_lists, max_size=8))
def test_every_start_has_one_end(updates: list[list[tuple[int, int]]]) -> None:
    current, open_pairs = PairSet(), set()
    for pairs in [*updates, []]:
        started, ended = (set(map(tuple, part.tolist())) for part in current.update(array(pairs)))
        assert started == set(pairs) - open_pairs
        assert ended == open_pairs - set(pairs)
        open_pairs = set(pairs)
    assert not open_pairs and not len(current)


def test_a_removed_row_ends_its_pairs_once_and_hands_none_on() -> None:
    current = PairSet()
    current.update(array([(0, 1), (1, 2), (3, 4)]))
    assert current.remove_rows(np.array([1])).tolist() == [[0, 1], [1, 2]]
    assert current.remove_rows(np.array([1])).tolist() == []
    # The row is used again and touches the same neighbour: a new pair.
    started, ended = current.update(array([(0, 1), (3, 4)]))
    assert started.tolist() == [[0, 1]] and ended.tolist() == []


def test_clear_ends_everything() -> None:
    current = PairSet()
    current.update(array([(5, 1), (2, 3)]))
    assert current.clear().tolist() == [[1, 5], [2, 3]]
    assert len(current) == 0 and current.clear().tolist() == []


def test_rows_above_16_bits_keep_their_order() -> None:
    current = PairSet()
    started, _ = current.update(array([(200_000, 5), (70_000, 5), (5, 6)]))
    assert started.tolist() == [[5, 6], [5, 70_000], [5, 200_000]]


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_planes_have_no_end_but_their_height_and_nothing_is_a_point() -> None:
    tilted = quaternions.from_eulers(np.array([[0.3, 0.0, 0.0]]))[0]
    kinds = np.array([ShapeKind.PLANE, ShapeKind.PLANE, ShapeKind.NONE], np.uint8)
    positions = np.array([[1.0, 2.0, 3.0]] * 3)
    orientations = np.stack([quaternions.IDENTITY, tilted, tilted])
    lower, upper = world_aabbs(kinds, positions, orientations, np.zeros((3, 3)), np.zeros(3))
    assert (lower[:2] == -np.inf).all() and (upper[1] == np.inf).all()
    assert upper[0].tolist() == [np.inf, np.inf, 3.0]
    assert lower[2].tolist() == upper[2].tolist() == [1.0, 2.0, 3.0]


# ---- Which robots drove through walls, where collisions with walls are not reported ----------------------------------


CART = ShapeParams("box", half_extents=(0.3, 0.2, 0.15))


def robot(sim: MultiRobotSimulationCore, x: float, y: float, goal: float | None, z: float = 0.15, **more: Any) -> Agent:
    agent: Agent = sim.spawn(AgentSpawnParams(CART, CART, Pose.from_xyz(x, y, z), **more))
    if goal is not None:
        agent.set_goal_pose(Pose.from_xyz(goal, y, z))
    return agent


def wall(sim: MultiRobotSimulationCore, shape: ShapeParams, x: float, y: float, z: float, **more: Any) -> None:
    settings = {"collision_mode": "static", **more}
    sim.spawn(SimObjectSpawnParams(collision_shape=shape, initial_pose=Pose.from_yaw(x, y, z, 0.3), **settings))


def found(sim: MultiRobotSimulationCore, seconds: float = 6.0) -> list[str]:
    passages = WallPassages(sim.world)
    sim.events.on("post_step", lambda dt, sim_time: passages.look(sim_time))
    sim.run_simulation(duration=seconds)
    return passages.names


@pytest.mark.parametrize(
    "shape",
    [
        ShapeParams("box", half_extents=(0.05, 1.0, 0.5)),
        ShapeParams("cylinder", radius=0.2, height=1.0),
        ShapeParams("sphere", radius=0.6),
        ShapeParams("capsule", radius=0.2, height=0.8),
    ],
)
def test_a_robot_that_drives_through_is_found_once(
    make_sim: Callable[..., MultiRobotSimulationCore], shape: ShapeParams
) -> None:
    sim = make_sim()
    wall(sim, shape, 2.0, 0.0, 0.5)
    robot(sim, 0.0, 0.0, 4.0, name="through")
    robot(sim, 0.0, 3.0, 4.0, name="beside")
    robot(sim, 0.0, -3.0, None, name="parked")
    assert found(sim) == ["through"]


def test_a_robot_of_links_is_found_too(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    sim = make_sim()
    wall(sim, ShapeParams("box", half_extents=(0.05, 1.0, 0.5)), 2.0, 0.0, 0.5)
    agent = sim.spawn(AgentSpawnParams(urdf_path="diff_base", name="linked"))
    agent.set_goal_pose(Pose.from_xyz(4.0, 0.0, 0.0))
    assert found(sim, 8.0) == ["linked"]


def test_floors_touching_permission_and_blocking_are_no_passage(
    make_sim: Callable[..., MultiRobotSimulationCore],
) -> None:
    sim = make_sim()
    # A floor, into which the second robot is sunk; a ceiling; a ball that a robot touches; a wall of another group.
    wall(sim, ShapeParams("box", half_extents=(20.0, 20.0, 0.5)), 0.0, 0.0, -0.5)
    wall(sim, ShapeParams("box", half_extents=(20.0, 20.0, 0.5)), 0.0, 0.0, 0.75)
    robot(sim, 0.0, 0.0, 4.0)
    robot(sim, 0.0, 2.0, 4.0, z=0.0)
    thin = ShapeParams("box", half_extents=(0.05, 0.5, 0.5))
    robot(sim, 0.0, 4.0, 1.68)
    wall(sim, ShapeParams("sphere", radius=0.3), 2.26, 4.0, 0.15)
    robot(sim, 0.0, 6.0, 4.0, collision_mask=1)
    wall(sim, thin, 2.0, 6.0, 0.5, collision_group=2)
    robot(sim, 0.0, 8.0, None, block_on_collision=True).set_velocity(0.7)
    wall(sim, thin, 2.0, 8.0, 0.5)
    assert found(sim) == []


def test_walls_that_come_later_and_new_robots_in_old_rows_count(
    make_sim: Callable[..., MultiRobotSimulationCore],
) -> None:
    sim = make_sim()
    robot(sim, 0.0, 0.0, 4.0, name="first")
    passages = WallPassages(sim.world)
    sim.events.on("post_step", lambda dt, sim_time: passages.look(sim_time))
    wall(sim, ShapeParams("box", half_extents=(0.05, 1.0, 0.5)), 2.0, 0.0, 0.5)
    sim.run_simulation(duration=6.0)
    sim.remove_object(sim.get_object("first"))
    robot(sim, 0.0, 0.0, 4.0, name="second")
    sim.run_simulation(duration=6.0)
    assert passages.names == ["first", "second"]


# ---- never overlapping -----------------------------------------------------------------------------------------------


ROUNDING = 1e-6


Outline = tuple[tuple[float, float] | None, float]
"""Half sizes of a box, or none for a disc, and the radius of a disc."""


def corners(pose: fs.Pose, half: tuple[float, float]) -> list[tuple[float, float]]:
    cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
    signs = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return [
        (pose.x + cos * a * half[0] - sin * b * half[1], pose.y + sin * a * half[0] + cos * b * half[1])
        for a, b in signs
    ]


def axes(outline: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    for (x, y), (u, v) in itertools.pairwise([*outline, outline[0]]):
        length = math.hypot(u - x, v - y)
        yield (v - y) / length, (x - u) / length


def gap(one: list[tuple[float, float]], radius: float, other: list[tuple[float, float]], margin: float) -> float:
    """Return how far two convex outlines are apart along the axis that tells them apart best, less their radii."""
    candidates = [*(axes(one) if len(one) > 2 else []), *(axes(other) if len(other) > 2 else [])]
    for (x, y), (u, v) in itertools.product(one, other):
        length = math.hypot(u - x, v - y)
        if length > 0.0:
            candidates.append(((u - x) / length, (v - y) / length))
    best = -math.inf
    for x, y in candidates:
        first, second = ([x * a + y * b for a, b in outline] for outline in (one, other))
        best = max(best, min(second) - max(first), min(first) - max(second))
    return best - radius - margin


def block(
    sim: fs.MultiRobotSimulationCore, rng: np.random.Generator, number: int, speed: float, modes: str
) -> tuple[fs.Agent, Outline]:
    """Spawn a robot on its place of the grid; return it with its half sizes, or none, and its radius."""
    long, wide = rng.uniform(0.1, 0.6, 2)
    disc = rng.random() < 0.3
    shape = fs.ShapeParams("cylinder", radius=long, height=0.4) if disc else None
    shape = shape or fs.ShapeParams("box", half_extents=(long, wide, 0.2))
    mode = modes if modes != "both" else ["omnidirectional", "differential"][number % 2]
    pose = fs.Pose.from_yaw(2.0 * (number % 3), 2.0 * (number // 3), 0.2, rng.uniform(-3.0, 3.0))
    robot: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(
            shape,
            shape,
            pose,
            motion_mode=mode,
            max_linear_vel=speed * rng.uniform(0.2, 1.0),
            max_linear_accel=100.0 * speed,
            max_angular_vel=rng.uniform(0.5, 20.0),
            max_angular_accel=1000.0,
        )
    )
    return robot, (None if disc else (long, wide), long if disc else 0.0)


@given(
    seed=st.integers(0, 2**32),
    robots=st.integers(2, 8),
    speed=st.floats(0.1, 40.0),
    timestep=st.sampled_from([0.01, 0.05, 0.1, 0.5]),
    modes=st.sampled_from(["omnidirectional", "differential", "both"]),
)
@settings(max_examples=5, deadline=None)
def test_robots_that_block_never_overlap(seed: int, robots: int, speed: float, timestep: float, modes: str) -> None:
    rng = np.random.default_rng(seed)
    params = fs.SimulationParams(
        gui=False, timestep=timestep, block_on_collision=True, target_rtf=0, enable_floor=False
    )
    with fs.MultiRobotSimulationCore(params) as sim:
        made = [block(sim, rng, number, speed, modes) for number in range(robots)]
        fleet, outlines = [robot for robot, _ in made], [outline for _, outline in made]
        for step in range(30):
            if step % 10 == 0:
                for robot in fleet:
                    robot.set_goal(fs.Pose.from_yaw(*rng.uniform(-1.0, 5.0, 2), 0.2, rng.uniform(-3.0, 3.0)))
            sim.step_once()
            poses = [robot.get_pose() for robot in fleet]
            shapes = [
                corners(pose, half) if half is not None else [(pose.x, pose.y)]
                for pose, (half, _) in zip(poses, outlines, strict=True)
            ]
            for a, b in itertools.combinations(range(robots), 2):
                apart = gap(shapes[a], outlines[a][1], shapes[b], outlines[b][1])
                assert apart > -ROUNDING, f"robots {a} and {b} overlap by {-apart} after step {step}"
