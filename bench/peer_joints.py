"""Measure arms with pybullet-fleet, through its public interface. Runs in an environment of its own.

Run: .venv-peer/bin/python bench/peer_joints.py 100 10
"""

from __future__ import annotations

import json
import sys
import time

import joint_workload
from pybullet_fleet import Agent, MultiRobotSimulationCore, Pose, SimulationParams


def main() -> None:
    """Print one line of JSON."""
    arms, legs = int(sys.argv[1]), int(sys.argv[2])
    params = SimulationParams(
        gui=False,
        enable_monitor_gui=False,
        monitor=False,
        target_rtf=0.0,
        timestep=joint_workload.TIME_STEP,
        physics=False,
        collision_check_frequency=0,
        log_level="error",
    )
    sim = MultiRobotSimulationCore(params)
    begin = time.perf_counter()
    agents = [
        Agent.from_urdf("panda", pose=Pose.from_xyz(2.0 * index, 0.0, 0.0), mass=0.0, use_fixed_base=True, sim_core=sim)
        for index in range(arms)
    ]
    spawn = time.perf_counter() - begin

    def send(leg: int) -> None:
        for agent in agents:
            agent.set_joints_targets(joint_workload.targets(leg, fixed=2))

    result = joint_workload.measure(sim.step_once, send, legs)
    print(json.dumps({**result, "spawn_ms": 1e3 * spawn, "moved": agents[0].get_joint_state(0)[0]}))


if __name__ == "__main__":
    main()
