"""Traffic: routes of single robots, planners for many robots in a site, and their execution.

`traffic.py` is what users call, `planning.py` says when plans are made. `network.py` has the places and moves of a
site for robots of one size. Planners (`planners/`) only propose paths: `problem.py` refuses those on which robots would
meet, and `execution.py` drives the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy
from fleet_sim.world.routes import NoRoute as NoRoute
from fleet_sim.world.routes import Route as Route

if TYPE_CHECKING:
    from fleet_sim.warehouse.traffic.dependency_graph import ActionDependencyGraph as ActionDependencyGraph
    from fleet_sim.warehouse.traffic.network import Network as Network
    from fleet_sim.warehouse.traffic.planners.planner import Planner as Planner
    from fleet_sim.warehouse.traffic.planners.planner import PlannerSettings as PlannerSettings
    from fleet_sim.warehouse.traffic.planners.planner import checked_plan as checked_plan
    from fleet_sim.warehouse.traffic.planners.registry import PLANNERS as PLANNERS
    from fleet_sim.warehouse.traffic.planners.registry import make_planner as make_planner
    from fleet_sim.warehouse.traffic.policies import POLICIES as POLICIES
    from fleet_sim.warehouse.traffic.policies import Claims as Claims
    from fleet_sim.warehouse.traffic.policies import Policy as Policy
    from fleet_sim.warehouse.traffic.policies import Situation as Situation
    from fleet_sim.warehouse.traffic.problem import Problem as Problem
    from fleet_sim.warehouse.traffic.problem import check_paths as check_paths
    from fleet_sim.warehouse.traffic.problem import rotations as rotations
    from fleet_sim.warehouse.traffic.requests import ChangePlaces as ChangePlaces
    from fleet_sim.warehouse.traffic.requests import Grant as Grant
    from fleet_sim.warehouse.traffic.requests import HoldRobots as HoldRobots
    from fleet_sim.warehouse.traffic.router import Router as Router
    from fleet_sim.warehouse.traffic.settings import OnFailure as OnFailure
    from fleet_sim.warehouse.traffic.settings import TrafficSettings as TrafficSettings
    from fleet_sim.warehouse.traffic.traffic import Traffic as Traffic
    from fleet_sim.warehouse.traffic.traffic import offer_routes as offer_routes
    from fleet_sim.warehouse.traffic.traffic import offer_traffic as offer_traffic
else:
    __all__, __getattr__, __dir__ = lazy(globals())
