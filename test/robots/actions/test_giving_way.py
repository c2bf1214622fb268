"""Robots on routes that meet where there is no room for both: one lets the other pass, and both arrive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.warehouse.equipment import DoorSettings, build_door
from fleet_sim.warehouse.sites import Grid, Site, build_walls
from fleet_sim.warehouse.traffic import offer_routes

CELL, ROOM = 0.1, 50
RADIUS, SPEED, STEP = 0.28, 1.0, 0.05
Place = tuple[float, float]


def rooms(width: int, length: int) -> Site:
    """Return two rooms of 5 x 4 m with a passage of `width` x `length` cells between them."""
    free = np.ones((40, 2 * ROOM + length), bool)
    free[:, ROOM : ROOM + length] = False
    free[20 - width // 2 : 20 - width // 2 + width, ROOM : ROOM + length] = True
    return Site("rooms", Grid(free, CELL))


class House:
    """A simulation of two rooms, with robots that stop before what they would hit."""

    def __init__(self, width: int, length: int, mode: str = "differential", box: bool = False) -> None:
        settings = fs.SimulationParams(gui=False, timestep=STEP, target_rtf=0, monitor=False, collision_margin=0.0)
        self.sim = fs.MultiRobotSimulationCore(settings)
        site = rooms(width, length)
        build_walls(self.sim, site)
        offer_routes(self.sim, site, 0.02)
        self.mode, self.box = mode, box
        self.agents: list[fs.Agent] = []
        self.moves: list[fs.MoveTo] = []
        self.touched: list[str] = []
        self.nearest = np.inf
        self.sim.events.on("collision_started", self._note)

    def _note(self, obj_a: fs.SimObject, obj_b: fs.SimObject) -> None:
        self.touched.append(f"{obj_a} {obj_b}")

    def add(self, start: Place, goal: Place) -> None:
        """Add a robot on its way to a goal."""
        shape = (
            fs.ShapeParams("box", half_extents=(0.24, 0.16, 0.2))
            if self.box
            else fs.ShapeParams("cylinder", radius=RADIUS, height=0.4)
        )
        params = fs.AgentSpawnParams(
            shape, shape, fs.Pose((*start, 0.2)), motion_mode=self.mode, block_on_collision=True, max_linear_vel=SPEED
        )
        agent = self.sim.spawn(params)
        self.agents.append(agent)
        self.moves.append(fs.MoveTo(fs.Pose((*goal, 0.2)), 0.0, False, route=True))
        agent.execute_action(self.moves[-1])

    def run(self, seconds: float) -> None:
        """Run until all have arrived, `seconds` at most."""
        while self.sim.sim_time < seconds and not all(move.is_complete() for move in self.moves):
            self.sim.step_once()
            if not self.box:
                places = [agent.get_pose().position[:2] for agent in self.agents]
                self.nearest = min([self.nearest, *(np.hypot(*np.subtract(*pair)) for pair in combinations(places, 2))])

    def check(self) -> None:
        """Require that all have arrived and nothing was touched."""
        assert [move.status for move in self.moves] == [fs.ActionStatus.COMPLETED] * len(self.moves), [
            (agent.get_pose().position, move.progress(agent), agent.blocked_by)
            for agent, move in zip(self.agents, self.moves, strict=True)
        ]
        assert not self.touched
        assert self.nearest >= 2 * RADIUS


def places(rng: np.random.Generator, count: int, begin: float) -> Sequence[Place]:
    """Return places of the room that begins at x `begin`, far enough apart, and from its walls."""
    found: list[Place] = []
    while len(found) < count:
        x, y = rng.uniform(1.6, 3.4), rng.uniform(0.6, 3.4)
        if all(np.hypot(x - a, y - b) > 0.75 for a, b in found):
            found.append((x, y))
    return [(x + begin, y) for x, y in found]


def crowd(seed: int, mode: str, box: bool) -> House:
    """Return a house with up to five robots on their way to the other room, through a passage by chance."""
    rng = np.random.default_rng(seed)
    width, length = int(rng.integers(7, 10)), int(rng.integers(1, 25))
    house = House(width, length, mode, box)
    counts = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    second = (ROOM + length) * CELL
    for count, here, there in zip(counts, (0.0, second), (second, 0.0), strict=True):
        # Nobody ends before the passage, where others could not get past.
        outside = 1.0 if there else -1.0
        for start, goal in zip(places(rng, count, here), places(rng, count, there + outside), strict=True):
            house.add(start, goal)
    return house


@pytest.mark.parametrize("mode", ["differential", "omnidirectional"])
@pytest.mark.parametrize("seed", range(3))
def test_crowds_get_through_a_passage(seed: int, mode: str) -> None:
    house = crowd(seed, mode, False)
    with house.sim:
        house.run(120.0)
        house.check()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["differential", "omnidirectional"])
def test_another_crowd_gets_through_a_passage(mode: str) -> None:
    # Boxes that turn on the spot may be held by those that they touch with a corner: see docs/traffic.md.
    house = crowd(4, mode, mode == "omnidirectional")
    with house.sim:
        house.run(200.0)
        house.check()


@pytest.mark.parametrize("kind", ["sliding", "double_sliding"])
def test_three_get_through_an_automatic_door(kind: str) -> None:
    house = House(10, 2)
    build_door(house.sim, DoorSettings(name="door", begin=(5.1, 1.5), end=(5.1, 2.5), kind=kind, automatic=1.5))
    house.add((1.5, 2.0), (8.0, 1.0))
    house.add((1.5, 3.2), (8.0, 3.0))
    house.add((8.5, 2.0), (2.0, 1.0))
    with house.sim:
        house.run(120.0)
        house.check()


def test_nobody_leaves_its_way_for_one_that_stays() -> None:
    house = House(7, 10)
    house.add((2.0, 2.0), (8.0, 2.0))
    shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.4)
    parked = house.sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose((5.5, 2.0, 0.2)), motion_mode="differential"))
    with house.sim:
        house.run(20.0)
        assert house.agents[0].blocked_by is parked and house.moves[0].progress(house.agents[0])["phase"] == "waiting"
        # When it drives off, the other one goes on.
        house.moves.append(fs.MoveTo(fs.Pose((9.0, 1.0, 0.2)), route=True))
        parked.execute_action(house.moves[-1])
        house.agents.append(parked)
        house.run(60.0)
        house.check()


@pytest.mark.parametrize(("first", "second", "which"), [(1.0, 1.0, 1), (1.0, 1.3, 1), (1.3, 1.0, 0)])
def test_who_has_the_shorter_way_aside_gives_way_and_of_two_alike_who_came_later(
    first: float, second: float, which: int
) -> None:
    # In the middle of a passage of a mirrored house: as far from its ends as they are fast.
    house = House(8, 24, "omnidirectional")
    middle = (ROOM + 12) * CELL
    house.add((middle - 1.4 * first, 2.0), (middle + 4.0, 2.0))
    house.add((middle + 1.4 * second, 2.0), (middle - 4.0, 2.0))
    with house.sim:
        gave = set()
        while not gave and house.sim.sim_time < 30.0:
            house.sim.step_once()
            said = [move.progress(agent)["phase"] for move, agent in zip(house.moves, house.agents, strict=True)]
            gave = {index for index, phase in enumerate(said) if phase == "giving way"}
        assert gave == {which}
