"""Environments in arenas go with compiled code as they go without, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray
from fleet_sim.facade import update as compiled_code
from fleet_sim.learning.envs.vector import NavigationVectorEnv

pytest.importorskip("numba")

# So full that hardly a point is free: what is drawn ahead is not enough.
SETTINGS = {"num_robots": 4, "num_obstacles": 6, "arena_size": 3.2, "neighbours": 2, "max_steps": 12}


def run() -> list[AnyArray]:
    """Random drives, so that robots meet, with episodes that end at different times."""
    envs = NavigationVectorEnv(36, **SETTINGS)
    found: list[AnyArray] = [envs.reset(seed=3)[0]]
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.5, (36, 2)).astype(np.float32)
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        found += [seen, rewards, terminated, truncated]
    envs.close()
    return found


def test_observations_rewards_and_new_episodes_are_the_same_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for least in (10**9, 1):
        monkeypatch.setattr(compiled_code, "MANY", least)
        found.append(run())
    assert any(ended.any() for ended in found[0][3::4] + found[0][4::4])
    for arrays, compiled in zip(*found, strict=True):
        assert arrays.tobytes() == compiled.tobytes()
