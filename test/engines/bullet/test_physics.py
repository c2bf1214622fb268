"""Dynamic rows fall, are pushed and carried; the columns know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from bullet_scene import Scene

from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import data_path
from fleet_sim.engines.bullet.engine import BulletPhysics
from fleet_sim.world.shapes import BodyShape, Geometry

DT = 0.1
CUBE = Geometry(ShapeKind.BOX, half_extents=(0.1, 0.1, 0.1))
CUBE_SHAPE = BodyShape(CUBE, CUBE)


@pytest.fixture(params=["step", "demand"])
def world(request: pytest.FixtureRequest, make_scene: Callable[..., Scene]) -> tuple[Scene, BulletPhysics]:
    """Return a world with a floor and physics, in either policy."""
    scene = make_scene(request.param, floor=True)
    return scene, BulletPhysics(scene.mirror)


def _run(scene: Scene, physics: BulletPhysics, steps: int, drive: Callable[[], None] = lambda: None) -> None:
    for _ in range(steps):
        scene.step(drive)
        physics.step(DT)


def _boxes(scene: Scene, positions: Any, **columns: Any) -> Any:
    return scene.spawn(positions, CUBE_SHAPE, mass=1.0, dynamic=True, **columns)


def test_boxes_fall_and_come_to_rest_on_the_floor(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    rows = _boxes(scene, [[0.0, 0.0, 1.0], [1.0, 0.0, 3.0], [2.0, 0.0, 0.5]])
    still = scene.spawn([4.0, 0.0, 1.0])
    scene.step()
    assert physics.step(DT) == 3
    assert (scene.world.velocity[rows, 2] < -0.5).all()
    np.testing.assert_allclose(scene.world.position[rows[1], 2], 3.0 - 0.5 * 9.81 * DT**2, atol=0.01)
    assert scene.world.moved[rows].all()
    _run(scene, physics, 40)
    np.testing.assert_allclose(scene.world.position[rows, 2], 0.1, atol=0.005)
    np.testing.assert_allclose(scene.world.velocity[rows], 0.0, atol=0.01)
    assert scene.world.position[still].tolist() == [[4.0, 0.0, 1.0]]


def test_a_world_without_dynamic_rows_never_reaches_pybullet(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    physics = BulletPhysics(scene.mirror)
    scene.spawn([0.0, 0.0, 0.0])
    _run(scene, physics, 3)
    assert not scene.client.connected


def _drive(scene: Scene, robot: Any, way: float) -> None:
    scene.put(robot, scene.world.position[robot] + [way, 0.0, 0.0])


def test_a_driving_robot_pushes_a_box(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    robot = scene.spawn([0.0, 0.0, 0.11])
    box = _boxes(scene, [0.5, 0.0, 0.1])

    _run(scene, physics, 40, partial(_drive, scene, robot, 0.05))
    np.testing.assert_allclose(scene.world.position[robot[0]], [2.0, 0.0, 0.11], atol=1e-9)
    assert scene.world.position[box[0], 0] >= 2.0 + 0.2 + 0.1 - 0.01
    assert physics.contact_pairs().tolist() in ([sorted([int(robot[0]), int(box[0])])], [])


def test_a_driving_robot_carries_what_stands_on_it(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    robot = scene.spawn([0.0, 0.0, 0.11])
    box = _boxes(scene, [0.0, 0.0, 0.311])

    _run(scene, physics, 3)
    _run(scene, physics, 50, partial(_drive, scene, robot, 0.02))
    np.testing.assert_allclose(scene.world.position[box[0]], [1.0, 0.0, 0.31], atol=0.1)
    assert physics.contact_pairs().tolist() == [sorted([int(robot[0]), int(box[0])])]


def test_a_robot_put_elsewhere_sweeps_nothing_aside(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    robot = scene.spawn([-5.0, 0.0, 0.11])
    box = _boxes(scene, [0.0, 0.0, 0.1])
    _run(scene, physics, 3)
    _run(scene, physics, 1, lambda: scene.put(robot, [5.0, 0.0, 0.11]))
    _run(scene, physics, 3)
    np.testing.assert_allclose(scene.world.position[box[0], :2], 0.0, atol=0.01)


@pytest.mark.parametrize("inside", [True, False])
def test_a_dynamic_box_put_elsewhere_starts_from_there(world: tuple[Scene, BulletPhysics], inside: bool) -> None:
    scene, physics = world
    box = _boxes(scene, [0.0, 0.0, 5.0])
    _run(scene, physics, 2)

    def put() -> None:
        scene.world.velocity[box] = [1.0, 0.0, 0.0]
        scene.put(box, [3.0, 0.0, 8.0])

    if not inside:
        put()
    _run(scene, physics, 1, put if inside else lambda: None)
    np.testing.assert_allclose(scene.world.position[box[0]], [3.1, 0.0, 8.0 - 0.05], atol=0.02)
    np.testing.assert_allclose(scene.world.velocity[box[0]], [1.0, 0.0, -0.98], atol=0.05)


def test_the_same_result_for_coarse_and_fine_steps(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    box = _boxes(scene, [0.0, 0.0, 0.6])
    for _ in range(5):
        scene.step()
        physics.step(0.2)
    coarse = scene.world.position[box[0]].copy()
    scene.world.velocity[box] = scene.world.angular_velocity[box] = 0.0
    scene.put(box, [0.0, 0.0, 0.6])
    for _ in range(240):
        scene.step()
        physics.step(1.0 / 240.0)
    np.testing.assert_allclose(scene.world.position[box[0]], coarse, atol=0.01)


def test_a_box_taken_up_and_let_go(world: tuple[Scene, BulletPhysics]) -> None:
    """Becoming kinematic stops physics from moving a body; becoming dynamic lets it fall again."""
    scene, physics = world
    box = _boxes(scene, [0.0, 0.0, 1.0])
    _run(scene, physics, 1)
    weight = _boxes(scene, [9.0, 0.0, 0.1])
    scene.world.dynamic[box] = False
    scene.put(box, [0.0, 0.0, 2.0])
    _run(scene, physics, 5)
    assert scene.world.position[box[0]].tolist() == [0.0, 0.0, 2.0]
    scene.world.dynamic[box] = True
    _run(scene, physics, 30)
    assert scene.world.position[box[0], 2] == pytest.approx(0.1, abs=0.01)
    assert scene.world.position[weight[0], 2] == pytest.approx(0.1, abs=0.01)


def test_a_dynamic_model_falls_with_its_base_frame(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    shape = BodyShape(model_path=data_path("franka_panda/panda.urdf"))
    row = scene.spawn([0.0, 0.0, 5.0], shape, mass=1.0, dynamic=True)
    fixed = scene.spawn([3.0, 0.0, 5.0], shape)
    scene.step()
    physics.step(DT)
    assert scene.world.position[row[0], 2] == pytest.approx(5.0 - 0.5 * 9.81 * DT**2, abs=0.02)
    assert scene.world.position[fixed].tolist() == [[3.0, 0.0, 5.0]]


def test_contact_pairs_are_sorted_and_unique(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    assert physics.contact_pairs().shape == (0, 2)
    rows = _boxes(scene, [[0.0, 0.0, 0.1], [0.0, 0.0, 0.3], [0.0, 0.0, 0.5], [3.0, 0.0, 0.1]])
    _run(scene, physics, 10)
    expected = [[int(rows[0]), int(rows[1])], [int(rows[1]), int(rows[2])]]
    assert physics.contact_pairs().tolist() == expected
    assert physics.contact_pairs(limit=-1.0).shape == (0, 2)
