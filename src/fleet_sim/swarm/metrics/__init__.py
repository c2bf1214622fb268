"""Metrics of swarm worlds: a formula per file, on arrays and as a metric. One line here gives it its names."""

from __future__ import annotations

from fleet_sim.swarm.metric import Metric
from fleet_sim.swarm.metrics.aggregation import Aggregation as Aggregation
from fleet_sim.swarm.metrics.aggregation import AggregationFromFirst as AggregationFromFirst
from fleet_sim.swarm.metrics.any_agent import AnyAgent as AnyAgent
from fleet_sim.swarm.metrics.at_goal import AgentsAtGoal as AgentsAtGoal
from fleet_sim.swarm.metrics.at_goal import AtGoalShare as AtGoalShare
from fleet_sim.swarm.metrics.at_goal import PercentageAtGoal as PercentageAtGoal
from fleet_sim.swarm.metrics.circliness import Circliness as Circliness
from fleet_sim.swarm.metrics.circliness import Fatness as Fatness
from fleet_sim.swarm.metrics.circliness import Fatness2 as Fatness2
from fleet_sim.swarm.metrics.circliness import Tangentness as Tangentness
from fleet_sim.swarm.metrics.circularity import Circularity as Circularity
from fleet_sim.swarm.metrics.circularity import InstantHyperLSQCircularity as InstantHyperLSQCircularity
from fleet_sim.swarm.metrics.circularity import InstantHyperSVDCircularity as InstantHyperSVDCircularity
from fleet_sim.swarm.metrics.circularity import InstantLMCircularity as InstantLMCircularity
from fleet_sim.swarm.metrics.circularity import InstantLSQCircularity as InstantLSQCircularity
from fleet_sim.swarm.metrics.circularity import InstantPrattSVDCircularity as InstantPrattSVDCircularity
from fleet_sim.swarm.metrics.circularity import InstantTaubinSVDCircularity as InstantTaubinSVDCircularity
from fleet_sim.swarm.metrics.combination import AndMetrics as AndMetrics
from fleet_sim.swarm.metrics.combination import Combination as Combination
from fleet_sim.swarm.metrics.connectivity import AlgebraicConnectivity as AlgebraicConnectivity
from fleet_sim.swarm.metrics.connectivity import ChainGap as ChainGap
from fleet_sim.swarm.metrics.convex_hull import ConvexHull as ConvexHull
from fleet_sim.swarm.metrics.delaunay import DelaunayDiffusion as DelaunayDiffusion
from fleet_sim.swarm.metrics.dispersion import DistanceSizeRatio as DistanceSizeRatio
from fleet_sim.swarm.metrics.dispersion import ExplodingDispersion as ExplodingDispersion
from fleet_sim.swarm.metrics.dispersion import InteragentDispersion as InteragentDispersion
from fleet_sim.swarm.metrics.dispersion import NearestNeighbourDistance as NearestNeighbourDistance
from fleet_sim.swarm.metrics.distance_travelled import DistanceTravelled as DistanceTravelled
from fleet_sim.swarm.metrics.entity_len import EntityLen as EntityLen
from fleet_sim.swarm.metrics.genes import GeneElementDifference as GeneElementDifference
from fleet_sim.swarm.metrics.genes import SensorRotation as SensorRotation
from fleet_sim.swarm.metrics.motion import AngularMomentum as AngularMomentum
from fleet_sim.swarm.metrics.motion import AverageSpeed as AverageSpeed
from fleet_sim.swarm.metrics.motion import GroupRotation as GroupRotation
from fleet_sim.swarm.metrics.motion import Polarization as Polarization
from fleet_sim.swarm.metrics.radial import RadialVariance as RadialVariance
from fleet_sim.swarm.metrics.radial import RoutRin as RoutRin
from fleet_sim.swarm.metrics.radial import Scatter as Scatter
from fleet_sim.swarm.metrics.robot_swarm_simulator import AngularMomentumBehavior as AngularMomentumBehavior
from fleet_sim.swarm.metrics.robot_swarm_simulator import AverageSpeedBehavior as AverageSpeedBehavior
from fleet_sim.swarm.metrics.robot_swarm_simulator import GroupRotationBehavior as GroupRotationBehavior
from fleet_sim.swarm.metrics.robot_swarm_simulator import RadialVarianceMetric as RadialVarianceMetric
from fleet_sim.swarm.metrics.robot_swarm_simulator import ScatterBehavior as ScatterBehavior
from fleet_sim.swarm.metrics.robot_swarm_simulator import SubGroupBehavior as SubGroupBehavior
from fleet_sim.swarm.metrics.robot_swarm_simulator import TotalCollisionsBehavior as TotalCollisionsBehavior
from fleet_sim.swarm.metrics.steps_until import StepsUntil as StepsUntil
from fleet_sim.swarm.metrics.sub_group import SubGroup as SubGroup
from fleet_sim.swarm.metrics.throughput import Throughput as Throughput
from fleet_sim.swarm.metrics.total_collisions import TotalCollisions as TotalCollisions
from fleet_sim.swarm.parts import PartRegistry, built_in_names

BUILT_IN: dict[str, type[Metric]] = built_in_names(
    globals(), short={InteragentDispersion: "dispersion", Fatness2: "roundness"}
)
METRICS = PartRegistry("metric", Metric, BUILT_IN)
