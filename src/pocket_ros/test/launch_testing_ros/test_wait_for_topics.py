"""Waiting for topics, of a node that a launch test has launched."""

import subprocess
import sys
from pathlib import Path

import pytest
from launch_testing_ros import WaitForTopics
from std_msgs.msg import String

LAUNCH_TEST = """
import sys, unittest
import launch, launch_testing.actions, launch_testing.asserts
from geometry_msgs.msg import PointStamped
from launch_ros.actions import Node
from launch_testing_ros import WaitForTopics

def generate_test_description():
    robot = Node(executable=sys.executable, arguments=[{program!r}], namespace='other', output='screen')
    return launch.LaunchDescription([robot, launch_testing.actions.ReadyToTest()])

class Active(unittest.TestCase):
    def test_point(self):
        with WaitForTopics([('/other/point', PointStamped)], timeout=30.0) as topics:
            assert topics.received_messages('/other/point')[0].header.frame_id == 'map'
            assert topics.topics_received() == {{'/other/point'}}

@launch_testing.post_shutdown_test()
class After(unittest.TestCase):
    def test_exit(self, proc_info, proc_output):
        launch_testing.asserts.assertExitCodes(proc_info)
        launch_testing.asserts.assertInStdout(proc_output, 'stopped', None)
"""


def test_topic_of_a_launched_node(tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "programs" / "robot.py"
    file = tmp_path / "point_launch_test.py"
    file.write_text(LAUNCH_TEST.format(program=str(program)))
    words = [sys.executable, "-m", "pocket_ros.launch_testing.launch_test", str(file)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_missing_topics_are_named() -> None:
    with pytest.raises(RuntimeError, match="/silent"), WaitForTopics([("/silent", String)], timeout=0.1):
        pass
