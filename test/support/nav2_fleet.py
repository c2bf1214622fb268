"""A fleet of robots with Nav2's interface, and a client that calls what BasicNavigator calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped
from node_program import Client, NodeProcess, running

from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, write_site

action = pytest.importorskip("nav2_msgs.action")
srv = pytest.importorskip("nav2_msgs.srv")
lifecycle = pytest.importorskip("lifecycle_msgs.srv")

WALL = 6.0
"""A wall along y at this x, with a gap at its upper end."""


def hall() -> Site:
    """Return a hall of 16 m by 14 m in cells of 0.1 m, with a wall in it and a dock."""
    free = np.zeros((140, 160), bool)
    free[5:-5, 5:-5] = True
    free[30:-5, 58:62] = False
    return Site("hall", Grid(free, 0.1), stations=(Station("home", StationKind.CHARGE, 14.0, 2.0, 0.0),))


SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 10.0, "ignore_static_collision": False},
    "site": "hall.yaml",
    "robots": [
        {
            "name": "robot",
            "grid": {"count": 10, "columns": 1, "spacing": [0.0, 1.0, 0.0]},
            "pose": [2.0, 2.0, 0.15],
            "shape": {"shape_type": "cylinder", "radius": 0.2, "height": 0.3},
            "controller": {"type": "differential", "max_linear_vel": 2.0, "max_angular_vel": 3.0},
            "battery": {"level": 0.5},
        }
    ],
    # Feedback in every step: so what it says just before the end is seen, too.
    "ros": {"nav2": {"enabled": True}, "groups": ["commands", "state", "actions"], "rates": {"feedback": 20.0}},
}


def pose(x: float, y: float, frame: str = "map") -> PoseStamped:
    stamped = PoseStamped()
    stamped.header.frame_id = frame
    stamped.pose.position.x, stamped.pose.position.y = x, y
    return stamped


class Navigator:
    """Calls what BasicNavigator calls, in the namespace of one robot."""

    def __init__(self, client: Client, robot: str) -> None:
        self.client, self.robot = client, robot

    def send(self, kind: str, name: str, /, **fields: Any) -> Any:
        """Send a goal to an action; return it."""
        interface = getattr(action, kind)
        return self.client.send_goal(interface, f"/{self.robot}/{name}", interface.Goal(**fields))

    def call(self, kind: Any, name: str, /, **fields: Any) -> Any:
        """Return the response of a service."""
        return self.client.call(kind, f"/{self.robot}/{name}", kind.Request(**fields))

    def state(self, node: str) -> str:
        """Return the label of a node's state."""
        return str(self.call(lifecycle.GetState, f"{node}/get_state").current_state.label)

    def drive(self, x: float, y: float) -> Any:
        """Send the robot to a place."""
        return self.send("NavigateToPose", "navigate_to_pose", pose=pose(x, y))

    def manage(self, command: int) -> bool:
        """Give a command to the lifecycle manager."""
        name = "lifecycle_manager_navigation/manage_nodes"
        return bool(self.call(srv.ManageLifecycleNodes, name, command=command).success)


@contextmanager
def nav2_fleet(
    folder: Path, robots: int = 10, settings: Mapping[str, Any] = MappingProxyType({}), **site: Any
) -> Iterator[tuple[NodeProcess, Client]]:
    """Run the node with `robots` robots in the hall; `settings` of nav2, and `site` replaces parts of the hall."""
    write_site(replace(hall(), **site), folder / "hall.yaml")
    entry = {**SCENARIO["robots"][0], "grid": {"count": robots, "columns": 1, "spacing": [0.0, 1.0, 0.0]}}  # type: ignore[index]
    ros = {**SCENARIO["ros"], "nav2": {"enabled": True, **settings}}  # type: ignore[dict-item]
    (folder / "scenario.yaml").write_text(yaml.safe_dump({**SCENARIO, "robots": [entry], "ros": ros}))
    with running(folder / "node.log", "-p", f"config:={folder / 'scenario.yaml'}") as both:
        yield both
