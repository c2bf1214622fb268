"""The fleet manager of the examples over ROS finishes its transports, whatever happens to its robots."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from example import EXAMPLES
from node_program import running

from fleet_sim.warehouse.sites import Grid, Site, write_site
from fleet_sim_msgs.msg import FleetState, RobotState

TRANSPORTS = [((1.5, 0.5 + row), (12.5, 6.5 - row)) for row in range(0, 7, 2)] * 3
DISTURBANCES: list[dict[str, Any]] = [
    {"kind": "emergency_stop", "at": 6, "lasts": 12, "robots": ["amr_0"]},
    {"kind": "manual", "at": 12, "lasts": 15, "robots": ["amr_1"]},
    {"kind": "silent", "at": 3, "lasts": 45, "robots": ["amr_2"], "drives_on": False},
    {"kind": "breakdown", "at": 4, "lasts": 15, "robots": ["amr_3"]},
    {"kind": "radio", "at": 30, "lasts": 8, "robots": ["amr_*"], "loss": 1.0},
]


def hall(folder: Path, **more: Any) -> Path:
    """A hall of 14 x 7 m with three aisles, and four robots in its traffic."""
    free = np.ones((7, 14), bool)
    free[1:6:2, 3:11] = False
    write_site(Site("hall", Grid(free)), folder / "hall.yaml")
    body = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}, "controller": {"type": "differential"}}
    content = {
        "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 5.0, "seed": 3},
        "site": "hall.yaml",
        "robots": [{"name": f"amr_{x}", "pose": [2.5 + 3 * x, 0.5, 0.15], **body} for x in range(4)],
        "ros": {"per_robot": "none"},
        **more,
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def brought(states: list[FleetState]) -> int:
    """How many transports robots carried out, by where they stood: at a first stop, and then at its second."""
    starts, ends = {start for start, _ in TRANSPORTS}, {end for _, end in TRANSPORTS}
    loaded: dict[str, tuple[float, float]] = {}
    count = 0
    for robot in (robot for message in states for robot in message.robots):
        place = (robot.pose.position.x, robot.pose.position.y)
        if robot.moving:
            continue
        start = next((start for start in starts if math.dist(place, start) < 0.3), loaded.get(robot.name))
        if start is not None:
            loaded[robot.name] = start
        if start is not None and any(math.dist(place, end) < 0.3 and (start, end) in TRANSPORTS for end in ends):
            del loaded[robot.name]
            count += 1
    return count


@pytest.mark.slow
def test_all_transports_are_done_under_disturbances(tmp_path: Path) -> None:
    lines = [f"t{number} {a} {b} {c} {d}" for number, ((a, b), (c, d)) in enumerate(TRANSPORTS)]
    (tmp_path / "transports.txt").write_text("\n".join(lines))
    config = hall(tmp_path, traffic={"planner": "pibt", "period": 0.5}, disturbances=DISTURBANCES)
    with running(tmp_path / "node.log", "-p", f"config:={config}") as (_, client):
        states = client.listen(FleetState, "/fleet/states")
        command = [sys.executable, str(EXAMPLES / "managers" / "ros_manager.py"), str(tmp_path / "transports.txt")]
        with (tmp_path / "manager.log").open("w") as log:
            manager = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        client.patience = 500.0
        try:
            client.until(lambda: manager.poll() is not None, "the end of the manager")
        finally:
            manager.kill()
            manager.wait()
            print((tmp_path / "manager.log").read_text())
    said = re.search(r"(\d+) transports done, (\d+) given", (tmp_path / "manager.log").read_text())
    assert manager.returncode == 0 and said is not None
    assert int(said[1]) == len(TRANSPORTS) and int(said[2]) >= 1
    assert brought(states) >= len(TRANSPORTS)
    faults = {robot.faults for message in states for robot in message.robots}
    modes = {robot.operating_mode for message in states for robot in message.robots}
    assert RobotState.FAULT_BREAKDOWN in faults
    # Also after the time without radio.
    assert states[-1].header.stamp.sec > 38
    assert RobotState.FAULT_EMERGENCY_STOP in faults and RobotState.MANUAL in modes
