"""Optional arguments of public functions: each is given in some test, and those that no other test gives act here."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim import (
    Agent,
    AgentManager,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
    SimulationParams,
)
from fleet_sim import (
    Path as Waypoints,
)
from fleet_sim.envs import Franka2Env
from fleet_sim.errors import FleetSimError
from fleet_sim.swarm import run_sim

ROOT = Path(__file__).parents[1]
PARTS = ("envs", "equipment", "manipulation", "orders", "rmf", "sites", "sweeps", "swarm", "traffic", "vda5050")
MODULES = ["fleet_sim", *(f"fleet_sim.{part}" for part in PARTS)]
ELSEWHERE = {
    "configure_renderer.disable_rendering": "stops drawing in a window, which a test has not",
    "create_collision_and_visual_shape.load_bin": "given by what loads a bin",
    "Franka0Env.normalized_actions": "given by the registered id, whose action space is the contract's",
    "Franka1Env.normalized_actions": "given by the registered id, whose action space is the contract's",
    "register_world_type.config_cls": "the same as of register_agent_type, which is tested",
    "run_sweep.resume": "given by the command line, whose test resumes",
}


@cache
def given() -> tuple[dict[str, set[str]], Counter[str], set[str]]:
    """Of all calls in tests and examples: keywords and most positions by function, and all names that are given."""
    keywords: dict[str, set[str]] = defaultdict(set)
    positions: Counter[str] = Counter()
    names: set[str] = set()
    for folder in ("test", "examples"):
        for file in ROOT.joinpath(folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    names.update(node.value.split())
                elif isinstance(node, ast.Call):
                    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    keywords[called] |= {word.arg for word in node.keywords if word.arg}
                    positions[called] = max(positions[called], len(node.args))
    return keywords, positions, names.union(*keywords.values())


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions, methods and constructors; fields of dataclasses are settings, which have their own sweeps."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield name, thing
            if not inspect.isclass(thing) or not thing.__module__.startswith("fleet_sim"):
                continue
            for method, function in inspect.getmembers(
                thing, lambda one: inspect.isfunction(one) or inspect.ismethod(one)
            ):
                if method == "__init__" and not dataclasses.is_dataclass(thing):
                    yield name, function
                elif not method.startswith("_"):
                    yield method, function


def never_given() -> set[str]:
    keywords, positions, names = given()
    missing = set()
    for name, function in public():
        if not (getattr(function, "__module__", None) or "").startswith("fleet_sim"):
            continue
        parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
        for place, parameter in enumerate(parameters):
            by_place = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and positions[name] > place
            seen = parameter.name in keywords[name] | names or by_place
            if parameter.default is not parameter.empty and not seen:
                missing.add(f"{name}.{parameter.name}")
    return missing


def test_every_optional_argument_is_given_somewhere() -> None:
    """A name alone proves little, but one that no test gives proves that nobody looked."""
    assert sorted(never_given() - ELSEWHERE.keys()) == []


@pytest.fixture
def sim() -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, collision_check_frequency=0))


@pytest.mark.parametrize(("name", "index"), [("vx", 0), ("vy", 1), ("vz", 2)])
def test_linear_velocities(sim: MultiRobotSimulationCore, name: str, index: int) -> None:
    robot = Agent.from_urdf("simple_cube", sim_core=sim, motion_mode="omnidirectional")
    robot.set_velocity(**{name: 0.5})
    sim.step_once()
    assert np.flatnonzero(robot.get_pose().position).tolist() == [index]


@pytest.mark.parametrize(("name", "index"), [("wx", 0), ("wy", 1), ("wz", 2)])
def test_angular_velocities(sim: MultiRobotSimulationCore, name: str, index: int) -> None:
    robot = Agent.from_urdf("simple_cube", sim_core=sim, motion_mode="omnidirectional")
    robot.set_velocity(**{name: 0.4})
    sim.step_once()
    assert np.flatnonzero(np.array(robot.get_pose().orientation[:3])).tolist() == [index]


def test_arcs_begin_where_they_are_told() -> None:
    for make in (
        lambda **more: Waypoints.create_circle((0, 0, 0), 2.0, **more),
        lambda **more: Waypoints.create_ellipse((0, 0, 0), 2.0, 2.0, **more),
    ):
        np.testing.assert_allclose(make(start_angle=0.5 * np.pi).waypoints[0].position, [0, 2, 0], atol=1e-9)
        np.testing.assert_allclose(make().waypoints[0].position, [2, 0, 0], atol=1e-9)


def test_a_manager_makes_what_it_is_told(sim: MultiRobotSimulationCore) -> None:
    class Own(Agent):
        pass

    manager = AgentManager(sim_core=sim, object_class=Own)
    with pytest.raises(ValueError, match="this group holds Own"):
        manager.add_object(Agent.from_urdf("simple_cube", sim_core=sim))


def test_near_pairs_of_what_has_moved(sim: MultiRobotSimulationCore) -> None:
    box = ShapeParams("box", half_extents=(0.2, 0.2, 0.2))
    one, _, far = (sim.spawn(SimObjectSpawnParams(box, box, Pose((x, 0, 1)))) for x in (0.0, 0.1, 5.0))
    assert len(sim.filter_aabb_pairs(moved_objects=[one])) == 1
    assert sim.filter_aabb_pairs(moved_objects=[far]) == []


def test_arguments_of_the_gripper_environment() -> None:
    config = small_bin(objects=(1, 1))
    env = Franka2Env(config, da=0.1, dv=0.01, downsample_height=8, downsample_width=16)
    assert env.action_space.high.tolist() == pytest.approx([0.01, 0.01, 0.01, 0.1, 1.0])
    assert env.reset(seed=0)[0]["image"].shape == (8, 16, 3)
    eye = {"eye_position": (1, 0, 1), "target_position": (0.5, 0, 0), "fov": 40.0}
    env.recompute_view_and_projection_matrix(**eye, near_plane=0.1, far_plane=2.0, render_width=32, render_height=20)
    assert env.camera.read().rgb.shape == (20, 32, 3)
    mount = {"robot_id": 0, "mount_joint_index": 9, "grasp_target_index": 11}
    usual = {"target_position_offset": 0.02, "near_plane": 0.001, "far_plane": 1.0}
    seen = set()
    for changed in ({}, {"target_position_offset": 0.1}, {"near_plane": 0.01}, {"far_plane": 3.0}):
        env.mount_camera_on_robot(**mount, **{**usual, **changed})
        seen.add(str((env.camera.view_matrix, env.camera.projection_matrix)))
    assert len(seen) == 4
    # A refused move leaves the camera where it was, and able to see.
    for wrong in ({"near_plane": -1.0}, {"near_plane": 2.0}, {"mount_joint_index": 99}):
        with pytest.raises(FleetSimError, match=r"near|unknown link"):
            env.mount_camera_on_robot(**{**mount, **wrong})
        assert env.camera.read().rgb.any()
    env.reset(seed=0)
    env.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("da", np.inf), ("dv", True), ("dv", 0.0), ("downsample_width", 10**5), ("max_steps", 0), ("max_steps", 2.5)],
)
def test_wrong_arguments_of_the_gripper_environment(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name.replace("downsample_width", "downsampled")):
        Franka2Env(small_bin(objects=(1, 1)), **{name: value})


@pytest.mark.parametrize(
    "wrong",
    [
        {"save_duration": -1},
        {"save_every_ith_frame": 0},
        {"save_time_per_frame": 0.5},
        {"framerate_limit": float("nan")},
        {"steps": -3},
        {"steps": 2.5},
    ],
)
def test_wrong_arguments_of_a_run_of_a_swarm(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        run_sim({"size": [3, 3]}, show_gui=False, **{"steps": 1, **wrong})
