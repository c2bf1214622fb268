"""assisted_teleop, as BasicNavigator.assistedTeleop calls it: velocities that do not lead into obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Twist
from nav2_fleet import Navigator, action, nav2_fleet
from nav_msgs.msg import Odometry
from std_msgs.msg import Empty

SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
CODES = action.AssistedTeleop.Result
RADIUS = 0.2


class Driver:
    """Somebody who drives robot_0 by hand."""

    def __init__(self, robot: Navigator) -> None:
        client = self.client = robot.client
        self.robot = robot
        self.odom = client.listen(Odometry, "/robot_0/odom")
        self._twist = client.publisher(Twist, "/robot_0/cmd_vel_teleop")
        self._end = client.publisher(Empty, "/robot_0/preempt_teleop")

    def begin(self, seconds: int = 0) -> Any:
        goal = action.AssistedTeleop.Goal()
        goal.time_allowance.sec = seconds
        return self.client.send_goal(action.AssistedTeleop, "/robot_0/assisted_teleop", goal)

    def drive(self, speed: float, turn: float = 0.0) -> None:
        twist = Twist()
        twist.linear.x, twist.angular.z = speed, turn
        self._twist.publish(twist)

    def end(self) -> None:
        self._end.publish(Empty())

    @property
    def place(self) -> tuple[float, float]:
        position = self.odom[-1].pose.pose.position
        return position.x, position.y

    @property
    def speed(self) -> float:
        return abs(self.odom[-1].twist.twist.linear.x)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that holds from now on."""
        self.odom.clear()
        self.client.until(lambda: self.odom and condition(), what)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with nav2_fleet(tmp_path_factory.mktemp("nav2"), 2) as (_, client):
        yield Driver(Navigator(client, "robot_0"))


def test_it_stops_before_another_robot_and_before_a_wall(driver: Driver) -> None:
    driver.robot.send("Spin", "spin", target_yaw=1.5707963).result()
    sent = driver.begin()
    # From (2, 2), with robot_1 1 m ahead.
    driver.drive(1.0)
    driver.until(lambda: driver.place[1] > 2.4 and driver.speed < 1e-3, "a stop before the robot")
    assert driver.place[1] < 3.0 - 2 * RADIUS
    driver.end()
    status, result = sent.result()
    assert (status, result.error_code) == (SUCCEEDED, 0)
    assert result.total_elapsed_time.sec + result.total_elapsed_time.nanosec > 0
    passed = [one.current_teleop_duration.sec * 1e9 + one.current_teleop_duration.nanosec for one in sent.feedback]
    assert passed and passed == sorted(passed)
    driver.robot.send("Spin", "spin", target_yaw=-1.5707963).result()
    sent = driver.begin()
    driver.drive(2.0)
    # The wall begins at x = 5.8.
    driver.until(lambda: driver.place[0] > 5.3 and driver.speed < 1e-3, "a stop before the wall")
    assert driver.place[0] < 5.8 - RADIUS
    # It drives no farther, but back, and turns.
    driver.drive(-0.5)
    driver.until(lambda: driver.place[0] < 5.0, "the way back")
    driver.drive(0.0, 1.0)
    driver.until(lambda: driver.odom[-1].twist.twist.angular.z > 0.9, "a turn")
    sent.cancel()
    assert sent.result()[0] == CANCELED
    driver.until(lambda: driver.odom[-1].twist.twist.angular.z == 0.0, "rest")


def test_it_ends_when_its_time_is_up_and_then_drives_nothing(driver: Driver) -> None:
    sent = driver.begin(1)
    driver.drive(-0.3)
    status, result = sent.result()
    assert (status, result.error_code, result.total_elapsed_time.sec) == (ABORTED, CODES.TIMEOUT, 1)
    driver.until(lambda: driver.speed == 0.0, "rest")
    here = driver.place
    driver.drive(-0.3)
    driver.end()
    driver.until(lambda: len(driver.odom) > 30, "steps in which nothing drives")
    # The next one begins with a robot that stands, whatever was sent before, and is not ended by what ended the last.
    sent = driver.begin(1)
    driver.drive(float("nan"))
    assert sent.result()[1].error_code == CODES.TIMEOUT
    assert driver.place == here


def test_a_newer_goal_ends_it(driver: Driver) -> None:
    sent = driver.begin()
    driver.robot.send("Spin", "spin", target_yaw=0.5).result()
    assert sent.result()[0] == ABORTED
    goal = action.AssistedTeleop.Goal()
    goal.time_allowance.sec = -1
    assert not driver.client.send_goal(action.AssistedTeleop, "/robot_0/assisted_teleop", goal).handle.accepted
