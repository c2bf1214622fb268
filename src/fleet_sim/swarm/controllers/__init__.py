"""Controllers of swarm agents: one per file. One line here gives it its names."""

from __future__ import annotations

from fleet_sim.swarm.agents import Controller
from fleet_sim.swarm.component import OWNERS
from fleet_sim.swarm.controllers.agent_method import AgentMethodController as AgentMethodController
from fleet_sim.swarm.controllers.binary import BinaryController as BinaryController
from fleet_sim.swarm.controllers.boids import BoidsController as BoidsController
from fleet_sim.swarm.controllers.cyclic_pursuit import CyclicPursuitController as CyclicPursuitController
from fleet_sim.swarm.controllers.follow import FollowController as FollowController
from fleet_sim.swarm.controllers.human import HumanController as HumanController
from fleet_sim.swarm.controllers.levy import LevyController as LevyController
from fleet_sim.swarm.controllers.multibit_binary import MultibitBinaryController as MultibitBinaryController
from fleet_sim.swarm.controllers.orca import OrcaController as OrcaController
from fleet_sim.swarm.controllers.static import StaticController as StaticController
from fleet_sim.swarm.controllers.waypoint_pid import WaypointPIDController as WaypointPIDController
from fleet_sim.swarm.parts import PartRegistry, built_in_names

BUILT_IN: dict[str, type[Controller]] = built_in_names(globals(), suffix="Controller")
CONTROLLERS = PartRegistry("controller", Controller, BUILT_IN, OWNERS)
