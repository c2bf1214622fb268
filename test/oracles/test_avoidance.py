"""Robots that avoid each other do the same wherever a scene is and however it is turned."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

DISC = fs.ShapeParams("cylinder", radius=0.23, height=0.2)


def driven(motion: str, direction: str, dt: float, shift: complex, turn: float, steps: int) -> np.ndarray:
    """Return where (T, N), as complex numbers, robots are that cross each other's ways, in the frame of the scene."""
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, enable_floor=False, compiled_code="never")
    )
    rng, backward = np.random.default_rng(6), direction == "backward"
    spin = cmath.exp(1j * turn)
    robots = []
    for index in range(9):
        angle = 0.7 * index + 0.2 * rng.uniform()
        start = (2.3 + rng.uniform()) * cmath.exp(1j * angle)
        goal = -start * cmath.exp(0.4j * rng.uniform(-1.0, 1.0))
        here, there = start * spin + shift, goal * spin + shift
        # Some stand about, as obstacles do.
        stands = index % 4 == 3
        robot = sim.spawn(
            fs.AgentSpawnParams(
                DISC,
                DISC,
                fs.Pose.from_yaw(here.real, here.imag, 0.1, angle + 1.9 + turn + backward * np.pi),
                motion_mode=motion,
                controller={
                    "type": "omni" if motion == "omnidirectional" else motion,
                    "avoidance": 0.0 if stands else 2.0,
                },
                max_linear_vel=0.9,
                max_linear_accel=1.1,
                max_angular_vel=1.7,
                max_angular_accel=2.9,
            )
        )
        robots.append(robot)
        if not stands:
            robot.set_goal_pose(fs.Pose.from_yaw(there.real, there.imag, 0.1, turn + 0.3), direction=direction)
    track = []
    for _ in range(steps):
        sim.step_once()
        track.append([complex(*robot.get_pose().position[:2]) for robot in robots])
    return np.asarray((np.array(track) - shift) / spin)


@pytest.mark.parametrize(
    ("motion", "direction"), [("differential", "auto"), ("differential", "forward"), ("omnidirectional", "auto")]
)
@holds(
    "api:AgentSpawnParams.controller.avoidance", "api:Agent.position",
    fault="robots/motion/evasion.py: the way to the target is `tx + x`; robots/motion/orca.py: `sizes <= speeds`",
)  # fmt: skip
def test_avoidance_does_not_depend_on_where_the_scene_is(motion: str, direction: str) -> None:
    for dt, steps in ((0.05, 60), (0.013, 30)):
        plain = driven(motion, direction, dt, 0j, 0.0, steps)
        gaps = np.abs(plain[:, :, None] - plain[:, None, :])[:, ~np.eye(plain.shape[1], dtype=bool)]
        assert gaps.min() > 0.46 - 1e-9
        moved = driven(motion, direction, dt, 13.7 - 8.9j, 0.7, steps)
        assert np.abs(moved - plain).max() < 1e-6
        assert np.median(np.abs(plain[-1] - plain[0])) > 0.5 * 0.9 * dt * steps - 0.3


@holds(
    "api:AgentSpawnParams.controller.avoidance", "api:Agent.set_goal_pose",
    fault="robots/motion/evasion.py: the speeds of a robot that drives backward keep their sign",
)  # fmt: skip
def test_who_drives_backward_avoids_as_one_that_looks_the_other_way() -> None:
    ahead, back = (
        driven("differential", direction, 0.05, 0.3 - 0.2j, 0.7, 50) for direction in ("forward", "backward")
    )
    assert np.abs(ahead - back).max() < 1e-6
