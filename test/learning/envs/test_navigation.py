"""Navigation: one robot in Gymnasium, thousands of worlds at once, a fleet in PettingZoo."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from pettingzoo.test import parallel_api_test, parallel_seed_test

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.learning.envs.arena import Arena
from fleet_sim.learning.envs.fleet_navigation import env, parallel_env
from fleet_sim.learning.envs.parallel import FleetNavigation
from fleet_sim.learning.envs.vector import NavigationEnv, NavigationVectorEnv


def make_vector(count: int, **settings: object) -> NavigationVectorEnv:
    made = gymnasium.make_vec(
        "FleetSim/Navigation-v0", num_envs=count, vectorization_mode="vector_entry_point", **settings
    )
    assert isinstance(made.unwrapped, NavigationVectorEnv)
    return made.unwrapped


def towards_goal(observations: np.ndarray) -> np.ndarray:
    """Actions that turn to the goal and drive when it lies ahead."""
    ahead, aside = observations[..., 1], observations[..., 2]
    bearing = np.arctan2(aside, ahead)
    return np.stack([np.maximum(0.0, ahead), np.clip(2.0 * bearing, -1.0, 1.0)], axis=-1).astype(np.float32)


def test_the_other_robots_drive_and_leave_when_they_are_done() -> None:
    env = NavigationEnv(num_robots=3, num_obstacles=0, max_steps=400)
    env.reset(seed=1)
    for _ in range(400):
        env.step(np.zeros(2, np.float32))
    task = env.task
    assert task.arena.active[0].tolist() == [True, False, False]
    env.close()


def test_robots_of_a_shared_world_begin_again_one_by_one() -> None:
    envs = make_vector(6, num_robots=3, num_obstacles=2, max_steps=400)
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (6, 5 + 5 * 5)
    ended = np.zeros(6, np.bool_)
    episodes = 0
    for _ in range(300):
        seen, _, terminated, truncated, infos = envs.step(towards_goal(seen))
        assert not (ended & (terminated | truncated)).any()
        ended = terminated | truncated
        episodes += int(ended.sum())
        assert (infos["is_success"] <= terminated).all()
    assert episodes > 12
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_worlds_that_end_begin_again_as_the_mode_says(mode: AutoresetMode) -> None:
    envs = make_vector(8, max_steps=10, autoreset_mode=mode, num_obstacles=0)
    assert envs.metadata["autoreset_mode"] is mode
    seen, _ = envs.reset(seed=0)
    for step in range(1, 11):
        last = seen
        seen, _, terminated, truncated, infos = envs.step(np.zeros((8, 2), np.float32))
        assert truncated.all() == (step == 10)
    assert not terminated.any()
    if mode is AutoresetMode.SAME_STEP:
        np.testing.assert_array_equal(infos["final_obs"], last)
        assert not np.array_equal(seen, last)
    elif mode is AutoresetMode.NEXT_STEP:
        np.testing.assert_array_equal(seen, last)
        again, rewards, _, truncated, _ = envs.step(np.zeros((8, 2), np.float32))
        assert not np.array_equal(again, last)
        assert not rewards.any()
        assert not truncated.any()
    else:
        with pytest.raises(InvalidValueError, match="reset_mask"):
            envs.step(np.zeros((8, 2), np.float32))
        mask = np.arange(8) < 4
        again, _ = envs.reset(options={"reset_mask": mask})
        assert (again[4:] == last[4:]).all()
        assert not (again[:4] == last[:4]).all(axis=1).any()
    envs.close()


def test_pettingzoo_finds_nothing_to_complain_about() -> None:
    parallel_api_test(parallel_env(num_robots=5, max_steps=60), num_cycles=200)
    parallel_seed_test(lambda: FleetNavigation(num_robots=4, max_steps=40))


def test_robots_of_a_fleet_end_one_by_one() -> None:
    fleet = FleetNavigation(num_robots=6, num_obstacles=0, max_steps=300, render_mode="rgb_array")
    seen, _ = fleet.reset(seed=2)
    assert fleet.state().shape == (6 * len(seen["robot_0"]),)
    counts = [len(fleet.agents)]
    reached = 0
    while fleet.agents:
        actions = {name: towards_goal(seen[name]) for name in fleet.agents}
        seen, rewards, terminated, _, infos = fleet.step(actions)
        assert set(seen) == set(rewards) == set(terminated) == set(infos)
        reached += sum(info["is_success"] for info in infos.values())
        counts.append(len(fleet.agents))
    assert counts == sorted(counts, reverse=True)
    assert reached >= 3
    picture = fleet.render()
    assert picture is not None
    assert picture.shape == (480, 480, 3)
    fleet.close()
    fleet.close()


def test_the_fleet_comes_turn_by_turn_as_well() -> None:
    turns = env(num_robots=2, max_steps=5)
    turns.reset(seed=0)
    for agent in turns.agent_iter(40):
        _, _, terminated, truncated, _ = turns.last()
        turns.step(None if terminated or truncated else turns.action_space(agent).sample())
    assert not turns.agents
    turns.close()


def test_wrong_settings_are_refused_with_a_reason() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'num_robots'"):
        NavigationEnv(num_robot=3)
    with pytest.raises(ConfigError, match="do not fit"):
        NavigationEnv(num_robots=100, arena_size=3.0)
    with pytest.raises(InvalidValueError, match="render_mode"):
        NavigationEnv(render_mode="ansi")
    with pytest.raises(InvalidValueError, match="multiple of 3"):
        NavigationVectorEnv(2, num_robots=3)
    with pytest.raises(InvalidValueError, match="reset"):
        NavigationEnv().step(np.zeros(2, np.float32))


@pytest.mark.parametrize(("worlds", "robots", "obstacles"), [(0, 1, 2), (1, 0, 2), (1, 1, -1)])
def test_an_arena_without_worlds_or_robots_is_refused(worlds: int, robots: int, obstacles: int) -> None:
    with pytest.raises(InvalidValueError, match=f"got {worlds} worlds, {robots} robots, {obstacles} obstacles"):
        Arena(worlds, robots, obstacles, size=6.0, timestep=0.05)


def test_as_many_worlds_as_the_simulation_has_room_for() -> None:
    # In one line their provisional places would end beyond the extent of the world.
    envs = NavigationVectorEnv(64, arena_size=1000.0)
    envs.reset(seed=0)
    envs.close()
