"""A policy learns to pick from depth pictures of a camera in the hand: by imitation, with PyTorch, on one core.

Run: python examples/train_picking_depth.py [--policy depth.pt] [--curve curve.png]
     python examples/train_picking_depth.py --test 100 [--film pick.gif]

The teacher is the picker of train_picking.py, which knows where the objects are. The policy sees a depth picture and
the hand's own place. The teacher plays the first rounds; in the others the policy does, and the teacher says what it
would have done there (DAgger). Needs the extras `learn` and `camera`; `plot` for the curve and `video` for the film.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn
from train_picking import FIRST_SEED, scripted

from fleet_sim.base.arrays import Bytes, Floats
from fleet_sim.learning.envs.franka import Franka2Env
from fleet_sim.learning.envs.policy import PICKING
from fleet_sim.sensing.sensors.render.shot import FilmFile

SIDE, VIEW, HAND = 64, 100.0, 8
"""Pixels along a side of a picture, the field of view in degrees, and the link that the camera is mounted on."""
SETTINGS = {**PICKING, "camera": {"width-resolution": SIDE, "height-resolution": SIDE}}
OWN = [7, 8, 18, 19, 20, 21, 22, 23]
"""What the policy sees of the observation `state`: fingers, place and yaw of the hand, open or not. No object."""
NEAR, FAR, UNIT = 0.02, 0.4, 0.1
"""Depths in m: the nearest and farthest that pictures tell apart, and what is 1."""
TAUGHT, ASTRAY = 2, 0.2
"""Rounds that the teacher plays, and the share of its actions that are disturbed, so that it shows the way back."""
ZOOM = 2
"""Size of a pixel in films."""
BATCH, RATE, STEPS, LAST_STEPS = 128, 1e-3, 500, 4000
"""States in a step of learning, and its rate; steps after each round, and at the end, where the rate falls to 0."""


class Network(nn.Module):
    """From pictures (N, 1, 64, 64) and the hand's state (N, 8) to actions (N, 5), in axes of the hand."""

    def __init__(self) -> None:
        super().__init__()
        self.eye = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, 2, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()),
            *(nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 128), nn.ReLU()),
        )
        self.hand = nn.Sequential(nn.Linear(128 + len(OWN), 128), nn.ReLU(), nn.Linear(128, 5))

    def forward(self, pictures: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Return the actions."""
        actions: torch.Tensor = self.hand(torch.cat([self.eye(pictures), own], dim=1))
        return actions

    def act(self, picture: Floats, state: Floats) -> Floats:
        """Return the action (5,), from -1 to 1, in axes of the world."""
        with torch.no_grad():
            found = self(torch.from_numpy(picture[None]), torch.from_numpy(state[None, OWN])).numpy()
        return np.clip(turned(found[0].astype(np.float64), -state[21], state[22]), -1.0, 1.0)


def turned(action: Floats, sine: float, cosine: float) -> Floats:
    """Return an action (5,) whose displacement is in axes that are turned by an angle."""
    x, y, *rest = action.tolist()
    return np.array([cosine * x + sine * y, cosine * y - sine * x, *rest])


class Lessons:
    """What was seen, and what the teacher did or would have done."""

    def __init__(self) -> None:
        self.pictures: list[Floats] = []
        self.own: list[Floats] = []
        self.wanted: list[Floats] = []

    def add(self, picture: Floats, state: Floats, action: Floats) -> None:
        """Add a state."""
        self.pictures.append(picture)
        self.own.append(state[OWN])
        self.wanted.append(turned(action, state[21], state[22]).astype(np.float32))

    def teach(self, network: Network, optimizer: torch.optim.Adam, steps: int, *, slower: bool = False) -> None:
        """Let a network learn."""
        parts = [torch.from_numpy(np.array(part)) for part in (self.pictures, self.own, self.wanted)]
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = RATE * (1.0 - step / steps if slower else 1.0)
            drawn = torch.randint(len(self.own), (BATCH,), generator=DRAWS)
            pictures, own, wanted = (part[drawn] for part in parts)
            loss = ((network(pictures, own) - wanted) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def play(
    env: Franka2Env,
    seed: int,
    network: Network | None,
    lessons: Lessons | None = None,
    frames: list[Bytes] | None = None,
) -> bool:
    """Play an episode with the network, or the teacher; return whether an object was picked."""
    rng, picked, ended = np.random.default_rng(seed), False, False
    state, _ = env.reset(seed=seed)
    env.mount_camera_on_robot(0, HAND, env.robots[0].gripper_index, fov=VIEW)
    while not ended:
        colors, depth = env.render("rgb_and_depth")
        picture = ((np.clip(depth, NEAR, FAR) - NEAR) / UNIT).astype(np.float32)[None]
        taught = scripted(state[None].astype(np.float64))[0]
        if lessons is not None:
            lessons.add(picture, state, taught)
        if frames is not None:
            grey = (255.0 * picture[0] / picture.max()).astype(np.uint8)
            pair = np.concatenate([colors, np.repeat(grey[..., None], 3, axis=2)], axis=1)
            frames.append(np.kron(pair, np.ones((ZOOM, ZOOM, 1), np.uint8)))
        action = taught if network is None else network.act(picture, state)
        if network is None and rng.random() < ASTRAY:
            action = np.clip(action + rng.normal(0.0, 0.7, 5), -1.0, 1.0)
        state, _, terminated, truncated, info = env.step(action * env.action_limits)
        picked, ended = info["successful_grab"], terminated or truncated
    return picked


def train(env: Franka2Env, rounds: int, episodes: int) -> tuple[Network, list[tuple[float, float]]]:
    """Return a network, and its curve: minutes of processor time, and the share of episodes in which it picked."""
    network, lessons, curve = Network(), Lessons(), []
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    for number in range(rounds):
        player = network if number >= TAUGHT else None
        seeds = range(FIRST_SEED + number * episodes, FIRST_SEED + (number + 1) * episodes)
        picks = sum(play(env, seed, player, lessons) for seed in seeds)
        minutes = time.process_time() / 60.0
        if player is not None:
            curve.append((minutes, picks / episodes))
        who = "teacher" if player is None else "policy"
        print(f"round {number}: {who} picked {picks} of {episodes}; {len(lessons.own)} states, {minutes:.1f} min")
        lessons.teach(network, optimizer, STEPS)
    lessons.teach(network, optimizer, LAST_STEPS, slower=True)
    print(f"trained in {time.process_time() / 60.0:.1f} min of processor time")
    return network, curve


def draw_curve(curve: list[tuple[float, float]], path: str) -> None:
    """Save the curve."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.0, 3.0), layout="constrained")
    axes.plot(*np.array(curve).T * [[1.0], [100.0]], marker="o")
    axes.set(xlabel="minutes of processor time", ylabel="objects picked (%)", ylim=(0, 100))
    figure.savefig(path, dpi=90)


def main() -> None:
    """Train a policy and write it, or test one on seeds that no training used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--policy", default="depth.pt", metavar="FILE.pt", help="where the policy is")
    parser.add_argument("--test", type=int, default=0, metavar="N", help="only play N episodes with it")
    parser.add_argument("--film", metavar="FILE.gif", help="with --test: film what the camera sees in the first three")
    parser.add_argument("--curve", metavar="FILE.png", help="save the learning curve")
    parser.add_argument("--episodes", type=int, default=30, help="episodes of each round (30)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of playing and learning (15)")
    parser.add_argument("--engine", choices=("auto", "bullet", "mujoco"), default="auto", help="the physics engine")
    options = parser.parse_args()
    torch.set_num_threads(1)
    env = Franka2Env(SETTINGS, max_steps=100, engine=options.engine)
    if not options.test:
        network, curve = train(env, options.rounds, options.episodes)
        torch.save(network.state_dict(), options.policy)
        if options.curve:
            draw_curve(curve, options.curve)
        return
    network, picks, frames = Network(), 0, list[Bytes]()
    network.load_state_dict(torch.load(options.policy, weights_only=True))
    for seed in range(options.test):
        picks += play(env, seed, network, frames=frames if options.film and seed < 3 else None)
        print(f"seed {seed}: {picks} of {seed + 1} picked", flush=True)
    if options.film:
        film = FilmFile(options.film, 2 * SIDE * ZOOM, SIDE * ZOOM, 10.0)
        for frame in frames:
            film.add(frame)
        film.close()


torch.manual_seed(0)
DRAWS = torch.Generator().manual_seed(0)

if __name__ == "__main__":
    main()
