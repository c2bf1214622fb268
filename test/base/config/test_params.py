"""SimulationParams: names, defaults, ranges, and every way to make them."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.base import params as modes
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.base.params import CameraParams, CollisionDetectionMethod, SimulationParams, SpatialHashCellSizeMode
from fleet_sim.base.scenario import RosParams

DEFAULTS: dict[str, Any] = {
    "target_rtf": 1.0,
    "timestep": 1 / 240,
    "world_extent": 1e6,
    "duration": 0,
    "gui": True,
    "physics": False,
    "monitor": True,
    "enable_monitor_gui": True,
    "collision_check_frequency": None,
    "log_level": "warn",
    "max_steps_per_frame": 10,
    "max_sleep_frames": 4.0,
    "gui_min_fps": 30,
    "enable_collision_shapes": False,
    "enable_structure_transparency": False,
    "enable_shadows": True,
    "enable_gui_panel": False,
    "ignore_static_collision": True,
    "enable_time_profiling": False,
    "profiling_interval": 100,
    "enable_memory_profiling": False,
    "enable_collision_color_change": False,
    "spatial_hash_cell_size_mode": SpatialHashCellSizeMode.AUTO_INITIAL,
    "spatial_hash_cell_size": None,
    "collision_detection_method": CollisionDetectionMethod.CLOSEST_POINTS,
    "collision_margin": 0.02,
    "multi_cell_threshold": 1.5,
    "enable_floor": True,
    "camera_config": CameraParams(),
    "camera_budget": None,
    "model_paths": (),
    "window_width": 1024,
    "window_height": 768,
    "monitor_width": 200,
    "monitor_height": 290,
    "monitor_x": -1,
    "monitor_y": -1,
    "seed": 0,
    "pose_flush": "demand",
    "engine": "auto",
    "compiled_code": "auto",
    "block_on_collision": False,
    "blocked_timeout": 10.0,
    "raise_on_fault": False,
    "max_failures": 100,
    "gravity": (0.0, 0.0, -9.81),
    "physics_substep": 1 / 240,
    "solver_iterations": 50,
    "contact_erp": 0.08,
    "inertia_from_file": False,
    "engine_visuals": True,
    "keep_initial_state": True,
}


def test_names_and_defaults() -> None:
    params = SimulationParams()
    assert {field.name: getattr(params, field.name) for field in fields(params)} == DEFAULTS


@pytest.mark.parametrize(
    ("physics", "method"), [(False, CollisionDetectionMethod.CLOSEST_POINTS), (True, CollisionDetectionMethod.HYBRID)]
)
def test_the_detection_method_follows_physics_unless_given(physics: bool, method: CollisionDetectionMethod) -> None:
    assert SimulationParams(physics=physics).collision_detection_method is method
    given = SimulationParams.from_dict({"physics": physics, "collision_detection_method": "contact_points"})
    assert given.collision_detection_method is CollisionDetectionMethod.CONTACT_POINTS
    given.collision_detection_method = None
    assert given.collision_detection_method is method


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timestep", -1),
        ("timestep", 0),
        ("timestep", float("nan")),
        ("timestep", float("inf")),
        ("target_rtf", -0.1),
        ("duration", "long"),
        ("seed", 0.5),
        ("gui", "yes"),
        ("collision_margin", -0.01),
        ("collision_check_frequency", -1),
        ("collision_detection_method", "exact"),
        ("spatial_hash_cell_size_mode", "auto"),
        ("spatial_hash_cell_size", 0),
        ("gravity", (0, 0)),
        ("pose_flush", "never"),
        ("log_level", "loud"),
        ("window_width", 0),
        ("profiling_interval", 0),
        ("camera_config", {"camera_pitch": 100}),
    ],
)
def test_ranges_are_checked_in_every_way_to_set_a_value(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        SimulationParams(**{name: value})
    params = SimulationParams()
    with pytest.raises(ConfigError, match=name):
        setattr(params, name, value)
    assert params == SimulationParams()
    with pytest.raises(ConfigError) as caught:
        SimulationParams.from_dict({"simulation": {name: value}}, source="fleet.yaml")
    assert str(caught.value).startswith(f"fleet.yaml: simulation.{name}")


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"fleet.yaml: simulation.timstep: unknown key. Did you mean 'timestep'"):
        SimulationParams.from_dict({"simulation": {"timstep": 0.1}}, source="fleet.yaml")
    with pytest.raises(UnknownNameError, match="Did you mean 'timestep'"):
        setattr(SimulationParams(), "timstep", 0.1)  # noqa: B010 (the type checker knows it is wrong)


def test_flat_and_nested_mappings_are_the_same() -> None:
    flat = {"timestep": 0.05, "camera": {"camera_mode": "manual"}}
    assert SimulationParams.from_dict(flat) == SimulationParams.from_dict({"simulation": flat, "robots": []})
    assert SimulationParams.from_dict({"robots": []}) == SimulationParams()


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"f.yaml: robot: unknown section. Did you mean 'robots'"):
        SimulationParams.from_dict({"simulation": {}, "robot": []}, source="f.yaml")


@pytest.mark.parametrize("config", [None, [], "text", {"simulation": 0}, {"simulation": []}])
def test_what_is_no_mapping_is_an_error(config: Any) -> None:
    with pytest.raises(ConfigError, match="must be a mapping"):
        SimulationParams.from_dict(config)


def test_a_constant_cell_size_must_be_given() -> None:
    constant = SpatialHashCellSizeMode.CONSTANT
    assert SimulationParams(spatial_hash_cell_size_mode=constant, spatial_hash_cell_size=2).spatial_hash_cell_size == 2
    with pytest.raises(ConfigError, match=r"f.yaml: simulation.spatial_hash_cell_size: must be given"):
        SimulationParams.from_dict({"simulation": {"spatial_hash_cell_size_mode": "constant"}}, source="f.yaml")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("simulation:\n  timestep: 1e-2\n  gravity: [0, 0, -1]\n")
    params = SimulationParams.from_config(path)
    assert params == SimulationParams(timestep=0.01, gravity=(0, 0, -1))
    path.write_text("simulation:\n  timestep: fast\n")
    with pytest.raises(
        ConfigError, match=r"fleet.yaml: simulation.timestep: must be a number at least 1e-09 and at most 3600 \(s\)"
    ):
        SimulationParams.from_config(str(path))


def test_camera_is_another_name() -> None:
    params = SimulationParams()
    params.camera = {"camera_yaw": 45}  # type: ignore[assignment]
    assert params.camera_config.camera_yaw == 45
    assert params.camera is params.camera_config


def test_a_changed_copy_leaves_the_original() -> None:
    params = SimulationParams(seed=1)
    assert replace(params, seed=2).seed == 2
    assert params.seed == 1


# ---- Modes are their string values, and have stable codes for columns ------------------------------------------------


VALUES = {
    modes.MotionMode: "omnidirectional|differential|ackermann",
    modes.MovementDirection: "forward|backward|auto",
    modes.PosePhase: "rotate|forward",
    modes.ActionStatus: "not_started|in_progress|completed|failed|cancelled",
    modes.CollisionMode: "normal_3d|normal_2d|static|disabled",
    modes.CollisionDetectionMethod: "closest_points|contact_points|hybrid",
    modes.SpatialHashCellSizeMode: "constant|auto_adaptive|auto_initial",
    modes.ControllerMode: "idle|velocity|pose",
}


@pytest.mark.parametrize(("mode", "values"), VALUES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_values_and_codes(mode: type[modes.Mode], values: str) -> None:
    assert [str(member) for member in mode] == values.split("|")
    assert [member.code for member in mode] == list(range(len(mode)))
    assert all(mode(member.value) is member and member == member.value for member in mode)


@pytest.mark.parametrize("mode", VALUES)
def test_codes_and_names_lead_back_to_their_member(mode: type[modes.Mode]) -> None:
    for code, member in enumerate(mode):
        assert mode.from_code(code) is member
        assert mode.parse(member) is mode.parse(member.value) is mode.parse(member.name) is member


@pytest.mark.parametrize("mode", VALUES)
def test_unknown_values_are_refused_with_a_suggestion(mode: type[modes.Mode]) -> None:
    first = next(iter(mode)).value
    with pytest.raises(InvalidValueError, match=f"Did you mean '{first}'"):
        mode.parse(first + "x")
    for code in (-1, 99):
        with pytest.raises(UnknownNameError):
            mode.from_code(code)


# ---- The ros section of a scenario: strict, with defaults ------------------------------------------------------------


def test_every_robot_has_everything_unless_said_otherwise() -> None:
    params = RosParams.from_scenario({})
    assert params.has_own("amr_0", "actions")
    assert params.cmd_vel_timeout == 0.5


@pytest.mark.parametrize(
    ("section", "robots"),
    [({"per_robot": "none"}, []), ({"per_robot": ["a"]}, ["a"]), ({"groups": ["state"]}, []), ({}, ["a", "b"])],
)
def test_robots_and_groups_are_chosen(section: dict[str, Any], robots: list[str]) -> None:
    params = RosParams.from_scenario({"ros": section})
    assert [name for name in ("a", "b") if params.has_own(name, "commands")] == robots


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"per_robots": "all"}, "ros.per_robots: unknown key. Did you mean 'per_robot'"),
        ({"per_robot": "some"}, "must be 'all', 'none' or a list"),
        ({"groups": ["wheels"]}, "one of 'commands'"),
        ({"rates": {"odom": -1}}, "rates.odom: must be a number at least 0"),
        ({"cmd_vel_timeout": float("nan")}, "cmd_vel_timeout"),
        ({"map_frame": "/map"}, "map_frame: must be the name of a frame"),
    ],
)
def test_what_is_wrong_is_named(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.yaml: ros") as caught:
        RosParams.from_scenario({"ros": section}, source="f.yaml")
    assert message in str(caught.value)
