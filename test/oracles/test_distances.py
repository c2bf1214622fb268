"""Distances, contacts, rays and regions of bodies, against the library coal and distance functions written here."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import solids_apart as apart
from oracle_rows import holds

import fleet_sim as fs

MARGIN = 1e-3
"""Meshes are 1 mm larger, and edges of what is tilted have a radius of 1 mm: docs/differences.md says so."""


def simulation(**settings: Any) -> fs.MultiRobotSimulationCore:
    params = {"gui": False, "target_rtf": 0, "timestep": 0.05, "enable_floor": False, **settings}
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(**params))
    # Compiled code comes into use with a step.
    sim.step_once()
    return sim


def spawn(sim: fs.MultiRobotSimulationCore, solid: apart.Solid, folder: Path, **settings: Any) -> Any:
    mesh = ""
    if solid.kind == "mesh":
        assert solid.corners is not None
        mesh = apart.write_hull(folder / f"{len(list(folder.iterdir()))}.obj", solid.corners)
    shape = apart.params(solid, mesh)
    return sim.spawn(fs.SimObjectSpawnParams(shape, shape, apart.pose(solid.frame), **settings))


def grown(*solids: apart.Solid) -> float:
    """How much nearer two bodies may be said to be: the margins of meshes."""
    return MARGIN * sum(solid.kind == "mesh" for solid in solids)


def pairs_of_all_kinds(seed: int, upright: bool) -> list[tuple[apart.Solid, apart.Solid]]:
    """Pairs of all kinds, some apart and some within each other."""
    rng = np.random.default_rng(seed)
    out = []
    for first, second in itertools.combinations_with_replacement(apart.KINDS, 2):
        for spread in (0.25, 0.6, 1.4):
            frames = [apart.random_frame(rng, spread, upright) for _ in range(2)]
            out.append((apart.random_solid(rng, first, frames[0]), apart.random_solid(rng, second, frames[1])))
    return out


@pytest.mark.parametrize("upright", [True, False])
@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:SpatialQueries.distance", "api:SpatialQueries.closest", "api:SpatialQueries.closest_points",
    fault="sensing/collision/distances.py: of two cylinders the half heights are subtracted instead of added",
)  # fmt: skip
def test_distances_are_those_of_coal(tmp_path: Path, upright: bool, compiled: str) -> None:
    pytest.importorskip("coal")
    sim = simulation(compiled_code=compiled)
    signs = set()
    for one, other in pairs_of_all_kinds(3, upright):
        true = apart.distance(one, other)
        first, second = spawn(sim, one, tmp_path), spawn(sim, other, tmp_path)
        found = sim.queries.distance(first, second)
        # Overlaps are the shortest way out among directions that are looked at: exact for what is upright and plain.
        close = 1e-6 if upright and not grown(one, other) and true > 0.0 else 2.1 * MARGIN
        # Of some deep overlaps coal knows no depth.
        if true > -10.0:
            assert found == pytest.approx(true - grown(one, other), abs=close), (one.kind, other.kind)
        assert (found > 0.0) == (true - grown(one, other) > 0.0)
        assert sim.queries.distance(second, first) == pytest.approx(found, abs=1e-6)
        near = sim.queries.closest(first, max(found + 0.01, 0.0))
        assert [entity for entity, _ in near if entity is second] == [second]
        assert not any(
            entity is second for entity, _ in sim.queries.closest(first, max(found - 0.01, 0.0)) if found > 0.01
        )
        if true > 0.0:
            (point,) = sim.queries.closest_points(first, second, true + 0.05)
            assert point.distance == pytest.approx(true - grown(one, other), abs=2.1 * MARGIN)
            way = point.point - point.other_point
            assert np.allclose(way, point.distance * point.normal, atol=1e-5)
        signs.add(true > 0.0)
        sim.clear()
    assert signs == {True, False}


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:SpatialQueries.distance", "api:SpatialQueries.overlap_sphere",
    fault="sensing/queries.py: the point is not turned into the frame of the body",
)  # fmt: skip
def test_points_and_spheres_find_what_is_there(tmp_path: Path, compiled: str) -> None:
    pytest.importorskip("coal")
    sim = simulation(compiled_code=compiled)
    rng = np.random.default_rng(4)
    solids = [apart.random_solid(rng, kind, apart.random_frame(rng, 1.5)) for kind in apart.KINDS[:4] for _ in range(4)]
    things = [spawn(sim, solid, tmp_path) for solid in solids]
    points = rng.uniform(-1.8, 1.8, (25, 3))
    true = np.stack([solid.distances(points) for solid in solids], axis=1)
    for point, gaps in zip(points, true, strict=True):
        told = [sim.queries.distance(thing, tuple(point)) for thing in things]
        # Within a body only the sign counts for certain.
        assert np.allclose(np.where(gaps > 0.0, told, np.sign(told)), np.where(gaps > 0.0, gaps, -1.0), atol=1e-9)
        radius = float(np.median(gaps[gaps > 0.0]) + 1e-6)
        near = sim.queries.overlap_sphere(tuple(point), radius)
        assert [thing in near for thing in things] == (gaps <= radius).tolist()
        ranked = sim.queries.closest(tuple(point), radius)
        outside = [things.index(entity) for entity, gap in ranked if gap > 0.0]
        assert outside == [index for index in np.argsort(gaps) if 0.0 < gaps[index] <= radius]
    blob = apart.random_solid(rng, "mesh", apart.random_frame(rng, 0.3))
    hull, shape = spawn(sim, blob, tmp_path), blob.foreign()
    for point in points:
        ball = np.eye(4)
        ball[:3, 3] = point
        # A ball of 1 cm, as coal knows no points.
        gap = apart.apart(apart.Solid("sphere", np.array([0.01]), ball).foreign(), ball, shape, blob.frame)
        found = sim.queries.distance(hull, tuple(point))
        assert found == pytest.approx(gap + 0.01, abs=1e-4) if gap > 0.0 else found < 0.011
        assert (hull in sim.queries.overlap_sphere(tuple(point), 0.3)) == (found <= 0.3)


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:SpatialQueries.overlap_box",
    fault="sensing/collision/bounds.py: the radius of capsules is added to their half height",
)
def test_the_box_around_a_body_ends_where_the_body_ends(compiled: str) -> None:
    sim, rng = simulation(compiled_code=compiled), np.random.default_rng(14)
    made = []
    for index in range(40):
        own, body = apart.random_frame(rng, 0.3), apart.random_frame(rng, 1.5, upright=index % 4 == 1)
        own = np.eye(4) if index % 3 == 0 else own
        solid = apart.random_solid(rng, apart.KINDS[index % 4], body @ own)
        shape = dataclasses.replace(apart.params(solid), frame_pose=apart.pose(own))
        made.append((solid, sim.spawn(fs.SimObjectSpawnParams(shape, shape, apart.pose(body)))))
    # Boxes are made in the step, and again of what has moved.
    sim.step_once()
    for solid, thing in made[::2]:
        shift = rng.normal(size=3)
        solid.frame[:3, 3] += shift
        thing.set_pose(fs.Pose(tuple(np.array(thing.get_pose().position) + shift), thing.get_pose().orientation))
    sim.step_once()
    for (solid, thing), axis, sign in itertools.product(made, range(3), (-1.0, 1.0)):
        end = sign * solid.frame[axis, 3] + support(solid, np.eye(3)[axis])
        for hair in (-1e-9, 1e-9):
            low, high = np.full(3, -20.0), np.full(3, 20.0)
            (low if sign > 0 else high)[axis] = sign * (end + hair)
            assert (thing in sim.queries.overlap_box(tuple(low), tuple(high))) == (hair < 0.0), solid.kind


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:SpatialQueries.distance",
    fault="sensing/collision/distances.py: heights above planes are taken from their other side",
)
def test_bodies_are_above_planes_by_their_support(compiled: str) -> None:
    sim, rng = simulation(compiled_code=compiled), np.random.default_rng(15)
    frame = apart.random_frame(rng, 0.4)
    plane = sim.spawn(fs.SimObjectSpawnParams(None, fs.ShapeParams("plane"), apart.pose(frame), pickable=False))
    for index in range(40):
        solid = apart.random_solid(rng, apart.KINDS[index % 4], apart.random_frame(rng, 1.0, upright=index % 3 == 0))
        shape = apart.params(solid)
        thing = sim.spawn(fs.SimObjectSpawnParams(shape, shape, apart.pose(solid.frame)))
        height = (solid.frame[:3, 3] - frame[:3, 3]) @ frame[:3, 2]
        for told in (sim.queries.distance(plane, thing), sim.queries.distance(thing, plane)):
            assert told == pytest.approx(height - support(solid, frame[:3, 2]), abs=1e-9), solid.kind


@pytest.mark.parametrize("spread", [0.45, 1.1])
@holds(
    "api:SpatialQueries.distance", "api:SpatialQueries.closest_points",
    fault="sensing/collision/convex.py: the nearest edge of a triangle is the first one",
)  # fmt: skip
def test_bodies_of_a_heap_are_as_far_apart_as_coal_says(tmp_path: Path, spread: float) -> None:
    pytest.importorskip("coal")
    sim, rng = simulation(compiled_code="always"), np.random.default_rng(int(10 * spread))
    solids = [
        apart.random_solid(rng, apart.KINDS[index % 5], apart.random_frame(rng, spread, upright=index % 7 == 0))
        for index in range(35)
    ]
    things = [spawn(sim, solid, tmp_path) for solid in solids]
    shapes, deep = [solid.foreign() for solid in solids], 0
    for i, j in itertools.combinations(range(len(solids)), 2):
        true = apart.apart(shapes[i], solids[i].frame, shapes[j], solids[j].frame)
        wanted = true - grown(solids[i], solids[j])
        found = sim.queries.distance(things[i], things[j])
        (point,) = sim.queries.closest_points(things[i], things[j], max(wanted, 0.0) + 0.05)
        # Both points are on the bodies, and the normal goes from the other one to the first.
        assert np.allclose(point.point - point.other_point, point.distance * point.normal, atol=1e-5)
        for solid, place in ((solids[i], point.point), (solids[j], point.other_point)):
            if solid.kind != "mesh":
                assert abs(solid.distances(place[None])[0]) < 2.1 * MARGIN
        if wanted > 0.0:
            assert found == pytest.approx(wanted, abs=2.1 * MARGIN), (solids[i].kind, solids[j].kind)
            assert point.distance == pytest.approx(wanted, abs=2.1 * MARGIN)
            continue
        deep += 1
        # The way out is no longer than that which coal knows, which is not always the shortest, and leads out.
        assert true < -10.0 or min(found, point.distance) > wanted - 2.1 * MARGIN
        assert abs(found - point.distance) < 2.1 * MARGIN
        out = solids[i].frame.copy()
        out[:3, 3] -= point.distance * point.normal
        assert abs(apart.apart(shapes[i], out, shapes[j], solids[j].frame)) < 3.1 * MARGIN
    assert deep > 40


def support(solid: apart.Solid, direction: np.ndarray) -> float:
    """Return how far a body reaches from its centre in a direction."""
    local = solid.frame[:3, :3].T @ direction
    if solid.kind == "box":
        return float(np.abs(local) @ solid.sizes)
    if solid.kind == "sphere":
        return float(solid.sizes[0])
    if solid.kind == "cylinder":
        return float(np.hypot(local[0], local[1]) * solid.sizes[0] + abs(local[2]) * solid.sizes[1])
    return float(abs(local[2]) * solid.sizes[1] + solid.sizes[0])


@pytest.mark.parametrize("compiled", ["never", "always"])
@holds(
    "api:SpatialQueries.ray_cast", "api:RayHits.distances", "api:RayHits.normals",
    fault="sensing/sensors/rays.py: of a cylinder the cap is met at half its height",
)  # fmt: skip
def test_rays_end_where_they_meet_the_first_body(tmp_path: Path, compiled: str) -> None:
    sim = simulation(compiled_code=compiled)
    rng = np.random.default_rng(5)
    solids = [apart.random_solid(rng, kind, apart.random_frame(rng, 1.6)) for kind in apart.KINDS[:4] for _ in range(3)]
    things = [spawn(sim, solid, tmp_path) for solid in solids]
    starts = rng.uniform(-2.5, 2.5, (1500, 3))
    ways = rng.normal(size=(1500, 3)) * 0.4 - starts
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    hits = sim.queries.ray_cast(starts, starts + 3.0 * ways)
    ranges, which = apart.march(solids, starts, ways, 3.0)
    # Grazing rays are decided by rounding.
    safe = np.ones(len(starts), bool)
    for solid in solids:
        middle = apart.Solid(solid.kind, solid.sizes + 1e-4, solid.frame)
        around, _ = apart.march([middle], starts, ways, 3.0)
        exact, _ = apart.march([solid], starts, ways, 3.0)
        safe &= np.isfinite(around) == np.isfinite(exact)
    assert safe.mean() > 0.97 and 300 < np.isfinite(ranges).sum() < 1450
    assert np.allclose(hits.distances[safe], ranges[safe], atol=1e-7)
    ids = np.array([thing.object_id for thing in things])
    assert (hits.object_ids[safe] == np.where(which >= 0, ids[which], -1)[safe]).all()
    for ray in np.flatnonzero(safe & (which >= 0))[::9]:
        solid, point = solids[which[ray]], hits.points[ray]
        slope = np.array(
            [np.diff(solid.distances(point + 1e-6 * axis * [[-1.0], [1.0]]))[0] / 2e-6 for axis in np.eye(3)]
        )
        if abs(np.linalg.norm(slope) - 1.0) < 1e-3:
            assert hits.normals[ray] @ slope > 1.0 - 1e-4


@pytest.mark.parametrize(("kind", "sizes"), [("box", (0.21, 0.34, 0.13)), ("cylinder", (0.21, 0.37))])
@holds("api:SpatialQueries.distance", fault="sensing/collision/pieces.py: cylinders of MJCF are half as high")
def test_shapes_of_mjcf_are_as_large_as_they_say(tmp_path: Path, kind: str, sizes: tuple[float, ...]) -> None:
    path, sim, rng = tmp_path / "robot.xml", simulation(), np.random.default_rng(3)
    frame, half = apart.random_frame(rng, 1.5), np.array([*sizes[:1], *sizes])[-3:]
    # With another one far away, so that it is a robot of several shapes.
    geom = f'<geom type="{kind}" size="{" ".join(map(str, sizes))}"/><geom type="sphere" size="0.1" pos="0 0 -9"/>'
    path.write_text(f'<mujoco><worldbody><body name="b">{geom}</body></worldbody></mujoco>')
    robot = sim.spawn(fs.AgentSpawnParams(urdf_path=str(path), initial_pose=apart.pose(frame)))
    for axis, sign in itertools.product(range(3), (-1.0, 1.0)):
        # Over the middle of each side, a little off it.
        place = np.array([0.03, -0.02, 0.04])
        place[axis] = sign * (half[axis] + 0.3)
        cube, at = fs.ShapeParams("box", half_extents=(0.07,) * 3), frame.copy()
        at[:3, 3] += frame[:3, :3] @ place
        other = sim.spawn(fs.SimObjectSpawnParams(cube, cube, apart.pose(at)))
        assert sim.queries.distance(robot, other) == pytest.approx(0.23, abs=1e-4)


@holds("api:SpatialQueries.ray_cast", fault="sensing/sensors/rays.py: what is less than 2 cm away is not met")
def test_rays_meet_the_sides_of_meshes_also_from_close_by(tmp_path: Path) -> None:
    sim, half = simulation(), np.array([0.3, 0.2, 0.1])
    corners = np.array(list(itertools.product(*zip(-half, half, strict=True))))
    frame = apart.random_frame(np.random.default_rng(4), 1.5)
    # Triangles of three corners each: with one of them twice all eight are there.
    spawn(sim, apart.Solid("mesh", half, frame, np.concatenate((corners, corners[:1]))), tmp_path)
    for axis, sign, gap in itertools.product(range(3), (-1.0, 1.0), (0.008, 0.7)):
        place, way = np.array([0.05, -0.07, 0.03]), np.zeros(3)
        place[axis], way[axis] = sign * (half[axis] + gap), -sign
        start = frame[:3, :3] @ place + frame[:3, 3]
        (found,) = sim.queries.ray_cast(start[None], (start + 2.0 * frame[:3, :3] @ way)[None]).distances
        assert found == pytest.approx(gap, abs=1.1 * MARGIN)
