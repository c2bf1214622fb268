"""No setting of an environment is accepted and then ignored: each one, changed, changes how an episode goes.

A setting that is added needs a line here: another value, and what else has to be set for it to count.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fleet_sim.envs import FleetNavigation, FleetWarehouse
from fleet_sim.envs.milling import FleetMilling, MillingParams
from fleet_sim.envs.navigation import NavigationParams
from fleet_sim.envs.warehouse import WarehouseParams
from fleet_sim.settings.fields import fields_of

STEPS = 60
TASK: dict[str, Any] = {
    "num_robots": 4,
    "num_obstacles": 5,
    "arena_size": 6.0,
    "neighbours": 1,
    "reach": 1.0,
    "goal_radius": 0.4,
    "max_steps": 10,
    "timestep": 0.2,
    "max_speed": 0.5,
    "max_turn": 1.0,
    "progress_reward": 2.0,
    "goal_reward": 20.0,
    "collision_reward": -20.0,
    "step_reward": -0.1,
}
SMALL = {"num_robots": 3, "num_obstacles": 2, "arena_size": 5.0, "goal_radius": 1.9, "max_steps": STEPS}
MILLING: dict[str, Any] = {
    "num_agents": 3,
    "theta": 0.6,
    "distance": 0.5,
    "world_size": 12.0,
    "steps_per_action": 3,
    "max_steps": 9,
}
CASES: list[tuple[Any, Any, dict[str, Any], dict[str, Any]]] = [
    (FleetNavigation, NavigationParams, SMALL, TASK),
    (FleetWarehouse, WarehouseParams, SMALL, {**TASK, "num_stations": 3}),
    (FleetMilling, MillingParams, {"max_steps": STEPS}, MILLING),
]


def episode(cls: Any, settings: dict[str, Any]) -> Any:
    """Return what an environment answers to the same drawn actions, and who takes part."""
    env = cls(**settings)
    observations, _ = env.reset(seed=3)
    seen: list[Any] = [list(env.possible_agents), plain(observations)]
    draws = np.random.default_rng(5)
    for _ in range(STEPS):
        if not env.agents:
            break
        # Mostly ahead, so that goals and obstacles are met.
        actions = {name: np.array([0.9, draws.uniform(-1.0, 1.0)], np.float32) for name in env.possible_agents}
        seen.append(plain(env.step({name: actions[name] for name in env.agents})[:4]))
    env.close()
    return seen


@cache
def base_episode(cls: Any) -> Any:
    """Return the episode that settings change."""
    return episode(cls, next(base for known, _, base, _ in CASES if known is cls))


def plain(value: Any) -> Any:
    """Return arrays as bytes, to be compared."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return np.shape(value), np.asarray(value).tobytes()


@pytest.mark.parametrize(
    ("cls", "base", "name", "value"),
    [(cls, base, name, value) for cls, _, base, values in CASES for name, value in values.items()],
    ids=lambda part: getattr(part, "__name__", part if isinstance(part, str) else None),
)
def test_a_setting_of_an_environment_counts(cls: Any, base: dict[str, Any], name: str, value: Any) -> None:
    assert episode(cls, {**base, name: value}) != base_episode(cls)


@pytest.mark.parametrize(("params", "values"), [(params, values) for _, params, _, values in CASES])
def test_every_setting_of_an_environment_is_looked_at(params: Any, values: dict[str, Any]) -> None:
    assert set(fields_of(params)) == set(values)
