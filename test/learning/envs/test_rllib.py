"""The environments in RLlib: their names, episodes of fleets, and training that is saved and goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

try:
    import ray.rllib  # noqa: F401
except ImportError:
    # What importorskip does, which pytest 7 does not do for errors of its dependencies.
    pytest.skip("RLlib is not installed (extra rllib)", allow_module_level=True)
pytest.importorskip("torch", reason="PyTorch is not installed (extra rllib)")

from ray.tune.registry import ENV_CREATOR, _global_registry

from fleet_sim.learning.envs import ENVIRONMENTS, FleetNavigation
from fleet_sim.learning.envs.rllib import FLEETS, FleetMultiAgentEnv, register_rllib

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_rllib.py"

# Importing RLlib takes long.
pytestmark = pytest.mark.slow


def driven(env: Any, seed: int) -> tuple[list[bytes], list[dict[str, bool]]]:
    """Observations of an episode with random actions, and who was cut off in each step."""
    seen, _ = env.reset(seed=seed)
    random, record, late = np.random.default_rng(seed), [], []
    while env.agents:
        seen, rewards, ended, truncated, _ = env.step({name: random.uniform(-1, 1, 2) for name in sorted(env.agents)})
        record += [seen[name].tobytes() + np.float64(rewards[name]).tobytes() for name in sorted(seen)]
        late.append({**truncated, "ended": ended.get("__all__", False)})
    return record, late


def test_every_environment_has_its_name_and_settings() -> None:
    assert register_rllib() == [*ENVIRONMENTS, *FLEETS]
    single = _global_registry.get(ENV_CREATOR, "FleetSim/Navigation-v0")({"num_robots": 2})
    assert single.unwrapped.params.num_robots == 2
    single.close()
    for name in FLEETS:
        fleet = _global_registry.get(ENV_CREATOR, name)({"max_steps": 3})
        seen, _ = fleet.reset(seed=1)
        assert list(seen) == fleet.agents
        assert all(fleet.observation_spaces[agent].contains(value) for agent, value in seen.items())
        fleet.step({agent: fleet.action_spaces[agent].sample() for agent in fleet.agents})
        fleet.close()


@pytest.mark.parametrize("seed", range(4))
def test_episodes_are_those_of_the_fleet_and_end_once(seed: int) -> None:
    # Crowded: some robots collide, and in some episodes others are left when the time is over.
    settings = {"num_robots": 6, "arena_size": 6.0, "max_steps": 40}
    plain, wrapped = FleetNavigation(**settings), FleetMultiAgentEnv(FleetNavigation(**settings))
    record, _ = driven(plain, seed)
    again, late = driven(wrapped, seed)
    assert again == record
    over = [step["__all__"] or step["ended"] for step in late]
    assert over == [False] * (len(late) - 1) + [True]
    # The time limit cut somebody off, or everybody ended: one of the two.
    cut_off = any(value for name, value in late[-1].items() if name.startswith("robot"))
    assert (late[-1]["__all__"], late[-1]["ended"]) == (cut_off, not cut_off)
    plain.close()
    wrapped.close()


def test_training_with_two_env_runners_is_saved_and_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLE, "--robots", "4", "--batch", "900", "--out", tmp_path / "runs"]
    first = subprocess.run([*command, "--iterations", "2"], capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "   2: mean return of a fleet" in first.stdout
    assert list((tmp_path / "runs").glob("events.out.tfevents.*"))
    restored = ["--iterations", "1", "--restore", tmp_path / "runs" / "checkpoint"]
    second = subprocess.run([*command, *restored], capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    # Counted on from where the first one was.
    assert "   3: mean return of a fleet" in second.stdout
