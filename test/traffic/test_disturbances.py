"""Delays, slow robots, breakdowns and closed places: the traffic goes on around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crowds import RADIUS, Crowd
from networks import site_of

from fleet_sim.errors import ConfigError, FleetSimError

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


def test_delayed_robots_stand_and_drive_on() -> None:
    crowd = disturbed(delays={"probability": 0.1, "shortest": 2.0, "longest": 4.0})
    crowd.run(60.0)
    figures = crowd.traffic.figures()
    # 14 robots for 60 s, a tenth of them in each second; who is delayed is not delayed again.
    assert 40 < figures["delays"] < 85
    assert crowd.done > 10
    assert crowd.closest >= 2.0 * RADIUS


def test_slow_robots_drive_at_their_pace() -> None:
    crowd = disturbed(slow={"share": 0.5, "pace": 0.25})
    fastest = np.zeros(14)
    for _ in range(300):
        crowd.run(0.1)
        velocity = crowd.sim.world.velocity[crowd.traffic.rows]
        fastest = np.maximum(fastest, np.hypot(velocity[:, 0], velocity[:, 1]))
    slow = fastest <= 0.5 + 1e-9
    assert 2 <= np.count_nonzero(slow) <= 12
    assert fastest[~slow].max() > 1.0
    assert crowd.closest >= 2.0 * RADIUS


def test_broken_robots_are_repaired() -> None:
    crowd = disturbed(breakdowns={"probability": 0.01, "after": 10.0})
    crowd.run(90.0)
    figures = crowd.traffic.figures()
    assert figures["breakdowns"] >= 3
    assert figures["repairs"] >= 1
    assert crowd.done > 20
    assert crowd.closest >= 2.0 * RADIUS
    assert len(crowd.traffic.robots) == 14


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


def test_a_restored_run_is_disturbed_as_before() -> None:
    crowd = Crowd(site_of(HALL), 10, disturbances={"delays": {"probability": 0.2}, "breakdowns": {"probability": 0.02}})
    crowd.traffic.send_rows(crowd.traffic.rows, np.arange(10) * 7)
    crowd.run(4.2)
    saved = crowd.sim.save_state()
    crowd.run(8.0)
    expected, figures = crowd.sim.state_hash(), dict(crowd.traffic.figures())
    crowd.sim.restore_state(saved)
    crowd.run(8.0)
    assert crowd.sim.state_hash() == expected
    assert crowd.traffic.figures()["delays"] == figures["delays"]


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
