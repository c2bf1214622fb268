"""Bodies made by hand, once they are registered: who sees them, and what is said where somebody does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pybullet_data
import pytest
from hall import hall

import fleet_sim as fs
from fleet_sim.base.arrays import Floats

# These are about what OpenGL cameras see of bodies that PyBullet alone knows.
pytestmark = pytest.mark.usefixtures("opengl")
Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]


@pytest.fixture
def sim(make_sim: Maker) -> Sim:
    return make_sim(enable_floor=False)


def crate(sim: Sim, path: Path) -> int:
    return int(
        sim.bullet.createCollisionShape(sim.bullet.GEOM_BOX, halfExtents=[1, 2, 0.5], collisionFramePosition=[1, 0, 0])
    )


def bar(sim: Sim, path: Path) -> int:
    turn = sim.bullet.getQuaternionFromEuler([1.5, 0, 0])
    return int(
        sim.bullet.createCollisionShape(sim.bullet.GEOM_CAPSULE, radius=0.3, height=2.0, collisionFrameOrientation=turn)
    )


def directions(rays: int) -> Floats:
    angles = -math.pi + 2.0 * math.pi / rays * np.arange(rays)
    return np.stack((np.cos(angles), np.sin(angles), np.zeros(rays)), axis=1)


def engine_ranges(sim: Sim, origin: Any, rays: Floats, reach: float) -> Floats:
    ends = np.array(origin) + reach * rays
    found = sim.bullet.rayTestBatch(np.broadcast_to(origin, ends.shape).tolist(), ends.tolist())
    return np.array([hit[2] * reach if hit[0] >= 0 else math.inf for hit in found])


INSIDE = ((0.4, -0.5, 0.2), (0.4, -0.5, 0.9))
OUTSIDE = ((-6.1, 0.7, 0.1), (-0.5, -6.0, 0.3))


def check_seen(sim: Sim, name: str, places: Any = (*INSIDE, *OUTSIDE)) -> None:
    for place in places:
        lidar = sim.add_sensor("lidar", pose=list(place), rays=120, range_max=12.0)
        expected, found = engine_ranges(sim, place, directions(120), 12.0), lidar.read().ranges
        same_mask = np.isclose(found, expected, rtol=0.0, atol=0.01) | (np.isinf(found) & np.isinf(expected))
        # A ray that only grazes an edge may meet it or not: the engine computes in 32 bits.
        assert (~same_mask).sum() <= 2, (name, place, found[~same_mask], expected[~same_mask])
        lidar.remove()
        for yaw in (0.0, 1.7):
            camera = sim.add_sensor(
                "camera", pose=fs.Pose.from_yaw(*place, yaw), width=33, height=25, channels=["depth", "ids"]
            )
            reading = camera.read()
            ray = np.array([[math.cos(yaw), math.sin(yaw), 0.0]])
            expected = engine_ranges(sim, place, ray, 30.0)[0]
            assert (reading.ids[12, 16] >= 0) == math.isfinite(expected), (name, place, yaw)
            if math.isfinite(expected):
                # Round bodies and slopes are drawn with flat sides, and pixels are wider than rays.
                assert reading.depth[12, 16] == pytest.approx(expected, abs=0.03), (name, place, yaw)
            camera.remove()


@pytest.mark.parametrize("make", [crate, bar])
def test_registered_bodies_are_seen_by_lidars_and_cameras_as_by_rays(
    sim: Sim, tmp_path: Path, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    turn = sim.bullet.getQuaternionFromEuler([0, 0, 0.3])
    body = sim.bullet.createMultiBody(0, make(sim, tmp_path), basePosition=[0, 0, 0.4], baseOrientation=turn)
    sim.register_static_body(body, "thing")
    check_seen(sim, make.__name__, OUTSIDE if make is bar else (*INSIDE, *OUTSIDE))
    assert not caplog.records


def test_simple_bodies_made_behind_the_handle_are_known_and_others_are_refused(
    sim: Sim, caplog: pytest.LogCaptureFixture
) -> None:
    client = sim.client
    box = pybullet.createCollisionShape(pybullet.GEOM_CYLINDER, radius=1.0, height=2.0, physicsClientId=client)
    sim.register_static_body(pybullet.createMultiBody(0, box, basePosition=[0, 0, 0.2], physicsClientId=client), "box")
    check_seen(sim, "box", OUTSIDE)
    assert not caplog.records
    vertices, triangles = hall()
    shape = pybullet.createCollisionShape(
        pybullet.GEOM_MESH, vertices=vertices.tolist(), indices=triangles.ravel().tolist(), physicsClientId=client
    )
    body, count = pybullet.createMultiBody(0, shape, physicsClientId=client), len(sim.sim_objects)
    with pytest.raises(fs.InvalidValueError, match="PyBullet does not tell its form"):
        sim.register_static_body(body, "walls")
    assert len(sim.sim_objects) == count


def test_meshes_are_refused_as_nobody_can_tell_hollow_ones_from_hulls(sim: Sim, tmp_path: Path) -> None:
    mesh = f"<geometry><mesh filename='{pybullet_data.getDataPath()}/cube.obj'/></geometry>"
    (tmp_path / "bin.urdf").write_text(
        f"<robot name='bin'><link name='base' concave='yes'><collision concave='yes'>{mesh}</collision></link></robot>"
    )
    body = sim.bullet.loadURDF(str(tmp_path / "bin.urdf"), useFixedBase=True)
    with pytest.raises(fs.InvalidValueError, match="SimObject of meshes"):
        sim.register_static_body(body, "bin")


def test_a_body_collides_as_its_own_shape_whatever_it_looks_like(sim: Sim) -> None:
    """PyBullet counts both kinds of shapes from 0."""
    bullet = sim.bullet
    collision = bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=1.0)
    visual = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=[0.1, 0.1, 0.1])
    assert collision == visual
    sim.register_static_body(bullet.createMultiBody(0, collision, visual), "ball")
    assert sim.queries.ray_cast((3.0, 0.0, 0.0), (-3.0, 0.0, 0.0)).distances[0] == pytest.approx(2.0, abs=1e-6)
    camera = sim.add_sensor("camera", pose=[3.0, 0.0, 0.0, math.pi], width=3, height=3, channels=["depth"])
    assert camera.read().depth[1, 1] == pytest.approx(2.9, abs=0.01)


def test_a_visual_shape_from_the_search_path_is_seen_as_the_collision_shape(sim: Sim, tmp_path: Path) -> None:
    sim.bullet.setAdditionalSearchPath(pybullet_data.getDataPath())
    look = sim.bullet.createVisualShape(sim.bullet.GEOM_MESH, fileName="cube.obj")
    sim.register_static_body(sim.bullet.createMultiBody(0, crate(sim, tmp_path), look))
    check_seen(sim, "crate", OUTSIDE)
