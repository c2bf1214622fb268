"""Metrics in worlds: what they remember, whom they look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.metrics import BUILT_IN, AverageSpeed, Circliness, DistanceTravelled, Throughput, TotalCollisions
from fleet_sim.swarm.metrics.crowd import angular_momentum, scatter
from fleet_sim.swarm.world import RectangularWorld


def add(world: RectangularWorld, kind: str, **params: Any) -> Any:
    metric = BUILT_IN[kind](**params)
    world.add_metric(metric)
    return metric


def driver(speed: float, turn: float = 0.0) -> dict[str, Any]:
    return {"type": "static", "output": [speed, turn]}


def test_they_take_positions_and_velocities_of_the_population_after_the_step() -> None:
    world = make_world(driver(0.4, 1.0), count=6)
    metrics = {name: add(world, name) for name in ("average_speed", "angular_momentum", "scatter", "polarization")}
    world.add_object({"type": "StaticObject", "position": [4.0, 4.0], "agent_radius": 0.2})
    before = world.everyone.positions
    world.step()
    crowd, radius = world.everyone, np.hypot(5.0, 5.0) / 2.0
    velocities = (crowd.positions - before) / world.dt
    assert metrics["average_speed"].value == pytest.approx(np.hypot(*velocities.T).mean())
    assert metrics["scatter"].value == pytest.approx(scatter(crowd.positions, radius))
    assert metrics["angular_momentum"].value == pytest.approx(angular_momentum(crowd.positions, velocities, radius))


def test_the_last_value_and_the_mean_are_told_by_name() -> None:
    metric = AverageSpeed(name="pace")
    for value in (1.0, 2.0, 6.0):
        metric.set_value(value)
    assert metric.out_current() == ("pace", 6.0) and metric.out_average() == ("pace", 3.0)


def test_they_can_look_at_one_team() -> None:
    world = make_world(driver(0.2), positions=[[1.0, 1.0], [2.0, 2.0]])
    world.spawn({"type": "MazeAgent", "controller": driver(0.6), "team": "fast"}, [3.0, 3.0], 0.0)
    everybody, fast = add(world, "average_speed"), add(world, "average_speed", name="fast", team="fast")
    world.step()
    assert (everybody.value, fast.value) == (pytest.approx(1.0 / 3.0), pytest.approx(0.6))


def test_circliness_goes_by_the_means_of_its_window() -> None:
    world = make_world(
        driver(0.3, 0.5), positions=[[3.1, 2.5], [2.5, 3.1], [1.9, 2.5], [2.5, 1.9]], angles=np.arange(4) * np.pi / 2
    )
    circliness, fatness = add(world, "Circliness", avg_history_max=3), add(world, "Fatness")
    tangentness = add(world, "Tangentness")
    for _ in range(5):
        world.step()
    last = [np.mean(list(metric.value_history)[-3:]) for metric in (fatness, tangentness)]
    assert circliness.value == pytest.approx(1.0 - max(last))
    with pytest.raises(FleetSimError, match="avg_history_max"):
        Circliness(avg_history_max=0)


def test_collisions_are_counted_where_they_begin() -> None:
    # Two that drive into each other and stay there; one that drives into the wall.
    world = make_world(driver(0.5), positions=[[1.0, 1.0], [2.0, 1.0], [4.5, 4.0]], angles=[0.0, np.pi, 0.0])
    begun, steps = add(world, "TotalCollisions"), add(world, "TotalCollisions", name="steps", each_step=True)
    touches = 0
    for _ in range(60):
        world.step()
        touches += int(world.everyone.touching.sum())
    assert begun.value == 3
    assert steps.value == touches > 50


def test_goals() -> None:
    goal = {"type": "circle", "position": [3.0, 2.5], "radius": 0.5}
    world = make_world(
        driver(0.5),
        positions=[[1.01, 2.5], [2.01, 2.5], [2.91, 2.5]],
        angles=[0.0] * 3,
        goals=[goal],
        agent={"collides": False},
    )
    number, share, rate = (add(world, name) for name in ("agents_at_goal", "at_goal_share", "throughput"))
    half = add(world, "percentage_at_goal", percentage=0.5)
    seen = []
    for _ in range(70):
        world.step()
        seen.append(number.value)
        assert share.value == pytest.approx(number.value / 3.0)
    # They make 25 mm per step: the second comes in with step 20 and leaves with 60, the third leaves with 24, and the
    # first comes in with 60.
    assert seen == [1.0] * 19 + [2.0] * 4 + [1.0] * 47
    assert rate.value == pytest.approx(2.0 / 3.5)
    assert half.value == 20.0


def test_throughput_forgets_what_was_before_its_window() -> None:
    goal = {"type": "circle", "position": [3.0, 2.5], "radius": 0.5}
    world = make_world(driver(0.5), positions=[[2.4, 2.5]], angles=[0.0], goals=[goal])
    rate = add(world, "throughput", window=0.5)
    values = []
    for _ in range(30):
        world.step()
        values.append(round(rate.value, 9))
    assert max(values) == pytest.approx(1.0 / 0.25)  # it comes in with the fifth step, after 0.25 s
    assert values[10] == 2.0
    assert values[-1] == 0.0
    assert isinstance(rate, Throughput)


def test_distances_add_up_while_agents_come_and_go() -> None:
    world = make_world(driver(0.5), positions=[[1.0, 1.0], [1.0, 2.0]], angles=[0.0, 0.0])
    mean, total = add(world, "distance_travelled"), add(world, "distance_travelled", name="total", total=True)
    for _ in range(11):
        world.step()
    assert (mean.value, total.value) == (pytest.approx(0.25), pytest.approx(0.5))
    world.remove(world.population[:1])
    world.spawn({"type": "MazeAgent", "controller": driver(0.5)}, [1.0, 3.0], 0.0)
    for _ in range(10):
        world.step()
    # The one that stayed: 20 steps of 25 mm; the new one: 9 that could be measured.
    assert mean.value == pytest.approx((0.5 + 0.225) / 2)
    assert total.value == pytest.approx(0.5 + 0.25 + 0.225)


def test_going_back_in_time_takes_metrics_along() -> None:
    world = make_world("boids", count=6)
    metrics = [add(world, name) for name in ("TotalCollisions", "DistanceTravelled", "Circliness")]
    world.evaluate(20)
    values = [metric.value for metric in metrics]
    world.reset()
    assert all(np.isnan(metric.value) for metric in metrics)
    world.evaluate(20)
    assert [metric.value for metric in metrics] == values


@pytest.mark.parametrize("cls", [AverageSpeed, TotalCollisions, DistanceTravelled])
def test_they_ask_for_their_world(cls: type[Any]) -> None:
    with pytest.raises(FleetSimError, match="attach_world"):
        cls().calculate()
