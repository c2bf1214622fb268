"""Machine code moves robots as the same laws do in Python: to the last bit, whatever they are told."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, Pose, SimulationParams
from fleet_sim.base.errors import InvalidValueError

pytest.importorskip("numba")

ROBOTS = 90
SIDE = 8.0


LIMITS: list[dict[str, Any]] = [{}, {"max_linear_accel": 1e9, "max_angular_accel": 1e9}, {"max_linear_vel": 40.0}]


def fleet(use: str, motion: str) -> tuple[MultiRobotSimulationCore, list[Agent]]:
    """A world without collisions, its robots on a grid, with limits of three kinds; every seventh has some per axis."""
    settings = {"timestep": 0.1, "target_rtf": 0, "collision_check_frequency": 0, "compiled_code": use}
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, **settings))
    agents = []
    for index in range(ROBOTS):
        turn = 0.7 * index
        pose = Pose.from_yaw(index % 11, index // 11, 0.05 * (index % 3), turn)
        own = dict(LIMITS[index % 3])
        if index % 7 == 0 and motion == "omnidirectional":
            own["max_linear_vel"] = [2.0, 0.5, 0.3]
        agents.append(sim.spawn(AgentSpawnParams(initial_pose=pose, motion_mode=motion, name=f"r{index}", **own)))
    return sim, agents


def told(rng: np.random.Generator) -> Any:
    """What some robots are told: a function of a robot, the same for all worlds."""
    kind, count = int(rng.integers(0, 7)), int(rng.integers(1, 6))
    points = rng.uniform(-2.0, SIDE, (count, 3)) * [1.0, 1.0, 0.1 * (kind == 2)]
    # Waypoints on top of each other, and on one line.
    points[1::3] = points[: len(points[1::3])]
    yaw, align, speed = float(rng.uniform(-4.0, 4.0)), bool(rng.integers(0, 2)), rng.normal(size=3)
    tolerance = float(rng.choice([0.0, 0.3]))
    poses = [Pose.from_yaw(*point, yaw) for point in points]

    def tell(sim: MultiRobotSimulationCore, agent: Agent) -> None:
        if kind == 0:
            agent.set_goal_pose(poses[0])
        elif kind < 4:
            agent.set_path(poses, final_orientation_align=align)
            sim.world.motion.tolerance[agent.row] = tolerance
        elif kind == 4:
            agent.set_velocity(*speed[:2], 0.0, float(speed[2]))
        elif kind == 5:
            agent.set_pose(poses[0], preserve_velocity=align)
        else:
            agent.stop()

    return tell


def test_numbers_that_are_none_move_a_robot_to_none_or_are_refused_with_its_name() -> None:
    for use in ("never", "always"):
        sim, agents = fleet(use, "omnidirectional")
        for index, agent in enumerate(agents):
            agent.set_goal_pose(Pose((50.0, index, 0.0))) if index % 2 else agent.set_velocity(1.0, 0.2, 0.0, 0.5)
        for row, number in enumerate((np.nan, np.inf, -np.inf, 1e200, 1e-320)):
            sim.world.velocity[row] = sim.world.motion.body_linear[row + 5] = number
        sim.world.motion.body_angular[20, 2] = np.nan
        with pytest.raises(InvalidValueError, match="r20"):
            sim.step_once()
        assert sim.world.position[90 - 1, 0] > 0.0


def test_compiled_code_is_loaded_where_there_is_much_to_do() -> None:
    sim, _ = fleet("auto", "differential")
    sim.step_once()
    assert not sim.world.compiled
    for index in range(100 - ROBOTS):
        sim.spawn(AgentSpawnParams(initial_pose=Pose((20.0 + index, 0.0, 0.0))))
    sim.step_once()
    assert sim.world.compiled
    small, _ = fleet("auto", "differential")
    small.run_simulation(50.0)
    assert not small.world.compiled
    small.run_simulation(10.0)
    assert small.world.compiled


@pytest.mark.parametrize("motion", ["differential", "ackermann"])
def test_a_simulation_whose_robots_drove_can_be_freed(motion: str) -> None:
    sim, agents = fleet("never", motion)
    agents[0].set_goal_pose(Pose((3.0, 1.0, 0.0)))
    sim.step_once()
    world = weakref.ref(sim.world)
    del sim, agents
    gc.collect()
    assert world() is None
