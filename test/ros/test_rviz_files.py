"""The files of RViz: each frames the scene of its launch file, and draws every robot once."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.files import resolve_config
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.ros.node import SIMPLE_ROBOT, SPACING
from fleet_sim.world.shapes import PLANE_SIZE, marker_shape, visible_parts

ROOT = Path(__file__).parents[2]
HALF_VIEW = np.tan(np.radians(22.5)) * np.array([1.25, 1.0])
"""RViz sees 45 degrees from top to bottom; in a WINDOW its picture has 1,000 x 800 pixels beside the displays."""
WINDOW = {"Width": 1400, "Height": 900}
"""Without a size in the file, the window has 700 x 600 pixels, and the picture is as narrow as a hand."""

LAUNCHED = {path.name.removesuffix(".launch.py"): path.read_text() for path in ROOT.glob("launch/*.launch.py")}
FRAMED = sorted(set(LAUNCHED) - {"rviz"})


def rviz_file(name: str) -> Path:
    """Return the file that a launch file opens in RViz."""
    found = re.search(r'"rviz", "(\w+\.rviz)"', LAUNCHED[name])
    assert found is not None
    return ROOT / "rviz" / found[1]


def scene(name: str, robots: int | None = None) -> MultiRobotSimulationCore:
    """Return the simulation of a launch file; with another number of `robots` where they are on a grid."""
    found = re.search(r'"(?:config|building)",? "([\w/]+\.yaml)"', LAUNCHED[name])
    if found is not None:
        return MultiRobotSimulationCore.from_yaml(resolve_config(found[1]))
    count = robots or int(re.findall(r'"robots", "(\d+)"', LAUNCHED[name])[0])
    grid = {"count": count, "spacing": [SPACING, SPACING, 0.0]}
    return MultiRobotSimulationCore.from_dict({"robots": [SIMPLE_ROBOT | {"grid": grid}]})


def corners(sim: MultiRobotSimulationCore) -> NDArray[np.float64]:
    """Return the corners of the box of each visible shape; a mesh counts as its origin, and a plane not at all."""
    world, found = sim.world, []
    for row in world.rows.tolist():
        shape_id = int(world.shape_id[row])
        shape = world.shapes[shape_id] if shape_id >= 0 else None
        x, y, z = world.half_extents[row].tolist()
        for link, geometry in visible_parts(world.model_of(row), shape, (x, y, z), (0.0, 0.0, 0.0)):
            _, size, mesh = marker_shape(geometry)
            half = np.zeros(3) if mesh else 0.5 * np.array(size)
            if size[0] < PLANE_SIZE:
                box = half * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
                frame = world.link_poses(np.full(8, row), np.full(8, link))
                center = poses.compose(
                    *frame, np.tile(geometry.position, (8, 1)), np.tile(geometry.orientation, (8, 1))
                )
                found.append(poses.compose(*center, box, np.tile((0.0, 0.0, 0.0, 1.0), (8, 1)))[0])
    return np.concatenate(found)


def view_of(file: Path) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the focus, the axes to the right, up and back, and the distance of RViz's orbit view."""
    content = yaml.safe_load(file.read_text())
    assert content["Window Geometry"] == WINDOW
    view = content["Visualization Manager"]["Views"]["Current"]
    pitch, yaw = view["Pitch"], view["Yaw"]
    back = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    focus = np.array([view["Focal Point"][axis] for axis in "XYZ"], float)
    return focus, np.stack([right, np.cross(back, right), back]), view["Distance"]


def seen(points: NDArray[np.float64], file: Path) -> NDArray[np.float64]:
    """Return where `points` are in the picture of RViz's orbit view: -1 to 1 from left to right and bottom to top."""
    focus, (right, up, back), distance = view_of(file)
    local = (points - focus) @ np.stack([right, up, -back], axis=1)
    depth = local[:, 2] + distance
    assert depth.min() > 0.0
    return local[:, :2] / depth[:, None] / HALF_VIEW


@pytest.mark.parametrize("name", FRAMED)
def test_rviz_opens_with_the_whole_scene_in_the_picture(name: str) -> None:
    with scene(name) as sim:
        at = seen(corners(sim), rviz_file(name))
    assert np.abs(at).max() <= 0.95
    # A few robots may drive away; other scenes fill half of the picture at least.
    assert np.ptp(at, axis=0).max() >= (0.4 if name == "fleet" else 0.9)


def test_rviz_opens_with_all_of_twenty_robots_in_the_picture() -> None:
    # As many as docs/ros.md starts.
    with scene("fleet", robots=20) as sim:
        assert np.abs(seen(corners(sim), rviz_file("fleet"))).max() <= 0.95


@pytest.mark.parametrize("name", FRAMED)
def test_no_robot_is_hidden_when_rviz_opens(name: str) -> None:
    focus, (_, _, back), distance = view_of(rviz_file(name))
    eye = focus + distance * back
    with scene(name) as sim:
        sim.step_once()  # boxes are those of the last step
        for robot in sim.agents:
            lower, upper = sim.world.aabb_lower[robot.row], sim.world.aabb_upper[robot.row]
            inside = lower + (upper - lower) * np.array(list(itertools.product((0.02, 0.5, 0.98), repeat=3)))
            hits = sim.queries.ray_cast(eye, eye + 1.5 * (inside - eye)).entities
            assert robot in hits, f"{robot.name} is behind something"


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("rviz/*.rviz")))
def test_each_robot_is_drawn_once(file: str) -> None:
    # Markers show robots link by link; a RobotModel would draw them again, at the times of other messages.
    displays = yaml.safe_load((ROOT / "rviz" / file).read_text())["Visualization Manager"]["Displays"]
    enabled = [one["Class"].partition("/")[2] for one in displays if one["Enabled"]]
    assert "MarkerArray" in enabled
    assert "RobotModel" not in enabled
