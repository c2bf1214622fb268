"""Metrics of swarm worlds: a formula per file, as a function on arrays and as a metric, by name in `BUILT_IN`."""

from __future__ import annotations

from typing import Any

from fleet_sim.swarm.metrics.aggregation import Aggregation
from fleet_sim.swarm.metrics.algebraic_connectivity import AlgebraicConnectivity
from fleet_sim.swarm.metrics.angular_momentum import AngularMomentum
from fleet_sim.swarm.metrics.at_goal import AgentsAtGoal, AtGoalShare, PercentageAtGoal
from fleet_sim.swarm.metrics.average_speed import AverageSpeed
from fleet_sim.swarm.metrics.chain_gap import ChainGap
from fleet_sim.swarm.metrics.circliness import Circliness, Fatness, Tangentness
from fleet_sim.swarm.metrics.convex_hull import ConvexHull
from fleet_sim.swarm.metrics.dispersion import ExplodingDispersion, InteragentDispersion, NearestNeighbourDistance
from fleet_sim.swarm.metrics.distance_travelled import DistanceTravelled
from fleet_sim.swarm.metrics.group_rotation import GroupRotation
from fleet_sim.swarm.metrics.polarization import Polarization
from fleet_sim.swarm.metrics.radial_variance import RadialVariance
from fleet_sim.swarm.metrics.scatter import Scatter
from fleet_sim.swarm.metrics.throughput import Throughput
from fleet_sim.swarm.metrics.total_collisions import TotalCollisions

BUILT_IN: dict[str, type[Any]] = {
    "AverageSpeed": AverageSpeed,
    "average_speed": AverageSpeed,
    "AngularMomentum": AngularMomentum,
    "angular_momentum": AngularMomentum,
    "Scatter": Scatter,
    "scatter": Scatter,
    "GroupRotation": GroupRotation,
    "group_rotation": GroupRotation,
    "RadialVariance": RadialVariance,
    "radial_variance": RadialVariance,
    "Circliness": Circliness,
    "circliness": Circliness,
    "Fatness": Fatness,
    "fatness": Fatness,
    "Tangentness": Tangentness,
    "tangentness": Tangentness,
    "Aggregation": Aggregation,
    "aggregation": Aggregation,
    "InteragentDispersion": InteragentDispersion,
    "dispersion": InteragentDispersion,
    "ExplodingDispersion": ExplodingDispersion,
    "exploding_dispersion": ExplodingDispersion,
    "NearestNeighbourDistance": NearestNeighbourDistance,
    "nearest_neighbour_distance": NearestNeighbourDistance,
    "ConvexHull": ConvexHull,
    "convex_hull": ConvexHull,
    "AlgebraicConnectivity": AlgebraicConnectivity,
    "algebraic_connectivity": AlgebraicConnectivity,
    "Polarization": Polarization,
    "polarization": Polarization,
    "ChainGap": ChainGap,
    "chain_gap": ChainGap,
    "TotalCollisions": TotalCollisions,
    "total_collisions": TotalCollisions,
    "AgentsAtGoal": AgentsAtGoal,
    "agents_at_goal": AgentsAtGoal,
    "AtGoalShare": AtGoalShare,
    "at_goal_share": AtGoalShare,
    "PercentageAtGoal": PercentageAtGoal,
    "percentage_at_goal": PercentageAtGoal,
    "DistanceTravelled": DistanceTravelled,
    "distance_travelled": DistanceTravelled,
    "Throughput": Throughput,
    "throughput": Throughput,
}
"""The classes by name."""

__all__ = [
    "BUILT_IN",
    "AgentsAtGoal",
    "Aggregation",
    "AlgebraicConnectivity",
    "AngularMomentum",
    "AtGoalShare",
    "AverageSpeed",
    "ChainGap",
    "Circliness",
    "ConvexHull",
    "DistanceTravelled",
    "ExplodingDispersion",
    "Fatness",
    "GroupRotation",
    "InteragentDispersion",
    "NearestNeighbourDistance",
    "PercentageAtGoal",
    "Polarization",
    "RadialVariance",
    "Scatter",
    "Tangentness",
    "Throughput",
    "TotalCollisions",
]
