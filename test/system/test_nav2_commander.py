"""An unmodified BasicNavigator of nav2_simple_commander, where it is installed: ten robots, and all its methods."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from nav2_fleet import nav2_fleet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("nav2_simple_commander") is None, reason="needs nav2_simple_commander on the path"),
]

BEGINNING = """
import rclpy
from geographic_msgs.msg import GeoPose
from geometry_msgs.msg import PoseStamped
from nav2_simple_commander.robot_navigator import BasicNavigator, TaskResult

def pose(x, y):
    stamped = PoseStamped()
    stamped.header.frame_id = "map"
    stamped.pose.position.x, stamped.pose.position.y = x, y
    stamped.pose.orientation.w = 1.0
    return stamped

def end(navigator):
    while not navigator.isTaskComplete():
        pass
    return navigator.getResult()

rclpy.init()
"""

TEN = """
navigators = [BasicNavigator(namespace=f"robot_{i}") for i in range(10)]
for navigator in navigators:
    navigator.setInitialPose(pose(0.0, 0.0))
    navigator.waitUntilNav2Active()
for i, navigator in enumerate(navigators):
    assert navigator.goToPose(pose(3.5, 2.0 + i))
for navigator in navigators:
    assert end(navigator) == TaskResult.SUCCEEDED
print("all ten arrived")
"""

WALK = """
done = TaskResult.SUCCEEDED
robot = BasicNavigator(namespace="robot_0")
robot.setInitialPose(pose(2.0, 2.0))
robot.waitUntilNav2Active()
assert robot.goToPose(pose(3.0, 2.0)) and end(robot) == done
assert robot.getFeedback().navigation_time.nanosec >= 0
assert robot.goThroughPoses([pose(4.0, 1.5), pose(3.0, 1.5)]) and end(robot) == done
assert robot.followWaypoints([pose(4.0, 1.5), pose(3.0, 1.5)]) and end(robot) == done
place = GeoPose()
place.position.latitude, place.position.longitude = 48.0 + 1.5 / 111195.0, 11.0 + 3.0 / 74628.0
assert robot.followGpsWaypoints([place]) and end(robot) == done
assert robot.spin(1.57, 10) and end(robot) == done
assert robot.backup(0.15, 0.1, 10) and end(robot) == done
assert robot.driveOnHeading(0.15, 0.1, 10) and end(robot) == done
assert robot.assistedTeleop(time_allowance=1) and end(robot) == TaskResult.FAILED
planned = robot.getPath(pose(3.0, 1.5), pose(8.0, 5.0))
assert robot.getPathThroughPoses(pose(3.0, 1.5), [pose(4.0, 4.0), pose(3.0, 5.0)]).poses
smooth = robot.smoothPath(planned, max_duration=20.0, check_for_collision=True)
assert len(smooth.poses) > len(planned.poses)
assert robot.smoothPath(planned, smoother_id="mine") is None
assert robot.followPath(smooth) and end(robot) == done
assert robot.goToPose(pose(3.0, 2.0))
robot.cancelTask()
assert end(robot) == TaskResult.CANCELED
assert robot.dockRobotByPose(pose(14.0, 2.0), "simple") and end(robot) == done
assert robot.undockRobot("simple") and end(robot) == done
assert robot.dockRobotByID("home") and end(robot) == done
assert robot.undockRobot() and end(robot) == done
robot.changeMap("another.yaml")
robot.clearAllCostmaps()
robot.clearCostmapExceptRegion(1.0)
robot.clearCostmapAroundRobot(1.0)
robot.clearCostmapAroundPose(pose(2.0, 2.0), 1.0)
assert robot.getGlobalCostmap().data and robot.getLocalCostmap().data
robot.lifecycleShutdown()
assert not robot.goToPose(pose(3.0, 2.0))
robot.lifecycleStartup()
assert robot.goToPose(pose(13.0, 2.0)) and end(robot) == done
robot.destroyNode()
print("all methods called")
"""


@pytest.fixture(scope="module", autouse=True)
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with nav2_fleet(tmp_path_factory.mktemp("nav2"), settings={"datum": [48.0, 11.0]}):
        yield


@pytest.mark.parametrize(("program", "last"), [(TEN, "all ten arrived"), (WALK, "all methods called")])
def test_basic_navigator_drives_robots(program: str, last: str) -> None:
    command = [sys.executable, "-c", BEGINNING + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert last in done.stdout, done.stderr
