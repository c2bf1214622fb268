"""Metrics by RobotSwarmSimulator's names give its numbers: those below were computed with its release 1.2.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.swarm.metrics import BUILT_IN
from fleet_sim.swarm.metrics.crowd import angular_momentum, average_speed, group_rotation

# A broken ring and a cloud, of which it was asked in a world with a radius of half the diagonal of 5 m by 4 m.
RING = np.array(
    [(3.2, 1.51), (2.96, 2.16), (2.36, 2.59), (1.64, 2.71), (1.01, 2.19), (0.82, 1.54), (1.02, 0.77), (1.6, 0.4)]
    + [(2.27, 0.33)]
)
RING_HEADINGS = [0.63, 0.83, 1.06, -2.1, -0.36, -1.56, -0.59, -2.42, 2.81]
CLOUD = np.array(
    [(2.49, 3.96), (0.86, 0.64), (2.45, 0.18), (0.14, 2.06), (1.86, 3.67), (2.52, 2.06), (1.99, 0.99), (0.05, 0.77)]
    + [(2.77, 0.8), (1.48, 0.01), (3.32, 0.62), (1.07, 3.52)]
)
CLOUD_HEADINGS = [0.29, -1.07, 1.51, -2.85, -0.77, -2.82, -2.26, 2.8, 0.95, -0.43, 0.14, 2.24]
PLACES = {"ring": (RING, RING_HEADINGS), "cloud": (CLOUD, CLOUD_HEADINGS)}

VALUES = [
    ("ScatterBehavior", 0.13734610057211682, 0.27728509485094854),
    ("RadialVarianceMetric", 0.016233773349199686, 0.46511338883713477),
    ("Fatness", 0.36567070409979086, 0.9280490031402906),
    ("Fatness2", 0.6343292959002091, 0.07195099685970935),
    ("Tangentness", 0.6761222391781823, 0.6194432842709237),
    ("RoutRin", 0.269946194726858, 1.805213582829338),
    ("AggregationFromFirst", -2.38018906812043, -4.0770822900697015),
    ("DelaunayDiffusion", 1.2534420688696506, 2.125314770851835),
    ("InteragentDispersion", 1.6734634078633457, 2.2849749428132125),
    ("ExplodingDispersion", 1.1829952333051612, 1.6136299484216294),
    ("InstantLSQCircularity", 50.28648381061727, 57.10226278951086),
    ("InstantHyperLSQCircularity", 50.286126021217854, 58.36843051448206),
    ("InstantPrattSVDCircularity", 50.25277473988692, 56.199520458298316),
    ("InstantTaubinSVDCircularity", 50.28612640676227, 58.37727503535841),
    ("InstantHyperSVDCircularity", 50.31954379358901, 60.80953797409387),
]


def value_in(places: str, kind: str, **params: Any) -> float:
    positions, headings = PLACES[places]
    world = make_world("static", positions=positions, angles=headings, size=[5.0, 4.0])
    metric = BUILT_IN[kind](**params)
    world.add_metric(metric)
    metric.calculate()
    return metric.value


@pytest.mark.parametrize(("kind", "ring", "cloud"), VALUES)
def test_places_give_its_numbers(kind: str, ring: float, cloud: float) -> None:
    # Its least squares fit stops some digits earlier.
    assert value_in("ring", kind) == pytest.approx(ring, rel=1e-6)
    assert value_in("cloud", kind) == pytest.approx(cloud, rel=1e-6)


def test_formulas_of_speeds_give_its_numbers() -> None:
    steps = np.array(
        [(0.001, -0.012), (0.001, 0.014), (-0.015, 0.009), (0.001, -0.006), (0.02, 0.008), (-0.012, 0.001)]
        + [(0.006, -0.002), (0.007, -0.001), (0.007, 0.014)]
    )
    radius = 0.5 * float(np.hypot(5.0, 4.0))
    assert average_speed(steps) == pytest.approx(0.01247591493591952)
    assert angular_momentum(RING, steps, radius) == pytest.approx(-0.0009459116985500016)
    assert group_rotation(RING, steps) == pytest.approx(-0.002398806630944079)


@pytest.mark.parametrize("kind", ["AverageSpeed", "AngularMomentum", "GroupRotation"])
def test_its_speeds_are_per_step(kind: str) -> None:
    world = make_world({"type": "static", "output": [0.4, 0.8]}, count=5)
    second = world.add_metric(kind)
    step = world.add_metric({"type": kind, "name": "step", "per": "step"})
    same = world.add_metric(f"{kind}Behavior")
    world.step()
    assert step.value == same.value == pytest.approx(second.value * 0.05)
    assert step.value != 0.0


def test_its_collisions_are_counted_in_every_step() -> None:
    ahead = {"type": "static", "output": [0.5, 0.0]}
    world = make_world(ahead, positions=[[1.0, 1.0], [1.5, 1.0]], angles=[0.0, np.pi])
    steps = world.add_metric("TotalCollisionsBehavior")
    touches = 0
    for _ in range(30):
        world.step()
        touches += int(world.everyone.touching.sum())
    assert steps.value == touches > 2


def test_its_files_name_a_circle_fit_and_get_a_factor() -> None:
    assert value_in("ring", "InstantTaubinSVDCircularity", scale=0.5) == pytest.approx(0.5 * 50.28612640676227)
    assert value_in("ring", "RoutRin", scale=-2.0) == pytest.approx(-2.0 * 0.269946194726858)
