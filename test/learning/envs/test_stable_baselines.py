"""What `make_vec` returns learns in stable-baselines3."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from small_bins import small_bin

pytest.importorskip("stable_baselines3", reason="extra learn")

from stable_baselines3 import SAC

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.learning.envs.stable_baselines import FleetVecEnv

ARM = "fleet_sim.learning.envs:FleetSim/FrankaDelta-v0"


def test_sac_learns_in_two_bins_at_once() -> None:
    config = {**small_bin(), "observation": "state", "reward": "shaped"}
    settings = {"config_file": config, "max_steps": 3}
    with pytest.raises(InvalidValueError, match="SAME_STEP"):
        FleetVecEnv(gymnasium.make_vec(ARM, num_envs=1, **settings))
    envs = FleetVecEnv(
        gymnasium.make_vec(ARM, num_envs=2, vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}, **settings)
    )
    begin = envs.reset()
    assert begin.shape == (2, 33)
    for step in range(3):
        seen, _, dones, infos = envs.step(np.zeros((2, 5), np.float32))
        assert dones.tolist() == [step == 2] * 2
    # The next episode has begun; the arm of the last one stood where it began.
    assert all(info["TimeLimit.truncated"] and not info["is_success"] for info in infos)
    assert seen.shape == (2, 33) and infos[1]["terminal_observation"][18:21] == pytest.approx(begin[1, 18:21], abs=0.1)
    SAC("MlpPolicy", envs, learning_starts=4, batch_size=8).learn(12)
    envs.close()
