#!/usr/bin/env python3
"""Train PPO on Navigation-v0 or Warehouse-v0 and compare it with random driving and with the simple rule.

One policy is shared by all robots: 128 worlds of several robots are stepped together, and each robot gives experience.
Needs the extra `learn`: pip install 'fleet_sim[learn]'. Takes some minutes on two cores.

    python examples/train_navigation.py --curve curve.png
    python examples/train_navigation.py --task warehouse
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from fleet_sim.learning.envs.stable_baselines import FleetVecEnv
from fleet_sim.learning.envs.vector import ArenaVectorEnv, NavigationVectorEnv, WarehouseVectorEnv

WORLDS = 128
TASKS: dict[str, tuple[type[ArenaVectorEnv], dict[str, Any], str]] = {
    "navigation": (NavigationVectorEnv, {"num_robots": 8, "arena_size": 12.0}, "share of robots at their goals"),
    "warehouse": (WarehouseVectorEnv, {"num_robots": 4}, "sum of rewards of an episode"),
}
"""Per task: environment, settings, and what is counted."""
CHANCE = 0.01
"""How likely a difference as large as the measured one may be for a policy that is not better than the simple rule."""

Policy = Callable[[Any], Any]


def level(task: str, policy: Policy, worlds: int, seed: int) -> Any:
    """Return what is counted in each of the worlds (W,), over one episode of each robot."""
    kind, settings, _ = TASKS[task]
    robots = settings["num_robots"]
    envs = kind(worlds * robots, **settings)
    seen, _ = envs.reset(seed=seed)
    going, counts = np.ones(envs.num_envs, bool), np.zeros(envs.num_envs)
    while going.any():
        seen, rewards, terminated, truncated, infos = envs.step(policy(seen))
        counts += going * (infos["is_success"] if task == "navigation" else rewards)
        going &= ~(terminated | truncated)
    envs.close()
    return counts.reshape(worlds, robots).mean(axis=1)


def simple_rule(seen: Any) -> Any:
    """Turn towards the goal and drive while it is ahead, without regard to obstacles."""
    bearing = np.arctan2(seen[:, 2], seen[:, 1])
    return np.stack([np.maximum(0.0, seen[:, 1]), np.clip(bearing, -1.0, 1.0)], axis=1)


class Curve(BaseCallback):
    """Measures the policy while it learns, in 16 worlds that it is not trained in."""

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if len(self.points) * self.locals["total_timesteps"] <= 20 * self.num_timesteps:
            reached = float(level(self.task, learned(self.model), 16, 5_000).mean())
            self.points.append((self.num_timesteps, reached))
            print(f"{self.num_timesteps:>9} steps: {reached:.3f} {TASKS[self.task][2]}", flush=True)


def learned(model: Any) -> Policy:
    """Return the policy of a model, without its exploration."""
    return lambda seen: model.predict(seen, deterministic=True)[0]


def train(task: str, steps: int, seed: int) -> tuple[PPO, Curve]:
    """Return a trained model and its curve."""
    kind, settings, _ = TASKS[task]
    venv = FleetVecEnv(kind(WORLDS * settings["num_robots"], autoreset_mode=AutoresetMode.SAME_STEP, **settings))
    model = PPO(
        "MlpPolicy",
        venv,
        n_steps=32,
        batch_size=4096,
        n_epochs=5,
        learning_rate=1e-3,
        gamma=0.98,
        gae_lambda=0.9,
        ent_coef=0.002,
        policy_kwargs={"net_arch": [64, 64]},
        seed=seed,
        device="cpu",
    )
    curve = Curve(task)
    model.learn(steps, callback=curve)
    venv.close()
    return model, curve


def draw_curve(points: list[tuple[int, float]], levels: dict[str, float], counted: str, path: str) -> None:
    """Save the learning curve, with the levels of the other policies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 3.4), layout="constrained")
    axes.plot([steps / 1e6 for steps, _ in points], [reached for _, reached in points], label="PPO, while training")
    for (name, reached), style in zip(levels.items(), ("--", ":", "-."), strict=False):
        axes.axhline(reached, linestyle=style, color="0.4", label=f"{name}: {reached:.2f}")
    axes.set(xlabel="million robot steps", ylabel=counted)
    axes.set_ylim(bottom=0.0)
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> int:
    """Train and evaluate; return 0 if the policy is better than the simple rule."""
    parser = argparse.ArgumentParser(description="Train PPO on Navigation-v0 or Warehouse-v0.")
    parser.add_argument("--task", choices=TASKS, default="navigation")
    parser.add_argument("--steps", type=int, default=2_000_000, help="robot steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=200, help="worlds to evaluate each policy in")
    parser.add_argument("--model", metavar="FILE.zip", help="save the trained policy")
    parser.add_argument("--curve", metavar="FILE.png", help="save the learning curve")
    args = parser.parse_args()
    begin = time.perf_counter()
    model, curve = train(args.task, args.steps, args.seed)
    print(f"trained for {args.steps} steps in {time.perf_counter() - begin:.0f} s")
    rng = np.random.default_rng(args.seed)
    policies: dict[str, Policy] = {
        "random": lambda seen: rng.uniform(-1.0, 1.0, (len(seen), 2)),
        "simple rule": simple_rule,
        "PPO": learned(model),
    }
    # All in the same worlds, so that they are compared world by world.
    found = {name: level(args.task, policy, args.worlds, 10_000) for name, policy in policies.items()}
    levels = {name: float(values.mean()) for name, values in found.items()}
    for name, reached in levels.items():
        print(f"{name:>12}: {reached:.3f} {TASKS[args.task][2]}")
    better, worse = (int((sign * (found["PPO"] - found["simple rule"]) > 0.0).sum()) for sign in (1, -1))
    count = better + worse
    # As likely as so many heads, or more, of a coin.
    chance = sum(math.comb(count, heads) for heads in range(better, count + 1)) / 2**count
    print(f"PPO is better in {better} worlds and worse in {worse}: p = {chance:.2g}")
    if args.model:
        model.save(args.model)
    if args.curve:
        draw_curve(curve.points, levels, TASKS[args.task][2], args.curve)
    return 0 if chance < CHANCE else 1


if __name__ == "__main__":
    raise SystemExit(main())
