"""The hashes of a run, to compare runs that must be the same to the last bit."""

from __future__ import annotations

from fleet_sim import MultiRobotSimulationCore


def hashed_run(sim: MultiRobotSimulationCore, steps: int) -> list[str]:
    """Make so many steps; return the hash of the state after each."""
    hashes = []
    for _ in range(steps):
        sim.step_once()
        hashes.append(sim.state_hash())
    return hashes
