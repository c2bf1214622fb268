"""No number that comes in, and nothing that is made of it, puts into the columns what is not a number."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.world import commands as c
from fleet_sim.world.commands import Command

HUGE = 1e155
UPRIGHT = [[0.0, 0.0, 0.0, 1.0]]


def make(**settings: object) -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, **settings))  # type: ignore[arg-type]


@pytest.fixture
def sim() -> fs.MultiRobotSimulationCore:
    simulation = make()
    simulation.spawn(fs.AgentSpawnParams(name="r"))
    return simulation


def all_finite(sim: fs.MultiRobotSimulationCore) -> bool:
    world = sim.world
    return all(
        np.isfinite(column).all()
        for column in (world.position, world.orientation, world.velocity, world.angular_velocity)
    )


@pytest.mark.parametrize(
    "command",
    [
        c.Navigate(names=("r",), positions=[[HUGE, 0, 0]], orientations=UPRIGHT),
        c.SetPoses(names=("r",), positions=[[0, -HUGE, 0]], orientations=UPRIGHT),
        c.SetVelocity(names=("r",), linear=[[HUGE, 0, 0]], angular=[[0, 0, 0]]),
        c.SetVelocity(names=("r",), linear=[[0, 0, 0]], angular=[[0, 0, HUGE]]),
    ],
)
def test_commands_beyond_all_bounds_are_rejected_with_the_reason(
    sim: fs.MultiRobotSimulationCore, command: Command
) -> None:
    ack = sim.dispatcher.dispatch(command)
    assert "world_extent" in ack.rejected["r"] or "beyond" in ack.rejected["r"]
    for _ in range(3):
        sim.step_once()
    assert all_finite(sim)
    assert not any(sim.world.position[sim.agents[0].row])


@pytest.mark.parametrize(
    "command",
    [
        c.FollowPath(name="r", positions=[[HUGE, 0, 0]], orientations=UPRIGHT),
        c.SetVelocity(names=("r",), linear=[[1, 0, 0]], angular=[[0, 0, 0]], timeout=1e18),
        c.SetVelocity(names=("r",), linear=[[1, 0, 0]], angular=[[0, 0, 0]], timeout=math.nan),
        c.Spawn(robots=({"name": "far", "pose": [HUGE, 0, 0]},)),
        c.Spawn(robots=({"name": "far", "pose": [2e6, 0, 0]},)),
        c.Spawn(objects=({"name": "heavy", "mass": 1e308},)),
        c.Spawn(objects=({"name": "large", "shape": {"shape_type": "sphere", "radius": HUGE}},)),
    ],
)
def test_commands_that_are_wrong_as_a_whole_raise(sim: fs.MultiRobotSimulationCore, command: Command) -> None:
    with pytest.raises(FleetSimError):
        sim.dispatcher.dispatch(command)
    assert len(sim.world) == 1


def test_the_api_refuses_the_same(sim: fs.MultiRobotSimulationCore) -> None:
    robot = sim.agents[0]
    far = fs.Pose((HUGE, 0.0, 0.0))
    for call in (
        lambda: robot.set_goal_pose(far),
        lambda: robot.set_path([far]),
        lambda: robot.set_pose(far),
        lambda: robot.set_velocity(HUGE),
        lambda: robot.set_velocity(1.0, timeout=1e18),
        lambda: robot.set_velocity(10**400),
        lambda: robot.set_mass(1e308),
        lambda: sim.set_poses([robot.object_id], [[HUGE, 0, 0]], UPRIGHT),
        lambda: sim.spawn(fs.AgentSpawnParams(initial_pose=far)),
    ):
        with pytest.raises(FleetSimError):
            call()  # type: ignore[no-untyped-call]
    sim.step_once()
    assert all_finite(sim)


def test_an_action_that_drives_out_of_the_world_fails_and_the_robot_lives(sim: fs.MultiRobotSimulationCore) -> None:
    action = fs.MoveTo(fs.Pose((HUGE, 0.0, 0.0)))
    sim.dispatcher.dispatch(c.ExecuteAction(names=("r",), actions=(action,)))
    for _ in range(3):
        sim.step_once()
    assert action.is_complete()
    assert all_finite(sim)
    sim.agents[0].set_goal_pose(fs.Pose((0.01, 0.0, 0.0)))
    for _ in range(200):
        sim.step_once()
    assert sim.agents[0].get_pose().x == 0.01


def test_a_scenario_is_bounded(tmp_path: Path) -> None:
    for line in (f"pose: [{HUGE:e}, 0, 0]", "mass: 1.0e+308", "grid: {count: 3000000}"):
        file = tmp_path / "s.yaml"
        file.write_text(f"simulation: {{gui: false}}\nrobots:\n  - {{name: r, {line}}}\n", encoding="utf-8")
        with pytest.raises(fs.ConfigError):
            fs.MultiRobotSimulationCore.from_yaml(file)


def test_the_extent_is_a_setting() -> None:
    sim = make(world_extent=5.0)
    robot = sim.spawn(fs.AgentSpawnParams(name="r"))
    with pytest.raises(InvalidValueError, match="the world ends 5 m"):
        robot.set_goal_pose(fs.Pose((6.0, 0.0, 0.0)))
    robot.set_goal_pose(fs.Pose((5.0, 0.0, 0.0)))


def test_what_code_makes_of_a_pose_is_put_back_stopped_named_and_counted(
    sim: fs.MultiRobotSimulationCore, caplog: pytest.LogCaptureFixture
) -> None:
    robot = sim.agents[0]
    other = sim.spawn(fs.AgentSpawnParams(name="other", initial_pose=fs.Pose((0.0, 5.0, 0.0))))
    robot.set_goal_pose(fs.Pose((10.0, 0.0, 0.0)))
    other.set_goal_pose(fs.Pose((10.0, 5.0, 0.0)))
    for _ in range(100):
        sim.step_once()
    before = robot.get_pose()

    def spoil(core: object, dt: float) -> None:
        for row, number in ((robot.row, np.nan),):
            sim.world.position[row] = number

    sim.register_callback(spoil)
    with caplog.at_level(logging.ERROR, "fleet_sim"):
        for _ in range(3):
            sim.step_once()
    assert 0.0 <= before.x - robot.get_pose().x < 0.1, "where it was a few steps ago"
    assert robot.get_pose().y == 0.0
    assert not robot.is_moving
    assert all_finite(sim)
    assert sim.guard.counts["pose of r"] == 3
    assert sum("pose of r" in record.message for record in caplog.records) == 1
    assert other.is_moving


def test_bodies_in_the_engine_stay_numbers() -> None:
    pytest.importorskip("pybullet")
    sim = make(physics=True)
    box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
    body = sim.spawn(
        fs.SimObjectSpawnParams(name="b", mass=1.0, collision_shape=box, initial_pose=fs.Pose((0.0, 0.0, 1.0)))
    )
    sim.step_once()
    row = body.row
    sim.world.velocity[row] = 1e300
    sim.world.touch(np.array([row]))
    for _ in range(5):
        sim.step_once()
    assert all_finite(sim)


@pytest.mark.parametrize("number", [1e155, -1e300, 1.7e308])
def test_large_quaternions_are_directions(number: float) -> None:
    assert fs.Pose((0, 0, 0), (number, 0, 0, 0)).orientation == (math.copysign(1.0, number), 0.0, 0.0, 0.0)
    turned = quaternions.normalized(np.array([[number, 0, 0, 0], [0, 0, 0, 1.0]]))
    assert turned.tolist() == [[math.copysign(1.0, number), 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("wrong", [None, "x", 3])
def test_what_is_no_pose_path_or_object_is_an_error_of_ours(sim: fs.MultiRobotSimulationCore, wrong: object) -> None:
    robot = sim.agents[0]
    for call in (robot.set_pose, robot.set_path, robot.pick, robot.attach_object, robot.detach_object):
        with pytest.raises(FleetSimError):
            call(wrong)  # type: ignore[operator]


def test_a_swarm_of_a_billion_is_refused() -> None:
    agents = {"type": "PointAgentSpawner", "n": 10**9, "agent": {"type": "MazeAgent"}}
    with pytest.raises(fs.ConfigError, match="at most 1e"):
        fs.MultiRobotSimulationCore.from_dict(
            {"simulation": {"gui": False}, "swarm": {"type": "RectangularWorld", "size": [9, 9], "spawners": [agents]}}
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"timestep": 12500.0, "physics": True},
        {"timestep": 1e6},
        {"physics": True, "physics_substep": 1e-300},
        {"physics": True, "solver_iterations": 10**12},
        {"window_width": 10**9},
    ],
)
def test_settings_that_would_take_for_ever_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(fs.ConfigError, match="at most"):
        fs.SimulationParams(**settings)


def test_a_huge_robot_that_blocks_among_others_is_stepped() -> None:
    box = {"shape_type": "box", "half_extents": [1e5, 1e5, 0.1]}
    small = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.2]}
    crowd = {"name": "a", "grid": {"count": 20, "columns": 5, "spacing": [2, 2, 0]}, "shape": small}
    simulation = {"gui": False, "block_on_collision": True, "timestep": 0.1}
    sim = fs.MultiRobotSimulationCore.from_dict(
        {"simulation": simulation, "robots": [{"name": "huge", "shape": box}, {**crowd, "pose": [2e5 + 1.0, 0, 0]}]}
    )
    # Its box touches a million million cells of the others' size; once that took ten seconds.
    sim.agents[0].set_velocity(1.0)
    for _ in range(20):
        sim.step_once()
    assert all_finite(sim)
    assert sim.agents[0].get_pose().x < 1e5 + 0.8


def test_a_run_that_is_almost_at_rest_can_be_stopped() -> None:
    sim = make(target_rtf=1e-6)
    stepped = Event()
    sim.register_callback(lambda core, dt: stepped.set())
    Thread(target=lambda: stepped.wait(10.0) and sim.stop(), daemon=True).start()
    assert sim.run_simulation(duration=10.0).reason == "stopped"
