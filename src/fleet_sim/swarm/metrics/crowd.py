"""Metrics of a crowd, at each step: where agents are and how they move, cluster, spread, arrive and collide."""

from __future__ import annotations

import dataclasses
import inspect
import math
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agent_columns import Crowd
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.metrics.combination import DeclaredMetric, Selection, SelectiveMetric
from fleet_sim.swarm.neighbours import pairs_within, targets_within
from fleet_sim.swarm.parameters import Configured, choice_setting, configured
from fleet_sim.swarm.swarm_state import Region, SwarmState


@configured
class CrowdMetric(DeclaredMetric):
    """Base of metrics of the population, or of one team of it. Override `measure`.

    Without agents the value is NaN.
    """

    team: int | str | None = setting(None, doc="Measure this team only; null: all agents.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._selection: Selection | None = None

    def look_at(self, selection: Selection) -> None:
        """Measure only the agents of `selection` from now on."""
        self._selection = selection

    @property
    def crowd(self) -> Crowd:
        """The agents it looks at."""
        world = self.watched
        crowd = world.everyone
        if self.team is not None:
            crowd = Crowd(world.columns, world.swarm, crowd.rows[crowd.teams == world.team_code(self.team)])
        return crowd if self._selection is None else self._selection.of(world, crowd)

    @property
    def world_radius(self) -> float:
        """Half of the world's diagonal, in m: what the formulas of Brown et al. are scaled with."""
        width, height = self.watched.size.tolist()
        return 0.5 * float(trig.hypot(width, height))

    @abstractmethod
    def measure(self, crowd: Crowd) -> float:
        """Return the value for a crowd of one agent or more."""

    def calculate(self) -> None:
        """Take an observation."""
        crowd = self.crowd
        self.set_value(self.measure(crowd) if len(crowd) else float("nan"))


@configured
class ScaledMetric(CrowdMetric):
    """Base of metrics of a crowd with a factor on their values. Override `unscaled`."""

    scale: float = setting(1.0, doc="Factor on the value.")

    @abstractmethod
    def unscaled(self, crowd: Crowd) -> float:
        """Return the value, before `scale`, for a crowd of one agent or more."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.scale * self.unscaled(crowd)


class CountingMetric(CrowdMetric):
    """Base of metrics that count from the beginning of a run. Override `begin` beside `measure`."""

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Count from here on."""

    def reset(self) -> None:
        """Forget the history, and count from here on."""
        super().reset()
        self.begin()


class Ledger:
    """Numbers per agent that outlive changes of the population: kept by object id, ascending."""

    def __init__(self, width: int) -> None:
        self.ids: Ints = np.empty(0, np.int64)
        self.values: Floats = np.empty((0, width))

    def exchange(self, ids: Ints, values: Floats) -> tuple[Bools, Floats]:
        """Return which of `ids` (N,) were known, and their values (N, width) until now; store `values` instead.

        The values of new ones are 0.
        """
        # An id beyond the last one finds a wrong entry; the comparison below tells.
        index = np.minimum(np.searchsorted(self.ids, ids), max(len(self.ids) - 1, 0))
        before = np.zeros_like(values)
        known_mask = np.zeros(len(ids), bool)
        if len(self.ids):
            known_mask = self.ids[index] == ids
            before[known_mask] = self.values[index[known_mask]]
        # Agents come in the world's order, and the search needs ids ascending.
        order = np.argsort(ids)
        self.ids, self.values = ids[order], values[order]
        return known_mask, before


def centred(positions: Floats) -> tuple[Floats, Floats]:
    """Return the offsets (N, 2) of points from their centroid, and their lengths (N,)."""
    offsets = positions - positions.mean(axis=0)
    return offsets, trig.hypot(offsets[:, 0], offsets[:, 1])


ARGUMENTS: dict[str, Callable[[Any, Crowd], Any]] = {
    "positions": lambda metric, crowd: crowd.positions,
    "headings": lambda metric, crowd: crowd.headings,
    "velocities": lambda metric, crowd: metric.velocities(crowd),
    "radius": lambda metric, crowd: metric.world_radius,
    "goals": lambda metric, crowd: metric.watched.goals,
    "compiled": lambda metric, crowd: crowd.columns.compiled,
}
"""What formulas take, by the names of their parameters."""


def metric_of(name: str, formula: Callable[..., float], base: type[Any] = CrowdMetric, about: str = "") -> type[Any]:
    """Return the metric `name`, whose value is `formula` of what its parameters name."""
    takes = [(known, ARGUMENTS[known]) for known in inspect.signature(formula).parameters if known in ARGUMENTS]

    def measure(metric: Any, crowd: Crowd) -> float:
        return formula(**{known: find(metric, crowd) for known, find in takes})

    method = "unscaled" if issubclass(base, ScaledMetric) else "measure"
    # A state file writes metrics by the path of their class.
    home = getattr(formula, "func", formula).__module__
    return type(name, (base,), {"__doc__": about or formula.__doc__, "__module__": home, method: measure})


# How many agents are in one cluster.


def components(first: Rows, second: Rows, count: int) -> Ints:
    """Return for each of `count` nodes (count,) the least node it is connected with by the edges (first, second)."""
    label = np.arange(count)
    while True:
        # Labels are joined, not only nodes, and each node then takes the label of its label (Shiloach and Vishkin,
        # 1982): long chains need few rounds.
        least = np.minimum(label[first], label[second])
        after = label.copy()
        np.minimum.at(after, label[first], least)
        np.minimum.at(after, label[second], least)
        after = after[after]
        if (after == label).all():
            return label
        label = after


def aggregation(positions: Floats, distance: float, *, compiled: bool = False) -> float:
    """Return the share of agents at `positions` (N, 2) that are in the largest cluster: 1/N to 1.

    Two agents are in one cluster where a chain of agents, each at most `distance` m from the next, joins them. Gauci,
    Chen, Li, Dodd and Gross, "Self-organized aggregation without computation" (2014), where the distance is four radii:
    nobody fits in between.
    """
    first, second = pairs_within(positions, distance, compiled=compiled)
    return float(np.bincount(components(first, second, len(positions))).max() / len(positions))


@configured
class Aggregation(CrowdMetric):
    """The share of agents in the largest cluster; see `aggregation`."""

    distance: float | None = setting(
        None, low=0, unit="m", doc="Largest distance of neighbours in a cluster; null: four times the largest radius."
    )

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        distance = 4.0 * float(crowd.radii.max()) if self.distance is None else self.distance
        return aggregation(crowd.positions, distance, compiled=crowd.columns.compiled)


def aggregation_from_first(positions: Floats) -> float:
    """Return -max|x_i - x_1|, the distance of the farthest of `positions` (N, 2) from the first one, in m."""
    offsets = positions - positions[0]
    return -float(trig.hypot(offsets[:, 0], offsets[:, 1]).max())


AggregationFromFirst = metric_of("AggregationFromFirst", aggregation_from_first)


# The number of agents that have arrived.


def at_goal(positions: Floats, goals: Iterable[Region]) -> Bools:
    """Return which of `positions` (N, 2) are inside one of `goals`."""
    inside = np.zeros(len(positions), bool)
    for goal in goals:
        inside |= goal.contains(positions)
    return inside


def at_goal_share(positions: Floats, goals: Iterable[Region]) -> float:
    """Return the share of `positions` (N, 2) that are inside one of `goals`."""
    return float(at_goal(positions, goals).mean())


AtGoalShare = metric_of("AtGoalShare", at_goal_share)


@configured
class AgentsAtGoal(CrowdMetric):
    """The number of agents whose middle is inside a goal, or their share; 0 in a world without goals."""

    as_percent: bool = setting(False, doc="Return the share, 0 to 1, instead of the number.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        inside = at_goal(crowd.positions, self.watched.goals)
        return float(inside.mean()) if self.as_percent else float(inside.sum())


@configured(kw_only=True)
class PercentageAtGoal(CountingMetric):
    """The step in which a share of the agents was first at a goal; the number of steps made, until then."""

    percentage: float = setting(low=0, high=1, doc="The share of agents that must be at a goal.")

    def begin(self) -> None:
        """Start waiting."""
        self._steps = 0
        self._found = 0

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        # Counted up to the step of success and not beyond: that number is the value from then on.
        self._steps += self._found == 0
        if not self._found and at_goal(crowd.positions, self.watched.goals).mean() >= self.percentage:
            self._found = self._steps
        return float(self._found or self._steps)


# How well the agents keep together, as a graph and as a chain.


def algebraic_connectivity(positions: Floats, reach: float, *, compiled: bool = False) -> float:
    """Return the second smallest eigenvalue of the Laplacian L = D - A of the disc graph of `positions` (N, 2).

    Two agents are adjacent where they are at most `reach` m apart. It is 0 for a graph in several parts and N for a
    complete one; one agent alone has 0. Fiedler, "Algebraic connectivity of graphs" (1973). Time goes with N^3 while
    the graph is connected.
    """
    count = len(positions)
    first, second = pairs_within(positions, reach, compiled=compiled)
    if count < 2 or components(first, second, count).any():
        return 0.0
    laplacian = np.zeros((count, count))
    laplacian[first, second] = laplacian[second, first] = -1.0
    degrees = np.bincount(first, minlength=count) + np.bincount(second, minlength=count)
    laplacian[np.arange(count), np.arange(count)] = degrees
    return max(float(np.linalg.eigvalsh(laplacian)[1]), 0.0)


@configured
class AlgebraicConnectivity(CrowdMetric):
    """The algebraic connectivity of the agents' disc graph; see `algebraic_connectivity`."""

    r_disk_size: float = setting(10.0, low=0, unit="m", doc="Distance at which two agents are adjacent.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return algebraic_connectivity(crowd.positions, self.r_disk_size, compiled=crowd.columns.compiled)


def chain_gap(positions: Floats) -> float:
    """Return max_i |x_i - x_{i - 1}| of `positions` (N, 2) in order, in m; 0 for one agent.

    The largest gap in a chain in which each agent follows the one before it.
    """
    ways = np.diff(positions, axis=0)
    return float(trig.hypot(ways[:, 0], ways[:, 1]).max()) if len(ways) else 0.0


ChainGap = metric_of("ChainGap", chain_gap)


# How far the agents went.


def distances_moved(before: Floats, after: Floats) -> Floats:
    """Return |x_i(t) - x_i(t - 1)| (N,) of positions (N, 2) one step apart, in m."""
    ways = after - before
    return trig.hypot(ways[:, 0], ways[:, 1])


@configured
class DistanceTravelled(CountingMetric):
    """The mean length of the agents' ways since the metric began: 1/N sum_i sum_t |x_i(t) - x_i(t - 1)|, in m.

    N are the agents there are now; with `total` the sum over all agents there ever were, instead.
    """

    total: bool = setting(False, doc="Return the sum instead of the mean.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        positions, ids = crowd.positions, crowd.columns.object_id[crowd.rows]
        known_mask, before = self._places.exchange(ids, positions)
        moved = np.where(known_mask, distances_moved(before, positions), 0.0)
        _, ways = self._ways.exchange(ids, np.zeros((len(ids), 1)))
        ways = ways + moved[:, None]
        self._ways.exchange(ids, ways)
        self._sum += float(moved.sum())
        return self._sum if self.total else float(ways.mean())

    def begin(self) -> None:
        """Count from here on."""
        self._places = Ledger(2)
        self._ways = Ledger(1)
        self._sum = 0.0


# How agents move: how fast, how much about their middle, and how alike.


@configured
class SpeedMetric(CrowdMetric):
    """Base of metrics of how agents move. Override `measure`, and take `velocities` for it.

    That is the motion which took place, so an agent that drives against a wall stands still.
    """

    per: str = choice_setting(
        "second", ("second", "step"), "The unit of speed: metres per second, or metres per step of the world."
    )

    def velocities(self, crowd: Crowd) -> Floats:
        """Return the mean velocities (N, 2) of `crowd` during the last step, in m/s, or in m per step."""
        return crowd.ways / self.watched.dt if self.per == "second" else crowd.ways


def average_speed(velocities: Floats) -> float:
    """Return 1/N sum |v_i| of `velocities` (N, 2), in m/s.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    return float(trig.hypot(velocities[:, 0], velocities[:, 1]).mean())


AverageSpeed = metric_of("AverageSpeed", average_speed, SpeedMetric)


def angular_momentum(positions: Floats, velocities: Floats, radius: float) -> float:
    """Return 1/(R N) sum v_i x (x_i - c), with the centroid c of `positions` (N, 2) and the world's `radius` R.

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive. Unit m/s. Brown et al.,
    "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    offsets, _ = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(products.mean() / radius)


AngularMomentum = metric_of("AngularMomentum", angular_momentum, SpeedMetric)


def group_rotation(positions: Floats, velocities: Floats) -> float:
    """Return 1/N sum v_i x (x_i - c) / |x_i - c|, with the centroid c of `positions` (N, 2).

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive; an agent at the centroid counts
    as 0. Unit m/s. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities"
    (2018).
    """
    offsets, distances = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(np.where(distances > 0.0, products / np.where(distances > 0.0, distances, 1.0), 0.0).mean())


GroupRotation = metric_of("GroupRotation", group_rotation, SpeedMetric)


def polarization(headings: Floats) -> float:
    """Return |1/N sum (cos h_i, sin h_i)| of `headings` (N,): 1 where all look the same way, near 0 in disorder.

    The order parameter of Vicsek, Czirok, Ben-Jacob, Cohen and Shochet, "Novel type of phase transition in a system of
    self-driven particles" (1995).
    """
    return float(trig.hypot(trig.cos(headings).mean(), trig.sin(headings).mean()))


Polarization = metric_of("Polarization", polarization)


# How far the agents are from their middle, and how unequally.


def scatter(positions: Floats, radius: float) -> float:
    """Return 1/(R^2 N) sum |x_i - c|^2, with the centroid c of `positions` (N, 2) and the world's `radius` R; no unit.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float((distances * distances).mean() / radius**2)


def mean_distance(positions: Floats) -> float:
    """Return 1/N sum |x_i - c|, with the centroid c of `positions` (N, 2), in m."""
    return float(centred(positions)[1].mean())


@configured
class Scatter(CrowdMetric):
    """The mean square distance to the centroid over that of the world's radius; see `scatter`."""

    regularize: bool = setting(
        True, doc="Relative to the world's radius; false: the mean distance in m, see `mean_distance`."
    )

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return scatter(crowd.positions, self.world_radius) if self.regularize else mean_distance(crowd.positions)


def radial_variance(positions: Floats, radius: float = 1.0) -> float:
    """Return 1/(R^2 N) sum (|x_i - c| - m)^2, with the centroid c of `positions` (N, 2) and m the mean of |x_i - c|.

    R is the world's `radius`; with 1 the unit is m^2. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors
    Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float(((distances - distances.mean()) ** 2).mean() / radius**2)


@configured
class RadialVariance(CrowdMetric):
    """The variance of the distances to the centroid; see `radial_variance`."""

    regularize: bool = setting(True, doc="Divide by the square of the world's radius; false: in m^2.")
    weight: float = setting(1.0, doc="Factor on the value; RobotSwarmSimulator has 20.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.weight * radial_variance(crowd.positions, self.world_radius if self.regularize else 1.0)


def radial_range(positions: Floats) -> float:
    """Return max|x_i - c| - min|x_i - c|, with the centroid c of `positions` (N, 2), in m: 0 on a circle."""
    _, distances = centred(positions)
    return float(distances.max() - distances.min())


RoutRin = metric_of("RoutRin", radial_range, ScaledMetric)


# How far the agents are from each other.


_BLOCK = 1 << 20


def dispersion(positions: Floats) -> float:
    """Return 2/(N (N - 1)) sum_{i < j} |x_i - x_j| of `positions` (N, 2), in m; 0 for one agent. Time goes with N^2.

    The mean distance between two agents, the InteragentDispersion of RobotSwarmSimulator.
    """
    count = len(positions)
    if count < 2:
        return 0.0
    # In blocks: all pairs at once would need memory that grows with N^2.
    total, rows = 0.0, max(1, _BLOCK // count)
    for begin in range(0, count, rows):
        offsets = positions[begin : begin + rows, None, :] - positions[None, :, :]
        total += float(trig.hypot(offsets[:, :, 0], offsets[:, :, 1]).sum())
    return total / (count * (count - 1))


def nearest_neighbour_distance(positions: Floats, *, compiled: bool = False) -> float:
    """Return 1/N sum_i min_{j != i} |x_i - x_j| of `positions` (N, 2), in m; NaN for one agent.

    Clark and Evans, "Distance to nearest neighbor as a measure of spatial relationships in populations" (1954).
    """
    if len(positions) < 2:
        return float("nan")
    return float(nearest_neighbour_distances(positions, compiled=compiled).mean())


def nearest_neighbour_distances(positions: Floats, *, compiled: bool = False) -> Floats:
    """Return min_{j != i} |x_i - x_j| of two `positions` (N, 2) or more: (N,), in m."""
    count = len(positions)
    spread = positions.max(axis=0) - positions.min(axis=0)
    # Such that a handful is within reach where agents are spread evenly, or along a line; the bound is for all in one
    # place.
    reach = max(float(np.sqrt(4.0 * spread[0] * spread[1] / count)), float(spread.max()) / count, 1e-9)
    nearest = np.full(count, np.inf)
    left = np.arange(count)
    while len(left):
        local, other = targets_within(positions[left], positions, reach, compiled=compiled)
        # Nobody is a neighbour of its own.
        kept = np.flatnonzero(left[local] != other)
        one, other = left[local[kept]], other[kept]
        offsets = positions[one] - positions[other]
        np.minimum.at(nearest, one, trig.hypot(offsets[:, 0], offsets[:, 1]))
        # All within reach were compared, so who found one found the nearest; the others look twice as far.
        left = left[np.isinf(nearest[left])]
        reach *= 2.0
    return nearest


InteragentDispersion = metric_of("InteragentDispersion", dispersion)


ExplodingDispersion = metric_of("ExplodingDispersion", mean_distance)


NearestNeighbourDistance = metric_of("NearestNeighbourDistance", nearest_neighbour_distance)


def spacing_evenness(positions: Floats, *, compiled: bool = False) -> float:
    """Return minus the standard deviation of the distances of `positions` (N, 2) to the nearest other one, in m.

    0 is as even as can be. NaN for a single agent.
    """
    if len(positions) < 2:
        return float("nan")
    return -float(nearest_neighbour_distances(positions, compiled=compiled).std())


DistanceSizeRatio = metric_of("DistanceSizeRatio", spacing_evenness, ScaledMetric)


# How many agents arrive per second.


def arrivals(inside: Bools, inside_before: Bools) -> int:
    """Return how many agents are inside a goal, (N,) bool, and were not before (N,)."""
    return int((inside & ~inside_before).sum())


@configured
class Throughput(CountingMetric):
    """Arrivals at goals per second: those of the last `window` s over `window`, or over the time so far where shorter.

    An arrival is an agent that comes from outside all goals to inside one.
    """

    window: float = setting(60.0, low=1e-6, unit="s", doc="Time window in which arrivals are counted.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        world = self.watched
        inside = at_goal(crowd.positions, world.goals)
        ids = crowd.columns.object_id[crowd.rows]
        known_mask, before = self._inside.exchange(ids, inside[:, None].astype(float))
        self._steps += 1
        # Who is spawned inside a goal did not come from outside.
        count = arrivals(inside[known_mask], before[known_mask, 0] > 0.0)
        # Steps without an arrival are left out: the list stays short where the window is long.
        if count:
            self._arrived.append((self._steps, count))
        span = max(1, round(self.window / world.dt))
        while self._arrived and self._arrived[0][0] <= self._steps - span:
            self._arrived.popleft()
        return sum(count for _, count in self._arrived) / (min(span, self._steps) * world.dt)

    def begin(self) -> None:
        """Count from here on."""
        self._inside = Ledger(1)
        self._arrived: deque[tuple[int, int]] = deque()
        self._steps = 0


# The number of collisions of agents so far.


def collisions_begun(touching: Bools, touching_before: Bools) -> int:
    """Return how many agents touch something, (N,) bool, and did not before (N,)."""
    return int((touching & ~touching_before).sum())


@configured
class TotalCollisions(CountingMetric):
    """The number of times an agent began to touch another, a wall or an object, since the start.

    Two agents that meet are two times. With `each_step` every step of a touch counts, as in RobotSwarmSimulator.
    """

    each_step: bool = setting(False, doc="Count every step of a contact, not only its first.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        touching = crowd.touching
        ids = crowd.columns.object_id[crowd.rows]
        _, before = self._before.exchange(ids, touching[:, None].astype(float))
        begun = int(touching.sum()) if self.each_step else collisions_begun(touching, before[:, 0] > 0.0)
        self._total += begun
        return float(self._total)

    def begin(self) -> None:
        """Count from here on."""
        self._total = 0
        self._before = Ledger(1)


# A metric of some of the agents.


@configured(kw_only=True)
class SubGroup(SelectiveMetric):
    """The value of another metric of the population, measured of the selected agents only; NaN where there are none."""

    metric: Any = setting(doc="The metric: a name, or a mapping with type and parameters.")

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on. Raises InvalidValueError for a metric that is not of the population."""
        super().attach_world(world)
        inner = world.make_metric(self.metric)
        if not isinstance(inner, CrowdMetric):
            kind = type(inner).__name__
            raise InvalidValueError(f"metric: must be one of the population such as average_speed, got {kind}")
        inner.look_at(self.selection)
        self._inner = inner

    @property
    def inner(self) -> tuple[CrowdMetric]:
        """The other metric, once it observes a world."""
        return (self._inner,)

    def calculate(self) -> None:
        """Take an observation."""
        # Raises before the world is attached, with the same words as other metrics do.
        _ = self.watched
        self._inner.calculate()
        self.set_value(self._inner.value)

    def reset(self) -> None:
        """Forget the history, and that of the inner metric."""
        super().reset()
        if self.world is not None:
            self._inner.reset()


def genes_of(controller: object) -> list[float]:
    """Return the numbers among the parameters of a controller, in their order; those of lists one after the other.

    Parameters that are text, true or false, or null are left out. A controller that can be indexed gives its items.
    """
    # Controllers of users' own may be a sequence of numbers, as RobotSwarmSimulator's are.
    if hasattr(controller, "__getitem__") and hasattr(controller, "__len__"):
        return _numbers(list(controller))  # type: ignore[call-overload]  # it can be indexed
    if not isinstance(controller, Configured):
        return []
    return [number for name in fields_of(type(controller)) for number in _numbers(getattr(controller, name))]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [number for item in value for number in _numbers(item)]
    # True is an int in Python, but no gene.
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return [float(value)] if is_number else []


@configured
class GeneMetric(CrowdMetric):
    """Base of metrics of the numbers of the first agent's controller; see `genes_of`."""

    def gene(self, crowd: Crowd, index: int) -> float:
        """Return the number with this index; raises InvalidValueError where there is none."""
        population = self.watched.population
        # By row: agents may have been removed or put in another order since.
        agent = next(agent for agent in population if agent.row == crowd.rows[0])
        known = genes_of(agent.controller) if isinstance(agent, SwarmAgent) else []
        if index >= len(known):
            raise InvalidValueError(
                f"metric {self.name}: the controller of {agent.name} has {len(known)} numbers, so none with index"
                f" {index}; they are {known}"
            )
        return known[index]


@configured(kw_only=True)
class SensorRotation(GeneMetric):
    """A number of the first agent's controller as a share of a full turn: g_i / 2 pi; see `genes_of`."""

    sensor_index: int = setting(low=0, doc="Index of the number, from 0.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.gene(crowd, self.sensor_index) / math.tau


@configured(kw_only=True)
class GeneElementDifference(GeneMetric):
    """The difference of two numbers of the first agent's controller as a share of a full turn: |g_a - g_b| / 2 pi."""

    genome_a_index: int = setting(low=0, doc="Index of the one number, from 0.")
    genome_b_index: int = setting(low=0, doc="Index of the other number, from 0.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return abs(self.gene(crowd, self.genome_a_index) - self.gene(crowd, self.genome_b_index)) / math.tau


# Metrics under RobotSwarmSimulator's names, with its quantities, so that its files run unchanged. Aggregation is a
# name of both, for two quantities: there it is `AggregationFromFirst`.


def _with(name: str, base: type[Any], **defaults: object) -> type[Any]:
    """Return the metric `name`: `base` with other defaults of its settings."""
    known = {field.name: field for field in dataclasses.fields(base)}
    own = {key: dataclasses.field(default=value, metadata=known[key].metadata) for key, value in defaults.items()}
    own |= {
        "__doc__": base.__doc__,
        "__module__": __name__,
        "__annotations__": {key: known[key].type for key in defaults},
    }
    return configured(type(name, (base,), own))


AverageSpeedBehavior = _with("AverageSpeedBehavior", AverageSpeed, per="step")
AngularMomentumBehavior = _with("AngularMomentumBehavior", AngularMomentum, per="step")
GroupRotationBehavior = _with("GroupRotationBehavior", GroupRotation, per="step")
ScatterBehavior = _with("ScatterBehavior", Scatter)
RadialVarianceMetric = _with("RadialVarianceMetric", RadialVariance, weight=20.0)
TotalCollisionsBehavior = _with("TotalCollisionsBehavior", TotalCollisions, each_step=True)
# RobotSwarmSimulator's `subgroup: 1` is `include_teams: [1]`.
SubGroupBehavior = _with("SubGroupBehavior", SubGroup)
