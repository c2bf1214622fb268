"""/fleet/traffic/...: a fleet manager changes places, holds robots and asks for grants, beside the traffic itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Point, Point32, Polygon
from heard_node import HeardNode, heard_node
from ros_domain import use_own_domain

from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, Zone, ZoneKind, write_site
from fleet_sim_msgs.msg import Grant
from fleet_sim_msgs.srv import ChangePlaces, GetGrants, HoldRobots

use_own_domain()

BODY = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}, "controller": {"type": "differential"}}


def scenario(folder: Path) -> dict[str, Any]:
    """Three robots in a row of a hall of 12 x 3 m."""
    corners = np.array([[4.0, 0.0], [6.0, 0.0], [6.0, 3.0], [4.0, 3.0]])
    zones = (Zone("crossing", ZoneKind.SPEED_LIMIT, corners, speed=0.5),)
    stations = (Station("desk", StationKind.WORKSTATION, 11.5, 1.5),)
    free = np.ones((3, 12), bool)
    free[2, 8] = False
    write_site(Site("hall", Grid(free), stations=stations, zones=zones), folder / "hall.yaml")
    robots = [{"name": name, "pose": [0.5 + 2 * x, 1.5, 0.15], **BODY} for x, name in enumerate("abc")]
    return {
        "simulation": {"gui": False, "timestep": 0.05, "seed": 5},
        "site": "hall.yaml",
        "traffic": {"planner": "pibt", "period": 0.5},
        "robots": [*robots, {"name": "out", "pose": [5.5, -4, 0.15], **BODY, "traffic": {"takes_part": False}}],
        "ros": {"rates": {"clock": None}, "per_robot": "none"},
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    folder = tmp_path_factory.mktemp("hall")
    with heard_node(folder, scenario(folder)) as heard:
        yield heard


def ask(node: HeardNode, kind: Any, name: str, request: Any) -> Any:
    """Send a request and make steps until it is answered."""
    client = node.listener.create_client(kind, f"/fleet/traffic/{name}")
    node.until(client.service_is_ready)
    answer = client.call_async(request)
    while not answer.done():
        node.step()
    node.listener.destroy_client(client)
    return answer.result()


def change(node: HeardNode, operation: int, **values: Any) -> Any:
    return ask(node, ChangePlaces, "places", ChangePlaces.Request(operation=operation, **values))


def closed(node: HeardNode) -> set[int]:
    return set(np.flatnonzero(node.sim.get_manager("traffic").blocked[0]).tolist())


def test_a_node_that_is_read_only_changes_nothing_and_still_tells(tmp_path: Path) -> None:
    # First: a process has one node at a time, and that of the fixture stays.
    with heard_node(tmp_path, scenario(tmp_path), "-p", "read_only:=true") as heard:
        answer = change(heard, ChangePlaces.Request.CLOSE, names=["desk"])
        assert not answer.success and "read only" in answer.message and not closed(heard)
        told = ask(heard, HoldRobots, "robots", HoldRobots.Request()).result
        assert "read only" in told.error and not told.accepted
        assert len(ask(heard, GetGrants, "grants", GetGrants.Request(first=1)).grants) == 2


def test_places_of_all_kinds_are_closed_and_opened(node: HeardNode) -> None:
    traffic = node.sim.get_manager("traffic")
    area = Polygon(points=[Point32(x=x, y=y) for x, y in ((6.1, 1.1), (8.0, 1.1), (8.0, 2.9), (6.1, 2.9))])
    places = {"names": ["desk", "crossing"], "nodes": [0], "points": [Point(x=9.5, y=0.5)], "areas": [area]}
    answer = change(node, ChangePlaces.Request.CLOSE, **places)
    points = [(11.5, 1.5), (9.5, 0.5), *((x, y) for x in (4.5, 5.5) for y in (0.5, 1.5, 2.5))]
    points += [(x, y) for x in (6.5, 7.5) for y in (1.5, 2.5)]
    wanted = {0, *(traffic.node_of(point) for point in points)}
    assert answer.success and not answer.message and set(answer.changed) == wanted == closed(node)
    assert set(ask(node, GetGrants, "grants", GetGrants.Request()).closed) == wanted
    answer = change(node, ChangePlaces.Request.OPEN, **places)
    assert answer.success and not closed(node)


def test_what_is_refused_says_why_and_changes_nothing(node: HeardNode) -> None:
    kind = ChangePlaces.Request
    for operation, values, reason in (
        (77, {"nodes": [1]}, "LIMIT_SPEED (2)"),
        (kind.CLOSE, {}, "at least one"),
        (kind.CLOSE, {"nodes": [1], "names": ["dseck"]}, "Did you mean 'desk'"),
        (kind.CLOSE, {"areas": [Polygon()]}, "three"),
        (kind.LIMIT_SPEED, {"nodes": [1], "speed": float("nan")}, "speed"),
        (kind.OCCUPY, {"points": [Point(x=8.5, y=0.5)]}, "walls"),
    ):
        answer = change(node, operation, **values)
        assert not answer.success and reason in answer.message, answer.message
        assert not closed(node) and not answer.changed


def test_a_zone_is_slower_at_run_time_and_the_map_has_a_new_obstacle(node: HeardNode) -> None:
    kind = ChangePlaces.Request
    assert change(node, kind.LIMIT_SPEED, names=["crossing"], speed=0.25).success
    assert change(node, kind.OCCUPY, points=[Point(x=8.5, y=1.5)]).success
    traffic, robot = node.sim.get_manager("traffic"), node.sim.get_object("c")
    assert closed(node) == {traffic.node_of((8.5, 1.5))}
    traffic.send(robot, "desk")
    speeds, high = [], 0.0
    while not traffic.has_arrived(robot):
        node.step()
        x, y = robot.get_pose().position[:2]
        if 4.5 < x < 5.5:
            speeds.append(float(np.hypot(*node.sim.world.velocity[robot.row, :2])))
        high = max(high, y if 7.6 < x < 9.4 else 0.0)
    assert max(speeds) == pytest.approx(0.25) and high == 2.5
    assert change(node, kind.FREE, points=[Point(x=8.5, y=1.5)]).success and not closed(node)


def test_robots_are_held_go_on_and_say_what_they_wait_for(node: HeardNode) -> None:
    traffic = node.sim.get_manager("traffic")
    answer = ask(node, HoldRobots, "robots", HoldRobots.Request(names=["b", "out", "nobody"])).result
    assert list(answer.accepted) == ["b"] and "no part" in answer.reasons[0] and "unknown" in answer.reasons[1]
    traffic.send(node.sim.get_object("b"), (7.5, 0.5))
    told = ask(node, HoldRobots, "robots", HoldRobots.Request()).result
    assert set(told.accepted) == {"a", "b", "c"}
    node.step(40)
    grants = {grant.name: grant for grant in ask(node, GetGrants, "grants", GetGrants.Request()).grants}
    assert list(grants) == ["a", "b", "c"]
    for name, grant in grants.items():
        robot = node.sim.get_object(name)
        assert grant.held == Grant.STOPPED and "stopped" in grant.reason
        assert grant.goal == (-1 if (goal := traffic.goal_of(robot)) is None else goal)
        x, y = robot.get_pose().position[:2]
        assert min(np.hypot(point.x - x, point.y - y) for point in grant.points) <= 0.5 + 1e-9
        assert [traffic.node_of((point.x, point.y)) for point in grant.points] == list(grant.nodes)
    assert ask(node, HoldRobots, "robots", HoldRobots.Request(hold=False)).result.accepted
    while not traffic.has_arrived(node.sim.get_object("b")):
        node.step()
    answer = ask(node, GetGrants, "grants", GetGrants.Request(names=["b"]))
    assert answer.success and answer.count == 3 and answer.grants[0].arrived and not answer.grants[0].held
    answer = ask(node, GetGrants, "grants", GetGrants.Request(names=["out"]))
    assert not answer.success and "no part" in answer.message
