"""`fleet-sim pick`: a trained policy picks objects out of a bin."""

from __future__ import annotations

import argparse
import time
from typing import Any

from fleet_sim.apps.cli.arguments import add_view_options, announce, check_unused, not_negative, positive, view_params
from fleet_sim.base.errors import InvalidValueError


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("pick", help="let a trained policy pick objects out of a bin")
    parser.add_argument(
        "policy", nargs="?", metavar="FILE", help="what examples/train_picking.py wrote (default: the shipped policy)"
    )
    parser.add_argument("--episodes", type=positive, default=10, metavar="N", help="number of bins (10)")
    parser.add_argument("--seed", type=not_negative, default=0, metavar="N", help="seed of the first bin (0)")
    parser.add_argument("--engine", choices=("auto", "bullet", "mujoco"), default="auto", help="the physics engine")
    parser.add_argument("--view", action="store_true", help="watch it in the browser, in real time")
    add_view_options(parser)
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Play episodes, print how each ended and how many objects were picked; return 0."""
    # Imported here so that --help and errors in options are immediate.
    from fleet_sim.learning.envs.franka import Franka2Env
    from fleet_sim.learning.envs.policy import PICKING, Policy

    if not args.view:
        check_unused(args)
    policy, picks = Policy.load(args.policy), 0
    env = Franka2Env(PICKING, engine=args.engine)
    if policy.weights[-1].shape != env.action_limits.shape:
        raise InvalidValueError(f"{args.policy} has {len(policy.weights[-1])} actions, not {len(env.action_limits)}")
    for seed in range(args.seed, args.seed + args.episodes):
        state, info = env.reset(seed=seed)
        if args.view and seed == args.seed:
            assert env.sim is not None
            env.sim.register_callback(lambda sim, dt: time.sleep(dt))
            announce(env.sim.view.show(**vars(view_params(args))))
        ended = truncated = False
        while not (ended or truncated):
            state, _, ended, truncated, info = env.step(policy.action(state) * env.action_limits)
        picks += info["successful_grab"]
        how = "picked" if info["successful_grab"] else "touched the bin" if ended else "picked nothing"
        print(f"seed {seed}: {how} after {env.steps} steps", flush=True)
    print(f"{picks} of {args.episodes} picked")
    env.close()
    return 0
