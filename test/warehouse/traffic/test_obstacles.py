"""What is not in the traffic blocks the nodes that it covers."""

from __future__ import annotations

import numpy as np
import pytest
from crowds import Crowd, robot, spawn
from networks import HALL, site_of

import fleet_sim as fs


def box(crowd: Crowd, x: float, y: float, half: float, **values: object) -> fs.SimObject:
    shape = fs.ShapeParams("box", half_extents=(half, half, 0.2))
    params = fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, y, 0.2)), **values)
    return crowd.sim.spawn_all([params])[0]


def covered(crowd: Crowd) -> list[list[float]]:
    crowd.run(0.1)
    return sorted(crowd.traffic.network.positions[crowd.traffic.blocked[1]].tolist())


@pytest.mark.parametrize("static", [True, False])
def test_a_box_covers_its_node_and_no_other(static: bool) -> None:
    crowd = Crowd(site_of(HALL), 1)
    mode = {"collision_mode": fs.CollisionMode.STATIC} if static else {}
    box(crowd, 4.5, 3.5, 0.2, **mode)
    assert covered(crowd) == [[4.5, 3.5]]


def test_a_box_between_nodes_takes_the_lane() -> None:
    crowd = Crowd(site_of(HALL), 1)
    box(crowd, 4.98, 3.5, 0.05)
    taken = covered(crowd)
    assert taken
    assert all(place in ([4.5, 3.5], [5.5, 3.5]) for place in taken)


def test_what_hangs_above_or_is_carried_covers_nothing() -> None:
    crowd = Crowd(site_of(HALL), 1)
    high = box(crowd, 4.5, 3.5, 0.2)
    high.set_pose(fs.Pose((4.5, 3.5, 2.0)))
    agent = crowd.agents[0]
    load = box(crowd, *agent.get_pose().position[:2], 0.1)
    agent.attach_object(load)
    assert covered(crowd) == []


def test_robots_drive_around_a_box_and_around_a_robot_that_is_not_in_the_traffic() -> None:
    crowd = Crowd(site_of(HALL), 8, seed=6)
    stranger_at = (4.5, 2.5)
    agents = [
        agent for agent in crowd.agents if np.abs(np.subtract(agent.get_pose().position[:2], stranger_at)).max() < 1
    ]
    for agent in agents:
        crowd.sim.remove_object(agent)
    spawn(crowd.sim, robot("stranger", stranger_at))
    crowd.roam()
    crowd.run(60.0)
    assert crowd.done > 5


def test_a_box_that_goes_away_frees_its_node() -> None:
    crowd = Crowd(site_of("....."), 1)
    agent = crowd.agents[0]
    left = agent.get_pose().position[0] < 2.5
    wall = box(crowd, 2.5, 0.5, 0.3)
    crowd.traffic.send(agent, (4.5, 0.5) if left else (0.5, 0.5))
    crowd.run(10.0)
    assert crowd.traffic.is_waiting(agent) and not crowd.traffic.has_arrived(agent)
    wall.set_pose(fs.Pose((30.0, 30.0, 0.2)))
    crowd.run(10.0)
    assert crowd.traffic.has_arrived(agent) and not crowd.traffic.is_waiting(agent)
