"""Robots that block never overlap, whatever their speeds, shapes and steps; measured from their poses alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fleet_sim as fs

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
