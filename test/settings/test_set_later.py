"""What is set of the settings of a simulation that was built counts at once, or is refused."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import pytest
from small_world import BOX, build, run

from fleet_sim import (
    AgentSpawnParams,
    ConfigError,
    MultiRobotSimulationCore,
    Pose,
    SimObjectSpawnParams,
    SimulationParams,
)
from fleet_sim.settings.fields import fields_of

Sim = MultiRobotSimulationCore


class Case(NamedTuple):
    """Another value of a setting, and what to look at after it was set."""

    value: Any
    look: Callable[[Sim], Any]
    others: dict[str, Any] = {}  # noqa: RUF012  never written


def runs_for(sim: Sim) -> int:
    sim.register_callback(lambda sim, dt: sim.stop() if sim.step_count >= 9 else None)
    sim.run_simulation()
    return sim.step_count


def real_time_factor(sim: Sim) -> float:
    return sim.monitor_figures().target_rtf


def faults(sim: Sim) -> type[Exception] | None:
    sim.register_callback(lambda sim, dt: 1 / 0)
    try:
        sim.step_once()
    except Exception as error:
        return type(error)
    return None


def calls_of_a_faulty_callback(sim: Sim) -> int:
    sim.register_callback(lambda sim, dt: 1 / 0)
    return run(sim, 200).guard.total


def checks(sim: Sim) -> list[int]:
    """Return the number of colliding pairs after each step; two robots are put together after the first."""
    one, other = (sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((x, 0, 0)))) for x in (0, 5))
    run(sim, 1)
    other.set_pose(one.get_pose())
    return [len(run(sim, 1).get_active_collision_pairs()) for _ in range(5)]


def color_of_a_collision(sim: Sim) -> Any:
    one, _ = (sim.spawn(SimObjectSpawnParams(BOX, BOX)) for _ in range(2))
    body = one.body_id
    run(sim, 2)
    return sim.bullet.getVisualShapeData(body)[0][7]


def view_of_the_window(sim: Sim) -> Any:
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((3, 0, 0))))
    return sim.setup_camera()


def level(sim: Sim) -> int:
    return logging.getLogger("fleet_sim").level


def logged(sim: Sim) -> list[bool]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("fleet_sim")
    logger.addHandler(handler)
    try:
        run(sim, 3)
    finally:
        logger.removeHandler(handler)
    return ["MB" in line for line in lines]


def falls(sim: Sim) -> list[Any]:
    """Return how far a box falls in the next step, also in an engine that is built anew, and what its IMU feels."""
    box = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 0, 9)), mass=1.0, sensors=[{"type": "imu", "rate": None}]))
    run(sim, 2)
    sim.rebuild_engine()
    run(sim, 2)
    return [box.get_pose().z, box.sensors[0].read().linear_acceleration]


def goal_before_a_wall(sim: Sim) -> Any:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, block_on_collision=True))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1, 0, 0)), collision_mode="static"))
    robot.set_goal(Pose((5, 0, 0)))
    run(sim, 60)
    return robot.goal_pose


ACTS: dict[str, Case] = {
    "blocked_timeout": Case(0.1, goal_before_a_wall),
    "gravity": Case((0.0, 0.0, -1.6), lambda sim: falls(sim)[0], {"physics": True}),
    "target_rtf": Case(3.0, real_time_factor),
    "duration": Case(0.1, runs_for),
    "raise_on_fault": Case(True, faults),
    "max_failures": Case(3, calls_of_a_faulty_callback),
    "collision_check_frequency": Case(0.0, checks),
    "enable_collision_color_change": Case(True, color_of_a_collision),
    "camera_config": Case({"camera_mode": "manual"}, view_of_the_window),
    "log_level": Case("error", level),
    "enable_time_profiling": Case(True, logged, {"profiling_interval": 1, "log_level": "info"}),
    "enable_memory_profiling": Case(True, logged, {"profiling_interval": 1, "log_level": "info"}),
    "profiling_interval": Case(1, logged, {"enable_time_profiling": True, "log_level": "info"}),
}
WINDOW_ONLY = {
    *("max_steps_per_frame", "max_sleep_frames", "gui_min_fps", "enable_collision_shapes"),
    *("enable_structure_transparency", "enable_shadows", "enable_gui_panel"),
}
"""Read at each frame of a window, or drawn in it: without one there is nothing to see."""

OTHER: dict[str, Any] = {
    "timestep": 0.5,
    "pose_flush": "step",
    "engine": "mujoco",
    "compiled_code": "never",
    "spatial_hash_cell_size_mode": "constant",
    "collision_detection_method": "hybrid",
    "model_paths": ["."],
    **dict.fromkeys(("monitor_x", "monitor_y"), 5),
}
"""Another value of settings that are not live; numbers are doubled and switches turned where there is none."""


def another(name: str, value: Any) -> Any:
    if name in OTHER:
        return OTHER[name]
    return not value if isinstance(value, bool) else (2 * value if value else 7)


@pytest.mark.parametrize("name", [field.name for field in fields(SimulationParams)])
def test_a_setting_acts_or_is_refused(name: str) -> None:
    if not fields_of(SimulationParams)[name].rules.live:
        sim = build({})
        value = getattr(sim.params, name)
        with pytest.raises(ConfigError, match=rf"^{name}: is read when a simulation is built, and stays"):
            setattr(sim.params, name, another(name, value))
        assert getattr(sim.params, name) == value
        setattr(sim.params, name, value)
    elif name not in WINDOW_ONLY:
        value, look, others = ACTS[name]
        sim = build(others)
        before = look(build(others))
        setattr(sim.params, name, value)
        assert look(sim) != before


@pytest.mark.parametrize("later", ["params", "bullet"])
def test_gravity_set_later_is_felt_as_from_the_start(later: str) -> None:
    from_the_start, sim = build({"physics": True, "gravity": (0, 0, -1.6)}), build({"physics": True})
    if later == "params":
        sim.params.gravity = (0, 0, -1.6)
    else:
        sim.bullet.setGravity(0, 0, -1.6)
    assert sim.params.gravity == (0.0, 0.0, -1.6)
    (height, felt), (expected, felt_there) = falls(sim), falls(from_the_start)
    assert height == expected
    assert felt.tolist() == felt_there.tolist()


def test_the_window_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = build({})
    drawn: list[str] = []
    monkeypatch.setattr(type(sim.view), "configure", lambda view, **settings: drawn.append("again"))
    sim.params.enable_shadows = False
    assert drawn


def test_a_color_goes_back_when_the_setting_does() -> None:
    sim = build({"enable_collision_color_change": True})
    red = color_of_a_collision(sim)
    sim.params.enable_collision_color_change = False
    body = next(iter(sim.sim_objects)).body_id
    assert sim.bullet.getVisualShapeData(body)[0][7] != red


def test_a_wrong_value_changes_nothing() -> None:
    sim = build({})
    with pytest.raises(ConfigError, match="max_failures"):
        sim.params.max_failures = -1
    assert sim.guard.max_failures == 100


def test_a_simulation_has_settings_of_its_own() -> None:
    params = SimulationParams(gui=False, seed=1, model_paths=())
    with MultiRobotSimulationCore(params) as first:
        params.seed = 2
        with MultiRobotSimulationCore(params) as second:
            assert (first.params.seed, second.params.seed) == (1, 2)
            first.set_collision_check_frequency(3.0)
            assert (first.params.collision_check_frequency, second.params.collision_check_frequency) == (3.0, None)


def test_contradictions_that_were_set_one_by_one_are_found_when_a_simulation_is_built() -> None:
    params = SimulationParams(gui=False)
    params.spatial_hash_cell_size_mode = "constant"  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="spatial_hash_cell_size: must be given"):
        MultiRobotSimulationCore(params)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, replace, lambda params: pickle.loads(pickle.dumps(params))]
)
def test_copies_are_free(copied: Callable[[SimulationParams], SimulationParams]) -> None:
    used = build({}).params
    free = copied(used)
    assert free == used
    free.seed = 5
    assert (free.seed, used.seed) == (5, 0)


def test_a_simulation_has_no_other_attributes() -> None:
    sim = build({})
    with pytest.raises(AttributeError, match=r"it is a setting: sim\.params\.gravity"):
        sim.gravity = (0, 0, 0)
    with pytest.raises(AttributeError, match="'params' is made when a simulation is built"):
        sim.params = SimulationParams()
    with pytest.raises(AttributeError, match=r"no attribute 'step_onse'\. Did you mean 'step_once'\?"):
        sim.step_onse = 1  # type: ignore[attr-defined]

    class Mine(MultiRobotSimulationCore):
        def __init__(self) -> None:
            super().__init__()
            self.goals = 3

    mine = Mine()
    mine.goals += 1
    with pytest.raises(AttributeError, match=r"sim\.params\.timestep"):
        mine.timestep = 1.0
