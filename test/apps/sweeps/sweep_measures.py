"""A measure as users write them; workers import it from the folder of the test."""

import time
from typing import Any


def reach(sim: Any) -> dict[str, float]:
    """How far the first robot came, and a constant."""
    return {"x": float(sim.agents[0].get_pose().position[0]), "one": 1.0}


def arrived(sim: Any) -> bool:
    """Whether the first robot has come far."""
    return bool(sim.agents[0].get_pose().position[0] > 1.5)


def sleepy(sim: Any) -> float:
    """Take a while at the end of a run, not at its beginning, where it is tried."""
    if sim.sim_time > 0.0:
        time.sleep(0.4)
    return sim.sim_time
