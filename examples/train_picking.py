"""A policy learns to pick from a scripted picker's demonstrations: with NumPy alone, in minutes on one core.

Run: python examples/train_picking.py [--policy picking.npz] [--engine mujoco] [--test 100]

Both see only the 33 numbers of `observation: state`. The picker shows what it does, and what it would do in the same
states with the object and the hand elsewhere; in further rounds also in the states that the policy gets into (DAgger).
"""

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.learning.envs.franka import STATE_UNITS, Franka2Env
from fleet_sim.learning.envs.policy import PICKING, Policy
from fleet_sim.learning.manipulation.arm import workspace_limits

BIN = (0.16, 0.16, 0.04)
HOVER, SEARCH, AROUND = 0.05, 0.08, 0.025
"""In m: height above an object that the hand is not yet over; height and circle of a hand that looks for another."""
NEAR, TURNED, DEEP = 0.005, 0.15, 0.002
"""How exactly, in m and rad, a hand stands over an object before it goes down; how far above its middle it closes."""
SEEN = [*range(18, 27), 31]
"""Which numbers of a state the picker looks at."""
COPIES, STEPS, BATCH, RATE, WIDTH = 40, 8000, 256, 0.003, 80
"""Varied copies of each state; steps of learning in a round, states in one, and its size; units of a layer."""
FIRST_SEED = 10_000
REACHED = 0.01
"""Distance in m from the nearest place the hand may be at to an object, up to which the fingers hold it."""


def scripted(states: Floats) -> Floats:
    """Return what a picker does in states (N, 33): actions (N, 5), each from -1 to 1. It remembers nothing."""
    states = states * STATE_UNITS
    point, offset = states[:, 18:21], states[:, 24:27]
    yaw = np.arctan2(states[:, 21], states[:, 22])
    is_open, touched = states[:, 23] > 0.5, states[:, 31] > 0.5
    thing = point + offset
    turn, way, miss = np.zeros(len(yaw)), np.zeros((len(yaw), 2)), np.full(len(yaw), np.inf)
    # The open fingers fit around objects however these lie; their line is along y, or along x between two walls.
    for angle in (0.0, 0.5 * np.pi):
        turned = angle - yaw
        low, high = limits(yaw + turned)
        goal = np.clip(thing[:, :2], low, high)
        left = np.abs(goal - thing[:, :2]).max(axis=1)
        better_mask = (miss > REACHED) & (left < miss)
        turn, miss = np.where(better_mask, turned, turn), np.where(better_mask, left, miss)
        way = np.where(better_mask[:, None], goal - point[:, :2], way)
    reached_mask = miss <= REACHED
    off = np.hypot(way[:, 0], way[:, 1])
    funnel = np.minimum(HOVER, 2.0 * np.maximum(off - NEAR, 0.0) + 0.25 * np.maximum(np.abs(turn) - TURNED, 0.0))
    height = np.maximum(thing[:, 2] + DEEP, 0.0135) + funnel
    down = height - point[:, 2]
    close_mask = (off < NEAR) & (np.abs(turn) < TURNED) & (np.abs(down) < 0.004)
    actions = np.column_stack([way / 0.016, down / 0.016, turn / 0.25, np.where(close_mask, -1.0, 1.0)])
    # From an object in a corner the hand goes on around the middle of the bin until another one is nearer.
    far = np.maximum(np.hypot(point[:, 0], point[:, 1]), 1e-3)
    outwards = point[:, :2] / far[:, None]
    around = np.column_stack([-outwards[:, 1], outwards[:, 0]]) + outwards * ((AROUND - far) / 0.016)[:, None]
    search = np.column_stack([around, (SEARCH - point[:, 2]) / 0.016, 0.0 * yaw, 0.0 * yaw + 1.0])
    actions = np.where((is_open & ~reached_mask)[:, None], search, actions)
    # What is held is lifted; closed fingers that hold nothing open again.
    up = np.column_stack([np.zeros((len(yaw), 2)), np.ones(len(yaw)), 0.0 * yaw, np.where(touched, -1.0, 1.0)])
    actions = np.where(is_open[:, None], actions, up)
    return np.clip(actions, -1.0, 1.0)


def limits(yaw: Floats) -> tuple[Floats, Floats]:
    """Return the lower and upper limits (N, 2) of the hand in the bin at angles `yaw`."""
    both = np.array([workspace_limits((0.0, 0.0, 0.0), BIN, turn)[:2] for turn in yaw.tolist()])
    return both[:, :, 0], both[:, :, 1]


# ---- learning ------------------------------------------------------------------------------------------------------


def fresh(states: Floats, rng: np.random.Generator) -> Policy:
    """Return an untrained policy for states like these (N, 33)."""
    layers = [(rng.normal(0.0, a**-0.5, (a, b)), np.zeros(b)) for a, b in pairwise((33, WIDTH, WIDTH, 5))]
    # What the picker does not look at is made nothing.
    mean, spread = states.mean(0), np.full(33, 1e9)
    mean[24:27], spread[SEEN] = 0.0, states.std(0)[SEEN] + 1e-3
    # Half of the units see millimetres, the others centimetres.
    layers[0][0][:, ::2] *= 8.0
    return Policy([mean, spread, *(part for layer in layers for part in layer)])


def fit(policy: Policy, states: Floats, actions: Floats, rng: np.random.Generator) -> float:
    """Let a policy learn to act so, by Adam with steps that fall to nothing; return the mean squared error."""
    parts = policy.weights[2:]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    for step in range(STEPS):
        picked = rng.integers(len(states), size=BATCH)
        outputs = policy.layers(states[picked])
        error = (outputs[-1] - actions[picked]) * (2.0 / BATCH)
        slopes: list[Floats] = []
        for layer in reversed(range(len(parts) // 2)):
            slopes = [outputs[layer].T @ error, error.sum(0), *slopes]
            error = (error @ parts[2 * layer].T) * (1.0 - outputs[layer] ** 2)
        for part, slope, mean, square in zip(parts, slopes, first, second, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            size = np.sqrt(square / (1.0 - 0.999 ** (step + 1))) + 1e-8
            part -= RATE * (1.0 - step / STEPS) * mean / (1.0 - 0.9 ** (step + 1)) / size
    return float(np.mean((policy.act(states) - actions) ** 2))


def like(states: Floats, rng: np.random.Generator) -> Floats:
    """Return states (N, 33) and copies of each with the object and the hand elsewhere, turned, open or closed."""
    copies = np.repeat((states * STATE_UNITS)[None], COPIES + 1, axis=0)
    point, offset = copies[1:, :, 18:21], copies[1:, :, 24:27]
    shape = point.shape[:2]
    thing = np.concatenate([rng.uniform(-0.07, 0.07, (*shape, 2)), point[:, :, 2:] + offset[:, :, 2:]], axis=2)
    # Of most copies the hand is near the object, of many very near.
    spread = rng.choice([0.002, 0.006, 0.03], size=(*shape, 1))
    near_mask = rng.random((*shape, 1)) < 0.8
    point[:] = np.where(near_mask, thing + rng.normal(0.0, 1.0, (*shape, 3)) * spread + [0.0, 0.0, DEEP], point)
    point[:, :, 2] = np.maximum(point[:, :, 2], 0.0125)
    offset[:] = thing - point
    yaw = rng.choice([0.0, 0.5 * np.pi], size=shape) + rng.normal(0.0, 0.05, shape)
    yaw = np.where(rng.random(shape) < 0.3, rng.uniform(-0.2, 1.8, shape), yaw)
    copies[1:, :, 21], copies[1:, :, 22] = np.sin(yaw), np.cos(yaw)
    copies[1:, :, 23] = rng.random(shape) < 0.9
    copies[1:, :, 31] = rng.random(shape) < 0.3
    return copies.reshape(-1, states.shape[1]) / STATE_UNITS


def play(env: Franka2Env, seed: int, act: Callable[[Floats], Floats]) -> tuple[list[Floats], bool]:
    """Play an episode; return its states and whether an object was picked."""
    state, _ = env.reset(seed=seed)
    states, ended = [], False
    while not ended:
        states.append(state.astype(np.float64))
        state, _, terminated, truncated, info = env.step(act(states[-1][None])[0] * env.action_limits)
        ended = terminated or truncated
    return states, info["successful_grab"]


def train(env: Franka2Env, episodes: int, rounds: int) -> Policy:
    """Return a policy after rounds of episodes, of the scripted picker in the first and of the policy in the others."""
    rng, seen, act = np.random.default_rng(0), list[Floats](), scripted
    policy: Policy | None = None
    for number in range(rounds):
        results = [play(env, FIRST_SEED + number * episodes + index, act) for index in range(episodes)]
        seen += [state for states, _ in results for state in states]
        states = like(np.array(seen), rng)
        policy = policy or fresh(states, rng)
        error = fit(policy, states, scripted(states), rng)
        act = policy.act
        picks, minutes = sum(picked for _, picked in results), time.process_time() / 60.0
        print(f"round {number}: {picks} of {episodes} picked; {len(seen)} states, error {error:.3f}, {minutes:.1f} min")
    assert policy is not None
    return policy


def main() -> None:
    """Train a policy and write it, or test one on seeds that no training used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--policy", default="picking.npz", metavar="FILE.npz", help="where the policy is")
    parser.add_argument("--test", type=int, default=0, metavar="N", help="only play N episodes with it")
    parser.add_argument("--scripted", action="store_true", help="test the scripted picker instead")
    parser.add_argument("--episodes", type=int, default=25, help="episodes of each round (25)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of playing and learning (1)")
    parser.add_argument("--engine", choices=("auto", "bullet", "mujoco"), default="auto", help="the physics engine")
    options = parser.parse_args()
    env = Franka2Env(PICKING, max_steps=100, engine=options.engine)
    if options.test:
        act = scripted if options.scripted else Policy.load(options.policy).act
        picks = 0
        for seed in range(options.test):
            picks += play(env, seed, act)[1]
            print(f"seed {seed}: {picks} of {seed + 1} picked", flush=True)
        print(f"{picks} of {options.test} picked, {time.process_time() / 60.0:.1f} min of processor time")
        return
    train(env, options.episodes, options.rounds).save(options.policy)


if __name__ == "__main__":
    main()
