"""The robot descriptions that tests of joints spawn."""

from __future__ import annotations

from typing import Any

from fleet_sim import Agent, MultiRobotSimulationCore, resolve_urdf

PANDA = resolve_urdf("panda")
"""Seven hinges with limits, two fingers that slide, three fixed joints: PyBullet's, or ours where there is none."""
ARM_JOINTS = [f"panda_joint{number}" for number in range(1, 8)]
FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]
READY = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.04, 0.04]
"""A pose of all joints that move, well inside their limits."""


def spawn_panda(sim: MultiRobotSimulationCore, name: str = "arm", **settings: Any) -> Agent:
    """Spawn a panda in its READY pose."""
    agent: Agent = Agent.from_urdf(PANDA, sim_core=sim, name=name, joint_positions=READY, **settings)
    return agent


ARM_AND_CART = """
simulation: {timestep: 0.05, target_rtf: 10.0}
robots:
  - {name: %s, pose: [0, 0, 0], urdf_path: arm6, joint_positions: {joint_4: -1.5}}
  - {name: cart, pose: [0, 3, 0.15], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
"""
"""A scenario of an arm, whose name is to be filled in, and a robot without joints."""
