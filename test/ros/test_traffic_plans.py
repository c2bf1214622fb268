"""What the node publishes of robots that the traffic of a site drives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from crowds import robot

rclpy = pytest.importorskip("rclpy")

from ros_domain import use_own_domain  # noqa: E402

use_own_domain()

from hosted_node import hosted_node, until  # noqa: E402
from nav_msgs.msg import Path as PathMsg  # noqa: E402

from fleet_sim_msgs.msg import FleetState  # noqa: E402

MAP = "site: hall\ncell: 1.0\nrows: |\n  ..........\n  ..@@..@@..\n  ..........\n"


def test_the_planned_path_is_published_with_the_distance_left(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(MAP)
    scenario = {
        "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0},
        "site": "hall.yaml",
        "robots": [robot("amr", (0.5, 0.5))],
        "traffic": {},
    }
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(scenario))
    plans, states = list[PathMsg](), list[FleetState]()
    with hosted_node("-p", f"config:={tmp_path / 'scenario.yaml'}") as node:
        sim = node.simulation
        node.create_subscription(PathMsg, "/amr/plan", plans.append, 10)
        node.create_subscription(FleetState, "/fleet/states", states.append, 10)
        traffic = sim.get_manager("traffic")
        traffic.send(sim.get_object("amr"), (9.5, 2.5))

        def is_over() -> bool:
            over = traffic.has_arrived(sim.get_object("amr")) and plans and not plans[-1].poses
            return bool(over and states[-1].robots[0].distance_left == 0.0)

        until(is_over, sim.step_once, lambda: rclpy.spin_once(node, timeout_sec=0.001))
    shown = [plan for plan in plans if plan.poses]
    assert shown and not plans[-1].poses
    last = shown[-1].poses[-1]
    assert (last.pose.position.x, last.pose.position.y, last.header.frame_id) == (9.5, 2.5, "map")
    distances = np.array([state.robots[0].distance_left for state in states])
    assert distances.max() > 5.0
    assert distances[-1] == 0.0
