"""What every registered environment keeps."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, RecordVideo, TimeLimit
from small_bins import small_bin
from virtual_display import virtual_display

from fleet_sim.learning.envs import ENVIRONMENTS

IDS = sorted(ENVIRONMENTS)
PICKING = [name for name in IDS if "Franka" in name]
FAST = {name: {"config_file": small_bin()} for name in PICKING}
"""Arguments with which an environment is made and reset quickly."""
LONG = {"FleetSim/FrankaDelta-v0": 8, "FleetSim/FrankaPosition-v0": 3}
"""Steps of a rollout, where those take long."""


def make(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(name, **{**FAST.get(name, {}), **arguments})


def rollout(env: Any, seed: int, steps: int) -> list[bytes]:
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
    env = make(name).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A window cannot be opened everywhere; it is checked below, and so are the pictures.
        check_env(env, skip_render_check="human" in env.metadata["render_modes"])
    env.close()


@pytest.mark.slow
def test_gymnasiums_checker_has_nothing_to_say_about_windows() -> None:
    pytest.importorskip("pybullet")
    program = Path(__file__).with_name("window_program.py")
    with virtual_display() as display:
        environment = {**os.environ, "DISPLAY": display}
        done = subprocess.run(
            [sys.executable, "-W", "error", program, "FleetSim/FrankaVelocity-v0"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert done.returncode == 0, done.stderr
    assert "checked human, rgb_array, rgb_and_depth" in done.stdout


@pytest.mark.parametrize("name", IDS)
def test_the_same_seed_gives_the_same_rollout_to_the_bit(name: str) -> None:
    steps = LONG.get(name, 30)
    first, second = make(name), make(name)
    expected = rollout(first, 4, steps)
    assert rollout(second, 4, steps) == expected
    assert rollout(first, 4, steps) == expected
    assert any(rollout(first, seed, 1) != expected[:4] for seed in (5, 6, 7))
    first.close()
    second.close()


def test_another_process_gives_the_same_rollout_to_the_bit() -> None:
    name = "FleetSim/FrankaDelta-v0"
    env = make(name)
    rollout(env, 8, 2)
    here = hashlib.sha256(b"".join(rollout(env, 4, 8))).hexdigest()
    env.close()
    program = (
        "import hashlib, sys; sys.path[:0] = sys.argv[1:3]\n"
        "from test_contracts import make, rollout\n"
        f"print(hashlib.sha256(b''.join(rollout(make({name!r}), 4, 8))).hexdigest())"
    )
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]
    done = subprocess.run([sys.executable, "-c", program, *folders], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == here


@pytest.mark.parametrize("name", IDS)
def test_wrappers_of_gymnasium_work_and_close_may_be_called_again(name: str) -> None:
    env = TimeLimit(FlattenObservation(make(name)), 3)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    for _ in range(3):
        seen, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated:
            break
    assert terminated or truncated
    assert env.observation_space.contains(seen)
    env.close()
    env.close()


@pytest.mark.parametrize("name", IDS)
def test_it_draws_itself(name: str) -> None:
    env = make(name, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    picture = np.asarray(env.render())
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert picture.std() > 5.0
    env.close()


@pytest.mark.parametrize("name", ["FleetSim/FrankaVelocity-v0", "FleetSim/Navigation-v0"])
def test_videos_are_recorded(name: str, tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    env = RecordVideo(make(name, render_mode="rgb_array"), str(tmp_path / "films"), disable_logger=True)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    env.close()
    (film,) = tmp_path.glob("films/*.mp4")
    assert film.stat().st_size > 0


@pytest.mark.parametrize("name", ["FleetSim/FrankaVelocity-v0", "FleetSim/Navigation-v0"])
@pytest.mark.slow
def test_sync_and_async_vectors_agree(name: str) -> None:
    arguments = FAST.get(name, {})
    sync = gymnasium.make_vec(name, num_envs=2, vectorization_mode="sync", **arguments)
    # Drawing with OpenGL does not survive a fork of a process that has drawn, as this one has.
    spawned = {"context": "spawn"}
    many = gymnasium.make_vec(name, num_envs=2, vectorization_mode="async", vector_kwargs=spawned, **arguments)
    sync.action_space.seed(0)
    assert parts_of(sync.reset(seed=9)[0]) == parts_of(many.reset(seed=9)[0])
    for _ in range(5):
        actions = sync.action_space.sample()
        first, second = sync.step(actions), many.step(actions)
        assert parts_of(first[0]) == parts_of(second[0])
        for mine, other in zip(first[1:4], second[1:4], strict=True):
            np.testing.assert_array_equal(mine, other)
    sync.close()
    many.close()


def parts_of(seen: Any) -> list[bytes]:
    return [np.asarray(part).tobytes() for part in (seen if isinstance(seen, tuple) else (seen,))]


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def grown_by_resets(name: str, warm_up: int, count: int, **arguments: Any) -> float:
    """Megabytes by which memory grew in `count` resets, after some that fill caches."""
    env = make(name, **arguments)
    for seed in range(warm_up):
        env.reset(seed=seed)
    gc.collect()
    before = resident_megabytes()
    for seed in range(count):
        env.reset(seed=seed)
    grown = resident_megabytes() - before
    env.close()
    return grown


# The arm's environments share their reset.
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", [PICKING[0], *(name for name in IDS if name not in PICKING)])
def test_resets_do_not_take_memory(name: str) -> None:
    assert grown_by_resets(name, 100, 300 if name in PICKING else 2_000) < 8.0
