"""Observations, rewards and actions of the milling environments, recomputed from poses with complex numbers."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.learning.envs.milling import FleetMilling


def circle_seen(places: np.ndarray, headings: np.ndarray, theta: float, distance: float) -> np.ndarray:
    """Return who has a point of another's disc of 0.1 m in the sector ahead, by trying many points of each disc."""
    radii, turns = np.meshgrid(np.linspace(0.0, 0.1, 12), np.linspace(-np.pi, np.pi, 120))
    disc = (radii * np.exp(1j * turns)).reshape(-1)
    seen = []
    for me, (place, heading) in enumerate(zip(places, headings, strict=True)):
        others = np.delete(places, me)
        points = ((others[:, None] + disc) - place) * np.exp(-1j * heading)
        seen.append(bool(((np.abs(np.angle(points)) <= theta) & (np.abs(points) <= distance)).any()))
    return np.array(seen)


@holds(
    "env:FleetSim/Milling-v0.observation",
    "env:FleetSim/Milling-v0.reward",
    "env:milling_v0.observation",
    "env:milling_v0.reward",
    fault="learning/envs/milling.py: agents are 2 % faster than an action says",
)
@pytest.mark.parametrize("form", ["single", "fleet"])
def test_a_mill_observes_and_earns_what_its_agents_do(form: str) -> None:
    settings = {"num_agents": 7, "theta": 0.41, "distance": 1.7, "world_size": 5.5, "steps_per_action": 3}
    fleet = FleetMilling(**settings) if form == "fleet" else None
    env: Any = fleet or gymnasium.make("FleetSim/Milling-v0", **settings).unwrapped
    env.reset(seed=5)
    world, rng, shapes = env.swarm.world, np.random.default_rng(7), []
    before, rotation = world.everyone.positions, 0.0

    def look(world: Any) -> None:
        """Note fatness and tangentness after each step of the world, and how fast the agents go around."""
        nonlocal before, rotation
        places = world.everyone.positions @ [1, 1j]
        offsets = places - places.mean()
        squares = np.abs(offsets) ** 2
        radial = np.cos(world.everyone.headings - np.angle(offsets))
        shapes.append((1.0 - squares.min() / squares.max(), np.abs(radial).mean()))
        velocities = (places - before @ [1, 1j]) / 0.05
        # Clockwise is positive.
        rotation = float(-(velocities * np.conj(offsets)).imag.dot(1.0 / np.abs(offsets)) / len(places))
        before = world.everyone.positions

    world.subscribers.append(look)
    readings = np.zeros(7, np.bool_)
    for _ in range(25):
        if fleet:
            actions = {name: rng.uniform(-1.2, 1.2, 2) for name in fleet.agents}
            chosen = np.clip(list(actions.values()), -1.0, 1.0)
            seen, rewards, *_ = fleet.step(actions)
            assert len(set(rewards.values())) == 1
            reward = rewards["agent_0"]
        else:
            action = rng.uniform(-1.2, 1.2, 4).astype(np.float32)
            seen, reward, *_ = env.step(action)
        assert reward == pytest.approx(1.0 - np.mean(shapes[-100:], axis=0).max())
        places, headings = world.everyone.positions @ [1, 1j], world.everyone.headings
        readings = circle_seen(places, headings, 0.41, 1.7)
        free = ~world.everyone.touching
        if fleet:
            assert [int(seen[name][0]) for name in fleet.possible_agents] == readings.tolist()
            # The speeds of the step: 0.4 m/s and 1.2 rad/s at 1.
            np.testing.assert_allclose(world.everyone.linear[free], 0.4 * chosen[free, 0])
            np.testing.assert_allclose(world.everyone.angular, 1.2 * chosen[:, 1])
            continue
        scatter = np.mean(np.abs(places - places.mean()) ** 2) / (0.5 * 5.5**2)
        expected = [reward, scatter, np.clip(rotation, -1.0, 1.0), readings.mean()]
        np.testing.assert_allclose(seen, expected, atol=1e-6)
        moves = {(float(np.clip(a, -1, 1)), float(np.clip(w, -1, 1))) for a, w in action.reshape(2, 2)}
        driven = zip(world.everyone.linear[free] / 0.4, world.everyone.angular[free] / 1.2, strict=True)
        assert all(any(np.allclose(pair, move) for move in moves) for pair in driven)
    env.close()
