"""Worlds that are spread over processes, or actors of Ray: the same bits as in one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import ray_cluster
from gymnasium.vector import AutoresetMode

from fleet_sim import FleetSimError, InvalidValueError, StateError
from fleet_sim.learning.envs import NavigationVectorEnv, SpreadVectorEnv

WORLDS: dict[str, Any] = {"num_robots": 2, "num_obstacles": 2, "max_steps": 12}
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
CLUSTER = pytest.param(AutoresetMode.NEXT_STEP, "cluster", marks=ray_cluster.MARKS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A Ray with two processors, whatever the machine has; where it is."""
    with ray_cluster.local_ray() as address:
        yield address


def bits(returned: Any) -> Any:
    """What a step or reset returned, so that it can be compared exactly."""
    if isinstance(returned, np.ndarray):
        return (str(returned.dtype), returned.shape, returned.tobytes())
    if isinstance(returned, dict):
        return {name: bits(value) for name, value in returned.items()}
    return [bits(value) for value in returned]


@pytest.mark.parametrize(("mode", "where"), [*((mode, None) for mode in MODES), CLUSTER])
def test_the_same_bits_as_in_one_process(
    mode: AutoresetMode, where: str | None, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue(where) if where else None
    one = NavigationVectorEnv(10, autoreset_mode=mode, **WORLDS)
    # Three worlds in one process, two in the other.
    two = SpreadVectorEnv(10, 2, address, autoreset_mode=mode, **WORLDS)
    for name in ("observation_space", "single_observation_space", "action_space", "single_action_space", "metadata"):
        assert getattr(two, name) == getattr(one, name)
    one.action_space.seed(3)
    try:
        assert bits(two.reset(seed=5)) == bits(one.reset(seed=5))
        kept, ended = None, 0
        for _ in range(40):
            actions = one.action_space.sample()
            expected = one.step(actions.copy())
            if mode is AutoresetMode.SAME_STEP:
                # In two halves it is the same step; the caller's array is its own again at once.
                two.step_async(actions)
                actions[:] = 0.0
                found = two.step_wait()
            else:
                found = two.step(actions)
            assert bits(found) == bits(expected)
            # What was returned before is not written over.
            assert kept is None or bits(kept[0]) == kept[1]
            kept = (found, bits(found))
            done = expected[2] | expected[3]
            ended += int(done.sum())
            if mode is AutoresetMode.DISABLED and done.any():
                with pytest.raises(InvalidValueError, match="reset_mask"):
                    two.step(actions)
                options = {"reset_mask": done}
                assert bits(two.reset(options=options)) == bits(one.reset(options=options))
        assert ended > 20
    finally:
        one.close()
        two.close()


def test_halves_of_steps_that_do_not_belong_together_are_refused() -> None:
    envs = SpreadVectorEnv(4, 2, render_mode="rgb_array", **WORLDS)
    try:
        envs.reset(seed=5)
        with pytest.raises(StateError, match="no step is under way; begin one with step_async"):
            envs.step_wait()
        envs.step_async(np.zeros((4, 2)))
        for call in (envs.reset, envs.render, lambda: envs.step(np.zeros((4, 2)))):
            with pytest.raises(StateError, match="a step is under way; wait for it with step_wait"):
                call()
        envs.step_wait()
        # What is under way when it is closed is given up.
        envs.step_async(np.zeros((4, 2)))
    finally:
        envs.close()
    with pytest.raises(InvalidValueError, match="closed"):
        envs.step(np.zeros((4, 2)))


def test_without_copies_what_was_returned_is_written_over() -> None:
    envs = SpreadVectorEnv(4, 2, copy=False, **WORLDS)
    try:
        first, _ = envs.reset(seed=5)
        later, *_ = envs.step(envs.action_space.sample())
        assert np.shares_memory(first, later)
    finally:
        envs.close()


@pytest.mark.slow
@ray_cluster.NEEDS_RAY
def test_more_actors_than_processors_are_refused(cluster: str) -> None:
    with pytest.raises(InvalidValueError, match="2 processors, fewer than processes: 3"):
        SpreadVectorEnv(6, 3, cluster, **WORLDS)


def test_wrong_numbers_are_refused_and_a_process_that_dies_ends_it() -> None:
    with pytest.raises(InvalidValueError, match="expected 1 to 3, the number of worlds, got 4"):
        SpreadVectorEnv(6, 4, **WORLDS)
    with pytest.raises(InvalidValueError, match="multiple of 2"):
        SpreadVectorEnv(5, 2, **WORLDS)
    before = set(multiprocessing.active_children())
    envs = SpreadVectorEnv(4, 2, render_mode="rgb_array", **WORLDS)
    envs.reset(seed=[7, 8])
    pictures = envs.render()
    assert pictures is not None and len(pictures) == 2
    with pytest.raises(ValueError, match="cannot reshape"):
        envs.step(np.zeros((3, 2)))
    victim = next(iter(set(multiprocessing.active_children()) - before))
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(FleetSimError, match=r"worlds \d to \d: its process died"):
        envs.step(np.zeros((4, 2)))
    assert set(multiprocessing.active_children()) <= before
    with pytest.raises(InvalidValueError, match="closed"):
        envs.reset()
