"""Measure kinematics on random reachable targets: time and success, compared with PyBullet and pybullet-fleet.

Targets are where the end effector is for joint values drawn evenly from their limits; every solver starts from the same
values, 0 or the limit nearest to it. A target counts as met where the joint values found, cut to their limits, bring
the end effector within 2 cm, and within 0.15 rad where it is turned. Times are those of the processor.

Run: python bench/kinematics.py --peer .venv-peer/bin/python [--targets 1000] (without --peer it is left out)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pybullet

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.models.kinematics.inverse import InverseKinematics
from fleet_sim.models.kinematics.reaching import default_end_effector
from fleet_sim.models.kinematics.tree import ORIGIN, Forward, orientations, tree_of
from fleet_sim.world.shapes import RobotModel

MODELS = ("panda", "kuka_iiwa", "arm6", "rail_arm", "mobile_manipulator")
SINGLE = 100
"""Number of targets that are solved one by one."""


class Task(NamedTuple):
    """A model, its end effector, initial joint values (M,), limits, and targets (N, 3), (N, 4) or None."""

    model: RobotModel
    link: int
    start: Floats
    lower: Floats
    upper: Floats
    positions: Floats
    turns: Floats | None


def make_task(name: str, count: int, *, turned: bool) -> Task:
    """Return a task with `count` random targets that can be reached."""
    model = load_robot_model(resolve_urdf(name))
    link, moving = default_end_effector(model), model.movable
    limited_mask = model.limited_mask[moving]
    lower, upper = np.where(limited_mask, model.lower[moving], 0.0), np.where(limited_mask, model.upper[moving], 0.0)
    values = np.random.default_rng(11).uniform(lower, upper, (count, len(moving)))
    positions, turns = end_effectors(model, link, values)
    return Task(
        model, link, np.clip(np.zeros(len(moving)), lower, upper), lower, upper, positions, turns if turned else None
    )


def end_effectors(model: RobotModel, link: int, values: Floats) -> tuple[Floats, Floats]:
    """Return the poses (N, 3), (N, 4) of a link for joint values (N, M)."""
    tree = tree_of(model)
    frames = Forward(tree).frames(values, compiled=True)[:, :, tree.link_body[link]]
    fixed = tree.link_position[[link] * len(values)], tree.link_orientation[[link] * len(values)]
    return poses.compose(frames[:, ORIGIN].T, orientations(frames), *fixed)


def met_mask(task: Task, values: Floats) -> Bools:
    """Return a mask (N,) of the targets reached by joint values (N, M)."""
    positions, turns = end_effectors(task.model, task.link, np.clip(values, task.lower, task.upper))
    count = len(values)
    mask: Bools = np.linalg.norm(positions - task.positions[:count], axis=1) <= 0.02
    if task.turns is not None:
        apart = quaternions.multiply(turns, quaternions.conjugate(task.turns[:count]))
        mask &= np.linalg.norm(quaternions.to_rotation_vectors(apart), axis=1) <= 0.15
    return mask


def best_time(work: Callable[[], object], repeats: int = 15) -> float:
    """Return the lowest processor time of `work` in s."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def forward_table(sizes: tuple[int, ...] = (1, 10, 100, 1000, 10_000)) -> None:
    """Print the cost of computing the frames of all links of panda arms."""
    print(f"\n{'frames of all bodies of panda arms':40} {'ms':>9} {'us per arm':>11}")
    model = load_robot_model(resolve_urdf("panda"))
    forward = Forward(tree_of(model))
    for count in sizes:
        values = np.random.default_rng(3).uniform(-1.0, 1.0, (count, len(model.movable)))
        took = best_time(lambda values=values: forward.frames(values, compiled=True))
        print(f"{f'fleet_sim, {count} arms':40} {1e3 * took:9.3f} {1e6 * took / count:11.2f}")
    with Bullet(model) as bullet:
        took = best_time(bullet.link_states)
        print(f"{'PyBullet, getLinkStates of one arm':40} {1e3 * took:9.3f} {1e6 * took:11.2f}")


class Bullet:
    """One robot in PyBullet, used in the straightforward way."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.client = pybullet.connect(pybullet.DIRECT)
        flags = pybullet.URDF_IGNORE_VISUAL_SHAPES
        self.body = pybullet.loadURDF(model.path, useFixedBase=True, flags=flags, physicsClientId=self.client)
        inertial = pybullet.getDynamicsInfo(self.body, -1, physicsClientId=self.client)[3:5]
        pybullet.resetBasePositionAndOrientation(self.body, *inertial, physicsClientId=self.client)

    def __enter__(self) -> Bullet:
        return self

    def __exit__(self, *exception: object) -> None:
        pybullet.disconnect(self.client)

    def link_states(self) -> None:
        """Query all links."""
        links = list(range(self.model.num_joints))
        pybullet.getLinkStates(self.body, links, computeForwardKinematics=True, physicsClientId=self.client)

    def solve(self, task: Task) -> tuple[Floats, float]:
        """Return joint values (N, M) and the time per target in s."""
        for joint, value in zip(self.model.movable.tolist(), task.start.tolist(), strict=True):
            pybullet.resetJointState(self.body, joint, value, physicsClientId=self.client)
        turns = [] if task.turns is None else task.turns.tolist()
        found = []
        begin = time.process_time()
        for index, position in enumerate(task.positions.tolist()):
            target = (position, turns[index]) if turns else (position,)
            found.append(
                pybullet.calculateInverseKinematics(self.body, task.link, *target, physicsClientId=self.client)
            )
        return np.array(found), (time.process_time() - begin) / len(found)


def solve_alone(task: Task, *, compiled: bool) -> tuple[Floats, float]:
    """Return our joint values for the first targets, solved one by one, and the time per target in s."""
    solver, found = InverseKinematics(task.model, task.link), []
    count = min(SINGLE, len(task.positions))
    solver.solve(
        task.start[None], task.positions[:1], None if task.turns is None else task.turns[:1], compiled=compiled
    )
    begin = time.process_time()
    for index in range(count):
        one = slice(index, index + 1)
        turns = None if task.turns is None else task.turns[one]
        found.append(solver.solve(task.start[None], task.positions[one], turns, compiled=compiled).values[0])
    return np.array(found), (time.process_time() - begin) / count


def solve_together(task: Task) -> tuple[Floats, float]:
    """Return our joint values, solved in one call, and the time per target in s."""
    solver, count = InverseKinematics(task.model, task.link), len(task.positions)
    start = np.tile(task.start, (count, 1))
    # Loads the compiled code.
    solver.solve(start[:1], task.positions[:1], None if task.turns is None else task.turns[:1], compiled=True)
    begin = time.process_time()
    values = solver.solve(start, task.positions, task.turns, compiled=True).values
    return values, (time.process_time() - begin) / count


def solve_peer(python: str, task: Task) -> tuple[Floats, float]:
    """Return the peer's joint values for the first targets and its time per target in s."""
    count = min(SINGLE, len(task.positions))
    order = {
        "urdf": task.model.path,
        "names": task.model.movable_names,
        "start": task.start.tolist(),
        "link": task.link,
        "positions": task.positions[:count].tolist(),
        "turns": None if task.turns is None else task.turns[:count].tolist(),
    }
    program = Path(__file__).with_name("peer_kinematics.py")
    done = subprocess.run([python, str(program)], input=json.dumps(order), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return np.array(answer["values"]), answer["seconds"] / count


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python with pybullet-fleet")
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    forward_table()
    print(f"\n{'inverse kinematics':28} {'':9} {'solver':24} {'met %':>7} {'us':>9}")
    for name in arguments.models:
        for turned in (False, True):
            task = make_task(name, arguments.targets, turned=turned)
            axes = len(InverseKinematics(task.model, task.link).joint_names)
            with Bullet(task.model) as bullet:
                solved = {
                    "fleet_sim, in one call": solve_together(task),
                    "fleet_sim, one by one": solve_alone(task, compiled=True),
                    "fleet_sim, in Python": solve_alone(task, compiled=False),
                    "PyBullet": bullet.solve(task),
                }
            if arguments.peer:
                solved["pybullet-fleet"] = solve_peer(arguments.peer, task)
            for solver, (values, seconds) in solved.items():
                share = 100.0 * met_mask(task, values).mean()
                what = "pose" if turned else "position"
                print(f"{f'{name}, {axes} axes':28} {what:9} {solver:24} {share:7.1f} {1e6 * seconds:9.1f}")


if __name__ == "__main__":
    main()
