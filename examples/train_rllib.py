#!/usr/bin/env python3
"""Train one policy for all robots of a fleet with PPO of RLlib, in several env runners, here or on a cluster of Ray.

Needs the extra `rllib`: pip install 'fleet_sim[rllib]'. Checkpoints and curves for TensorBoard are in --out:

    python examples/train_rllib.py --iterations 100 --runners 2 --out runs
    tensorboard --logdir runs
    python examples/train_rllib.py --iterations 100 --out runs --restore runs/checkpoint
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from tensorboardX import SummaryWriter

from fleet_sim.learning.envs.rllib import register_rllib


def algorithm_of(runners: int, robots: int, batch: int) -> PPO:
    """Return PPO for fleets of so many robots, which `runners` processes drive at the same time."""
    config = PPOConfig().environment(
        "FleetSim/FleetNavigation-v0", env_config={"num_robots": robots, "arena_size": 1.5 * robots}
    )
    # On a busy machine RLlib would go on after a minute without what the runners have not finished.
    config.env_runners(num_env_runners=runners, num_envs_per_env_runner=4, sample_timeout_s=3600.0)
    # One policy for all: robots are alike.
    config.multi_agent(policies={"robot"}, policy_mapping_fn=lambda agent, episode, **_: "robot")
    config.training(train_batch_size=batch, minibatch_size=min(batch, 512), num_epochs=5, lr=1e-3, gamma=0.98)
    return config.build_algo()


def main() -> int:
    """Train, print how the mean return of a fleet grows, and save."""
    parser = argparse.ArgumentParser(description="Train PPO of RLlib on FleetSim/FleetNavigation-v0.")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--runners", type=int, default=2, help="processes that drive robots")
    parser.add_argument("--robots", type=int, default=8, help="robots of a fleet")
    parser.add_argument("--batch", type=int, default=4000, help="steps of fleets between two updates")
    parser.add_argument("--address", help="a cluster of Ray, such as auto; without it one is started here")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of checkpoints and curves")
    parser.add_argument("--restore", type=Path, metavar="CHECKPOINT", help="go on from here")
    args = parser.parse_args()
    ray.init(address=args.address, include_dashboard=False, log_to_driver=False)
    register_rllib()
    algorithm = algorithm_of(args.runners, args.robots, args.batch)
    if args.restore is not None:
        algorithm.restore_from_path(args.restore.absolute())
    with SummaryWriter(str(args.out)) as curves:
        for _ in range(args.iterations):
            result: dict[str, Any] = algorithm.train()
            done, driven = result["training_iteration"], result["env_runners"]
            for name in ("episode_return_mean", "episode_len_mean", "num_env_steps_sampled_lifetime"):
                # Until the first episode has ended there is no mean.
                if name in driven:
                    curves.add_scalar(f"fleet/{name}", driven[name], done)
            mean = driven.get("episode_return_mean", float("nan"))
            print(f"{done:>4}: mean return of a fleet {mean:7.2f}", flush=True)
    print(f"saved {algorithm.save_to_path(str((args.out / 'checkpoint').absolute()))}")
    algorithm.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
