"""Controllers of swarm worlds against their definitions, from the poses of each step, with complex numbers."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.swarm import RectangularWorld, World_from_config

SIZE = (4.3, 3.7)
DT = 0.05


def world_of(count: int, controller: dict[str, Any], **more: Any) -> RectangularWorld:
    """Return a world of agents of two teams, anywhere and looking anywhere."""
    rng, agents = np.random.default_rng(count), []
    for index in range(count):
        place = rng.uniform((0.1, 0.1), np.array(SIZE) - 0.1).tolist()
        agent = {"type": "MazeAgent", "agent_radius": 0.04, "collides": False, "position": place}
        angle, team = float(rng.uniform(-3.1, 3.1)), ("red", "blue")[index % 3 == 0]
        agents.append({**agent, "angle": angle, "team": team, "controller": controller})
    world = World_from_config({"size": list(SIZE), "time_step": DT, "agents": agents, **more})
    world.setup()
    return world


def places_of(world: RectangularWorld) -> np.ndarray:
    return world.everyone.positions @ np.array([1.0, 1.0j])


def bearing(way: complex, heading: float) -> float:
    return cmath.phase(way * cmath.exp(-1j * heading))


def steered(wanted: complex, heading: float, *, gain: float, top_turn: float, top_speed: float) -> tuple[float, float]:
    """Return the action that turns to a wanted velocity and drives as far as it points ahead."""
    turn = gain * bearing(wanted, heading)
    ahead = (wanted * cmath.exp(-1j * heading)).real
    return min(max(ahead, 0.0), top_speed), min(max(turn, -top_turn), top_turn)


def compare(world: RectangularWorld, expected: list[tuple[float, float]]) -> None:
    """Step the world, and compare what its agents do."""
    world.step()
    got = np.stack((world.everyone.linear, world.everyone.angular), axis=1)
    np.testing.assert_allclose(got, expected, atol=1e-9)


FLOCK = {
    "speed": 0.43, "max_turn": 1.9, "reach": 0.9, "separation_distance": 0.37, "separation": 1.3, "alignment": 0.8,
    "cohesion": 1.7, "wall_distance": 0.6, "walls": 2.3, "min_speed": 0.35, "turn_gain": 3.1,
}  # fmt: skip


@holds(
    "api:BoidsController.act", fault="swarm/controllers/boids.py: cohesion is not divided by the number of neighbours"
)
@pytest.mark.parametrize(("count", "team"), [(12, None), (12, "red"), (130, None), (130, "blue")])
def test_boids_do_what_their_wishes_add_up_to(count: int, team: str | None) -> None:
    # Beside its corners the sides end.
    corners = (1.4 + 1.2j, 2.2 + 1.0j, 1.9 + 1.9j)
    pillar = {"type": "StaticObject", "points": [[at.real, at.imag] for at in corners], "anchor_point": [0, 0]}
    controller = {"type": "BoidsController", **FLOCK, "target_team": team}
    world = world_of(count, controller, objects=[pillar | {"position": [0, 0]}])
    teams = np.array([agent.team for agent in world.population])
    slow = close = 0
    for _ in range(8):
        places, headings = places_of(world), world.everyone.headings
        velocities = world.everyone.velocities @ [1, 1j]
        actions = []
        for me, (place, heading) in enumerate(zip(places, headings, strict=True)):
            ahead = cmath.exp(1j * heading)
            others = [j for j in range(count) if j != me and (team is None or teams[j] == team)]
            near = [j for j in others if abs(places[j] - place) <= FLOCK["reach"]]
            wish = ahead
            for j in near:
                gap = abs(places[j] - place)
                if gap < FLOCK["separation_distance"]:
                    push = FLOCK["separation_distance"] / gap - 1.0
                    wish -= FLOCK["separation"] * push * (places[j] - place) / gap
                    close += 1
            if near:
                wish += FLOCK["alignment"] * (velocities[near].mean() / FLOCK["speed"] - ahead)
                wish += FLOCK["cohesion"] * (places[near] - place).mean() / FLOCK["reach"]
            x, y = place.real, place.imag
            for gap, away in ((x, 1), (SIZE[0] - x, -1), (y, 1j), (SIZE[1] - y, -1j)):
                wish += FLOCK["walls"] * max(0.0, 1.0 - gap / FLOCK["wall_distance"]) * away
            for begin, end in zip(corners, corners[1:] + corners[:1], strict=True):
                share = ((place - begin) / (end - begin)).real
                off = place - begin - min(max(share, 0.0), 1.0) * (end - begin)
                wish += FLOCK["walls"] * max(0.0, 1.0 - abs(off) / FLOCK["wall_distance"]) * off / abs(off)
            wanted = wish / abs(wish) * FLOCK["speed"]
            speed, turn = steered(
                wanted, heading, gain=FLOCK["turn_gain"], top_turn=FLOCK["max_turn"], top_speed=FLOCK["speed"]
            )
            slow += speed < FLOCK["min_speed"] * FLOCK["speed"]
            actions.append((max(speed, FLOCK["min_speed"] * FLOCK["speed"]), turn))
        compare(world, actions)
    assert slow > 0 and close > 0


@holds("api:CyclicPursuitController.act", fault="swarm/controllers/boids.py: each chases the one before it")
@pytest.mark.parametrize("order", ["around", "spawned"])
def test_a_ring_turns_to_whom_each_one_chases(order: str) -> None:
    world = world_of(
        7, {"type": "CyclicPursuitController", "speed": 0.31, "gain": 0.83, "max_turn": 1.7, "order": order}
    )
    ring = np.arange(7)
    if order == "around":
        ring = np.argsort(np.angle(places_of(world) - places_of(world).mean()))
    chased = {int(ring[index]): int(ring[(index + 1) % 7]) for index in range(7)}
    limited = 0
    for _ in range(12):
        places, headings = places_of(world), world.everyone.headings
        turns = [0.83 * bearing(places[chased[me]] - places[me], headings[me]) for me in range(7)]
        limited += sum(abs(turn) > 1.7 for turn in turns)
        compare(world, [(0.31, min(max(turn, -1.7), 1.7)) for turn in turns])
    assert limited > 0


@holds("api:FollowController.act", fault="swarm/controllers/boids.py: the speed of the one ahead is not added")
@pytest.mark.parametrize("led", [False, True])
def test_a_chain_keeps_its_gaps(led: bool) -> None:
    settings = {"gap": 0.33, "gain": 1.1, "max_speed": 0.61, "max_turn": 1.3, "turn_gain": 2.7, "lead": [0.21, 0.37]}
    world = world_of(5, {"type": "FollowController", **settings})
    if led:
        static = {"type": "static", "output": [0.45, -0.6]}
        world.spawn({"type": "MazeAgent", "name": "guide", "position": [2.0, 2.2], "angle": 0.7, "controller": static})
        for agent in world.population[:5]:
            agent.controller.leader = "guide"
    for _ in range(15):
        places, headings = places_of(world), world.everyone.headings
        velocities = world.everyone.velocities @ [1, 1j]
        expected = []
        for me in range(5):
            ahead = me - 1 if me else 5
            if not me and not led:
                expected.append((0.21, 0.37))
                continue
            way = places[ahead] - places[me]
            course = way / abs(way)
            leaving = (velocities[ahead] * course.conjugate()).real
            wanted = max(leaving + 1.1 * (abs(way) - 0.33), 1e-9)
            expected.append(steered(wanted * course, headings[me], gain=2.7, top_turn=1.3, top_speed=0.61))
        compare(world, [*expected, (0.45, -0.6)] if led else expected)


@holds("api:WaypointPIDController.act", fault="swarm/controllers/single_agent.py: the integral is not limited")
def test_waypoints_are_driven_to_by_two_pids() -> None:
    speed = {"p": 0.4, "i": 0.3, "d": -0.2, "imax": 0.12, "max": 0.9}
    steer = {"p": 1.1, "i": 0.4, "d": 0.15, "imax": 0.3, "min": -1.2, "max": 0.9}
    goal = 2.9 + 1.3j
    controller = {"type": "WaypointPIDController", "speed_pid": speed, "steer_pid": steer}
    world = world_of(6, {**controller, "static_waypoint": [goal.real, goal.imag]})
    memory = np.zeros((2, 6, 2))
    limited = set()
    for step in range(40):
        places, headings = places_of(world), world.everyone.headings
        outputs = np.empty((6, 2))
        for me in range(6):
            errors = abs(goal - places[me]), bearing(goal - places[me], headings[me])
            for axis, (pid, error) in enumerate(zip((speed, steer), errors, strict=True)):
                total, last = memory[axis, me]
                total = float(np.clip(total + pid["i"] * error * DT, -pid["imax"], pid["imax"]))
                slope = (error - last) / DT if step else 0.0
                out = pid["p"] * error + total + pid["d"] * slope
                outputs[me, axis] = min(max(out, pid.get("min", -math.inf)), pid["max"])
                memory[axis, me] = total, error
                limited |= {("i", axis)} if abs(total) == pid["imax"] else set()
                limited |= {("out", axis, out > 0.0)} if outputs[me, axis] != out else set()
        compare(world, outputs.tolist())
    assert {("i", 0), ("i", 1), ("out", 0, True), ("out", 1, True), ("out", 1, False)} <= limited


ORCA = {
    "speed": 0.55,
    "max_turn": 2.2,
    "horizon": 1.6,
    "wall_horizon": 0.4,
    "reach": 1.9,
    "lead": 0.07,
    "slow_down": 0.35,
}


@holds("api:OrcaController.act", fault="swarm/controllers/boids.py: the lead is not divided by; walls have no ends")
def test_a_free_path_is_driven_straight_by_the_point_ahead() -> None:
    goal, lead = 5.3 + 4.1j, 0.07
    # Beside the way, which crosses the lines of its sides.
    pillar = {"type": "StaticObject", "points": [[3.4, 3.2], [4.2, 3.0], [3.9, 3.9]], "anchor_point": [0, 0]}
    config = {"size": [9, 9], "time_step": DT, "detectable_walls": False, "objects": [pillar | {"position": [0, 0]}]}
    world = World_from_config(config)
    world.setup()
    controller = {"type": "OrcaController", **ORCA, "static_waypoint": [goal.real, goal.imag]}
    world.spawn({"type": "MazeAgent", "position": [2.1, 6.3], "angle": 0.7, "controller": controller})
    slower = near = 0
    for _ in range(170):
        place, heading = places_of(world)[0], world.everyone.headings[0]
        ahead = cmath.exp(1j * heading)
        way = goal - place - lead * ahead
        # Full speed, and less within `slow_down` of the goal.
        velocity = way / max(abs(way), 0.35) * 0.55 / ahead
        speed, turn = velocity.real, velocity.imag / lead
        factor = min(1.0, 2.2 / max(abs(turn), 1e-9))
        slower += factor < 1.0
        near += abs(way) < 0.35
        world.step()
        # The solver works to a tolerance.
        assert world.everyone.linear[0] == pytest.approx(factor * speed, abs=1e-6)
        assert world.everyone.angular[0] == pytest.approx(factor * turn, abs=2e-5)
    assert slower > 3 and near > 20
    assert abs(places_of(world)[0] + lead * cmath.exp(1j * world.everyone.headings[0]) - goal) < 0.02


@holds("api:OrcaController.act", fault="swarm/controllers/boids.py: discs are not enlarged by the lead")
def test_agents_that_cross_never_overlap_and_arrive() -> None:
    middle, count = 4.6 + 4.3j, 9
    starts = [middle + (2.0 + 0.13 * index) * cmath.exp(0.7j * index) for index in range(count)]
    goals = [middle - (start - middle) * cmath.exp(0.11j) for start in starts]
    controller = {"type": "OrcaController", **ORCA, "waypoints": [[goal.real, goal.imag] for goal in goals]}
    recipe = {"type": "MazeAgent", "agent_radius": 0.13, "controller": controller, "collides": False}
    world = World_from_config({"size": [9, 9], "time_step": DT, "detectable_walls": False})
    world.setup()
    places = [[start.real, start.imag] for start in starts]
    world.spawn_many(world.recipe(recipe), places, 0.7 + np.arange(count))
    closest = math.inf
    for _ in range(360):
        world.step()
        places = places_of(world)
        gaps = np.abs(places[:, None] - places) + 9.0 * np.eye(count)
        closest = min(closest, gaps.min())
        assert np.abs(world.everyone.linear).max() <= 0.55 + 1e-9
        assert np.abs(world.everyone.angular).max() <= 2.2 + 1e-9
    # They come near, and none is in another one.
    assert 0.26 - 1e-6 < closest < 0.5
    tips = places_of(world) + 0.07 * np.exp(1j * world.everyone.headings)
    assert np.abs(tips - goals).max() < 0.05
