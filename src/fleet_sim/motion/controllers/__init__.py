"""Controllers in Python, one per agent, and the registry that makes them from their names."""

from fleet_sim.motion.controllers.goals import GoalController
from fleet_sim.motion.controllers.patrol import Patrol
from fleet_sim.motion.controllers.random_walk import RandomWalk
from fleet_sim.motion.controllers.registry import (
    create_controller,
    list_controllers,
    register_controller,
)

__all__ = [
    "GoalController",
    "Patrol",
    "RandomWalk",
    "create_controller",
    "list_controllers",
    "register_controller",
]
