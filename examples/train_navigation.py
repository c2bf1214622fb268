#!/usr/bin/env python3
"""Train PPO on fleet_navigation and compare it with random driving and with a simple rule.

One policy is shared by all robots: 128 worlds of 8 robots are stepped together, and each robot gives experience.
Needs the extra `learn`: pip install 'fleet_sim[learn]'. Takes some minutes on two cores.

    python examples/train_navigation.py --curve curve.png
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from fleet_sim.learning.envs.parallel import FleetNavigation
from fleet_sim.learning.envs.stable_baselines import FleetVecEnv
from fleet_sim.learning.envs.vector import NavigationVectorEnv

ROBOTS, ARENA = 8, 12.0
MARGIN = 0.4
"""Smallest difference in success rate between the trained and the random policy."""

Policy = Callable[[Any], Any]


class SuccessCurve(BaseCallback):
    """Records the share of episodes that ended at the goal, over the last 2,000."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: list[bool] = []
        self.curve: list[tuple[int, float]] = []
        self._printed = 0.0

    def _on_step(self) -> bool:
        self.recent += [info["is_success"] for info in self.locals["infos"] if info]
        del self.recent[:-2000]
        return True

    def _on_rollout_end(self) -> None:
        share = float(np.mean(self.recent)) if self.recent else 0.0
        self.curve.append((self.num_timesteps, share))
        if time.perf_counter() - self._printed > 5.0:
            self._printed = time.perf_counter()
            print(f"{self.num_timesteps:>9} steps: {100 * share:5.1f} % of episodes end at the goal", flush=True)


def train(steps: int, seed: int) -> tuple[PPO, SuccessCurve]:
    """Return a trained model and its curve."""
    envs = NavigationVectorEnv(
        128 * ROBOTS, num_robots=ROBOTS, arena_size=ARENA, autoreset_mode=AutoresetMode.SAME_STEP
    )
    venv = FleetVecEnv(envs)
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
    curve = SuccessCurve()
    model.learn(steps, callback=curve)
    venv.close()
    return model, curve


def success(policy: Policy, episodes: int) -> float:
    """Return the share of robots that reach their goals, over whole episodes of fleet_navigation."""
    fleet = FleetNavigation(num_robots=ROBOTS, arena_size=ARENA)
    reached = 0
    for episode in range(episodes):
        seen, _ = fleet.reset(seed=10_000 + episode)
        while fleet.agents:
            names = list(fleet.agents)
            actions = policy(np.stack([seen[name] for name in names]))
            seen, _, _, _, infos = fleet.step(dict(zip(names, actions, strict=True)))
            reached += sum(info["is_success"] for info in infos.values())
    fleet.close()
    return reached / (episodes * ROBOTS)


def simple_rule(seen: Any) -> Any:
    """Turn towards the goal and drive while it is ahead, without regard to obstacles."""
    bearing = np.arctan2(seen[:, 2], seen[:, 1])
    return np.stack([np.maximum(0.0, seen[:, 1]), np.clip(bearing, -1.0, 1.0)], axis=1)


def draw_curve(curve: list[tuple[int, float]], levels: dict[str, float], path: str) -> None:
    """Save the learning curve, with the success rates of the other policies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 3.4), layout="constrained")
    axes.plot([steps / 1e6 for steps, _ in curve], [100 * share for _, share in curve], label="PPO, while training")
    for (name, level), style in zip(levels.items(), ("--", ":", "-."), strict=False):
        axes.axhline(100 * level, linestyle=style, color="0.4", label=f"{name}: {100 * level:.0f} %")
    axes.set(xlabel="million robot steps", ylabel="goals reached (%)", ylim=(0, 100))
    axes.legend(loc="lower right", fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> int:
    """Train and evaluate; return 0 if the margin is met."""
    parser = argparse.ArgumentParser(description="Train PPO on fleet_navigation.")
    parser.add_argument("--steps", type=int, default=2_000_000, help="robot steps to train for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=50, help="episodes to evaluate each policy")
    parser.add_argument("--model", metavar="FILE.zip", help="save the trained policy")
    parser.add_argument("--curve", metavar="FILE.png", help="save the learning curve")
    args = parser.parse_args()
    begin = time.perf_counter()
    model, curve = train(args.steps, args.seed)
    print(f"trained for {args.steps} steps in {time.perf_counter() - begin:.0f} s")
    rng = np.random.default_rng(args.seed)
    levels = {
        "random": success(lambda seen: rng.uniform(-1.0, 1.0, (len(seen), 2)), args.episodes),
        "simple rule": success(simple_rule, args.episodes),
        "PPO": success(lambda seen: model.predict(seen, deterministic=True)[0], args.episodes),
    }
    for name, level in levels.items():
        print(f"{name:>12}: {100 * level:5.1f} % of robots reach their goals")
    if args.model:
        model.save(args.model)
    if args.curve:
        draw_curve(curve.curve, levels, args.curve)
    beaten = levels["PPO"] >= levels["random"] + MARGIN
    print(f"margin over random of at least {100 * MARGIN:.0f} points: {'met' if beaten else 'missed'}")
    return 0 if beaten else 1


if __name__ == "__main__":
    raise SystemExit(main())
