"""Sensors of swarm worlds by brute force over the points of discs, and the statistics of the Levy walk."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.swarm import Controller, MazeAgent, RectangularWorld, World_from_config
from fleet_sim.swarm.neighbours import pairs_within, targets_within

SIZE = (6.5, 5.2)
RADII = (0.09, 0.17)
DISC = np.concatenate([share * np.exp(1j * np.linspace(-np.pi, np.pi, 50)) for share in (0.0, 0.3, 0.6, 0.8, 1.0)])
"""Points of a disc of radius 1."""


def crowd(
    count: int, update: str, sensors: list[dict[str, Any]], steps: int, **more: Any
) -> tuple[RectangularWorld, np.ndarray]:
    """Return a world of agents of two sizes and teams after `steps` steps, and the radii of their discs."""
    rng, agents = np.random.default_rng(count), []
    for index in range(count):
        x, y = rng.uniform((0.3, 0.3), np.array(SIZE) - 0.3).tolist()
        agents.append(
            {
                "type": "MazeAgent",
                "position": [x, y],
                "angle": float(rng.uniform(-3.1, 3.1)),
                "agent_radius": RADII[index % 2],
                "team": ("red", "blue")[index % 2],
                "sensors": sensors,
                "controller": {"type": "static", "output": [0.7, 1.1] if update == "together" else [0.0, 0.0]},
                "collides": False,
            }
        )
    world = World_from_config({"size": list(SIZE), "time_step": 0.05, "update": update, "agents": agents, **more})
    world.setup()
    for _ in range(steps):
        world.step()
    return world, np.array([agent.radius for agent in world.population])


def in_frames(world: RectangularWorld, turn: float, points: np.ndarray) -> np.ndarray:
    """Return points (M,) as each agent sees them (N, M), whose x axis is `turn` rad to the left of its heading."""
    places = world.everyone.positions @ [1.0, 1.0j]
    return (points - places[:, None]) * np.exp(-1j * (world.everyone.headings + turn))[:, None]


def seen_in_sector(world: RectangularWorld, radii: np.ndarray, others: np.ndarray, **sector: float) -> np.ndarray:
    """Return who has a point of the disc of one of `others` in a sector `theta` to both sides, `distance` m deep."""
    places = world.everyone.positions @ [1.0, 1.0j]
    seen = np.zeros(len(places), np.bool_)
    for other in np.flatnonzero(others).tolist():
        points = in_frames(world, sector["bias"], places[other] + radii[other] * DISC)
        inside = (np.abs(np.angle(points)) <= sector["theta"]) & (np.abs(points) <= sector["distance"])
        # Nobody sees itself.
        inside[other] = False
        seen |= inside.any(axis=1)
    return seen


@holds(
    "api:BinaryFOVSensor.current_state",
    "api:BinaryLOSSensor.current_state",
    "api:PointCollisionSensor.current_state",
    "api:NeighboursInRangeSensor.current_state",
    fault="swarm/sensors.py: `bias` turns the point to the right",
)
@pytest.mark.parametrize(("count", "update"), [(6, "together"), (20, "together"), (100, "together"), (30, "in_turn")])
@pytest.mark.parametrize("theta", [0.43, 2.1])
def test_readings_are_what_brute_force_finds(count: int, update: str, theta: float) -> None:
    sector = {"theta": theta, "distance": 0.9 if count > 6 else 1.9, "bias": 0.31}
    sensors = [
        {"type": "BinaryFOVSensor", **sector},
        {"type": "BinaryFOVSensor", **sector, "target_team": "red"},
        {"type": "BinaryLOSSensor", "angle": 0.27, "distance": 1.4},
        {"type": "PointCollisionSensor", "distance": 0.63, "bias": -0.4},
        {"type": "NeighboursInRangeSensor", "distance": 1.1},
    ]
    found, decided = np.zeros(2), 0
    # In turn everybody stands, as each looks while others have not moved yet.
    for steps in (2, 9) if count < 30 else (2,):
        world, radii = crowd(count, update, sensors, steps)
        readings = np.array([[sensor.current_state for sensor in agent.sensors] for agent in world.population])
        places = world.everyone.positions @ [1.0, 1.0j]
        for column, others in enumerate((np.ones(count, np.bool_), np.arange(count) % 2 == 0)):
            # Sampling misses slivers: what a slightly larger and a slightly smaller sector agree on is certain.
            wide = seen_in_sector(
                world, 1.03 * radii, others, theta=theta + 0.03, distance=sector["distance"] + 0.03, bias=0.31
            )
            narrow = seen_in_sector(
                world, 0.98 * radii, others, theta=theta - 0.03, distance=sector["distance"] - 0.03, bias=0.31
            )
            sure = wide == narrow
            assert (readings[sure, column] == wide[sure]).all()
            decided += int(sure.sum())
            found += np.bincount(readings[:, column], minlength=2)[:2]
        apart = ~np.eye(count, dtype=np.bool_)
        line = in_frames(world, 0.27, places)
        met = apart & (np.abs(line.imag) <= radii) & (line.real >= 0.0) & (line.real <= 1.4)
        assert (readings[:, 2] == met.any(axis=1)).all()
        covered = apart & (np.abs(in_frames(world, -0.4, places) - 0.63) <= radii)
        assert (readings[:, 3] == covered.any(axis=1)).all()
        near = apart & (np.abs(places[:, None] - places) <= 1.1)
        assert (readings[:, 4] == near.sum(axis=1)).all()
    assert decided > count and found.min() > 0


@holds(
    "api:BinaryFOVSensor.current_state", fault="swarm/neighbours.py: the nearest point of a wall may be beyond its ends"
)
@pytest.mark.parametrize("theta", [0.43, 2.1, 10.0])
def test_walls_and_goals_are_seen_that_have_a_point_in_the_sector(theta: float) -> None:
    corners = [3.1 + 1.2j, 4.4 + 1.9j, 3.6 + 2.4j]
    frame = [0.4 + 0.5j, 5.9 + 0.5j, 5.9 + 4.4j, 0.4 + 4.4j]
    border = [0.0, SIZE[0] + 0.0j, SIZE[0] + 1j * SIZE[1], 1j * SIZE[1]]
    # Of a team that nobody has, so that agents are not seen.
    sector = {"type": "BinaryFOVSensor", "theta": theta, "distance": 0.9, "bias": 0.31, "target_team": "none"}
    sensors = [
        {**sector, "walls": True, "wall_sensing_range": 0.62},
        {**sector, "walls": [[0.4, 0.5], [5.9, 4.4]]},
        {**sector, "walls": False, "detect_goal_with_added_state": True, "goal_sensing_range": 1.3},
    ]
    pillar = {"type": "StaticObject", "points": [[at.real, at.imag] for at in corners], "anchor_point": [0, 0]}
    goal = {"type": "circle", "position": [2.2, 3.3], "radius": 0.6}
    world, _ = crowd(
        60,
        "together",
        sensors,
        3,
        objects=[pillar | {"position": [0, 0]}],
        goals=[goal, goal | {"position": [5.1, 0.9]}],
    )
    readings = np.array([[sensor.current_state for sensor in agent.sensors] for agent in world.population])
    shares = np.linspace(0.0, 1.0, 2000)
    outlines = [[*itertools.chain(*(a + shares * (b - a) for a, b in zip(each, each[1:] + each[:1], strict=True)))]
                for each in (border, corners, frame)]  # fmt: skip
    rim = np.add.outer([2.2 + 3.3j, 5.1 + 0.9j], 0.6 * DISC).ravel()
    for column, points, depth, told in (
        (0, np.array(outlines[0] + outlines[1]), 0.62, 1),
        (1, np.array(outlines[2]), 0.9, 1),
        (2, rim, 1.3, 2),
    ):
        local = in_frames(world, 0.31, points)
        room = 0.05 if column == 2 else 0.005
        wide, narrow = (
            ((np.abs(np.angle(local)) <= theta + more) & (np.abs(local) <= depth + more)).any(axis=1)
            for more in (room, -room)
        )
        assert (readings[narrow, column] == told).all() and (readings[~wide, column] == 0).all()
        assert narrow.sum() > 4 and (~wide).sum() > 4


@holds("api:LevyController.act", fault="swarm/controllers/single_agent.py: max of length and timeout in place of min")
def test_ways_of_a_levy_walk_have_the_tail_that_its_index_says() -> None:
    index, speed, dt, longest = 1.3, 0.7, 0.05, 4.0
    controller = {
        "type": "LevyController",
        "velocity": speed,
        "angular_velocity": 2.5,
        "levy_constant": index,
        "timeout": longest,
        "step_scale": 0.4,
    }
    agent = {"type": "MazeAgent", "agent_radius": 0.05, "collides": False, "controller": controller}
    spawner = {"type": "uniform", "n": 80, "agent": agent}
    world = World_from_config({"size": [50, 50], "time_step": dt, "collide_walls": False, "spawners": [spawner]})
    world.setup()
    driving, turns = [], []
    for _ in range(1200):
        world.step()
        driving.append(np.abs(world.everyone.linear) > 0.0)
        turns.append(world.everyone.angular * dt)
    assert set(np.round(np.abs(world.everyone.linear), 9)) <= {0.0, speed}
    legs, corners = [], []
    for moves, angles in zip(np.array(driving).T, np.array(turns).T, strict=True):
        # Where driving begins and ends; the first way and the last are not whole.
        edges = np.flatnonzero(np.diff(moves.astype(int)))[1:]
        for begin, end in pairwise(edges):
            if moves[begin + 1]:
                legs.append(end - begin)
            else:
                corners.append(angles[begin + 1 : end + 1].sum())
    steps = np.array(legs)
    assert steps.max() == round(longest / dt), "none is longer, and some are cut"
    # Mantegna's quotients, drawn by another program: x / |y|^(1 / b) of two normal numbers, x of this width.
    width = (
        math.gamma(1 + index)
        * math.sin(math.pi * index / 2)
        / (math.gamma((1 + index) / 2) * index * 2 ** ((index - 1) / 2))
    ) ** (1 / index)
    rng = np.random.default_rng(0)
    lengths = 0.4 * np.abs(width * rng.normal(size=400_000)) / np.abs(rng.normal(size=400_000)) ** (1 / index)
    for least in (2, 4, 8, 16, 32, 64, 80):
        expected = np.mean(np.ceil(np.minimum(lengths, longest * speed) / (speed * dt) - 1e-9) >= least)
        # Three standard errors, and a little for what is not independent.
        assert np.mean(steps >= least) == pytest.approx(expected, abs=4.0 * math.sqrt(expected / len(steps)))
    assert len(steps) > 3000
    # Any new heading is as likely as any other.
    assert abs(np.exp(1j * np.array(corners)).mean()) < 4.0 / math.sqrt(len(corners))
    assert np.abs(corners).max() <= np.pi + 1e-9


@holds(
    "api:Targeter.current_state",
    "api:RegionalSensor.current_state",
    fault="swarm/sensors.py: the closest in place of the furthest",
)
@pytest.mark.parametrize("count", [6, 40])
def test_targets_and_regions_are_those_that_brute_force_finds(count: int) -> None:
    seen = {"type": "Targeter", "distance": 2.1, "hold": "alwaysretarget"}
    sensors = [
        {**seen, "target_mode": "closest"},
        {**seen, "target_mode": "furthest", "target_team": "blue", "attribute": "distance"},
        {**seen, "target_mode": "closest", "attribute": "velocity"},
        {**seen, "target_mode": "closest", "attribute": "angle"},
        {"type": "RegionalSensor", "world_object_index": 0},
    ]
    points = [[-1, -1], [1.4, -0.6], [0, 1.3]]
    region = {"type": "DetectionRegion", "position": [3.1, 2.7], "angle": 0.7, "points": points}
    world, _ = crowd(count, "together", sensors, 1, objects=[region])
    # A row that is given to another agent has another id.
    world.remove([world.population[1]])
    again = world.population[0].as_config_dict() | {"position": [3.0, 2.2], "angle": 1.9, "team": "blue"}
    world.spawn(again)
    for _ in range(3):
        world.step()
    places, headings = world.everyone.positions @ [1.0, 1.0j], world.everyone.headings
    blue = np.array([*(agent.team == "blue" for agent in world.population), False])
    # Objects may be targets, too.
    places, headings = np.append(places, 3.1 + 2.7j), np.append(headings, 0.7)
    speeds = np.append(np.full(count, 0.7), 0.0)
    gaps = np.abs(places[:, None] - places)
    np.fill_diagonal(gaps, np.inf)
    corners = np.array([-1 - 1j, 1.4 - 0.6j, 1.3j]) * np.exp(0.7j) + (3.1 + 2.7j)
    for me, agent in enumerate(world.population):
        closest, distance, velocity, angle, inside = (sensor.current_state for sensor in agent.sensors)
        # Inside a convex outline all sides have the point on their left.
        sides = np.roll(corners, -1) - corners
        assert inside == bool(((np.conj(sides) * (places[me] - corners)).imag > 0.0).all())
        near = np.where(gaps[me] <= 2.1, gaps[me], np.inf)
        if np.isinf(near).all():
            assert np.isnan(closest).all() and np.isnan(velocity).all() and np.isnan(angle)
        else:
            other = int(near.argmin())
            assert complex(*closest) == pytest.approx(places[other])
            assert complex(*velocity) == pytest.approx(speeds[other] * np.exp(1j * headings[other]))
            assert np.exp(1j * (angle - headings[other])) == pytest.approx(1.0)
        far = np.where((gaps[me] <= 2.1) & blue, gaps[me], -np.inf).max()
        assert distance == pytest.approx(far) if far > 0.0 else np.isnan(distance)


@holds("api:DiffDriveAgent.position", fault="swarm/agents.py: the right wheel turns it to the right")
@pytest.mark.parametrize("count", [1, 30])
def test_two_wheels_drive_exact_arcs(count: int) -> None:
    left, right, radius, axle, dt = 7.0, 11.5, 0.037, 0.21, 0.013
    agent = {
        "type": "DiffDriveAgent",
        "wheel_radius": radius,
        "axle_length": axle,
        "controller": {"type": "static", "output": [left, right]},
        "collides": False,
    }
    agents = [{**agent, "position": [2.0 + 0.1 * index, 2.5], "angle": 0.7 + 0.1 * index} for index in range(count)]
    world = World_from_config({"size": [9, 9], "time_step": dt, "agents": agents})
    world.setup()
    first, headings = world.everyone.positions @ [1.0, 1.0j], world.everyone.headings
    for _ in range(31):
        world.step()
    # About a middle to the left of both wheels, each on a circle of its own.
    turn = radius * (right - left) / axle
    middle = 0.5 * axle * (right + left) / (right - left)
    centers = first + 1j * middle * np.exp(1j * headings)
    expected = centers - 1j * middle * np.exp(1j * (headings + 31 * dt * turn))
    np.testing.assert_allclose(world.everyone.positions @ [1.0, 1.0j], expected, atol=1e-11)


class Ramp(Controller):
    """Goes faster with each step, from a speed of its own on."""

    def __init__(self, first: float) -> None:
        super().__init__()
        self.first = first

    def act(self, group: Any) -> np.ndarray:
        """Return one action for all."""
        return np.tile((self.first + 0.01 * group.world.total_steps, 0.3), (len(group), 1))


@holds("api:SwarmAgent.controller", fault="swarm/members.py: who joins a group has the memory of its second member")
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_late_actions_stay_with_who_changes_its_controller(update: str) -> None:
    ramps, delay = [Ramp(0.1), Ramp(0.5), Ramp(0.9)], 3
    world = World_from_config({"size": [30, 30], "time_step": 0.05, "update": update})
    world.setup()
    agents = [
        MazeAgent({"delay": delay, "collides": False, "position": [3.0 + 2.0 * index, 4.0]}, world, f"a{index}")
        for index in range(9)
    ]
    for index, agent in enumerate(agents):
        world.population.append(agent)
        agent.controller = ramps[index // 4]
    chosen = [index // 4 for index in range(9)]
    asked: list[list[float]] = []
    for step in range(1, 25):
        for agent, ramp in {6: {1: 1}, 8: {7: 2}, 11: {4: 0, 1: 2}, 14: {8: 0}}.get(step, {}).items():
            agents[agent].controller, chosen[agent] = ramps[ramp], ramp
        asked.append([ramps[which].first + 0.01 * step for which in chosen])
        world.step()
        late = asked[-1 - delay] if step > delay else [0.0] * 9
        assert [agent.linear for agent in agents] == pytest.approx(late), step


@pytest.mark.parametrize("compiled", [False, True])
@holds("api:neighbours", fault="swarm/neighbours.py: points in the last line of cells are not looked at")
def test_near_points_are_those_that_comparing_all_finds(compiled: bool) -> None:
    if compiled:
        pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    for count, reach in itertools.product((0, 1, 2, 150), (0.0, 0.05, 0.4, 3.0, math.inf)):
        points = rng.uniform(-3.0, 3.0, (count, 2)) * [1.0, 0.2]
        points[: count // 5] = points[count // 5 : 2 * (count // 5)]
        origins = rng.uniform(-4.0, 4.0, (9, 2))
        near = np.linalg.norm(points[:, None] - points, axis=-1) <= reach
        seen = np.linalg.norm(origins[:, None] - points, axis=-1) <= reach
        for found, wanted in (
            (pairs_within(points, reach, compiled=compiled), np.nonzero(np.triu(near, 1))),
            (targets_within(origins, points, reach, compiled=compiled), np.nonzero(seen)),
        ):
            assert [part.tolist() for part in found] == [part.tolist() for part in wanted]
