"""What a query sees at which point of a step, in both flush policies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bullet_scene import Scene

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import data_path
from fleet_sim.engines.bullet.engine import BulletPhysics, BulletQueries
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim.world.world import restore_world, save_world

POLICIES = ("step", "demand")


def _x(scene: Scene, row: int) -> float:
    """Where PyBullet has `row`, asked through the simulation's own handle."""
    body = scene.mirror.body_id(row)
    return float(BulletHandle(scene.mirror).getBasePositionAndOrientation(body)[0][0])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("asked_before", [True, False])
def test_phase_1_sees_the_last_step_and_phase_2_this_one(
    make_scene: Callable[..., Scene], policy: str, asked_before: bool
) -> None:
    scene = make_scene(policy)
    rows = scene.spawn([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    if asked_before:
        scene.mirror.ensure()
    for number in range(1, 4):
        seen: list[float] = []

        def phase_1(number: int = number, seen: list[float] = seen) -> None:
            seen.append(_x(scene, rows[0]))
            scene.put(rows[:1], [float(number), 0.0, 0.0])
            seen.append(_x(scene, rows[0]))
            scene.put(rows[:1], [number + 0.5, 0.0, 0.0])
            seen.append(_x(scene, rows[0]))
            assert _x(scene, rows[1]) == 5.0

        before = float(scene.world.position[rows[0], 0])
        scene.step(phase_1)
        assert seen == [before] * 3
        assert _x(scene, rows[0]) == number + 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_entities_spawned_in_phase_1_can_be_queried_there(make_scene: Callable[..., Scene], policy: str) -> None:
    scene = make_scene(policy)
    scene.spawn(np.zeros((3, 3)))
    seen: list[float] = []

    def phase_1() -> None:
        scene.world.release(scene.world.rows[:1])
        rows = scene.spawn(np.full((70, 3), 4.0))
        seen.append(_x(scene, rows[-1]))

    scene.step(phase_1)
    assert seen == [4.0]
    scene.mirror.ensure()
    assert scene.client.getNumBodies() == len(scene.world) == 72


def test_demand_does_nothing_until_something_asks(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((4, 3)))
    for _ in range(3):
        scene.step(lambda: scene.put(rows, np.ones((4, 3))))
    assert not scene.client.connected


def test_demand_writes_only_what_is_asked_for(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((3, 3)))
    scene.mirror.ensure()
    bodies = [scene.mirror.body_id(row) for row in rows]
    scene.put(rows, np.ones((3, 3)))
    scene.mirror.ensure(rows[:1])
    assert [scene.client.getBasePositionAndOrientation(body)[0][0] for body in bodies] == [1.0, 0.0, 0.0]


def test_the_step_policy_writes_every_moved_pose_in_phase_2(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene("step")
    rows = scene.spawn(np.zeros((3, 3)))
    scene.step(lambda: scene.put(rows[:2], np.ones((2, 3))))
    bodies = scene.mirror.bodies.table.body[rows].tolist()
    assert [scene.client.getBasePositionAndOrientation(body)[0][0] for body in bodies] == [1.0, 1.0, 0.0]


def test_a_raw_client_id_is_always_up_to_date(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((2, 3)))
    number = scene.mirror.hand_out()
    import pybullet

    def raw(row: Any) -> float:
        body = int(scene.mirror.bodies.table.body[row])
        return float(pybullet.getBasePositionAndOrientation(body, physicsClientId=number)[0][0])

    scene.put(rows, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    assert [raw(row) for row in rows] == [1.0, 2.0]
    new = scene.spawn([9.0, 0.0, 0.0])
    assert raw(new[0]) == 9.0
    seen: list[float] = []

    def phase_1() -> None:
        scene.put(rows[:1], [3.0, 0.0, 0.0])
        seen.append(raw(rows[0]))

    scene.step(phase_1)
    assert seen == [1.0]
    assert raw(rows[0]) == 3.0


def test_a_step_without_staging_refuses_queries_in_phase_1(scene: Scene) -> None:
    scene.spawn([0.0, 0.0, 0.0])
    scene.mirror.begin_step(stage=False)
    with pytest.raises(StateError, match="stage=True"):
        scene.mirror.ensure()
    scene.mirror.end_step()
    scene.mirror.ensure()


def test_bodies_that_no_longer_fit_go_after_columns_were_replaced(scene: Scene) -> None:
    world = scene.world
    rows = scene.spawn([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    saved = save_world(world)
    scene.put(rows, np.full((2, 3), 8.0))
    scene.spawn([5.0, 0.0, 0.0])
    scene.mirror.ensure()
    restore_world(world, saved)
    scene.mirror.reconcile()
    assert scene.client.getNumBodies() == 2
    assert [_x(scene, row) for row in rows] == [0.0, 1.0]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="step, demand"):
        Scene("sometimes")


def test_constants_and_pure_functions_cost_no_flush(scene: Scene) -> None:
    scene.spawn(np.zeros((3, 3)))
    handle = BulletHandle(scene.mirror)
    assert handle.GEOM_BOX == scene.client.GEOM_BOX
    assert handle.getQuaternionFromEuler([0.0, 0.0, 0.0])[3] == 1.0
    assert scene.client.getNumBodies() == 0
    assert handle.getNumBodies() == 3
    assert "getAABB" in dir(handle)
    assert "ray" in handle.rayTest.__doc__
    with pytest.raises(AttributeError):
        handle.getNothing()


def test_rays_see_moved_robots(scene: Scene) -> None:
    row = scene.spawn([0.0, 0.0, 0.0])
    handle = BulletHandle(scene.mirror)
    assert handle.rayTest([-5.0, 2.0, 0.0], [5.0, 2.0, 0.0])[0][0] == -1
    scene.put(row, [0.0, 2.0, 0.0])
    hit = handle.rayTest([-5.0, 2.0, 0.0], [5.0, 2.0, 0.0])[0]
    assert scene.mirror.rows_of_bodies([hit[0]]).tolist() == row.tolist()


def test_closest_distances(scene: Scene) -> None:
    shape = BodyShape(None, Geometry(ShapeKind.SPHERE, radius=0.5))
    rows = scene.spawn([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.8, 0.0, 0.0], [90.0, 0.0, 0.0]], shape)
    nothing = scene.spawn([0.0, 0.0, 0.0], BodyShape())
    queries = BulletQueries(scene.mirror)
    pairs = np.array([[rows[0], rows[1]], [rows[0], rows[2]], [rows[1], rows[0]], [rows[0], nothing[0]]])
    np.testing.assert_allclose(queries.closest_distances(pairs, 1.5), [1.0, -0.2, 1.0, np.inf], atol=1e-6)
    np.testing.assert_array_equal(queries.closest_distances(pairs[:1], 0.5), [np.inf])
    assert queries.closest_distances(np.empty((0, 2), np.int64), 1.0).shape == (0,)
    assert scene.client.getNumBodies() == 4


def test_local_bounds_of_meshes_and_models(scene: Scene) -> None:
    mesh = Geometry(
        ShapeKind.MESH, mesh_path=data_path("cube.obj"), mesh_scale=(1.0, 2.0, 3.0), position=(0.0, 0.0, 1.0)
    )
    queries = BulletQueries(scene.mirror)
    centre, half_extents = queries.local_bounds(scene.world.shapes.intern(BodyShape(None, mesh)))
    np.testing.assert_allclose(centre, [0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(half_extents / half_extents[0], [1.0, 2.0, 3.0], rtol=0.01)
    model = BodyShape(model_path=data_path("r2d2.urdf"))
    shape_id = scene.world.shapes.intern(model)
    centre, half_extents = queries.local_bounds(shape_id)
    row = scene.spawn([10.0, 20.0, 30.0], model)
    lower, upper = queries.aabbs(row)
    np.testing.assert_allclose(lower[0] - [10.0, 20.0, 30.0], centre - half_extents, atol=0.02)
    np.testing.assert_allclose(upper[0] - [10.0, 20.0, 30.0], centre + half_extents, atol=0.02)
    plane = scene.world.shapes.intern(BodyShape(None, Geometry(ShapeKind.PLANE)))
    with pytest.raises(InvalidValueError, match="plane"):
        queries.local_bounds(plane)
    assert scene.client.getNumBodies() == 1


def test_the_handle_is_lazy_too() -> None:
    scene = Scene()
    BulletHandle(scene.mirror)
    assert not scene.client.connected
    assert "fleet_sim.engines.bullet.client" in sys.modules


def test_rendering_can_be_switched_before_there_is_a_window(scene: Scene) -> None:
    BulletHandle(scene.mirror).set_rendering(False)
    with scene.client.quiet():
        BulletHandle(scene.mirror).set_rendering(True)
    assert not scene.client.connected


def test_staging_is_saved_where_nothing_asks(scene: Scene) -> None:
    """With physics at hand, poses are only staged for it while something is dynamic."""
    BulletPhysics(scene.mirror)
    row = scene.spawn([1.0, 0.0, 0.0])
    scene.mirror.begin_step(stage=False)
    assert not scene.mirror.staged.poses(row)[0].any()
    scene.mirror.end_step()
    scene.world.dynamic[row] = True
    scene.mirror.begin_step(stage=False)
    assert scene.mirror.staged.poses(row)[0].all()
    scene.mirror.end_step()
