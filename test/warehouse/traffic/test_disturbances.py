"""Delays, slow robots, breakdowns and closed places: the traffic goes on around them."""

from __future__ import annotations

from typing import Any

import pytest
from crowds import Crowd
from networks import site_of

from fleet_sim.base.errors import ConfigError, FleetSimError

HALL = """
............
............
..###..###..
..###..###..
............
............
..###..###..
..###..###..
............
............
"""


def disturbed(count: int = 14, seed: int = 1, **disturbances: Any) -> Crowd:
    crowd = Crowd(site_of(HALL), count, seed=seed, disturbances=disturbances)
    crowd.roam()
    return crowd


def test_broken_robots_are_removed() -> None:
    crowd = disturbed(breakdowns={"probability": 0.02, "after": 5.0, "then": "remove"})
    crowd.run(40.0)
    removed = crowd.traffic.figures()["removals"]
    assert removed >= 2
    assert len(crowd.traffic.robots) == 14 - removed == len(crowd.sim.agents)
    done = crowd.done
    crowd.run(20.0)
    assert crowd.done > done


def test_a_place_is_closed_by_schedule() -> None:
    crowd = Crowd(site_of("....."), 1, disturbances={"closures": [{"places": [[2.5, 0.5]], "begin": 0, "end": 10}]})
    agent = crowd.agents[0]
    goal = (4.5, 0.5) if agent.get_pose().position[0] < 2.5 else (0.5, 0.5)
    crowd.run(0.1)
    assert crowd.traffic.blocked[0].sum() == 1
    crowd.traffic.send(agent, goal)
    crowd.run(9.0)
    assert not crowd.traffic.has_arrived(agent)
    crowd.run(10.0)
    assert crowd.traffic.has_arrived(agent)
    assert not crowd.traffic.blocked[0].any()


@pytest.mark.parametrize(
    ("disturbances", "reason"),
    [
        ({"delays": {"probability": 1.5}}, "probability"),
        ({"delays": {"shortest": 5, "longest": 1}}, "longest"),
        ({"breakdowns": {"then": "explode"}}, "then"),
        ({"closures": [{"places": []}]}, "places"),
        ({"closures": [{"places": ["nowhere"]}]}, "nowhere"),
        ({"closures": [{"places": [[2.5, 2.5]], "begin": 5, "end": 5}]}, "end"),
        ({"earthquakes": {}}, "earthquakes"),
    ],
)
def test_wrong_disturbances_are_errors(disturbances: dict[str, Any], reason: str) -> None:
    with pytest.raises((ConfigError, FleetSimError), match=reason):
        Crowd(site_of(HALL), 1, disturbances=disturbances)
