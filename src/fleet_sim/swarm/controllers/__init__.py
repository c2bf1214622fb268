"""Controllers of swarm agents: one per file, by name in `BUILT_IN`."""

from __future__ import annotations

from typing import Any

from fleet_sim.swarm.controllers.binary import BinaryController
from fleet_sim.swarm.controllers.boids import BoidsController
from fleet_sim.swarm.controllers.cyclic_pursuit import CyclicPursuitController
from fleet_sim.swarm.controllers.follow import FollowController
from fleet_sim.swarm.controllers.human import HumanController
from fleet_sim.swarm.controllers.levy import LevyController
from fleet_sim.swarm.controllers.multibit_binary import MultibitBinaryController
from fleet_sim.swarm.controllers.orca import OrcaController
from fleet_sim.swarm.controllers.static import StaticController
from fleet_sim.swarm.controllers.waypoint_pid import WaypointPIDController

BUILT_IN: dict[str, type[Any]] = {
    "StaticController": StaticController,
    "static": StaticController,
    "BinaryController": BinaryController,
    "binary": BinaryController,
    "MultibitBinaryController": MultibitBinaryController,
    "multibit_binary": MultibitBinaryController,
    "WaypointPIDController": WaypointPIDController,
    "waypoint_pid": WaypointPIDController,
    "HumanController": HumanController,
    "human": HumanController,
    "LevyController": LevyController,
    "levy": LevyController,
    "BoidsController": BoidsController,
    "boids": BoidsController,
    "OrcaController": OrcaController,
    "orca": OrcaController,
    "CyclicPursuitController": CyclicPursuitController,
    "cyclic_pursuit": CyclicPursuitController,
    "FollowController": FollowController,
    "follow": FollowController,
}
"""The classes by name."""

__all__ = [
    "BUILT_IN",
    "BinaryController",
    "BoidsController",
    "CyclicPursuitController",
    "FollowController",
    "HumanController",
    "LevyController",
    "MultibitBinaryController",
    "OrcaController",
    "StaticController",
    "WaypointPIDController",
]
