"""/sim/disturb and what ROS tells of disturbances: /fleet/states, causes of actions, and who may ask."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy")

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point32, Polygon
from heard_node import HeardNode, heard_node
from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient
from ros_domain import use_own_domain

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import Cause, RobotState
from fleet_sim_msgs.srv import Disturb

use_own_domain()
REQUEST = Disturb.Request


def scenario() -> dict[str, Any]:
    """Two robots that stand."""
    return {
        "simulation": {"gui": False, "timestep": 0.05},
        "robots": [{"name": name, "pose": [0.0, 3.0 * y, 0.1]} for y, name in enumerate("ab")],
        "ros": {"rates": {"fleet_states": None}},
    }


def steps(node: HeardNode, condition: Any) -> None:
    """Make steps until a condition holds."""
    for _ in range(500):
        if condition():
            return
        node.step()
    raise AssertionError("it does not happen")


def ask(node: HeardNode, **values: Any) -> Any:
    """Send a request and make steps until it is answered."""
    client = node.listener.create_client(Disturb, "/sim/disturb")
    node.until(client.service_is_ready)
    answer = client.call_async(REQUEST(**values))
    while not answer.done():
        node.step()
    node.listener.destroy_client(client)
    return answer.result()


def test_a_node_that_is_read_only_disturbs_nothing_and_still_lists(tmp_path: Path) -> None:
    with heard_node(tmp_path, scenario(), "-p", "read_only:=true") as node:
        answer = ask(node, kind="breakdown")
        assert not answer.success and "read only" in answer.message
        answer = ask(node, operation=REQUEST.LIST)
        assert answer.success and list(answer.ids) == []


def test_disturbances_are_begun_told_within_a_second_listed_and_ended(tmp_path: Path) -> None:
    with heard_node(tmp_path, scenario()) as node:
        states, columns = node.heard["/fleet/states"], node.heard["/fleet/columns"]
        steps(node, lambda: states and columns)

        def told(what: Any) -> None:
            """Require that both messages say so of robot b within a second, and that a is undisturbed."""
            begin = node.sim.sim_time
            steps(node, lambda: what(states[-1].robots[1].faults, states[-1].robots[1].operating_mode))
            steps(node, lambda: what(columns[-1].faults[1], columns[-1].operating_modes[1]))
            assert node.sim.sim_time - begin < 1.0
            assert states[-1].robots[0].faults == states[-1].robots[0].operating_mode == 0

        answer = ask(node, kind="breakdown", names=["b"], fields=["level"], values=["warning"], lasts=1000.0)
        assert answer.success and answer.id == "breakdown-1"
        told(lambda faults, mode: faults == RobotState.FAULT_BREAKDOWN and mode == RobotState.AUTOMATIC)
        listed = ask(node, operation=REQUEST.LIST)
        assert (list(listed.ids), list(listed.kinds), list(listed.targets)) == (["breakdown-1:b"], ["breakdown"], ["b"])
        assert listed.until[0] - listed.since[0] == pytest.approx(1000.0)
        assert ask(node, operation=REQUEST.END, id=answer.id).success
        told(lambda faults, mode: faults == 0)
        area = Polygon(points=[Point32(x=x, y=y) for x, y in ((-1.0, 2.0), (1.0, 2.0), (1.0, 4.0), (-1.0, 4.0))])
        assert ask(node, kind="manual", id="by hand", area=area, fields=["mode"], values=["service"]).id == "by hand"
        told(lambda faults, mode: mode == RobotState.SERVICE)
        assert math.isnan(ask(node, operation=REQUEST.LIST).until[0])
        goal = MoveTo.Goal()
        goal.pose.pose.position.x = 5.0
        result = node.send_goal(MoveTo, "/b/move_to", goal, most=100).result
        assert result.cause == Cause.MANUAL_MODE and "by hand" in result.text
        assert ask(node, operation=REQUEST.END, id="by hand:b").success
        told(lambda faults, mode: mode == RobotState.AUTOMATIC)


def test_goals_end_when_their_robot_breaks_down_those_of_nav2_as_aborted(tmp_path: Path) -> None:
    given = scenario()
    given["disturbances"] = [{"kind": "breakdown", "at": 2.0}]
    with heard_node(tmp_path, given) as node:
        far = NavigateToPose.Goal()
        far.pose.pose.position.y, far.pose.pose.position.x = 3.0, 50.0
        client = ActionClient(node.listener, NavigateToPose, "/b/navigate_to_pose")
        node.until(client.server_is_ready)
        sent = client.send_goal_async(far)
        node.until(sent.done)
        done = sent.result().get_result_async()
        goal = MoveTo.Goal()
        goal.pose.pose.position.x = 50.0
        result = node.send_goal(MoveTo, "/a/move_to", goal, most=100).result
        assert result.cause == Cause.BREAKDOWN and result.text == "it has broken down"
        assert node.sim.sim_time < 2.5
        steps(node, done.done)
        assert done.result().status == GoalStatus.STATUS_ABORTED
        last = node.heard["/fleet/states"][-1].robots[0]
        assert (last.last_cause, last.last_error) == (Cause.BREAKDOWN, "it has broken down")
        client.destroy()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"kind": "earthquake"}, "kind: .*breakdown"),
        ({"kind": "os:system"}, "kind: unknown"),
        ({"kind": "breakdown", "names": ["z"]}, "robots: "),
        ({"kind": "breakdown", "lasts": math.nan}, "lasts: "),
        ({"kind": "slow", "fields": ["pace"], "values": ["7"]}, "pace: "),
        ({"kind": "slow", "fields": ["pace"]}, "values: "),
        ({"kind": "closed"}, "area: "),
        ({"kind": "closed", "names": ["a"]}, "names: "),
        ({"operation": 1, "id": "nobody"}, "no disturbance is called 'nobody'"),
        ({"operation": 9}, "operation: "),
    ],
)
def test_what_is_wrong_is_refused_with_the_field(node: HeardNode, values: dict[str, Any], reason: str) -> None:
    answer = ask(node, **values)
    assert not answer.success
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(answer.message)


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Any:
    with heard_node(tmp_path_factory.mktemp("node"), scenario()) as heard:
        yield heard
