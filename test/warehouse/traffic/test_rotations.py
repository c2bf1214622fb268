"""Robots that move round at once, in whole simulations: they are stopped, leave, are removed and restored midway."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from networks import site_of

import fleet_sim as fs
from fleet_sim.base.errors import PlanError

SITE = "....\n....\n....\n...."


def half_way(**robots: Any) -> tuple[Crowd, np.ndarray, np.ndarray]:
    """Four robots of a square half way to the next one's place; their rows, and where each goes to."""
    places = np.array([(1.5, 1.5), (2.5, 1.5), (2.5, 2.5), (1.5, 2.5)])
    crowd = Crowd(site_of(SITE), 4, at=places, robots=robots, policy="given")
    rows = crowd.traffic.rows
    nodes = crowd.traffic.nodes(rows)
    around = np.array([crowd.traffic.node_of((x, y)) for x, y in places.tolist()])
    goals = np.array([np.roll(around, -1)[around.tolist().index(node)] for node in nodes.tolist()])
    crowd.traffic.drive_rows(rows, np.stack((nodes, goals), axis=1))
    table = crowd.sim.world.tables["traffic"]
    while table.progress[rows[0]] < 0.4:
        crowd.run(0.1)
    return crowd, rows, goals


def test_all_arrive_and_a_stop_on_the_way_holds_all() -> None:
    crowd, rows, goals = half_way()
    saved = crowd.sim.save_state()
    crowd.traffic.stop(crowd.agents[2])
    crowd.run(5.0)
    assert not (crowd.traffic.nodes(rows) == goals).any()
    crowd.traffic.resume(crowd.agents[2])
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows).tolist() == goals.tolist()
    assert all(crowd.traffic.has_arrived(agent) for agent in crowd.agents)
    # The whole state of a rotation is in a checkpoint.
    ends = []
    for _ in range(2):
        crowd.sim.restore_state(saved)
        crowd.run(4.0)
        ends.append(crowd.sim.state_hash())
        assert crowd.traffic.nodes(rows).tolist() == goals.tolist()
    assert ends[0] == ends[1]
    assert crowd.closest >= 2.0 * crowd.radius


def test_the_others_stop_with_one_that_leaves_and_go_on_when_it_is_away() -> None:
    crowd, rows, goals = half_way()
    crowd.traffic.leave(crowd.agents[1])
    left = np.delete(np.arange(4), 1)
    before = crowd.sim.world.position[rows].copy()
    crowd.run(5.0)
    np.testing.assert_array_equal(crowd.sim.world.position[rows], before)
    # Carried away, it is in nobody's way any more.
    crowd.agents[1].set_pose(fs.Pose((0.5, 0.5, 0.15)))
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows[left]).tolist() == goals[left].tolist()
    assert crowd.closest >= 2.0 * crowd.radius


def test_the_others_go_on_where_one_is_removed() -> None:
    crowd, rows, goals = half_way()
    crowd.sim.remove_object(crowd.agents[0])
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows[1:]).tolist() == goals[1:].tolist()


def test_large_robots_are_told_that_they_have_no_room() -> None:
    with pytest.raises(PlanError, match="no room to move round at once"):
        half_way(shape={"shape_type": "cylinder", "radius": 0.35, "height": 0.3})
