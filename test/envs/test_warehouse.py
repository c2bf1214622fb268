"""The warehouse: crates are fetched, carried and delivered."""

from __future__ import annotations

import numpy as np
from pettingzoo.test import parallel_api_test, parallel_seed_test

from fleet_sim.envs.fleet_warehouse import parallel_env
from fleet_sim.envs.parallel import FleetWarehouse
from fleet_sim.envs.single import WarehouseEnv
from fleet_sim.envs.warehouse import WarehouseParams, WarehouseTask


def test_robots_that_follow_their_goals_delivercrates() -> None:
    task = WarehouseTask(WarehouseParams(num_robots=3, num_obstacles=0, collision_reward=0.0))
    task.reset_world(0, np.random.default_rng(0))
    fetched = 0
    for _ in range(600):
        loaded = task.loaded.copy()
        outcome = task.step(task.simple_actions())
        fetched += int((task.loaded & ~loaded).sum())
        carried = task.arena.world.parent[task.crates[task.loaded]]
        assert carried.tolist() == task.arena.robot_rows[task.loaded].tolist()
        assert not outcome.ended.any()
    delivered = int(task.delivered.sum())
    assert delivered >= 6
    assert fetched - delivered == int(task.loaded.sum())
    task.close()


def test_a_carried_crate_rides_on_its_robot_and_stays_where_it_was_delivered() -> None:
    task = WarehouseTask(WarehouseParams(num_robots=1, num_obstacles=0))
    task.reset_world(0, np.random.default_rng(1))
    world, crate, robot = task.arena.world, task.crates[0, 0], task.arena.robot_rows[0, 0]
    while not task.loaded.any():
        task.step(task.simple_actions())
    task.step(task.simple_actions())
    assert np.array_equal(world.position[crate, :2], world.position[robot, :2])
    assert world.position[crate, 2] > world.position[robot, 2]
    rewards = 0.0
    while task.loaded.any():
        outcome = task.step(task.simple_actions())
        rewards = float(outcome.rewards[0, 0])
    assert outcome.success.all()
    assert rewards > 0.9 * task.params.goal_reward
    task.close()


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
