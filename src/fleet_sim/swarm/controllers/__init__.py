"""Controllers of swarm agents. One line here gives each its names."""

from __future__ import annotations

from fleet_sim.swarm.agents import Controller
from fleet_sim.swarm.controllers.boids import BoidsController as BoidsController
from fleet_sim.swarm.controllers.boids import CyclicPursuitController as CyclicPursuitController
from fleet_sim.swarm.controllers.boids import FollowController as FollowController
from fleet_sim.swarm.controllers.boids import OrcaController as OrcaController
from fleet_sim.swarm.controllers.single_agent import AgentMethodController as AgentMethodController
from fleet_sim.swarm.controllers.single_agent import BinaryController as BinaryController
from fleet_sim.swarm.controllers.single_agent import HumanController as HumanController
from fleet_sim.swarm.controllers.single_agent import LevyController as LevyController
from fleet_sim.swarm.controllers.single_agent import MultibitBinaryController as MultibitBinaryController
from fleet_sim.swarm.controllers.single_agent import StaticController as StaticController
from fleet_sim.swarm.controllers.single_agent import WaypointPIDController as WaypointPIDController
from fleet_sim.swarm.parameters import OWNERS, PartRegistry, built_in_names

CONTROLLERS = PartRegistry("controller", Controller, built_in_names(globals(), Controller, suffix="Controller"), OWNERS)
