"""Rays in all directions: they end at the nearest thing, as PyBullet's do."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hall import hall_file
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.sensing.sensors.rays import Met, cast_rays

Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]
KINDS = ("box", "sphere", "cylinder", "capsule", "mesh")


def scene(sim: Sim, folder: Path, *, kinds: tuple[str, ...] = KINDS, turned: float = 3.0, count: int = 40) -> list[Any]:
    """Shapes on a lattice, so that some are in line, some touch, and some are one in another."""
    rng = np.random.default_rng(11)
    made = []
    for number in range(count):
        form = shape_of(
            kinds[number % len(kinds)],
            mesh_path=hall_file(folder),
            mesh_scale=(0.1, 0.15, 0.5),
            half_extents=tuple(rng.choice([0.25, 0.5, 0.7], 3)),
            radius=float(rng.choice([0.25, 0.5])),
            height=float(rng.choice([0.5, 1.0])),
        )
        place, turn = np.round(rng.uniform(-5, 5, 3)), rng.uniform(-turned, turned, 3)
        pose = fs.Pose.from_euler(*place, *turn)
        made.append(sim.spawn(fs.SimObjectSpawnParams(form, form, pose, name=f"{form.shape_type}_{number}")))
    return made


def furnish(sim: Sim, folder: Path) -> None:
    """Put two concave halls into a scene, which share triangles, a wall without an end, and a robot with links."""
    walls = fs.ShapeParams("mesh", mesh_path=hall_file(folder, 3), concave=True)
    for pose in (fs.Pose.from_euler(0, 0, 0, 0.2, 0.1, 0.3), fs.Pose.from_xyz(1, 1, 1)):
        sim.spawn(fs.SimObjectSpawnParams(walls, walls, pose, pickable=False))
    plane = fs.ShapeParams("plane")
    sim.spawn(fs.SimObjectSpawnParams(plane, plane, fs.Pose.from_euler(0, 9, 0, 1.2, 0, 0), pickable=False))
    sim.spawn(fs.AgentSpawnParams(urdf_path="arm_robot", initial_pose=fs.Pose.from_xyz(0, 0, 3)))


def awkward_rays(count: int) -> tuple[Floats, Floats]:
    """Rays from corners, centres and surfaces, many along axes, diagonals and sides of boxes that are not turned."""
    rng = np.random.default_rng(5)
    origins = rng.uniform(-7, 7, (count, 3))
    on_lattice = rng.random(count) < 0.6
    origins[on_lattice] = np.round(origins[on_lattice] * 4.0) / 4.0
    ways = rng.normal(size=(count, 3))
    straight = rng.random(count) < 0.6
    ways[straight] = rng.integers(-1, 2, (int(straight.sum()), 3))
    ways[(ways == 0.0).all(axis=1)] = (-0.0, 0.0, -1.0)
    return origins, ways / np.sqrt((ways * ways).sum(axis=1))[:, None]


def cast(sim: Sim, origins: Floats, ways: Floats, *, own: Ints | None = None, reach: float = 12.0, **how: Any) -> Met:
    rows = np.full(len(origins), -1) if own is None else own
    return cast_rays(sim.world, origins, ways, np.full(len(origins), reach), rows, floor=True, **how)


def bits(met: Met) -> tuple[bytes, ...]:
    return tuple(values.tobytes() for values in (met.ranges, met.rows, met.links, met.normals))


def test_rays_end_at_the_same_bits_in_compiled_code_and_alone(sim: Sim, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    scene(sim, tmp_path, turned=3.0)
    furnish(sim, tmp_path)
    origins, ways = awkward_rays(900)
    own = np.random.default_rng(0).integers(-1, 46, len(origins))
    sim.world.may_compile = False
    for reach in (12.0, 0.7, math.inf):
        sim.world.compiled = False
        expected = cast(sim, origins, ways, own=own, reach=reach)
        assert np.isfinite(expected.ranges).mean() > (0.04 if reach < 1.0 else 0.5)
        alone = cast(sim, origins[[7]], ways[[7]], own=own[[7]], reach=reach)
        assert bits(alone) == tuple(
            values[[7]].tobytes() for values in (expected.ranges, expected.rows, expected.links, expected.normals)
        )
        sim.world.compiled = True
        assert bits(cast(sim, origins, ways, own=own, reach=reach)) == bits(expected)
    assert len(set(expected.rows.tolist())) > 20


def test_rays_end_on_walls_and_the_floor_as_those_of_pybullet_to_a_tenth_of_a_millimetre(
    make_sim: Maker, tmp_path: Path
) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(enable_floor=True)
    furnish(sim, tmp_path)
    sim.remove_object(sim.agents[0])
    origins, ways = awkward_rays(4000)
    # From below PyBullet does not see its floor.
    origins, ways = origins[origins[:, 2] > 0.01], ways[origins[:, 2] > 0.01]
    ends = origins + 12.0 * ways
    found = sim.bullet.rayTestBatch(origins.tolist(), ends.tolist())
    theirs = np.array([12.0 * hit[2] if hit[0] >= 0 else math.inf for hit in found])
    ours = sim.queries.ray_cast(origins, ends).distances
    same_mask = (np.abs(np.where(np.isfinite(ours), ours, -1.0) - np.where(np.isfinite(theirs), theirs, -1.0))) < 1e-4
    # Rays that end on a surface or go along it.
    assert (~same_mask).sum() <= 4
    assert np.isfinite(theirs).sum() > 800


def test_rays_without_pybullet(sim: Sim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pybullet", None)
    ball = fs.ShapeParams("sphere", radius=0.5)
    sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(3, 0, 1)))
    carrier = sim.spawn(fs.AgentSpawnParams(ball, ball, fs.Pose.from_xyz(0, 0, 1)))
    layers = sim.add_sensor("lidar_3d", carrier, rays=4, layers=3, elevation_min=-0.7, elevation_max=0.7, range_max=9.0)
    assert layers.read().ranges[:, 2] == pytest.approx([1.0 / math.sin(0.7), 2.5, math.inf])
    cone = sim.add_sensor("range", carrier, shape="cone", rays=1)
    assert cone.read().range == pytest.approx(2.5)
    tilted = sim.add_sensor("lidar", carrier, pose=fs.Pose.from_euler(0, 0, 0, 0, 0.5, 0), rays=4, labels=True)
    scan = tilted.read()
    assert scan.ranges[2] == pytest.approx(1.0 / math.sin(0.5))
    assert (scan.labels == -1).all()
