"""Rays, distances and regions: as PyBullet answers them, and without it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hall import hall_file
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.base.arrays import Floats

Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]
KINDS = ("box", "sphere", "cylinder", "capsule", "mesh")


@pytest.fixture
def sim(make_sim: Maker) -> Sim:
    return make_sim(enable_floor=False)


def shape(kind: str, rng: Any, folder: Path) -> fs.ShapeParams:
    return shape_of(
        kind,
        mesh_path=hall_file(folder),
        mesh_scale=(0.1, 0.15, 0.5),
        half_extents=tuple(rng.uniform(0.2, 0.6, 3)),
        radius=rng.uniform(0.2, 0.5),
        height=rng.uniform(0.3, 1.0),
    )


def zoo(sim: Sim, folder: Path, count: int = 30, tilt: float = 3.0) -> list[Any]:
    """Things of all kinds in all orientations, a robot with links, and a hall around them."""
    rng = np.random.default_rng(7)
    made = []
    for number in range(count):
        form = shape(KINDS[number % 5], rng, folder)
        place, turn = rng.uniform(-4, 4, 3), (*rng.uniform(-tilt, tilt, 2), rng.uniform(-3, 3))
        params = fs.SimObjectSpawnParams(
            form, form, fs.Pose.from_euler(*place, *turn), name=f"{form.shape_type}_{number}"
        )
        made.append(sim.spawn(params))
    made.append(
        sim.spawn(fs.AgentSpawnParams(urdf_path="arm_robot", name="arm", initial_pose=fs.Pose.from_xyz(0, 0, 3)))
    )
    box = fs.SimObject.from_mesh(
        hall_file(folder), fs.Pose.from_euler(0, 0, 0, 0.2, 0.1, 0.3), sim_core=sim, concave=True, name="hall",
        mesh_scale=(1.2, 1.9, 5.5),
    )  # fmt: skip
    return [*made, box]


def rays(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    return rng.uniform(-6, 6, (count, 3)), rng.uniform(-6, 6, (count, 3))


# ---- rays ------------------------------------------------------------------------------------------------------------


def test_rays_meet_what_rays_of_pybullet_meet(sim: Sim, tmp_path: Path) -> None:
    zoo(sim, tmp_path)
    starts, ends = rays(3000)
    hits = sim.queries.ray_cast(starts, ends)
    found = sim.bullet.rayTestBatch(starts.tolist(), ends.tolist())
    lengths = np.sqrt(((ends - starts) ** 2).sum(axis=1))
    # In spheres and capsules rays of PyBullet end at once, wherever they begin.
    begun_inside = np.array([hit[2] == 0.0 for hit in found])
    expected = np.array(
        [hit[2] * length if hit[0] >= 0 else math.inf for hit, length in zip(found, lengths, strict=True)]
    )
    same = np.isclose(hits.distances, expected, atol=0.01) | (np.isinf(expected) & np.isinf(hits.distances))
    # Rays that graze an edge, which the engine sees in 32 bits.
    wrong = np.flatnonzero(~same & ~begun_inside)
    assert len(wrong) <= 15, [(hits.entities[k], hits.distances[k], expected[k]) for k in wrong]
    met = np.flatnonzero(same & np.isfinite(expected))
    assert len(met) > 800
    by_body = {obj.body_id: obj for obj in sim.sim_objects}
    entities = hits.entities
    assert sum(by_body[found[k][0]] is not entities[k] for k in met) <= 3
    assert all(found[k][1] == hits.links[k] for k in met if entities[k] is by_body[found[k][0]])
    np.testing.assert_allclose(hits.points[met], np.array([found[k][3] for k in met]), atol=0.012)
    turned = np.abs((hits.normals[met] * np.array([found[k][4] for k in met])).sum(axis=1) - 1.0)
    assert np.quantile(turned, 0.97) < 0.01


def test_a_ray_of_one_point_each_the_floor_and_nothing(make_sim: Maker) -> None:
    sim = make_sim()
    ball = fs.ShapeParams("sphere", radius=0.5)
    thing = sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(3, 0, 2)))
    hits = sim.queries.ray_cast((0, 0, 2), [(5, 0, 2), (0, 0, -3), (0, 5, 2)])
    np.testing.assert_allclose(hits.distances, [2.5, 2.0, math.inf])
    assert hits.entities == [thing, None, None]
    assert hits.hit_mask.tolist() == [True, True, False]
    assert hits.object_ids.tolist() == [0, -1, -1]
    np.testing.assert_allclose(hits.normals[:2], [[-1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(hits.points[0], [2.5, 0, 2])
    assert np.isnan(hits.points[2]).all()
    assert not sim.queries.ray_cast((0, 0, 2), (0, 0, -3), floor=False).hit_mask.any()
    assert not sim.queries.ray_cast((0, 0, 2), (5, 0, 2), ignore=thing).hit_mask.any()
    assert not sim.queries.ray_cast((0, 0, 2), (5, 0, 2), kinds="agents").hit_mask.any()


def test_columns_answer_without_pybullet(monkeypatch: pytest.MonkeyPatch, sim: Sim, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    made = zoo(sim, tmp_path, tilt=0.0)
    starts, ends = rays(50)
    assert sim.queries.ray_cast(starts, ends).hit_mask.any()
    assert sim.queries.overlap_box((-4, -4, -4), (4, 4, 4))
    assert sim.queries.overlap_sphere((0, 0, 0), 3.0)
    assert sim.queries.closest((0, 0, 0), 20.0)
    assert math.isfinite(sim.queries.distance(made[0], made[1]))
    arm, hall = made[-2:]
    assert all(math.isfinite(sim.queries.distance(one, other)) for one in made[:5] for other in (arm, hall))


# ---- distances -------------------------------------------------------------------------------------------------------


def test_distances_of_points_are_those_of_a_tiny_ball(sim: Sim, tmp_path: Path) -> None:
    made = zoo(sim, tmp_path)
    probe = sim.bullet.createMultiBody(0, sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.001))
    for point in rays(40)[0]:
        sim.bullet.resetBasePositionAndOrientation(probe, point.tolist(), [0, 0, 0, 1])
        for thing in made[-7:]:
            found = sim.queries.distance(thing, point)
            expected = min(hit[8] for hit in sim.bullet.getClosestPoints(probe, thing.body_id, 100.0)) + 0.001
            if expected > 0.01:
                assert found == pytest.approx(expected, abs=5e-3), (thing, point)
            assert sim.queries.distance(point, thing) == found


def test_the_closest_come_first(sim: Sim) -> None:
    box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
    things = [sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose.from_xyz(x, 0, 0))) for x in (5, 2, -2, 9, 0)]
    robot = sim.spawn(fs.AgentSpawnParams(box, box, fs.Pose.from_xyz(0, 3, 0)))
    found = sim.queries.closest(things[4], 5.0)
    assert [near.entity for near in found] == [things[1], things[2], robot, things[0]]
    np.testing.assert_allclose([near.distance for near in found], [1.0, 1.0, 2.0, 4.0])
    assert [near.entity for near in sim.queries.closest((0, 1.5, 0), 1.2)] == [things[4], robot]
    assert sim.queries.closest(things[4], 5.0, kinds="agents") == [(robot, 2.0)]
    assert sim.queries.closest(things[4], 3.0, ignore=[robot, things[1]]) == [(things[2], 1.0)]
    assert sim.queries.distance(things[4], (0, 0, 0)) == pytest.approx(-0.5)


# ---- regions ---------------------------------------------------------------------------------------------------------


def test_spheres_find_what_is_near_enough_in_order_of_spawning(sim: Sim, tmp_path: Path) -> None:
    made = zoo(sim, tmp_path)
    for point in rays(10)[0]:
        found = sim.queries.overlap_sphere(point, 2.0)
        assert found == [thing for thing in made if sim.queries.distance(thing, point) <= 2.0]


def test_wrong_questions_are_refused(sim: Sim, make_sim: Maker) -> None:
    ball = fs.ShapeParams("sphere")
    thing, other = (where.spawn(fs.SimObjectSpawnParams(ball, ball)) for where in (sim, make_sim()))
    with pytest.raises(fs.InvalidValueError, match="ray 1 has no length"):
        sim.queries.ray_cast([(0, 0, 1), (0, 0, 0)], (0, 0, 0))
    with pytest.raises(fs.InvalidValueError, match="starts"):
        sim.queries.ray_cast((0, 0, math.nan), (0, 0, 0))
    with pytest.raises(fs.InvalidValueError, match=r"starts: expected numbers of shape \(N, 3\)"):
        sim.queries.ray_cast((0, 0), (1, 1))
    with pytest.raises(fs.InvalidValueError, match="ends: expected as many as starts, 2, or one point, got 3"):
        sim.queries.ray_cast([(0, 0, 1)] * 2, [(0, 0, 0)] * 3)
    with pytest.raises(fs.InvalidValueError, match="kinds: expected one of all, agents, objects, got 'walls'"):
        sim.queries.overlap_box((0, 0, 0), (1, 1, 1), kinds="walls")  # type: ignore[arg-type]
    with pytest.raises(fs.InvalidValueError, match="lower: must be at most upper"):
        sim.queries.overlap_box((0, 0, 2), (1, 1, 1))
    with pytest.raises(fs.InvalidValueError, match="expected an entity of this simulation"):
        sim.queries.distance(thing, other)
    with pytest.raises(fs.InvalidValueError, match="one of the two must be an entity"):
        sim.queries.distance((0, 0, 0), (1, 1, 1))
    with pytest.raises(fs.InvalidValueError, match="max_distance"):
        sim.queries.closest(thing, -1.0)
