"""Milling: what makes a swarm mill is rewarded, in both forms."""

from __future__ import annotations

import numpy as np
from pettingzoo.test import parallel_api_test, parallel_seed_test

from fleet_sim.learning.envs.milling import SPEED, TURN, FleetMilling, MillingEnv

MILLS = np.array([0.27 / SPEED, -0.6 / TURN, 0.27 / SPEED, 0.6 / TURN], np.float32)


def test_the_known_way_to_mill_is_rewarded_more_than_standing_still() -> None:
    env = MillingEnv(max_steps=50)
    returns = []
    for action in (MILLS, np.zeros(4, np.float32)):
        env.reset(seed=1)
        rewards, truncated = [], False
        while not truncated:
            observation, reward, _, truncated, _ = env.step(action)
            assert env.observation_space.contains(observation)
            rewards.append(reward)
        returns.append(np.mean(rewards[-10:]))
    assert returns[0] > 0.85
    assert returns[1] < 0.7
    env.close()


def test_agents_that_decide_for_themselves_mill_as_well() -> None:
    fleet = FleetMilling(max_steps=900)
    seen, _ = fleet.reset(seed=1)
    choices = MILLS.reshape(2, 2)
    while fleet.agents:
        seen, rewards, _, _, _ = fleet.step({name: choices[int(seen[name][0])] for name in fleet.agents})
    assert set(rewards.values()) == {rewards["agent_0"]}
    assert rewards["agent_0"] > 0.85
    fleet.close()


def test_pettingzoo_finds_nothing_to_complain_about() -> None:
    parallel_api_test(FleetMilling(max_steps=30), num_cycles=60)
    parallel_seed_test(lambda: FleetMilling(max_steps=20))
