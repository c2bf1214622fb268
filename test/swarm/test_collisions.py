"""Agents are kept apart from each other, from objects and inside the border, and hear that they touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.neighbours import Discs, Sector, Views, see_discs
from fleet_sim.swarm.swarm_state import AreaGoal, CylinderGoal, Goal, Region
from fleet_sim.swarm.world import RectangularWorld


class Ahead(Controller):
    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed

    def act(self, group: Group) -> Floats:
        return np.tile((self.speed, 0.0), (len(group), 1))


def mover(x: float, y: float, angle: float = 0.0, **more: Any) -> dict[str, Any]:
    settings = {"type": "MazeAgent", "agent_radius": 0.5, "position": [x, y], "angle": angle, "controller": Ahead}
    return settings | more


def world_of(*agents: dict[str, Any], steps: int = 1, **config: Any) -> RectangularWorld:
    world = RectangularWorld({"size": [10, 10], "time_step": 0.1, "agents": list(agents), **config})
    world.setup()
    for _ in range(steps):
        world.step()
    return world


BOTH = pytest.mark.parametrize("update", ["together", "in_turn"])


def test_who_begins_outside_of_a_border_that_holds_is_told(caplog: pytest.LogCaptureFixture) -> None:
    inside = world_of(mover(12, 5, name="far"), mover(5, 5), steps=3).everyone.positions
    assert inside[0].tolist() == pytest.approx([9.5, 5.0])
    (record,) = caplog.records
    assert "1 of the agents begin outside the world, far at (12, 5). Its border puts them inside" in record.message
    caplog.clear()
    free = world_of(mover(12, 5), collide_walls=False).everyone.positions
    world_of(mover(9.9, 5))
    assert free[0].tolist() == pytest.approx([12.1, 5.0]) and not caplog.records


@BOTH
def test_grounded_agents_and_static_objects_do_not_give_way(update: str) -> None:
    wall = {"type": "StaticObject", "agent_radius": 1.0, "position": [8, 8]}
    world = world_of(
        mover(2, 2), mover(4, 2, controller=None, grounded=True), mover(5, 8), steps=30, objects=[wall], update=update
    )
    assert world.everyone.positions == pytest.approx(np.array([[3.0, 2.0], [4.0, 2.0], [6.5, 8.0]]), abs=1e-6)
    assert world.things.positions.tolist() == [[8.0, 8.0]]


@BOTH
def test_stopping_on_collision_leaves_the_agent_where_it_was(update: str) -> None:
    world = world_of(mover(8.95, 5, stop_on_collision=True), steps=6, update=update)
    assert world.everyone.positions == pytest.approx(np.array([[9.45, 5.0]]))
    assert world.everyone.touching.all() and world.everyone.linear.tolist() == [0.0]


@BOTH
def test_a_catastrophic_collision_disables(update: str) -> None:
    world = world_of(
        mover(4, 5, catastrophic_collisions=True), mover(5.1, 5, np.pi, name="other"), steps=2, update=update
    )
    first = world.population[0]
    assert first.halted and not world.population[1].halted
    world.evaluate(5)
    world.remove([world.population[1]])
    world.evaluate(2)
    assert (first.linear, *first.dpos) == (0.0, 0.0, 0.0)


def test_what_does_not_collide_passes_through() -> None:
    region = {"type": "DetectionRegion", "agent_radius": 1.0, "position": [5, 5], "target_teams": ["red"]}
    world = world_of(mover(3, 5, collides=False, team="red"), mover(4, 5, team="blue"), objects=[region])
    watch = world.objects[0]
    assert watch.detected == []
    world.evaluate(15)
    assert watch.detected == [world.population[0]]
    assert not world.everyone.touching.any()


def test_the_border_is_in_the_core_too() -> None:
    world = world_of(mover(5, 5))
    names = [obj.name for obj in world.sim.sim_objects if str(obj.name).startswith("wall")]
    assert names == ["wall_0", "wall_1", "wall_2", "wall_3"]
    # Their inner faces are the border.
    aabbs = world.sim.get_aabbs()
    lower, upper = aabbs[world.sim.get_object("wall_1").object_id]
    assert lower[:2] == pytest.approx([10.0, 0.0]) and upper[:2] == pytest.approx([10.02, 10.0])


# ---- Sectors, rays and lines of sight, against cases by hand and against sampled points ------------------------------


def one(value: float) -> AnyArray:
    return np.array([value])


def sees(sector: Sector, ahead: float, aside: float, radius: float) -> bool:
    """Whether an observer in the middle that looks along x sees a disc."""
    edges = (*sector.edge, 0.0, 1.0, 0.0, 0.0)
    views = Views(*map(one, (sector.half_angle, sector.reach, *edges)), np.array([7]))
    return bool(see_discs(views, Discs(np.array([8]), *map(one, (ahead, aside, radius))), compiled=False)[0])


@pytest.mark.parametrize(
    ("half_angle", "ahead", "aside", "radius", "seen"),
    [
        (0.5, 1.0, 0.0, 0.0, True),
        (0.5, 2.1, 0.0, 0.0, False),
        (0.5, 2.1, 0.0, 0.2, True),  # reaches in over the arc
        (0.5, -0.1, 0.0, 0.05, False),
        (0.5, -0.1, 0.0, 0.1, True),  # touches the observer's middle
        (0.5, 1.0, 0.7, 0.0, False),
        (0.5, 1.0, 0.7, 0.15, True),  # reaches in over the straight edge
        (0.5, 2.0, 1.6, 0.3, False),  # beside the corner, which is farther than the radius
        (0.0, 1.0, 0.1, 0.1, True),
        (0.0, -1.0, 0.0, 0.5, False),
        (np.pi / 2, 1e-9, 1.0, 0.0, True),
        (np.pi / 2, -0.01, 1.0, 0.0, False),
        (2.0, -0.3, 1.0, 0.0, True),
        (2.0, -1.0, 0.0, 0.1, False),
        (np.pi, -1.0, 0.0, 0.0, True),
        (10.0, -1.0, 0.0, 0.0, True),
        (10.0, -2.1, 0.0, 0.0, False),
    ],
)
def test_discs_in_a_sector(half_angle: float, ahead: float, aside: float, radius: float, seen: bool) -> None:
    sector = Sector(half_angle, 2.0)
    for side in (aside, -aside):
        assert sees(sector, ahead, side, radius) == seen


# ---- Regions and goals: a polygon or a disc, and not both ------------------------------------------------------------


CORNERS = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]]


@pytest.mark.parametrize("kind", [Region, Goal])
@pytest.mark.parametrize(
    "settings",
    [
        {"points": CORNERS, "radius": 3.0},
        {"points": CORNERS, "center": (0.0, 0.0)},
        {"points": CORNERS, "center": (0.0, 0.0), "radius": 3.0},
        {"center": (0.0, 0.0)},
        {"radius": 3.0},
        {},
    ],
)
def test_points_or_a_disc(kind: type[Region], settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match=r"either points .* or a center and a radius"):
        kind(**settings)


def test_each_kind_contains_what_lies_inside() -> None:
    points = np.array([[1.0, 0.25], [1.9, 0.9], [5.0, 5.0]])
    for region, inside in (
        (Region(CORNERS), [True, True, False]),
        (Region(center=(1.0, 0.0), radius=0.5), [True, False, False]),
        (AreaGoal(position=(0.0, 0.0), size=(1.5, 1.0)), [True, False, False]),
        (CylinderGoal(position=(5.0, 5.0), radius=0.1), [False, False, True]),
    ):
        assert region.contains(points).tolist() == inside
