"""Metrics of swarm worlds: formulas on arrays, and metrics. One line here gives each its names."""

from __future__ import annotations

from fleet_sim.swarm.metrics.combination import AndMetrics as AndMetrics
from fleet_sim.swarm.metrics.combination import AnyAgent as AnyAgent
from fleet_sim.swarm.metrics.combination import Combination as Combination
from fleet_sim.swarm.metrics.combination import EntityLen as EntityLen
from fleet_sim.swarm.metrics.combination import StepsUntil as StepsUntil
from fleet_sim.swarm.metrics.crowd import AgentsAtGoal as AgentsAtGoal
from fleet_sim.swarm.metrics.crowd import Aggregation as Aggregation
from fleet_sim.swarm.metrics.crowd import AggregationFromFirst as AggregationFromFirst
from fleet_sim.swarm.metrics.crowd import AlgebraicConnectivity as AlgebraicConnectivity
from fleet_sim.swarm.metrics.crowd import AngularMomentum as AngularMomentum
from fleet_sim.swarm.metrics.crowd import AngularMomentumBehavior as AngularMomentumBehavior
from fleet_sim.swarm.metrics.crowd import AtGoalShare as AtGoalShare
from fleet_sim.swarm.metrics.crowd import AverageSpeed as AverageSpeed
from fleet_sim.swarm.metrics.crowd import AverageSpeedBehavior as AverageSpeedBehavior
from fleet_sim.swarm.metrics.crowd import ChainGap as ChainGap
from fleet_sim.swarm.metrics.crowd import DistanceSizeRatio as DistanceSizeRatio
from fleet_sim.swarm.metrics.crowd import DistanceTravelled as DistanceTravelled
from fleet_sim.swarm.metrics.crowd import ExplodingDispersion as ExplodingDispersion
from fleet_sim.swarm.metrics.crowd import GeneElementDifference as GeneElementDifference
from fleet_sim.swarm.metrics.crowd import GroupRotation as GroupRotation
from fleet_sim.swarm.metrics.crowd import GroupRotationBehavior as GroupRotationBehavior
from fleet_sim.swarm.metrics.crowd import InteragentDispersion as InteragentDispersion
from fleet_sim.swarm.metrics.crowd import NearestNeighbourDistance as NearestNeighbourDistance
from fleet_sim.swarm.metrics.crowd import PercentageAtGoal as PercentageAtGoal
from fleet_sim.swarm.metrics.crowd import Polarization as Polarization
from fleet_sim.swarm.metrics.crowd import RadialVariance as RadialVariance
from fleet_sim.swarm.metrics.crowd import RadialVarianceMetric as RadialVarianceMetric
from fleet_sim.swarm.metrics.crowd import RoutRin as RoutRin
from fleet_sim.swarm.metrics.crowd import Scatter as Scatter
from fleet_sim.swarm.metrics.crowd import ScatterBehavior as ScatterBehavior
from fleet_sim.swarm.metrics.crowd import SensorRotation as SensorRotation
from fleet_sim.swarm.metrics.crowd import SubGroup as SubGroup
from fleet_sim.swarm.metrics.crowd import SubGroupBehavior as SubGroupBehavior
from fleet_sim.swarm.metrics.crowd import Throughput as Throughput
from fleet_sim.swarm.metrics.crowd import TotalCollisions as TotalCollisions
from fleet_sim.swarm.metrics.crowd import TotalCollisionsBehavior as TotalCollisionsBehavior
from fleet_sim.swarm.metrics.shape import Circliness as Circliness
from fleet_sim.swarm.metrics.shape import Circularity as Circularity
from fleet_sim.swarm.metrics.shape import ConvexHull as ConvexHull
from fleet_sim.swarm.metrics.shape import DelaunayDiffusion as DelaunayDiffusion
from fleet_sim.swarm.metrics.shape import Fatness as Fatness
from fleet_sim.swarm.metrics.shape import Fatness2 as Fatness2
from fleet_sim.swarm.metrics.shape import InstantHyperLSQCircularity as InstantHyperLSQCircularity
from fleet_sim.swarm.metrics.shape import InstantHyperSVDCircularity as InstantHyperSVDCircularity
from fleet_sim.swarm.metrics.shape import InstantLMCircularity as InstantLMCircularity
from fleet_sim.swarm.metrics.shape import InstantLSQCircularity as InstantLSQCircularity
from fleet_sim.swarm.metrics.shape import InstantPrattSVDCircularity as InstantPrattSVDCircularity
from fleet_sim.swarm.metrics.shape import InstantTaubinSVDCircularity as InstantTaubinSVDCircularity
from fleet_sim.swarm.metrics.shape import Tangentness as Tangentness
from fleet_sim.swarm.parameters import PartRegistry, built_in_names
from fleet_sim.swarm.swarm_state import Metric

METRICS = PartRegistry(
    "metric",
    Metric,
    built_in_names(globals(), Metric, short={InteragentDispersion: "dispersion", Fatness2: "roundness"}),
)
