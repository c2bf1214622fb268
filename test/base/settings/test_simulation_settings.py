"""No setting of a simulation is accepted and then ignored: each one, changed, changes something that a user can see.

So it does when it is set later, in a simulation that is built; or it is refused then. A setting that is added needs a
line here: another value, and what to look at.
"""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest
from small_bins import small_bin
from small_world import BOX, build, run

import fleet_sim as fs
from fleet_sim import (
    Agent,
    AgentSpawnParams,
    ConfigError,
    FleetSimError,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
    SimulationParams,
)
from fleet_sim.base.params import CameraParams
from fleet_sim.base.scenario import RosParams
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.learning import envs
from fleet_sim.learning.envs import FleetNavigation
from fleet_sim.learning.envs.tasks import NavigationParams
from fleet_sim.learning.manipulation import BinPickingConfig, BinScene
from fleet_sim.learning.manipulation.config import SceneSettings
from fleet_sim.swarm import MazeAgent, MazeAgentConfig, RectangularWorld, RectangularWorldConfig

Sim = MultiRobotSimulationCore


class Case(NamedTuple):
    """Another value of a setting, what to look at, and what else has to be set for it to count."""

    value: Any
    look: Callable[[Sim], Any]
    others: dict[str, Any] = {}  # noqa: RUF012  never written


def time_of_a_step(sim: Sim) -> float:
    return run(sim, 1).sim_time


def uses_compiled_code(sim: Sim) -> bool:
    pytest.importorskip("numba")
    return run(sim, 1).world.compiled


def wanders(sim: Sim) -> Any:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, controller="random_walk"))
    run(sim, 40)
    return robot.get_pose().as_position()


def falls(sim: Sim) -> Any:
    """Return where a cube is that falls on another one, and bounces; also in an engine that is built anew."""
    cubes = [sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((0.05 * z, 0, z)), mass=1.0)) for z in (0.1, 0.5, 0.9)]
    cubes[0].apply_force([0, 0, -500]) if sim.params.physics else None
    run(sim, 12)
    fallen = [cube.get_pose().as_position() for cube in cubes]
    sim.rebuild_engine()
    run(sim, 2)
    return fallen, [cube.get_pose().as_position() for cube in cubes]


def two_boxes(sim: Sim) -> Any:
    """Return what a robot that drives at a static box and another robot collides with, and where it ends."""
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


def body_of_model(sim: Sim) -> Any:
    arm = Agent.from_urdf("arm6", sim_core=sim)
    return sim.bullet.getDynamicsInfo(arm.body_id, 2)[2], len(sim.bullet.getVisualShapeData(arm.body_id))


def cells(sim: Sim) -> Any:
    for x in range(4):
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((x, 0, 0))))
    big = ShapeParams("box", half_extents=(1.0, 1.0, 0.1))
    sim.spawn(SimObjectSpawnParams(big, big))
    sim.check_collisions()
    return sim.collisions.broad.cell_size


def put_far_away(sim: Sim) -> Any:
    try:
        sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((50.0, 0, 0))))
    except FleetSimError as error:
        return type(error)
    return None


def engine_is_eager(sim: Sim) -> Any:
    sim.spawn(SimObjectSpawnParams(BOX, BOX))
    return run(sim, 1).view.connected


def goes_back(sim: Sim) -> Any:
    return run(sim, 1).state.has_initial


def faults(sim: Sim) -> type[Exception] | None:
    sim.register_callback(lambda sim, dt: 1 / 0)
    try:
        sim.step_once()
    except Exception as error:
        return type(error)
    return None


def calls_of_a_faulty_plugin(sim: Sim) -> Any:
    sim.register_callback(lambda sim, dt: 1 / 0)
    return run(sim, 200).guard.total


def colors(sim: Sim) -> Any:
    one, _ = (sim.spawn(SimObjectSpawnParams(BOX, BOX)) for _ in range(2))
    body = one.body_id
    run(sim, 2)
    return sim.bullet.getVisualShapeData(body)[0][7]


def window_view(sim: Sim) -> Any:
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((3, 0, 0))))
    return sim.setup_camera()


def logged(sim: Sim) -> Any:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("fleet_sim")
    logger.addHandler(handler)
    try:
        run(sim, 3)
    finally:
        logger.removeHandler(handler)
    return len(lines), any("MB" in line for line in lines), logger.level


def runs_for(sim: Sim) -> Any:
    sim.register_callback(lambda sim, dt: sim.stop() if sim.step_count >= 9 else None)
    sim.run_simulation()
    return sim.step_count


def goal_before_a_wall(sim: Sim) -> Any:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, block_on_collision=True))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1, 0, 0)), collision_mode="static"))
    robot.set_goal(Pose((5, 0, 0)))
    run(sim, 60)
    return robot.goal_pose


PHYSICS = {"physics": True}
INFO = {"log_level": "info"}
CONSTANT = {"spatial_hash_cell_size_mode": "constant", "spatial_hash_cell_size": 7.0}
SIMULATION: dict[str, Case] = {
    "timestep": Case(0.1, time_of_a_step),
    "duration": Case(0.2, runs_for),
    "seed": Case(7, wanders),
    "physics": Case(False, falls, {"physics": True}),
    "engine": Case("mujoco", falls, PHYSICS),
    "gravity": Case((0.0, 0.0, -1.0), falls, PHYSICS),
    "physics_substep": Case(1 / 60, falls, PHYSICS),
    "solver_iterations": Case(1, falls, PHYSICS),
    "contact_erp": Case(0.9, falls, PHYSICS),
    "inertia_from_file": Case(True, body_of_model, PHYSICS),
    "engine_visuals": Case(False, body_of_model, PHYSICS),
    "enable_floor": Case(False, falls, PHYSICS),
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
    "log_level": Case("error", logged, {"enable_time_profiling": True, "profiling_interval": 1, **INFO}),
    "enable_time_profiling": Case(True, logged, {"profiling_interval": 1, **INFO}),
    "profiling_interval": Case(1, logged, {"enable_time_profiling": True, **INFO}),
    "enable_memory_profiling": Case(True, logged, {"profiling_interval": 1, **INFO}),
}
ELSEWHERE = {
    "target_rtf": "test_runner.py",
    "collision_detection_method": "sensing/collision/test_system.py",
    "model_paths": "models/test_loading.py",
    "camera_budget": "sensing/sensors/test_camera.py",
    "window_width": "simulation_window_program.py",
    "window_height": "simulation_window_program.py",
    "enable_shadows": "engines/bullet/test_gui.py",
    "enable_collision_shapes": "engines/bullet/test_gui.py",
    "gui": "test_drawing.py",
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


@pytest.mark.parametrize("name", SIMULATION)
def test_a_setting_of_the_simulation_counts(name: str) -> None:
    if name == "engine":
        # Two engines differ only where there are two.
        pytest.importorskip("pybullet")
    value, look, others = SIMULATION[name]
    before = look(build(others))
    assert look(build({**others, name: value})) != before
    if fields_of(SimulationParams)[name].rules.live:
        later = build(others)
        setattr(later.params, name, value)
        assert look(later) != before


@pytest.mark.parametrize("name", [field.name for field in fields(SimulationParams)])
def test_a_setting_that_cannot_act_later_is_refused_later(name: str) -> None:
    if fields_of(SimulationParams)[name].rules.live:
        assert name in {*SIMULATION, "target_rtf"} | WINDOW_ONLY
        return
    sim = build({})
    value = getattr(sim.params, name)
    with pytest.raises(ConfigError, match=rf"^{name}: is read when a simulation is built, and stays"):
        setattr(sim.params, name, another(name, value))
    assert getattr(sim.params, name) == value
    setattr(sim.params, name, value)


def test_the_real_time_factor_counts_later() -> None:
    sim = build({})
    sim.params.target_rtf = 3.0
    assert sim.monitor_figures().target_rtf == 3.0


def test_every_setting_of_the_simulation_is_looked_at() -> None:
    known = [*SIMULATION, *ELSEWHERE, *UNSEEN]
    assert sorted(known) == sorted(field.name for field in fields(SimulationParams))
    tests = {name: Path(__file__).parents[2] / file for name, file in ELSEWHERE.items()}
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
    assert window_view(build({"camera_config": {**others, name: CAMERA[name]}})) != window_view(
        build({"camera_config": others})
    )


# ---- later --------------------------------------------------------------------------------------------------------


def falls_and_feels(sim: Sim) -> list[Any]:
    """Return how far a box falls in the next step, also in an engine that is built anew, and what its IMU feels."""
    box = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 0, 9)), mass=1.0, sensors=[{"type": "imu", "rate": None}]))
    run(sim, 2)
    sim.rebuild_engine()
    run(sim, 2)
    return [box.get_pose().z, box.sensors[0].read().linear_acceleration]


@pytest.mark.parametrize("later", ["params", "bullet"])
def test_gravity_set_later_is_felt_as_from_the_start(later: str) -> None:
    from_the_start, sim = build({"physics": True, "gravity": (0, 0, -1.6)}), build({"physics": True})
    if later == "params":
        sim.params.gravity = (0, 0, -1.6)
    else:
        sim.bullet.setGravity(0, 0, -1.6)
    assert sim.params.gravity == (0.0, 0.0, -1.6)
    (height, felt), (expected, felt_there) = falls_and_feels(sim), falls_and_feels(from_the_start)
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
    red = colors(sim)
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


# ---- settings in use -------------------------------------------------------------------------------------------------


def spawned_agent() -> Any:
    world = RectangularWorld({"agents": [{"type": "MazeAgent", "position": [1, 1]}]})
    world.setup()
    return world.population[0].config


def agent_made_in_code() -> Any:
    world = RectangularWorld({})
    world.setup()
    agent = MazeAgent(MazeAgentConfig(position=(1, 1)), world)
    world.population.append(agent)
    return agent.config


BUILT: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "environment": (lambda: envs.NavigationEnv().params, "goal_reward", 9.0),
    "parallel environment": (lambda: envs.FleetNavigation().params, "goal_reward", 9.0),
    "bin picking": (lambda: envs.Franka0Env().config, "scene", SceneSettings(steps_for_objects_to_fall=5)),
    "a section of it": (lambda: envs.Franka0Env().config.camera, "scale_depth_data", True),
    "scene": (lambda: BinScene(config=BinPickingConfig()).config, "arms", {}),
    "world": (lambda: RectangularWorld({}).config, "time_step", 0.5),
    "agent": (spawned_agent, "agent_radius", 3.0),
    "agent made in code": (agent_made_in_code, "agent_radius", 3.0),
    "node": (lambda: RosParams().in_use("the node"), "map_frame", "world"),
    "rates of a node": (lambda: RosParams().in_use("the node").rates, "odom", 3.0),
}


@pytest.mark.parametrize("what", BUILT)
def test_a_change_is_refused(what: str) -> None:
    build, name, value = BUILT[what]
    settings = build()
    before = getattr(settings, name)
    assert before != value
    with pytest.raises(ConfigError, match=f"{name}: is read when .* is built, and stays"):
        setattr(settings, name, value)
    assert getattr(settings, name) == before


def test_settings_given_stay_free_and_as_they_were() -> None:
    class Own(RectangularWorld):
        pass

    config = RectangularWorldConfig(time_step=0.1)
    Own(config)
    config.time_step = 0.2
    assert RectangularWorld(config).config.time_step == 0.2


@pytest.mark.parametrize("make", [lambda: gym.make("FleetSim/Navigation-v0").unwrapped, FleetNavigation])
def test_the_settings_of_an_environment_stay(make: Any) -> None:
    env = make()
    with pytest.raises(AttributeError, match="params is read when the environment is made, and stays"):
        env.params = NavigationParams(num_robots=3)


def test_what_the_spaces_of_an_environment_are_made_of_stays() -> None:
    env: Any = gym.make("FleetSim/FrankaDelta-v0", config_file=small_bin(objects=(1, 1))).unwrapped
    for name in ("da", "dv", "downsample_height", "downsample_width"):
        with pytest.raises(AttributeError, match=f"{name} counts when the environment is made"):
            setattr(env, name, 1)


def test_what_is_set_of_a_robot_counts_at_once() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, ignore_static_collision=False))
    sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((1, 0, 0))))
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, motion_mode="omnidirectional"))
    robot.set_velocity(1.0)
    robot.block_on_collision = True
    for _ in range(200):
        sim.step_once()
    assert 0.0 < robot.get_pose().x < 1.0
    robot.block_on_collision = False
    for _ in range(200):
        sim.step_once()
    assert robot.get_pose().x > 1.0

    arm = fs.Agent.from_urdf("arm6", sim_core=sim, use_fixed_base=True)
    x, y, z = arm.get_end_effector_pose().position
    target = (x - 0.1, y + 0.1, z - 0.2)
    before = arm.find_reach(target)
    arm.ik_params = fs.IKParams(max_outer_iterations=1, max_inner_iterations=1, seed_quartiles=())
    assert str(arm.find_reach(target)) != str(before)
