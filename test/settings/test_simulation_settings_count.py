"""No setting of a simulation is accepted and then ignored: each one, changed, changes something that a user can see.

A setting that is added needs a line here: another value, and what to look at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_world import BOX, build, run

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    FleetSimError,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
    SimPlugin,
    SimulationParams,
)
from fleet_sim.config.params import CameraParams


class Case(NamedTuple):
    """Another value of a setting, what to look at, and what else has to be set for it to count."""

    value: Any
    look: Callable[..., Any]
    others: dict[str, Any] = {}  # noqa: RUF012  never written


def time_of_a_step(settings: dict[str, Any]) -> float:
    return run(build(settings), 1).sim_time


def uses_compiled_code(settings: dict[str, Any]) -> bool:
    pytest.importorskip("numba")
    return run(build(settings), 1).world.compiled


def wanders(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, controller="random_walk"))
    run(sim, 40)
    return robot.get_pose().as_position()


def falls(settings: dict[str, Any]) -> Any:
    """Return where a cube is that falls on another one, and bounces."""
    sim = build({"physics": True, **settings})
    cubes = [sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((0.05 * z, 0, z)), mass=1.0)) for z in (0.1, 0.5, 0.9)]
    cubes[0].apply_force([0, 0, -500]) if sim.params.physics else None
    run(sim, 12)
    return [cube.get_pose().as_position() for cube in cubes]


def two_boxes(settings: dict[str, Any]) -> Any:
    """Return what a robot that drives at a static box and another robot collides with, and where it ends."""
    sim = build(settings)
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1.0, 0, 0)), collision_mode="static", name="wall"))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((0.0, 0.95, 0)), name="other"))
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, motion_mode="omnidirectional"))
    robot.set_goal_pose(Pose((0.0, 0.6, 0)))
    seen = []
    for _ in range(30):
        sim.step_once()
        seen.append((len(sim.get_active_collision_pairs()), sim.collision_count))
    robot.set_goal_pose(Pose((1.0, 0.6, 0)))
    run(sim)
    return seen, robot.get_pose().as_position()


def body_of_model(settings: dict[str, Any]) -> Any:
    sim = build({"physics": True, **settings})
    arm = Agent.from_urdf("arm6", sim_core=sim)
    return sim.bullet.getDynamicsInfo(arm.body_id, 2)[2], len(sim.bullet.getVisualShapeData(arm.body_id))


def cells(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    for x in range(4):
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((x, 0, 0))))
    big = ShapeParams("box", half_extents=(1.0, 1.0, 0.1))
    sim.spawn(SimObjectSpawnParams(big, big))
    sim.check_collisions()
    return sim.collisions.broad.cell_size


def put_far_away(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    try:
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((50.0, 0, 0))))
    except FleetSimError as error:
        return type(error)
    return None


def engine_is_eager(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    sim.spawn(SimObjectSpawnParams(BOX, BOX))
    return run(sim, 1).view.connected


def goes_back(settings: dict[str, Any]) -> Any:
    sim = run(build(settings), 1)
    return sim.state.has_initial


def faults(settings: dict[str, Any]) -> Any:
    class Faulty(SimPlugin):
        def on_step(self, dt: float) -> None:
            raise ZeroDivisionError

    sim = build(settings)
    sim.register_plugin(Faulty)
    try:
        sim.step_once()
    except Exception as error:
        return type(error)
    return None


def calls_of_a_faulty_plugin(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    sim.register_callback(lambda sim, dt: 1 / 0)
    return run(sim, 200).guard.total


def colors(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    one, _ = (sim.spawn(SimObjectSpawnParams(BOX, BOX)) for _ in range(2))
    body = one.body_id
    run(sim, 2)
    return sim.bullet.getVisualShapeData(body)[0][7]


def window_view(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((3, 0, 0))))
    return sim.setup_camera()


def logged(settings: dict[str, Any]) -> Any:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("fleet_sim")
    sim = build({"log_level": "info", **settings})
    logger.addHandler(handler)
    try:
        run(sim, 3)
    finally:
        logger.removeHandler(handler)
    return len(lines), any("MB" in line for line in lines), logger.level


def runs_for(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    sim.register_callback(lambda sim, dt: sim.stop() if sim.step_count >= 9 else None)
    sim.run_simulation()
    return sim.step_count


def goal_before_a_wall(settings: dict[str, Any]) -> Any:
    sim = build(settings)
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, block_on_collision=True))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1, 0, 0)), collision_mode="static"))
    robot.set_goal(Pose((5, 0, 0)))
    run(sim, 60)
    return robot.goal_pose


CONSTANT = {"spatial_hash_cell_size_mode": "constant", "spatial_hash_cell_size": 7.0}
SIMULATION: dict[str, Case] = {
    "timestep": Case(0.1, time_of_a_step),
    "duration": Case(0.2, runs_for),
    "seed": Case(7, wanders),
    "physics": Case(True, falls, {"physics": False}),
    "engine": Case("mujoco", falls),
    "gravity": Case((0.0, 0.0, -1.0), falls),
    "physics_substep": Case(1 / 60, falls),
    "solver_iterations": Case(1, falls),
    "contact_erp": Case(0.9, falls),
    "inertia_from_file": Case(True, body_of_model),
    "engine_visuals": Case(False, body_of_model),
    "enable_floor": Case(False, falls),
    "world_extent": Case(10.0, put_far_away),
    "pose_flush": Case("step", engine_is_eager),
    "keep_initial_state": Case(False, goes_back),
    "raise_on_fault": Case(True, faults),
    "compiled_code": Case("always", uses_compiled_code),
    "max_failures": Case(5, calls_of_a_faulty_plugin),
    "collision_check_frequency": Case(1.0, two_boxes),
    "collision_margin": Case(0.2, two_boxes),
    "ignore_static_collision": Case(False, two_boxes, {"collision_margin": 0.7}),
    "block_on_collision": Case(True, two_boxes),
    "blocked_timeout": Case(0.1, goal_before_a_wall),
    "spatial_hash_cell_size_mode": Case("constant", cells, {"spatial_hash_cell_size": 7.0}),
    "spatial_hash_cell_size": Case(3.0, cells, CONSTANT),
    "camera_config": Case({"camera_mode": "manual"}, window_view),
    "enable_collision_color_change": Case(True, colors),
    "log_level": Case("error", logged, {"enable_time_profiling": True, "profiling_interval": 1}),
    "enable_time_profiling": Case(True, logged, {"profiling_interval": 1}),
    "profiling_interval": Case(1, logged, {"enable_time_profiling": True}),
    "enable_memory_profiling": Case(True, logged, {"profiling_interval": 1}),
}
ELSEWHERE = {
    "target_rtf": "test_runner.py",
    "collision_detection_method": "collision/test_system.py",
    "model_paths": "models/test_search_paths.py",
    "camera_budget": "sensors/test_turns.py",
    "window_width": "simulation_window_program.py",
    "window_height": "simulation_window_program.py",
    "enable_shadows": "bullet/test_gui.py",
    "enable_collision_shapes": "bullet/test_gui.py",
    "gui": "test_simulation_window.py",
}
"""Settings that have a test of their own, and where."""

UNSEEN = {
    "multi_cell_threshold": "changes the cost of a check, never its result",
    **dict.fromkeys(("max_steps_per_frame", "max_sleep_frames", "gui_min_fps"), "the pace of a window in real time"),
    **dict.fromkeys(("enable_structure_transparency", "enable_gui_panel"), "needs eyes on a window"),
    **dict.fromkeys(("monitor", "enable_monitor_gui"), "needs a window of another process"),
    **dict.fromkeys(("monitor_width", "monitor_height", "monitor_x", "monitor_y"), "needs a window of another process"),
}
"""Settings whose effect no test sees, and why."""


@pytest.mark.parametrize("name", SIMULATION)
def test_a_setting_of_the_simulation_counts(name: str) -> None:
    if name == "engine":
        # Two engines differ only where there are two.
        pytest.importorskip("pybullet")
    value, look, others = SIMULATION[name]
    others = dict(others)
    before = look(others)
    assert look({**others, name: value}) != before


def test_every_setting_of_the_simulation_is_looked_at() -> None:
    known = [*SIMULATION, *ELSEWHERE, *UNSEEN]
    assert sorted(known) == sorted(field.name for field in fields(SimulationParams))
    tests = {name: Path(__file__).parents[1] / file for name, file in ELSEWHERE.items()}
    assert not [name for name, file in tests.items() if name not in file.read_text(encoding="utf-8")]


CAMERA: dict[str, Any] = {
    "camera_mode": "manual",
    "camera_view_type": "top_down",
    "camera_auto_scale": 0.3,
    "camera_distance": 3.0,
    "camera_yaw": 10.0,
    "camera_pitch": -20.0,
    "camera_target": (1.0, 2.0, 3.0),
}


@pytest.mark.parametrize("name", [field.name for field in fields(CameraParams)])
def test_a_setting_of_the_camera_counts(name: str) -> None:
    manual = name in ("camera_distance", "camera_pitch", "camera_target")
    others = {"camera_mode": "manual"} if manual else {}
    assert window_view({"camera_config": {**others, name: CAMERA[name]}}) != window_view({"camera_config": others})
