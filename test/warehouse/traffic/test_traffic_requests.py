"""What a fleet manager asks of the traffic by commands, and what it is told of grants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.warehouse.traffic.requests import ChangePlaces, HoldRobots
from fleet_sim.world.commands import Command, CommandAck, Navigate


def apply(crowd: Crowd, command: Command) -> CommandAck:
    """Carry out a command in the next step, as the node does."""
    answer = crowd.sim.inbox.put(command.from_outside())
    crowd.sim.step_once()
    return answer.result(0)


def to(*places: tuple[float, float], z: float = 0.15) -> dict[str, object]:
    """The poses of a Navigate."""
    return {"positions": [[*place, z] for place in places], "orientations": [[0, 0, 0, 1]] * len(places)}


def test_one_navigate_sends_the_robots_of_the_traffic_and_says_why_others_are_not() -> None:
    crowd = Crowd(site_of(HALL), 4)
    names = [agent.name for agent in crowd.agents]
    apply(crowd, Navigate(names=names[3:], **to((9.5, 0.5)), route=True))
    before = crowd.traffic.goals(crowd.traffic.rows)
    # Off a node, outside, on another storey, and a name that nobody has; the last one is good.
    goals = to((4.8, 5.5), (-3.0, 0.5), (9.5, 5.5), (9.5, 5.5), (7.5, 5.5))
    goals["positions"][2][2] = 8.0  # type: ignore[index]
    ack = apply(crowd, Navigate(names=[*names[:3], "nobody", names[3]], **goals, route=True))
    assert ack.accepted_names == (names[3],)
    reasons = [ack.rejected[name] for name in (*names[:3], "nobody")]
    for reason, word in zip(reasons, ("m from the node", "no node", "height", "unknown"), strict=True):
        assert word in reason, reason
    # Who was rejected keeps what it had.
    assert crowd.traffic.goals(crowd.traffic.rows)[:3].tolist() == before[:3].tolist()
    crowd.run(20.0)
    assert crowd.agents[3].get_pose().position[:2] == (7.5, 5.5)
    assert not any(agent.is_moving for agent in crowd.agents)
    ack = apply(crowd, Navigate(names=names[:1], **to((9.5, 5.5))))
    assert "route" in ack.rejected[names[0]]


def corridor(count: int, **settings: object) -> Crowd:
    """Robots amr_0, amr_1, ... at x = 0.5, 2.5, ... of a corridor of one cell, all of which lead to the right."""
    places = np.array([[0.5 + 2.0 * number, 0.5] for number in range(count)])
    return Crowd(site_of("." * 14), count, at=places, **settings)


def by_x(crowd: Crowd) -> list[fs.Agent]:
    """The robots from the left to the right."""
    return sorted(crowd.agents, key=lambda agent: agent.get_pose().position[0])


def test_a_closed_area_is_entered_by_nobody_until_it_is_opened() -> None:
    crowd = Crowd(site_of(HALL), 3, seed=2)
    area = ((3.9, -0.1), (6.1, -0.1), (6.1, 6.1), (3.9, 6.1))
    crowd.run(0.5)
    inside = {node for node, (x, y) in enumerate(crowd.traffic.network.positions.tolist()) if 4 < x < 6}
    ack = apply(crowd, ChangePlaces(operation="close", places=(area,)))
    assert set(ack.value.tolist()) == inside

    left = [agent for agent in crowd.agents if agent.get_pose().position[0] < 4.0]
    for agent in left:
        crowd.traffic.send(agent, (9.5, 0.5 + crowd.agents.index(agent)))
    for _ in range(150):
        crowd.run(0.1)
        assert all(agent.get_pose().position[0] < 4.0 for agent in left)
    assert left
    apply(crowd, ChangePlaces(operation="open", places=(list(map(list, area)),)))
    crowd.run(30.0)
    assert all(agent.get_pose().position[0] == 9.5 for agent in left)


def test_a_limit_holds_where_it_was_set_and_ends() -> None:
    crowd = corridor(1)
    agent = crowd.agents[0]
    zone = ((4.0, 0.0), (8.0, 0.0), (8.0, 1.0), (4.0, 1.0))
    apply(crowd, ChangePlaces(operation="limit_speed", places=(zone,), speed=0.4))

    def tops() -> dict[bool, float]:
        """The largest speed, by whether the robot was between nodes of the zone."""
        found = {True: 0.0, False: 0.0}
        goal = 13.5 if agent.get_pose().position[0] < 7 else 0.5
        crowd.traffic.send(agent, (goal, 0.5))
        while not crowd.traffic.has_arrived(agent):
            before = agent.get_pose().position[0]
            crowd.run(0.1)
            after = agent.get_pose().position[0]
            within = min(before, after) >= 4.5 and max(before, after) <= 7.5
            found[within] = max(found[within], abs(after - before) / 0.1)
        return found

    slow = tops()
    assert slow[True] == pytest.approx(0.4) and slow[False] > 1.5
    apply(crowd, ChangePlaces(operation="limit_speed", places=(zone,)))
    assert tops()[True] > 1.5


def test_robots_keep_off_cells_that_are_occupied_by_as_much_as_off_walls() -> None:
    crowd = Crowd(site_of(HALL), 1, seed=3)
    agent, traffic = crowd.agents[0], crowd.traffic
    traffic.send(agent, (0.5, 3.5))
    crowd.run(15.0)
    # All of the rows at the top: the other way round is free.
    ack = apply(crowd, ChangePlaces(operation="occupy", places=((5.5, 4.5), (5.5, 5.5))))
    assert len(ack.value) == 2 and traffic.blocked[0].sum() == 2
    for x, y in ((4.8, 4.6), (5.5, 3.4)):
        assert ((traffic.network.positions[traffic.blocked[0]] - (x, y)) ** 2).sum(axis=1).min() > 0.0
    traffic.send(agent, (9.5, 3.5))
    nearest = np.inf
    for _ in range(250):
        crowd.run(0.1)
        x, y = agent.get_pose().position[:2]
        # From the middle of the robot to the two cells, as one box.
        nearest = min(nearest, float(np.hypot(max(abs(x - 5.5) - 0.5, 0.0), max(abs(y - 5.0) - 1.0, 0.0))))
    assert agent.get_pose().position[:2] == (9.5, 3.5) and nearest >= crowd.radius
    with pytest.raises(InvalidValueError, match="walls"):
        traffic.free((2.5, 2.5))
    apply(crowd, ChangePlaces(operation="free", places=((5.5, 5.5), (5.5, 4.5))))
    assert not traffic.blocked[0].any()


def test_held_robots_brake_keep_their_goals_and_drive_on() -> None:
    crowd = corridor(3)
    robots = by_x(crowd)
    for number, agent in enumerate(robots):
        crowd.traffic.send(agent, (9.5 + 2 * number, 0.5))
    crowd.run(3.0)
    ack = apply(crowd, HoldRobots(names=(robots[0].name, "nobody", robots[1].name)))
    assert ack.accepted_names == (robots[0].name, robots[1].name) and "robot" in ack.rejected["nobody"]
    crowd.run(3.0)
    places = [agent.get_pose().position[:2] for agent in robots]
    goals = [crowd.traffic.goal_of(agent) for agent in robots]
    crowd.run(5.0)
    assert [agent.get_pose().position[:2] for agent in robots[:2]] == places[:2]
    assert goals == [crowd.traffic.node_of((9.5 + 2 * number, 0.5)) for number in range(3)]
    assert crowd.traffic.has_arrived(robots[2])
    assert "stopped" in crowd.traffic.grants(robots[0])[0].reason
    apply(crowd, HoldRobots(names=(), hold=False))
    crowd.run(20.0)
    assert [agent.get_pose().position[:2] for agent in robots] == [(9.5, 0.5), (11.5, 0.5), (13.5, 0.5)]


def test_grants_are_where_robots_are_and_nobody_shares_a_node() -> None:
    crowd = Crowd(site_of(HALL), 12, seed=4)
    crowd.roam()
    waited = 0
    for _ in range(200):
        crowd.run(0.1)
        grants = crowd.traffic.grants()
        places = crowd.traffic.network.positions
        held: dict[int, list[int]] = {}
        for grant in grants:
            place = crowd.sim.world.position[grant.row, :2]
            # It is at one of its nodes, or on the lane between two.
            assert np.hypot(*(places[grant.nodes] - place).T).min() <= 0.5 + 1e-9
            for node in set(grant.nodes.tolist()):
                held.setdefault(node, []).append(grant.row)
            assert bool(grant.reason) == crowd.traffic.is_waiting(crowd.sim.world.handles[grant.row])
            assert grant.row not in grant.waits_for
            waited += len(grant.waits_for)
        # Two at most, one of whom follows the other into the node that it leaves.
        assert max(map(len, held.values())) <= 2
    assert waited > 20


def test_who_waits_for_whom_is_a_chain_to_the_robot_at_work() -> None:
    crowd = corridor(3, period=0.5)
    first, second, third = by_x(crowd)[::-1]
    traffic = crowd.traffic
    traffic.send(first, (6.5, 0.5))
    crowd.run(5.0)
    traffic.pause_rows(np.array([first.row]))
    apply(crowd, Navigate(names=(second.name, third.name), **to((11.5, 0.5), (10.5, 0.5)), route=True))
    traffic.send(first, (13.5, 0.5))
    crowd.run(10.0)
    one, two, three = (traffic.grants(agent)[0] for agent in (first, second, third))
    assert one.reason == "it is held: at work" and not one.waits_for
    assert two.waits_for == (first.row,) and first.name in two.reason
    assert three.waits_for == (second.row,) and second.name in three.reason
    traffic.continue_rows(np.array([first.row]))
    crowd.run(15.0)
    assert not any(grant.reason for grant in traffic.grants())


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"operation": "shut", "places": (1,)}, "operation"),
        ({"operation": "close", "places": ()}, "at least one"),
        ({"operation": "close", "places": ("dok",)}, "dok"),
        ({"operation": "close", "places": (1, 10**6)}, "numbered"),
        ({"operation": "close", "places": (((0.0, 0.0), (0.1, 0.0), (0.1, 0.1)),)}, "no node"),
        ({"operation": "close", "places": ((np.nan, 1.0),)}, "place"),
        ({"operation": "close", "places": (True,)}, "True"),
        ({"operation": "close", "places": tuple(range(40)) * 40}, "1,000"),
        ({"operation": "limit_speed", "places": (1,), "speed": -1.0}, "speed"),
        ({"operation": "occupy", "places": ((2.5, 2.5),)}, "walls"),
    ],
)
def test_wrong_requests_change_nothing_and_say_why(asked: dict[str, Any], reason: str) -> None:
    crowd = Crowd(site_of(HALL), 1)
    before = crowd.traffic.blocked[0].copy()
    answer = crowd.sim.inbox.put(ChangePlaces(**asked).from_outside())
    crowd.sim.step_once()
    with pytest.raises(FleetSimError, match=reason):
        answer.result(0)
    assert np.array_equal(before, crowd.traffic.blocked[0])


def test_changes_are_logged_replayed_and_saved(tmp_path: Path) -> None:
    area = ((4.0, 2.0), (6.0, 2.0), (6.0, 4.0), (4.0, 4.0))
    commands = [
        Command.from_dict(json.loads(json.dumps(one.to_dict())))
        for one in (
            ChangePlaces(operation="close", places=(area,)),
            ChangePlaces(operation="limit_speed", places=((0.5, 4.5), (1.5, 4.5), (0.5, 5.5)), speed=0.3),
            ChangePlaces(operation="occupy", places=((8.5, 5.5),)),
            HoldRobots(names=("amr_1",)),
        )
    ]
    ends = []
    for again in (False, True):
        crowd = Crowd(site_of(HALL), 6, seed=6)
        for command in commands:
            apply(crowd, command)
        for number, agent in enumerate(crowd.agents):
            crowd.traffic.send(agent, (9.5 - number, 0.5 + 5 * (number % 2)))
        crowd.run(1.0)
        if again:
            crowd.sim.save_state(tmp_path / "crowd.state")
            for operation, place in (("open", area), ("free", (8.5, 5.5)), ("limit_speed", area)):
                apply(crowd, ChangePlaces(operation=operation, places=(place,), speed=0.1))
            apply(crowd, HoldRobots(names=(), hold=False))
            crowd.run(2.0)
            crowd.sim.load_state(tmp_path / "crowd.state")
        hashes = []
        for _ in range(80):
            crowd.run(0.1)
            hashes.append(crowd.sim.state_hash())
        ends.append((hashes, crowd.traffic.blocked[0].tolist()))
    assert ends[0] == ends[1] and any(ends[0][1])
