"""Sizes of shapes and angles of poses: what has no effect, or another than meant, is refused."""

from __future__ import annotations

from typing import Any

import pytest

import fleet_sim as fs


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        (
            "box",
            {"radius": 1.0},
            "radius: for a sphere or cylinder or capsule only, not for a box; it has half_extents",
        ),
        ("sphere", {"half_extents": (1.0, 1.0, 1.0)}, "half_extents: for a box only, not for a sphere; it has radius"),
        ("sphere", {"height": 2.0}, "height: for a cylinder"),
        ("plane", {"radius": 2.0}, "not for a plane; it has no size"),
        ("cylinder", {"mesh_scale": (2.0, 2.0, 2.0)}, "mesh_scale: for a mesh only, not for a cylinder"),
        ("box", {"field_size": (2.0, 2.0)}, "field_size: for a heightfield only, not for a box"),
    ],
)
def test_a_size_that_a_shape_does_not_have_is_refused(kind: Any, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(fs.InvalidValueError, match=reason):
        fs.ShapeParams(kind, **given)


def test_a_size_that_is_assigned_later_is_refused_when_the_shape_is_used() -> None:
    shape = fs.ShapeParams("box")
    # Not at once: the kind of the shape may be changed next.
    shape.radius = 1.0
    with pytest.raises(fs.InvalidValueError, match="radius: for a sphere"):
        shape.to_geometry()
    shape.shape_type = "sphere"
    assert shape.to_geometry() is not None


@pytest.mark.parametrize(
    ("pose", "reason"),
    [
        ([0, 0, 0, 90], "angles are in radians, at most one turn, got 90; 90 degrees are 1.5708"),
        ({"position": [0, 0, 0], "yaw": -180}, "-180 degrees are -3.1416"),
        ({"position": [0, 0, 0], "rpy": [0, 45, 0]}, "45 degrees are 0.7854"),
        ([0, 0, 0, 1e9], "at most one turn, got 1e\\+09$"),
    ],
)
def test_degrees_in_a_pose_are_refused(pose: Any, reason: str) -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": pose}]}
    with pytest.raises(fs.ConfigError, match=reason):
        fs.MultiRobotSimulationCore.from_dict(scenario)


def test_degrees_in_a_heading_are_refused() -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": [0, 0, 0], "yaw": 90}]}
    with pytest.raises(fs.ConfigError, match=r"robots\[0\].*angles are in radians.* 90 degrees are 1.5708"):
        fs.MultiRobotSimulationCore.from_dict(scenario)


def test_a_whole_turn_is_an_angle() -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": [0, 0, 0, -6.2832]}]}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        assert sim.get_object("a").get_pose().yaw == pytest.approx(0.0, abs=1e-4)
