"""The warehouse: crates are fetched, carried and delivered."""

from __future__ import annotations

import gymnasium
import numpy as np
from pettingzoo.test import parallel_api_test, parallel_seed_test

from fleet_sim.learning.envs.fleet_warehouse import parallel_env
from fleet_sim.learning.envs.parallel import FleetWarehouse
from fleet_sim.learning.envs.tasks import WarehouseTask
from fleet_sim.learning.envs.vector import WarehouseEnv, WarehouseVectorEnv


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


def test_worlds_of_one_simulation_are_those_of_fleets_of_their_own() -> None:
    worlds, robots = 3, 2
    envs = gymnasium.make_vec(
        "fleet_sim.learning.envs:FleetSim/Warehouse-v0",
        num_envs=worlds * robots,
        num_robots=robots,
        vectorization_mode="vector_entry_point",
    )
    fleets = [FleetWarehouse(num_robots=robots) for _ in range(worlds)]
    names = fleets[0].possible_agents
    seen, _ = envs.reset(seed=7)
    single = [fleet.reset(seed=7 + world)[0] for world, fleet in enumerate(fleets)]
    delivered = 0
    for _ in range(300):
        bearing = np.arctan2(seen[:, 2], seen[:, 1])
        actions = np.stack([np.maximum(0.0, seen[:, 1]), np.clip(bearing, -1.0, 1.0)], axis=1)
        seen, rewards, _, _, infos = envs.step(actions)
        for world, fleet in enumerate(fleets):
            mine = actions[world * robots :]
            single[world], given, _, _, _ = fleet.step(dict(zip(names, mine, strict=False)))
            wanted = [given[name] for name in names]
            # Worlds lie beside each other: their coordinates are rounded elsewhere.
            np.testing.assert_allclose(rewards[world * robots :][:robots], wanted, atol=1e-9)
        np.testing.assert_allclose(seen, [world[name] for world in single for name in names], atol=1e-6)
        delivered += int(infos["is_success"].sum())
    assert delivered
    envs.close()


def test_a_robot_begins_again_among_the_others() -> None:
    envs = WarehouseVectorEnv(4, num_robots=2, autoreset_mode="Disabled", num_obstacles=0, max_steps=100)
    envs.reset(seed=1)
    task = envs.task
    assert isinstance(task, WarehouseTask)
    while not task.loaded[0, 1]:
        seen = envs.step(task.simple_actions().reshape(4, 2))[0]
    carrying = task.loaded.copy()
    again, _ = envs.reset(options={"reset_mask": np.arange(4) == 1})
    changed = (again != seen).any(axis=1)
    assert changed[1]
    assert not changed[2:].any()
    carrying[0, 1] = False
    np.testing.assert_array_equal(task.loaded, carrying)
    # The robot goes to where its new crate stands.
    crate = task.arena.world.position[task.crates[0, 1], :2] - task.arena.origins[0]
    np.testing.assert_allclose(task.goals[0, 1], crate)
    assert np.abs(task.arena.positions[0, 1]).max() <= 0.5 * task.params.arena_size - 2.0
    envs.close()
