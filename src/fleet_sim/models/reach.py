"""Estimates the reach of an arm from its geometry and joint limits."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.spatial import poses, quaternions

# Random values get near the largest distance, and two sweeps along each joint find it to about one percent.
_SAMPLES = 2048
_STEPS = 24
_SWEEPS = 2


def arm_reach(model: RobotModel, tip: int, first: int) -> float:
    """Return the largest distance in m of link `tip` from the frame of joint `first`, to about one percent.

    Searches joint values within their limits: random samples, then coordinate descent from the best one. The result is
    the same for the same model.
    """
    chain = list(model.chain(tip))[::-1]
    chain = chain[chain.index(first) :]
    low, high = _ranges(model, chain)
    # A fixed seed: the same model always has the same reach.
    values = low + (high - low) * np.random.default_rng(0).random((_SAMPLES, len(chain)))
    distances = _distances(model, chain, values)
    best = values[int(np.argmax(distances))]
    for _ in range(_SWEEPS):
        for place in range(len(chain)):
            trials = np.tile(best, (_STEPS + 1, 1))
            # The first trial is the best so far, so a sweep never makes it worse.
            trials[1:, place] = np.linspace(low[place], high[place], _STEPS)
            best = trials[int(np.argmax(_distances(model, chain, trials)))]
    return float(_distances(model, chain, best[None])[0])


def _ranges(model: RobotModel, chain: list[int]) -> tuple[Floats, Floats]:
    limited = model.limited_mask[chain]
    turns = np.where(model.joint_types[chain] == REVOLUTE, np.pi, 0.0)
    low = np.where(limited, model.lower[chain], -turns)
    high = np.where(limited, model.upper[chain], turns)
    # The first joint moves the whole arm, so its value does not change the reach.
    low[0] = high[0] = 0.0 if low[0] <= 0.0 <= high[0] else low[0]
    return low, high


def _distances(model: RobotModel, chain: list[int], values: Floats) -> Floats:
    """Return how far (N,) in m the end of `chain` is from the frame of its first joint, at joint values (N, K)."""
    count = len(values)
    positions, orientations = np.zeros((count, 3)), np.tile(quaternions.IDENTITY, (count, 1))
    for place, joint in enumerate(chain):
        moved = values[:, [place]] * model.axes[joint]
        kind = model.joint_types[joint]
        # Distances count from the frame of the first joint, so its own place is left out.
        if place:
            frame = (
                np.tile(model.joint_positions[joint], (count, 1)),
                np.tile(model.joint_orientations[joint], (count, 1)),
            )
            positions, orientations = poses.compose(positions, orientations, *frame)
        if kind == REVOLUTE:
            orientations = quaternions.multiply(orientations, quaternions.from_rotation_vectors(moved))
        elif kind == PRISMATIC:
            positions = positions + quaternions.rotate(orientations, moved)
    return np.sqrt(np.square(positions).sum(axis=1))
