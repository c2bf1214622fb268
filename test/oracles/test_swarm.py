"""Swarm worlds against closed forms: arcs and metrics, recomputed with complex numbers and plain loops.

Worlds of 1, 6 and 100 agents: of 100 the kernels are compiled, of fewer they run in Python.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.swarm import Controller, MazeAgent, RectangularWorld, World_from_config

AGENT = {"type": "MazeAgent", "agent_radius": 0.11}
COUNTS = [1, 6, 100]
SIZE = (6.5, 5.2)
RADIUS = math.hypot(*SIZE) / 2.0


class Table(Controller):
    """Each agent has its own action, all in one group."""

    def __init__(self, actions: Any) -> None:
        super().__init__()
        self.actions = np.array(actions, float)

    def act(self, group: Any) -> np.ndarray:
        return self.actions[group.numbers]


class Each(Table):
    """The same, asked agent by agent."""

    def get_actions(self, agent: MazeAgent) -> Any:
        return self.actions[int(agent.name.rpartition("_")[2])]


def world_of(count: int, seed: int = 1, actions: Any = None, kind: Any = Table, **settings: Any) -> RectangularWorld:
    """Return a world of `count` agents, anywhere and looking anywhere, that drive as `actions` (N, 2) say."""
    rng = np.random.default_rng(seed)
    world = World_from_config({"size": list(SIZE), "time_step": 0.05, "detectable_walls": False, **settings})
    world.setup()
    controller = kind(np.zeros((count, 2)) if actions is None else actions)
    for index in range(count):
        place, angle = rng.uniform((0.4, 0.4), np.array(SIZE) - 0.4), rng.uniform(-3.1, 3.1)
        agent = MazeAgent({"agent_radius": 0.11, "collides": settings.get("collide_walls", True)}, world, f"a_{index}")
        agent.position, agent.angle = place, angle
        world.population.append(agent)
    for agent in world.population:
        # One that is asked agent by agent belongs to one.
        agent.controller = controller if kind is Table else kind(controller.actions)
    return world


def places_of(world: RectangularWorld) -> np.ndarray:
    return world.everyone.positions @ np.array([1.0, 1.0j])


@holds(
    "api:SwarmAgent.position",
    "api:SwarmAgent.angle",
    "api:SwarmAgent.dpos",
    "api:Group.positions",
    "api:Group.headings",
    fault="swarm/separation.py: the arc's length in place of its chord",
)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("dt", [0.05, 0.013])
def test_agents_drive_exact_arcs(count: int, update: str, dt: float) -> None:
    rng = np.random.default_rng(count)
    speeds, turns = rng.uniform(-0.4, 1.3, count), rng.uniform(-2.5, 2.5, count)
    actions = np.stack((speeds, turns), axis=1)
    settings = {"update": update, "time_step": dt, "collide_walls": False}
    world = world_of(count, actions=actions, kind=Each if count == 6 else Table, **settings)
    first, headings = places_of(world), world.everyone.headings
    for _ in range(23):
        before = places_of(world)
        world.step()
    time = 23 * dt
    # The way along a circle of radius v / w, about its middle.
    arcs = speeds / (1j * turns) * (np.exp(1j * (headings + turns * time)) - np.exp(1j * headings))
    np.testing.assert_allclose(places_of(world), first + arcs, atol=1e-11)
    left = np.exp(1j * world.everyone.headings) / np.exp(1j * (headings + turns * time))
    np.testing.assert_allclose(left, 1.0, atol=1e-11)
    np.testing.assert_allclose([complex(*agent.dpos) for agent in world.population], places_of(world) - before)
    np.testing.assert_allclose(world.everyone.ways @ [1, 1j], places_of(world) - before)


METRICS = [
    {"type": "AverageSpeed"},
    {"type": "AverageSpeedBehavior"},
    {"type": "AngularMomentum"},
    {"type": "AngularMomentumBehavior"},
    {"type": "GroupRotation"},
    {"type": "GroupRotationBehavior"},
    {"type": "Scatter"},
    {"type": "Scatter", "name": "in metres", "regularize": False},
    {"type": "RadialVariance"},
    {"type": "RadialVariance", "name": "in square metres", "regularize": False, "weight": 1.7},
    {"type": "RadialVarianceMetric"},
    {"type": "Fatness"},
    {"type": "Fatness2", "scale": 2.3},
    {"type": "RoutRin", "scale": 0.7},
    {"type": "Tangentness"},
    {"type": "Circliness", "avg_history_max": 3},
    {"type": "Polarization"},
    {"type": "InteragentDispersion"},
    {"type": "ExplodingDispersion"},
    {"type": "NearestNeighbourDistance"},
    {"type": "DistanceSizeRatio", "scale": 1.3},
    {"type": "AggregationFromFirst"},
    {"type": "Aggregation", "distance": 0.9},
    {"type": "ChainGap"},
    {"type": "AlgebraicConnectivity", "r_disk_size": 1.9},
    {"type": "ConvexHull"},
    {"type": "TotalCollisions"},
    {"type": "TotalCollisionsBehavior"},
    {"type": "DistanceTravelled"},
    {"type": "AgentsAtGoal"},
    {"type": "AtGoalShare"},
    {"type": "Throughput", "window": 0.3},
]


def clusters(places: np.ndarray, reach: float) -> list[set[int]]:
    """Return who is joined by a chain of agents at most `reach` apart, by joining pair after pair."""
    found = [{index} for index in range(len(places))]
    for a, b in combinations(range(len(places)), 2):
        if abs(places[a] - places[b]) <= reach:
            (one,) = [cluster for cluster in found if a in cluster]
            (two,) = [cluster for cluster in found if b in cluster]
            if one is not two:
                found.remove(two)
                one |= two
    return found


def hull_area(places: np.ndarray) -> float:
    """Return the area of the convex hull: the sides are pairs of points with all others on their left."""
    total = 0.0
    for a in places:
        for b in places:
            others = places[(places != a) & (places != b)]
            if a != b and ((np.conj(b - a) * (others - a)).imag > 0.0).all():
                total += 0.5 * (np.conj(a) * b).imag
    return float(total)


def shape(places: np.ndarray, headings: np.ndarray) -> tuple[float, float]:
    """Return fatness and tangentness."""
    offsets = places - np.mean(places)
    squares = np.abs(offsets) ** 2
    return 1.0 - squares.min() / squares.max(), np.abs(np.cos(headings - np.angle(offsets))).mean()


@holds(
    *(f"api:{entry['type']}.value" for entry in METRICS),
    fault="swarm/metrics/crowd.py: R is 1.02 where RadialVariance is not regularized",
)
@pytest.mark.parametrize("count", [6, 30])
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_metrics_are_their_definitions(count: int, update: str) -> None:
    rng = np.random.default_rng(count)
    actions = np.stack((rng.uniform(0.2, 1.1, count), rng.uniform(-2.5, 2.5, count)), axis=1)
    goals = [{"type": "circle", "position": [2.1, 2.4], "radius": 0.8}]
    world = world_of(count, actions=actions, update=update, metrics=METRICS, goals=goals)
    dt, shapes, ways, touches, begun, came = 0.05, [], np.zeros(count), 0, 0, []
    was_touching = np.zeros(count, np.bool_)
    for step in range(12):
        before, inside_before = places_of(world), np.abs(places_of(world) - (2.1 + 2.4j)) < 0.8
        world.step()
        places, headings, touching = places_of(world), world.everyone.headings, world.everyone.touching
        shapes.append(shape(places, headings))
        # The way of the first step is not known to a metric that begins with it.
        ways += np.abs(places - before) if step else 0.0
        touches += int(touching.sum())
        begun += int((touching & ~was_touching).sum())
        was_touching = touching.copy()
        inside = np.abs(places - (2.1 + 2.4j)) < 0.8
        came.append(int((inside & ~inside_before).sum()) if step else 0)
    velocities, offsets = (places - before) / dt, places - places.mean()
    lengths = np.abs(offsets)
    momenta = velocities.real * offsets.imag - velocities.imag * offsets.real
    gaps = np.abs(places[:, None] - places) + np.where(np.eye(count), np.inf, 0.0)
    nearest = gaps.min(axis=1)
    near = (gaps <= 1.9).astype(float)
    laplacian = np.diag(near.sum(axis=1)) - near
    pairs = [abs(a - b) for a, b in combinations(places, 2)]
    expected = [
        np.abs(velocities).mean(),
        np.abs(velocities).mean() * dt,
        momenta.mean() / RADIUS,
        momenta.mean() / RADIUS * dt,
        (momenta / lengths).mean(),
        (momenta / lengths).mean() * dt,
        (lengths**2).mean() / RADIUS**2,
        lengths.mean(),
        lengths.var() / RADIUS**2,
        1.7 * lengths.var(),
        20.0 * lengths.var() / RADIUS**2,
        shapes[-1][0],
        2.3 * (1.0 - shapes[-1][0]),
        0.7 * (lengths.max() - lengths.min()),
        shapes[-1][1],
        1.0 - np.mean(shapes[-3:], axis=0).max(),
        abs(np.exp(1j * headings).mean()),
        np.mean(pairs),
        lengths.mean(),
        nearest.mean(),
        -1.3 * nearest.std(),
        -np.abs(places - places[0]).max(),
        max(map(len, clusters(places, 0.9))) / count,
        np.abs(np.diff(places)).max(),
        np.sort(np.linalg.eigvals(laplacian).real)[1],
        hull_area(places),
        begun,
        touches,
        ways.mean(),
        inside.sum(),
        inside.mean(),
        sum(came[-6:]) / 0.3,
    ]
    for metric, value in zip(world.metrics, expected, strict=True):
        assert metric.value == pytest.approx(value, rel=1e-9, abs=1e-9), metric.name
    assert begun > 0 or count == 6
    assert touches > begun or count == 6


@holds(
    "api:AverageSpeed.value",
    "api:AverageSpeedBehavior.value",
    "api:GroupRotation.value",
    fault="swarm/metrics/crowd.py: the commanded velocities in place of the ways that agents came",
)
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_who_drives_against_a_wall_stands_still(update: str) -> None:
    config = {"size": [5.0, 4.0], "time_step": 0.05, "update": update, "metrics": ["AverageSpeed", "GroupRotation"]}
    agent = {**AGENT, "controller": {"type": "static", "output": [0.5, 0.0]}}
    world = World_from_config({**config, "agents": [{**agent, "position": [4.2, 1.7], "angle": 0.7}]})
    world.evaluate(100)
    assert world.population[0].x_pos == pytest.approx(5.0 - 0.11)
    # Along the wall it slides.
    assert world.metric("AverageSpeed").value == pytest.approx(0.5 * math.sin(0.7))
    world.evaluate(200)
    assert world.metric("AverageSpeed").value == pytest.approx(0.0, abs=1e-12)
    pair = [{**agent, "position": [1.7, 1.9], "angle": 0.7}, {**agent, "position": [2.6, 2.66], "angle": 0.7 - math.pi}]
    meeting = World_from_config({**config, "agents": pair, "collide_walls": False})
    meeting.setup()
    for _ in range(30):
        before = places_of(meeting)
        meeting.evaluate(1)
        real = np.abs(places_of(meeting) - before) / 0.05
        assert meeting.metric("AverageSpeed").value == pytest.approx(real.mean(), abs=1e-12)
    assert meeting.metric("AverageSpeed").value < 0.4


@holds(
    "api:SwarmAgent.linear",
    "api:Group.velocities",
    fault="swarm/separation.py: velocities stay those that were commanded",
)
@pytest.mark.parametrize("count", [2, 6, 40])
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_velocities_are_those_of_the_motion_that_took_place(count: int, update: str) -> None:
    actions = np.zeros((count, 2))
    # The others stand, some without a controller, and are pushed by the first two.
    actions[:2] = (0.9, 0.4), (0.7, -0.8)
    world = world_of(count, actions=actions, update=update, size=[2.4, 1.9])
    for agent in world.population[2::2]:
        agent.controller = None
    pushed = 0
    for step in range(60):
        before, touched = places_of(world), world.everyone.touching
        world.step()
        ways, touching = places_of(world) - before, world.everyone.touching
        velocities = world.everyone.velocities @ [1.0, 1.0j]
        # Who meets nothing moves along an arc, and at its end along the tangent.
        free = ~touching & (np.arange(count) < 2)
        np.testing.assert_allclose(np.abs(velocities[free]), np.abs(actions[free, 0]))
        others = ~free & (step > 0)
        np.testing.assert_allclose(velocities[others], ways[others] / 0.05, atol=1e-9)
        along = (velocities * np.exp(-1j * world.everyone.headings)).real
        np.testing.assert_allclose(world.everyone.linear, along, atol=1e-12)
        pushed += int((touched & ~touching).sum())
    assert pushed > 0
