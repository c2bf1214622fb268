"""Solve inverse kinematics with pybullet-fleet, through its public interface. Runs in an environment of its own.

Reads a task as JSON (see bench/kinematics.py) and prints joint values and the time they took as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from pybullet_fleet import Agent, MultiRobotSimulationCore, Pose, SimulationParams


def main() -> None:
    """Print one line of JSON."""
    task = json.load(sys.stdin)
    params = SimulationParams(
        gui=False,
        enable_monitor_gui=False,
        monitor=False,
        target_rtf=0.0,
        timestep=0.1,
        physics=False,
        collision_check_frequency=0,
        log_level="error",
    )
    sim = MultiRobotSimulationCore(params)
    agent = Agent.from_urdf(task["urdf"], pose=Pose.from_xyz(0, 0, 0), mass=0.0, use_fixed_base=True, sim_core=sim)
    agent.set_joints_targets(dict(zip(task["names"], task["start"], strict=True)))
    for _ in range(200):
        sim.step_once()
    present = dict(zip(task["names"], task["start"], strict=True))
    values, seconds = [], 0.0
    for index, position in enumerate(task["positions"]):
        turn = None if task["turns"] is None else task["turns"][index]
        begin = time.process_time()
        agent.move_end_effector(position, turn, end_effector_link=task["link"])
        seconds += time.process_time() - begin
        found = {**present, **_by_name(agent)}
        values.append([found[name] for name in task["names"]])
    print(json.dumps({"values": values, "seconds": seconds}))


def _by_name(agent: Agent) -> dict[str, float]:
    """Return the agent's latest joint targets by name."""
    names = list(agent.get_all_joints_state_by_name())
    targets = agent.last_joint_targets
    return {key if isinstance(key, str) else names[key]: value for key, value in targets.items()}


if __name__ == "__main__":
    main()
