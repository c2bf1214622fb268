"""The launch file, as a user starts it, and its launch test."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from node_program import PATIENCE, Client

from fleet_sim_msgs.msg import FleetState

ROOT = Path(__file__).parents[2]


def tool(name: str) -> str:
    """Return the path of a command of ROS: of this environment, or of the sourced one."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else str(shutil.which(name))


def test_ros2_launch_brings_a_fleet_up_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    log = tmp_path / "launch.log"
    with log.open("w") as output:
        command = [tool("ros2"), "launch", "fleet_sim", "fleet.launch.py", "robots:=2", "rtf:=2", "namespace:=left"]
        launched = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    client = Client()
    try:
        states = client.listen(FleetState, "/left/fleet/states")
        client.until(lambda: states and len(states[-1].robots) == 2, "the fleet")
    finally:
        client.close()
        launched.send_signal(signal.SIGINT)
        code = launched.wait(PATIENCE)
        print(log.read_text())
    assert code == 0
    assert "process has finished cleanly" in log.read_text()
    assert "ros2 action send_goal" in log.read_text()


def test_the_launch_test_passes() -> None:
    test = ROOT / "test" / "system" / "fleet_bring_up.py"
    done = subprocess.run([tool("launch_test"), str(test)], capture_output=True, text=True, check=False, timeout=90)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
