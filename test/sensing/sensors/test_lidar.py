"""What lidars see, ray by ray; oracles/test_vision.py and test_scans.py have whole scenes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import LidarParams

Sim = fs.MultiRobotSimulationCore


def thing(sim: Sim, kind: str, pose: fs.Pose, name: str | None = None, **shape: Any) -> fs.SimObject:
    """Spawn a shape of a kind that can be seen."""
    handle: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **shape), pose, name=name))
    return handle


def at(x: float, y: float, z: float = 0.5) -> fs.Pose:
    """Return a pose, by default half a meter high."""
    return fs.Pose.from_xyz(x, y, z)


def ranges(sim: Sim, pose: Any = (0.0, 0.0, 0.5), **settings: Any) -> list[float]:
    """Return what a lidar in the world reads; by default four rays: ahead, left, behind, right."""
    settings = {"rays": 4, "angle_min": 0.0, "angle_max": 2.0 * math.pi, **settings}
    lidar = sim.add_sensor("lidar", pose=pose if isinstance(pose, fs.Pose) else list(pose), **settings)
    reading = lidar.read()
    lidar.remove()
    out: list[float] = reading.ranges.tolist()
    return out


def test_what_it_is_inside_of_is_not_seen(sim: Sim) -> None:
    thing(sim, "box", at(0.0, 0.0))
    thing(sim, "cylinder", at(0.0, 0.0), radius=0.7)
    thing(sim, "box", at(3.0, 0.0))
    assert ranges(sim) == pytest.approx([2.5, math.inf, math.inf, math.inf])


def test_near_and_far_limits(sim: Sim) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 0.5, 0.5))
    thing(sim, "box", at(0.0, 5.5), half_extents=(0.5, 0.5, 0.5))
    assert ranges(sim, range_min=0.6, range_max=4.9) == [-math.inf, math.inf, math.inf, math.inf]
    assert ranges(sim, range_min=0.4, range_max=5.1) == pytest.approx([0.5, 5.0, math.inf, math.inf])


def test_labels_and_intensities(sim: Sim) -> None:
    box = thing(sim, "box", fs.Pose.from_yaw(3.0, 0.0, 0.5, math.pi / 6), name="box")
    ball = thing(sim, "sphere", at(0.1, 3.0), radius=0.2)
    thing(sim, "plane", fs.Pose.from_euler(-4.0, 0.0, 0.0, 0.0, math.pi / 2, math.pi / 4), name="wall")
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5], rays=4, angle_min=0, angle_max=2 * math.pi)
    assert (lidar.read().labels, lidar.read().intensities) == (None, None)
    lidar = sim.add_sensor(lidar.params, name="more", labels=True, intensities=True)
    reading = lidar.read()
    wall = sim.get_object("wall").object_id
    assert reading.labels.tolist() == [box.object_id, ball.object_id, wall, wall]
    assert reading.intensities == pytest.approx([math.cos(math.pi / 6), math.sqrt(0.75), *[math.sqrt(0.5)] * 2])
    near = sim.add_sensor(lidar.params, name="near", range_max=3.5).read()
    assert near.labels.tolist() == [box.object_id, ball.object_id, -1, -1]
    assert near.intensities[2:].tolist() == [0.0, 0.0]


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"angle_min": 1.0, "angle_max": 0.0}, "angle_max: must be at least angle_min"),
        ({"angle_min": -math.pi, "angle_max": 4.0}, "angle_max: must be at least angle_min and at most a full turn"),
        ({"range_min": 10.0}, "range_min: must be below range_max"),
        ({"rays": 0}, "rays: must be"),
        ({"noise": -1.0}, "noise: must be"),
        ({"range_max": math.inf}, "range_max: must be"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=message):
        LidarParams(**settings)


@pytest.mark.parametrize(
    "body",
    [
        fs.ShapeParams("sphere", radius=0.3),
        fs.ShapeParams("capsule", radius=0.2, height=0.3),
        fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
    ],
    ids=["sphere", "capsule", "box"],
)
@pytest.mark.parametrize("mount", [[0.1, 0.05, 0.02], [-0.6, 0, 0]], ids=["inside", "behind"])
def test_a_tilted_lidar_looks_through_its_own_robot(sim: Sim, body: fs.ShapeParams, mount: list[float]) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 2.0, 2.0))
    robot = sim.spawn(fs.AgentSpawnParams(body, body, at(0.0, 0.0)))
    lidar = sim.add_sensor(
        "lidar", robot, rays=1, angle_min=0, angle_max=0, pose={"position": mount, "rpy": [0, 0.2, 0]}
    )
    assert lidar.read().ranges == pytest.approx([(0.5 - mount[0]) / math.cos(0.2)], abs=1e-3)
