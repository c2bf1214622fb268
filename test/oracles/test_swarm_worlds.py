"""Limits, contacts, goals and searches of swarm worlds, worked out from their definitions."""

from __future__ import annotations

import math
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.swarm import RectangularWorld, World_from_config
from fleet_sim.swarm.evolution import running_trials

DT = 0.05


def world_of(agents: list[dict[str, Any]], **settings: Any) -> RectangularWorld:
    config = {"size": [6.5, 5.2], "time_step": DT, "detectable_walls": False, **settings}
    world = World_from_config({**config, "agents": [{"type": "MazeAgent", **agent} for agent in agents]})
    world.setup()
    return world


def places_of(world: RectangularWorld) -> np.ndarray:
    return world.everyone.positions @ np.array([1.0, 1.0j])


@holds("api:AgentConfig.max_linear_accel", fault="swarm/separation.py: a change is limited to accel, not accel * dt")
@pytest.mark.parametrize("count", [1, 120])
def test_limits_of_speed_and_acceleration_are_kept(count: int) -> None:
    limits = {"max_linear_vel": 0.53, "max_linear_accel": 0.9, "max_angular_vel": 0.81, "max_angular_accel": 1.7}
    agent = {"angle": 0.7, "collides": False, "controller": {"type": "static", "output": [0.8, -1.5]}, **limits}
    world = world_of([{**agent, "position": [2.1, 2.3]}] * count, collide_walls=False)
    place, heading = 2.1 + 2.3j, 0.7
    for step in range(1, 31):
        if step == 21:
            for one in world.population:
                one.controller = {"type": "static", "output": [-0.1, 0.3]}
        # Up to the limits, then towards the new action.
        if step <= 20:
            speed, turn = min(0.53, 0.9 * DT * step), -min(0.81, 1.7 * DT * step)
        else:
            speed, turn = max(-0.1, 0.53 - 0.9 * DT * (step - 20)), min(0.3, -0.81 + 1.7 * DT * (step - 20))
        # Along an arc about a middle to the side.
        after = heading + turn * DT
        place += speed / (1j * turn) * (np.exp(1j * after) - np.exp(1j * heading))
        heading = after
        world.step()
        np.testing.assert_allclose(places_of(world), place, atol=1e-12)
        np.testing.assert_allclose(world.everyone.headings, heading, atol=1e-12)
        np.testing.assert_allclose(world.everyone.velocities @ [1, 1j], speed * np.exp(1j * heading), atol=1e-12)
        np.testing.assert_allclose(world.everyone.angular, turn, atol=1e-12)


def gap_to_line(point: complex, begin: complex, end: complex) -> float:
    """Return the distance of a point from a segment, by the best of three points of it."""
    share = ((point - begin) * (end - begin).conjugate()).real / abs(end - begin) ** 2
    return min(abs(point - begin - min(max(share, 0.0), 1.0) * (end - begin)), abs(point - begin), abs(point - end))


@holds("api:SwarmAgent.touching", fault="swarm/separation.py: the lighter one makes the whole correction")
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_discs_that_overlap_are_pushed_out_along_the_line_between_them(update: str) -> None:
    def pushed(*more: dict[str, Any], **settings: Any) -> tuple[RectangularWorld, np.ndarray]:
        starts = (2.0 + 2.1j, 2.0 + 2.1j + 0.31 * np.exp(0.7j))
        agents = [
            {"position": [start.real, start.imag], "agent_radius": size, **own}
            for start, size, own in zip(starts, (0.15, 0.24), more or ({}, {}), strict=True)
        ]
        world = world_of(agents, update=update, **settings)
        world.step()
        return world, places_of(world)

    first, course = 2.0 + 2.1j, np.exp(0.7j)
    miss = 0.15 + 0.24 - 0.31
    world, places = pushed()
    if update == "together":
        np.testing.assert_allclose(places, [first - 0.5 * miss * course, first + (0.31 + 0.5 * miss) * course])
    else:
        # Whose turn it is goes all of the way.
        np.testing.assert_allclose(places, [first - miss * course, first + 0.31 * course])
    # In turn, the second one moves nowhere and touches nothing any more.
    assert world.everyone.touching.tolist() == [True, update == "together"]
    _, places = pushed({}, {"grounded": True})
    np.testing.assert_allclose(places, [first - miss * course, first + 0.31 * course])
    _, places = pushed({"grounded": True}, {})
    np.testing.assert_allclose(places, [first, first + (0.31 + miss) * course])
    world, places = pushed({"collides": False}, {})
    np.testing.assert_allclose(places, [first, first + 0.31 * course])
    assert not world.everyone.touching.any()
    # Nothing is to be done where they only touch.
    world = world_of([{"position": [2.0, 2.0], "agent_radius": 0.2}, {"position": [2.4, 2.0], "agent_radius": 0.2}])
    world.step()
    assert not world.everyone.touching.any()


@holds("api:RectangularWorld.collide_walls", fault="swarm/separation.py: the border keeps middles in, not discs")
@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("count", [1, 12, 110])
def test_nobody_is_beyond_the_border_or_in_an_object(count: int, update: str) -> None:
    rng = np.random.default_rng(count)
    triangle = np.array([2.6 + 1.9j, 4.1 + 2.2j, 3.2 + 3.4j])
    points = [[point.real, point.imag] for point in triangle]
    thing = {"type": "StaticObject", "points": points, "position": [0, 0], "anchor_point": [0, 0]}
    drive = {"type": "static", "output": [0.9, 0.35]}
    # Few enough that nobody is held in a crush.
    agents = [
        {
            "position": rng.uniform((0.3, 0.3), (2.2, 4.9)).tolist(),
            "angle": float(rng.uniform(-3, 3)),
            "controller": drive,
        }
        for _ in range(count)
    ]
    radius = 0.04
    world = world_of([{**agent, "agent_radius": radius} for agent in agents], objects=[thing], update=update)
    border = objects = 0
    for _ in range(70 if count < 100 else 45):
        world.step()
        x, y = world.everyone.positions.T
        assert min(x.min(), y.min()) >= radius - 1e-12
        assert x.max() <= 6.5 - radius + 1e-12 and y.max() <= 5.2 - radius + 1e-12
        edge = np.isclose(np.minimum(np.minimum(x, 6.5 - x), np.minimum(y, 5.2 - y)), radius, atol=1e-12)
        assert world.everyone.touching[edge].all()
        border += int(edge.sum())
        sides = zip(triangle, np.roll(triangle, -1), strict=True)
        gaps = np.min([[gap_to_line(place, *side) for place in places_of(world)] for side in sides], axis=0)
        assert gaps.min() > radius - 2e-3
        objects += int((gaps < radius + 1e-6).sum())
    assert border > 0 or count == 1
    assert objects > 0 or count == 1


@holds("api:Sensor.outlines", fault="swarm/sensors.py: what is drawn of a line is turned by its angle the other way")
@pytest.mark.parametrize("shown", [True, False])
def test_what_sensors_see_is_drawn_where_it_is(shown: bool) -> None:
    diagonal = math.hypot(6.5, 5.2)
    sensors = [
        {"type": "BinaryLOSSensor", "angle": 0.23, "distance": 1.3},
        {"type": "BinaryLOSSensor"},
        {"type": "BinaryFOVSensor", "theta": 0.6, "bias": -0.35, "distance": 1.7},
        {"type": "BinaryFOVSensor", "theta": 4.0, "distance": 99.0},
    ]
    starts = [([1.2, 3.1], 0.7), ([4.3, 2.2], -2.1)]
    agents = [
        {
            "position": at,
            "angle": yaw,
            "sensors": [sensor | {("draw" if "LOS" in sensor["type"] else "show"): shown} for sensor in sensors],
        }
        for at, yaw in starts
    ]
    world = world_of(agents)
    group = world.population_groups[0]
    drawn = [sensor.outlines(group) for sensor in group.sensors]
    if not shown:
        assert drawn == [None] * 4
        return
    for index, (at, yaw) in enumerate(starts):
        begin = complex(*at)
        lines = [outline[index] @ [1, 1j] for outline in drawn]
        assert lines[0] == pytest.approx([begin, begin + 1.3 * np.exp(1j * (yaw + 0.23))])
        assert lines[1] == pytest.approx([begin, begin + diagonal * np.exp(1j * yaw)])
        # From the agent along one edge, round, and back along the other.
        assert lines[2][0] == pytest.approx(begin)
        rim = (lines[2][1:] - begin) * np.exp(-1j * (yaw - 0.35))
        assert np.abs(rim) == pytest.approx(1.7) and np.diff(np.angle(rim)).min() > 0.0
        assert np.angle(rim[[0, -1]]) == pytest.approx([-0.6, 0.6])
        assert np.abs(lines[3] - begin) == pytest.approx(diagonal) and len(lines[3]) == len(lines[2]) - 1


@holds("api:RectangularWorld.step", fault="swarm/separation.py: sides of objects have no ends")
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_a_disc_beside_a_corner_is_pushed_from_the_corner(update: str) -> None:
    triangle = np.array([2.6 + 1.9j, 4.1 + 2.2j, 3.2 + 3.4j])
    points = [[point.real, point.imag] for point in triangle]
    thing = {"type": "StaticObject", "points": points, "position": [0, 0], "anchor_point": [0, 0]}
    # Almost in line with the side that ends there; the nearest point is the corner.
    way = np.exp(1j * (np.angle(triangle[2] - triangle[0]) + 0.1))
    # One that begins inside leaves over the nearest side, and is as fast as it is pushed.
    side = triangle[1] - triangle[0]
    out, foot = -1j * side / abs(side), triangle[0] + 0.4 * side
    corner = [(triangle[2] + far * way, triangle[2] + wanted * way) for far, wanted in ((0.21, 0.21), (0.17, 0.2))]
    for place, end in (*corner, (foot - 0.11 * out, foot + 0.2 * out), (foot + 0.13 * out, foot + 0.2 * out)):
        stays = {
            "position": [place.real, place.imag],
            "agent_radius": 0.2,
            "controller": {"type": "static", "output": [0, 0]},
        }
        world = world_of([stays], objects=[thing], update=update)
        world.step()
        np.testing.assert_allclose(places_of(world), [end], atol=1e-9)
        pushed = world.columns.velocity[world.population[0].row, :2] @ [1, 1j]
        assert pushed == pytest.approx((end - place) / world.columns.clock.dt, abs=1e-6)


@holds("api:AgentConfig.stop_at_goal", fault="swarm/stepping.py: agents are halted outside of goals")
@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("count", [1, 30])
def test_who_wants_to_stops_at_its_goal(count: int, update: str) -> None:
    agent = {"collides": False, "stop_at_goal": True, "controller": {"type": "static", "output": [0.7, 0.0]}}
    agents = [{**agent, "position": [0.5, 2.0 + 0.05 * index], "angle": 0.1} for index in range(count)]
    agents[-1] = {**agents[-1], "stop_at_goal": count == 1}
    goal = {"type": "circle", "position": [2.3, 2.4], "radius": 0.62}
    world = world_of(agents, goals=[goal], update=update)
    arrived: dict[int, complex] = {}
    for _ in range(60):
        world.step()
        for number, place in enumerate(places_of(world)):
            if number in arrived:
                assert place == arrived[number]
            elif abs(place - (2.3 + 2.4j)) <= 0.62 and agents[number]["stop_at_goal"]:
                arrived[number] = place
            else:
                assert world.everyone.linear[number] == pytest.approx(0.7)
    assert len(arrived) >= min(count, 10)


@holds("api:run_trials", fault="swarm/evolution.py: values in the order in which trials end")
def test_trials_come_back_in_their_order() -> None:
    class Crew:
        def run(self, jobs: Any) -> Any:
            work = begun()
            made = [(job.number, job.content) for job in jobs]
            for number, content in reversed(made):
                yield SimpleNamespace(number=number, value=work(content), error="", trace="")

    begun: Any = None

    class Host:
        workers = 3

        @contextmanager
        def crew(self, begin: Any) -> Any:
            nonlocal begun
            begun = begin
            yield Crew()

    agent = {"type": "MazeAgent", "position": [1.0, 1.0]}
    trials = []
    for index in range(7):
        controller = {"type": "static", "output": [0.1 * (index + 1), 0.0]}
        config = {"size": [9, 9], "time_step": DT, "agents": [{**agent, "controller": controller}]}
        world = {**config, "metrics": ["DistanceTravelled", "AverageSpeed"]}
        trials.append((world, 11, "DistanceTravelled" if index % 2 else "AverageSpeed", "last"))
    with running_trials(Host()) as run:  # type: ignore[arg-type]
        # A metric that begins with the first step does not know the way of that.
        expected = [0.1 * (index + 1) * (10 * DT if index % 2 else 1.0) for index in range(7)]
        assert run(trials) == pytest.approx(expected)
    with running_trials(None) as run:
        assert run(trials[:1]) == pytest.approx([0.1])
