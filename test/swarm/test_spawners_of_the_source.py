"""Spawners and metrics in files of RobotSwarmSimulator: what each name and form of theirs does here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from source_worlds import AGENT, spawned, world_of

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.world import RectangularWorld


def test_one_number_in_a_list_is_a_heading() -> None:
    assert spawned(type="point", facing=[0.5]).population[0].angle == pytest.approx(0.5)


@pytest.mark.parametrize("facing", ["towards", "away", [5, 5]])
def test_headings_without_a_direction_are_drawn(facing: Any) -> None:
    headings = spawned(type="point", n=100, position=[5, 5], facing=facing).everyone.headings
    assert headings.min() < -2.0 and headings.max() > 2.0


def test_radii_of_a_donut_have_two_names() -> None:
    places = spawned(type="donut", n=100, center=[5, 5], inner_radius=1.0, outer_radius=2.0).everyone.positions
    radii = np.hypot(*(places - 5.0).T)
    assert radii.min() >= 1.0 and radii.max() <= 2.0
    with pytest.raises(FleetSimError, match="'inner_radius' is given twice"):
        spawned(type="donut", inner=1.0, inner_radius=1.0)


def test_the_history_of_a_metric_has_two_names() -> None:
    world = world_of(agents=[AGENT], metrics=[{"type": "scatter", "history": 3}])
    world.evaluate(5)
    assert len(world.metrics[0].value_history) == 3


def test_nobody_is_spawned_where_nobody_is_asked_for() -> None:
    assert not spawned(type="fixed", positions=[], n=0).population
    assert not spawned(type="fixed", positions=[], avoid_overlap=True).population
    with pytest.raises(FleetSimError, match="must be a whole number of at least 0"):
        spawned(type="fixed", positions=[], n=-1)


@pytest.mark.parametrize("region", [[[2, 7], [4, 3]], [[4, 3], [2, 7]], [2, 3, 4, 7], np.array([[2, 3], [4, 7]])])
def test_a_region_by_two_corners(region: Any) -> None:
    hole = [[2, 3], [4, 4]]
    places = spawned(type="uniform", n=200, region=region, holes=[hole]).everyone.positions
    assert (places >= [2, 4]).all() and (places <= [4, 7]).all()
    assert np.ptp(places, axis=0) == pytest.approx([2.0, 3.0], abs=0.2)


def distances(world: RectangularWorld) -> Floats:
    x, y = world.everyone.positions.T
    return np.hypot(x[:, None] - x, y[:, None] - y)[np.triu_indices(len(x), 1)]


@pytest.mark.parametrize("kind", [{"type": "circle", "radius": 0.5}, {"type": "point"}])
def test_agents_without_room_are_pushed_apart(kind: dict[str, Any]) -> None:
    # Discs of 60 fill twice the area of the circle: there is no room for them in it.
    world = spawned(n=60, avoid_overlap=True, crowding="push", **kind)
    assert len(world.population) == 60
    assert distances(world).min() >= 0.2 - 1e-6
    # No farther than they must: as discs in a disc twice their area.
    assert (np.hypot(*(world.everyone.positions - 5.0).T) < 1.1).all()
    world.step()
    assert not world.everyone.touching.any()


def test_who_is_there_already_is_not_pushed_and_walls_hold() -> None:
    corner = {"type": "point", "position": [0.2, 0.2], "n": 30, "avoid_overlap": True, "crowding": "push"}
    world = world_of(agents=[{**AGENT, "position": [0.3, 0.3]}], spawners=[{"agent": AGENT, **corner}])
    assert world.population[0].position.tolist() == [0.3, 0.3]
    assert distances(world).min() >= 0.2 - 1e-6
    assert world.everyone.positions.min() >= 0.1 - 1e-9


def test_pushing_is_chosen_by_name_and_bounded() -> None:
    with pytest.raises(FleetSimError, match="set crowding to push"):
        spawned(type="circle", n=60, radius=0.5, avoid_overlap=True)
    with pytest.raises(FleetSimError, match="crowding: unknown name 'pull'"):
        spawned(type="circle", n=60, crowding="pull")
    with pytest.raises(FleetSimError, match="found room for 0 of 100000"):
        spawned(type="circle", n=100_000, radius=0.5, avoid_overlap=True, crowding="push")
