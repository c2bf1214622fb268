"""The warehouse: crates are fetched, carried and delivered."""

from __future__ import annotations

import numpy as np
from pettingzoo.test import parallel_api_test, parallel_seed_test

from fleet_sim.learning.envs.fleet_warehouse import parallel_env
from fleet_sim.learning.envs.parallel import FleetWarehouse
from fleet_sim.learning.envs.tasks import WarehouseTask
from fleet_sim.learning.envs.vector import WarehouseEnv


def test_a_reset_takes_crates_back() -> None:
    env = WarehouseEnv(num_robots=2)
    env.reset(seed=0)
    task = env.task
    assert isinstance(task, WarehouseTask)
    while not task.loaded[0, 1]:
        env.step(np.zeros(2, np.float32))
    seen, _ = env.reset(seed=0)
    assert not task.loaded.any()
    again, _ = WarehouseEnv(num_robots=2).reset(seed=0)
    np.testing.assert_array_equal(seen, again)
    env.close()


def test_pettingzoo_finds_nothing_to_complain_about() -> None:
    parallel_api_test(parallel_env(num_robots=3, max_steps=50), num_cycles=120)
    parallel_seed_test(lambda: FleetWarehouse(num_robots=3, max_steps=30))
