"""Measure the environments: many worlds, resets, and bin picking compared with a plain PyBullet loop.

Run: python bench/envs.py. The plain loop does what one writes first: the same scene, motors, steps and control, and
PyBullet's own camera.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from fleet_sim.learning.envs.franka import Franka2Env
from fleet_sim.learning.envs.vector import NavigationVectorEnv

CONFIG = {"scene": {"bin": {"objects": {"min-number-of-objects": 40, "max-number-of-objects": 40, "heaps-per-kind": 1,
          "load-specific-object": True, "relative-path-to-object": "box"}}}}  # fmt: skip


def navigation(worlds: int, steps: int) -> float:
    """Return the robot steps per second of `worlds` worlds with one robot each."""
    envs = NavigationVectorEnv(worlds)
    envs.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (32, worlds, 2)).astype(np.float32)
    for index in range(10):
        envs.step(actions[index])
    begin = time.perf_counter()
    for index in range(steps):
        envs.step(actions[index % 32])
    seconds = time.perf_counter() - begin
    envs.close()
    return worlds * steps / seconds


class PlainLoop:
    """The scene of the environment, moved and rendered with PyBullet's functions only."""

    def __init__(self, env: Franka2Env) -> None:
        import pybullet

        scene = env.loaded_scene()
        self.bullet, self.env = pybullet, env
        self.client = scene.sim.setup_pybullet()
        self.arm = scene.arms[0].arm_id
        self.camera = env._camera()

    def step(self, action: Any) -> Any:
        """Move the gripper by a displacement and take a picture, as Franka2Env does."""
        bullet, client, arm = self.bullet, self.client, self.arm
        state = bullet.getLinkState(arm, 11, computeForwardKinematics=True, physicsClientId=client)
        target = np.array(state[4]) + action[:3]
        yaw = bullet.getEulerFromQuaternion(state[5])[2] + action[3]
        joints = bullet.calculateInverseKinematics(
            arm, 11, target.tolist(), bullet.getQuaternionFromEuler([np.pi, 0.0, yaw]), physicsClientId=client
        )
        fingers = [0.02, 0.02] if action[4] > 0.0 else [0.0, 0.0]
        goal = [*joints[:7], *fingers]
        index = [0, 1, 2, 3, 4, 5, 6, 9, 10]
        for _ in range(120):
            bullet.setJointMotorControlArray(arm, index, bullet.POSITION_CONTROL, goal, physicsClientId=client)
            bullet.stepSimulation(physicsClientId=client)
            bullet.stepSimulation(physicsClientId=client)
            now = [entry[0] for entry in bullet.getJointStates(arm, index, physicsClientId=client)]
            if np.abs(np.array(now[:7]) - joints[:7]).max() < 0.01:
                break
        return bullet.getCameraImage(
            64,
            64,
            self.camera.view_matrix,
            self.camera.projection_matrix,
            renderer=bullet.ER_TINY_RENDERER,
            physicsClientId=client,
        )


def delta(steps: int) -> tuple[float, float, float]:
    """Return steps per second of FrankaDelta and of the plain loop, and the seconds of a reset with 40 objects."""
    env = Franka2Env(CONFIG, max_steps=10**9)
    # PyBullet puts no body to sleep unless it is enabled for each body, at the right time.
    plain_settings = {"sim-mode": "cpu-headless", "objects-sleep": False}
    plain_env = Franka2Env({**CONFIG, "simulation": plain_settings}, max_steps=10**9)
    for made in (env, plain_env):
        made.reset(seed=0)
        made.reset(seed=0, options={"keep_object_type": True})
    begin = time.perf_counter()
    for _ in range(5):
        env.reset(options={"keep_object_type": True})
    reset = (time.perf_counter() - begin) / 5
    plain = PlainLoop(plain_env)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (steps, 5)) * [0.016, 0.016, 0.016, 0.25, 1.0]
    times = np.zeros((2, steps))
    env.reset(seed=1, options={"keep_object_type": True})
    for index, action in enumerate(actions):
        for row, what in enumerate((env, plain)):
            begin = time.perf_counter()
            what.step(action)
            times[row, index] = time.perf_counter() - begin
    rates = 1.0 / np.median(times, axis=1)
    env.close()
    plain_env.close()
    return float(rates[0]), float(rates[1]), reset


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=300, help="steps of the worlds")
    parser.add_argument("--picks", type=int, default=40, help="steps of bin picking")
    args = parser.parse_args()
    rate = navigation(args.worlds, args.steps)
    print(f"navigation, {args.worlds} worlds x 1 robot: {rate:,.0f} robot steps per second")
    ours, plain, reset = delta(args.picks)
    print(f"FrankaDelta, 64x64: {ours:.1f} steps per second; plain PyBullet loop {plain:.1f}; {ours / plain:.2f} times")
    print(f"reset with 40 things, of a kind that is known: {1000.0 * reset:.1f} ms")


if __name__ == "__main__":
    main()
