"""Environments in arenas go with compiled code as they go without, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils import seeding

from fleet_sim.arrays import AnyArray
from fleet_sim.envs.scattering import scatter_points, scatter_worlds
from fleet_sim.envs.vector import NavigationVectorEnv
from fleet_sim.facade import compiled_code

pytest.importorskip("numba")

KINDS = (
    {"num_robots": 3, "num_obstacles": 6, "neighbours": 2, "max_steps": 25},
    # So full that hardly a point is free: what is drawn ahead is not enough.
    {"num_robots": 4, "num_obstacles": 6, "arena_size": 3.2, "max_steps": 12},
)


def run(settings: dict[str, float]) -> list[AnyArray]:
    """Random drives, so that robots meet, with episodes that end at different times."""
    envs = NavigationVectorEnv(36, **settings)
    found: list[AnyArray] = [envs.reset(seed=3)[0]]
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.5, (36, 2)).astype(np.float32)
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        found += [seen, rewards, terminated, truncated]
    envs.close()
    return found


@pytest.mark.parametrize("settings", KINDS)
def test_observations_rewards_and_new_episodes_are_those_of_arrays(
    settings: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for least in (10**9, 1):
        monkeypatch.setattr(compiled_code, "MANY", least)
        found.append(run(settings))
    assert any(ended.any() for ended in found[0][3::4] + found[0][4::4])
    for arrays, compiled in zip(*found, strict=True):
        assert arrays.tobytes() == compiled.tobytes()


def test_streams_go_on_as_if_drawn_number_by_number() -> None:
    streams, others = ([seeding.np_random(seed)[0] for seed in range(50)] for _ in range(2))
    start, left = scatter_worlds(streams, 2, 5, 5.0, 0.85)
    assert len(left) < 50
    for world, rng in enumerate(others):
        if world not in left:
            obstacles = scatter_points(rng, 5, 5.0, 0.85, np.empty((0, 2)))
            assert obstacles.tobytes() == start.obstacles[world].tobytes()
            assert scatter_points(rng, 2, 5.0, 0.85, obstacles).tobytes() == start.robots[world].tobytes()
            assert scatter_points(rng, 2, 5.0, 0.85, obstacles).tobytes() == start.goals[world].tobytes()
            rng.random(2)
        assert rng.random() == streams[world].random()
