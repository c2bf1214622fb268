"""A swarm world on the node: its agents are robots there, and it goes on deciding for them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from geometry_msgs.msg import Twist, Vector3
from nav_msgs.msg import Odometry
from node_program import Running, SharedNode, shared_node
from std_srvs.srv import Trigger

from fleet_sim_msgs.msg import FleetState

WORLD = """
type: RectangularWorld
size: [8, 8]
time_step: !np 1 / 20
seed: 1
spawners:
- type: uniform
  n: 8
  region: [[3.2, 3.2], [4.8, 3.2], [4.8, 4.8], [3.2, 4.8]]
  facing: away
  avoid_overlap: true
  agent:
    type: MazeAgent
    agent_radius: 0.1
    name: miller
    sensors: [{type: binary_fov, theta: 0.33, distance: 2.0}]
    controller: {type: binary, a: [0.27, -0.6], b: [0.27, 0.6]}
agents:
- {type: MazeAgent, agent_radius: 0.1, name: driven, position: [1, 1]}
metrics: [circliness]
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), "-p", "target_rtf:=10.0", scenario=WORLD) as node:
        yield node


@pytest.mark.slow
def test_agents_are_robots_that_go_on_milling(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(FleetState, "/fleet/states")
    client.until(lambda: states and states[-1].header.stamp.sec > 45, "45 s of the swarm")
    robots = states[-1].robots
    assert [robot.name for robot in robots] == ["driven", *(f"miller_{index}" for index in range(8))]
    places = [(robot.pose.position.x, robot.pose.position.y) for robot in robots[1:]]
    centre = [sum(values) / 8 for values in zip(*places, strict=True)]
    radii = [math.dist(place, centre) for place in places]
    assert min(radii) > 0.8 * max(radii) > 0.4
    assert all(robot.moving for robot in robots[1:])


def test_what_decides_nothing_by_itself_obeys_commands(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/driven/odom")
    publisher = client.publisher(Twist, "/driven/cmd_vel")
    twist = Twist(linear=Vector3(x=0.5))

    def moved() -> bool:
        publisher.publish(twist)
        return bool(odoms) and odoms[-1].pose.pose.position.x > 1.5

    client.until(moved, "motion")


def test_a_reset_begins_the_swarm_again(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(FleetState, "/fleet/states")

    def are_where_they_begin() -> bool:
        return all(
            3.2 <= place <= 4.8
            for robot in states[-1].robots[1:]
            for place in (robot.pose.position.x, robot.pose.position.y)
        )

    client.until(lambda: states and not are_where_they_begin(), "the swarm to spread")
    assert client.call(Trigger, "/sim/pause").success
    assert client.call(Trigger, "/sim/reset").success
    client.until(are_where_they_begin, "the beginning")
