"""The sensors' launch file, as a user starts it: what it says to try works."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from nav_msgs.msg import OccupancyGrid
from node_program import LATCHED, PATIENCE, Client
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, LaserScan


def test_scans_of_wandering_robots_are_on_the_map(tmp_path: Path) -> None:
    log = tmp_path / "launch.log"
    with log.open("w") as output:
        beside = Path(sys.executable).with_name("ros2")
        ros2 = str(beside) if beside.exists() else str(shutil.which("ros2"))
        command = [ros2, "launch", "fleet_sim", "sensors.launch.py", "rtf:=2"]
        launched = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    client = Client()
    try:
        maps = client.listen(OccupancyGrid, "/map", LATCHED)
        scans = client.listen(LaserScan, "/scout/scan", qos_profile_sensor_data)
        imus = client.listen(Imu, "/carrier/imu", qos_profile_sensor_data)
        client.until(lambda: maps and len(scans) > 5 and imus, "a map, scans and an IMU")
    finally:
        client.close()
        launched.send_signal(signal.SIGINT)
        code = launched.wait(PATIENCE)
        print(log.read_text(), file=sys.stderr)
    assert code == 0
    assert "sensors without subscribers are not computed" in log.read_text()
    assert sum(1 for value in maps[-1].data if value == 100) > 1000
    assert sum(1 for value in scans[-1].ranges if value < 8.0) > 100
