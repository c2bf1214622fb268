"""What every registered environment keeps."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, TimeLimit

from fleet_sim.envs import ENVIRONMENTS

IDS = sorted(ENVIRONMENTS)


def rollout(env: Any, seed: int, steps: int = 30) -> list[bytes]:
    """Everything a rollout with random actions brings, as bytes."""
    env.action_space.seed(seed)
    seen, _ = env.reset(seed=seed)
    record = [flat_bytes(seen)]
    for _ in range(steps):
        seen, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        record += [flat_bytes(seen), np.float64(reward).tobytes(), bytes([terminated, truncated])]
        if terminated or truncated:
            seen, _ = env.reset()
            record.append(flat_bytes(seen))
    return record


def flat_bytes(seen: Any) -> bytes:
    parts = seen.values() if isinstance(seen, dict) else seen if isinstance(seen, tuple) else [seen]
    return b"".join(np.asarray(part).tobytes() for part in parts)


@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_checker_has_nothing_to_say(name: str) -> None:
    env = gymnasium.make(name).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A window cannot be opened everywhere; the pictures are looked at below.
        check_env(env, skip_render_check="human" in env.metadata["render_modes"])
    env.close()


@pytest.mark.parametrize("name", IDS)
def test_the_same_seed_gives_the_same_rollout_to_the_bit(name: str) -> None:
    first, second = gymnasium.make(name), gymnasium.make(name)
    expected = rollout(first, seed=4)
    assert rollout(second, seed=4) == expected
    assert rollout(first, seed=4) == expected
    assert rollout(first, seed=5) != expected
    first.close()
    second.close()


@pytest.mark.parametrize("name", IDS)
def test_wrappers_of_gymnasium_work_and_close_may_be_called_again(name: str) -> None:
    env = TimeLimit(FlattenObservation(gymnasium.make(name)), 3)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    for _ in range(3):
        seen, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated:
            break
    assert terminated or truncated
    env.close()
    env.close()


@pytest.mark.parametrize("name", IDS)
def test_it_draws_itself(name: str) -> None:
    env = gymnasium.make(name, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    picture = np.asarray(env.render())
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert picture.std() > 5.0
    env.close()


def test_sync_and_async_vectors_agree() -> None:
    name = "FleetSim/Navigation-v0"
    sync = gymnasium.make_vec(name, num_envs=2, vectorization_mode="sync")
    many = gymnasium.make_vec(name, num_envs=2, vectorization_mode="async")
    sync.action_space.seed(0)
    first, _ = sync.reset(seed=9)
    second, _ = many.reset(seed=9)
    np.testing.assert_array_equal(first, second)
    for _ in range(10):
        actions = sync.action_space.sample()
        first, second = sync.step(actions), many.step(actions)
        for mine, other in zip(first[:4], second[:4], strict=True):
            np.testing.assert_array_equal(mine, other)
    sync.close()
    many.close()
