"""Runs Gymnasium's checker on an environment with windows, each of which a process can have once at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
from gymnasium.utils.env_checker import check_env

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from small_bins import small_bin

import fleet_sim.learning.envs

name = sys.argv[1]
assert name in fleet_sim.learning.envs.ENVIRONMENTS
env = gymnasium.make(name, config_file=small_bin())
check_env(env.unwrapped)
env.close()
print("checked", ", ".join(env.metadata["render_modes"]))
