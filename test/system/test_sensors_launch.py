"""The sensors' launch file, as a user starts it: what it says to try works."""

from __future__ import annotations

from pathlib import Path

from nav_msgs.msg import OccupancyGrid
from node_program import LATCHED, launched
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, LaserScan


def test_scans_of_wandering_robots_are_on_the_map(tmp_path: Path) -> None:
    log = tmp_path / "launch.log"
    with launched(log, "sensors.launch.py", "rtf:=2") as client:
        maps = client.listen(OccupancyGrid, "/map", LATCHED)
        scans = client.listen(LaserScan, "/scout/scan", qos_profile_sensor_data)
        imus = client.listen(Imu, "/carrier/imu", qos_profile_sensor_data)
        client.until(lambda: maps and len(scans) > 5 and imus, "a map, scans and an IMU")
    assert "sensors without subscribers are not computed" in log.read_text()
    assert sum(1 for value in maps[-1].data if value == 100) > 1000
    assert sum(1 for value in scans[-1].ranges if value < 8.0) > 100
