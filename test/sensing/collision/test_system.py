"""Collisions of a simulation, from robots that meet to events, by every method and setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

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
