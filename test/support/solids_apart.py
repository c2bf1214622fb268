"""Solid bodies as distance functions, and rays that march along them: shares nothing with the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import rigid

import fleet_sim as fs

KINDS = ("box", "sphere", "cylinder", "capsule", "mesh")


@dataclass
class Solid:
    """A body of one kind: `sizes` are half extents, or radius and half height; a mesh has `corners` (C, 3)."""

    kind: str
    sizes: np.ndarray
    frame: np.ndarray
    corners: np.ndarray | None = None

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Return signed distances (N,) of points in the world; those of meshes need no distance function."""
        local = (points - self.frame[:3, 3]) @ self.frame[:3, :3]
        if self.kind == "sphere":
            return np.asarray(np.linalg.norm(local, axis=1) - self.sizes[0])
        if self.kind == "capsule":
            along = np.clip(local[:, 2], -self.sizes[1], self.sizes[1])
            return np.asarray(np.linalg.norm(local - along[:, None] * [0.0, 0.0, 1.0], axis=1) - self.sizes[0])
        if self.kind == "cylinder":
            flat = np.hypot(local[:, 0], local[:, 1]) - self.sizes[0]
            out = np.stack((flat, np.abs(local[:, 2]) - self.sizes[1]), axis=1)
        else:
            assert self.kind == "box", self.kind
            out = np.abs(local) - self.sizes
        return np.asarray(np.linalg.norm(np.maximum(out, 0.0), axis=1) + np.minimum(out.max(axis=1), 0.0))

    def foreign(self) -> Any:
        """Return the shape of the library coal."""
        import coal

        if self.kind == "box":
            return coal.Box(*(2.0 * self.sizes))
        if self.kind == "sphere":
            return coal.Sphere(self.sizes[0])
        if self.kind in ("cylinder", "capsule"):
            return getattr(coal, self.kind.capitalize())(self.sizes[0], 2.0 * self.sizes[1])
        assert self.corners is not None
        points = coal.StdVec_Vec3s()
        points.extend(list(self.corners))
        return coal.Convex.convexHull(points, False, "")


def apart(first: Any, at: np.ndarray, second: Any, other: np.ndarray) -> float:
    """Return the signed distance of two shapes of coal."""
    import coal

    ask, told = coal.DistanceRequest(), coal.DistanceResult()
    ask.enable_signed_distance = True
    ask.gjk_tolerance, ask.epa_tolerance = 1e-9, 1e-8
    frames = [coal.Transform3s(frame[:3, :3], frame[:3, 3]) for frame in (at, other)]
    return float(coal.distance(first, frames[0], second, frames[1], ask, told))


def distance(one: Solid, other: Solid) -> float:
    return apart(one.foreign(), one.frame, other.foreign(), other.frame)


def params(solid: Solid, mesh: str = "") -> fs.ShapeParams:
    """Return the shape for an entity; that of a mesh is in the file `mesh`."""
    if solid.kind == "box":
        return fs.ShapeParams("box", half_extents=tuple(solid.sizes))
    if solid.kind == "sphere":
        return fs.ShapeParams("sphere", radius=solid.sizes[0])
    if solid.kind == "mesh":
        return fs.ShapeParams("mesh", mesh_path=mesh)
    return fs.ShapeParams(solid.kind, radius=solid.sizes[0], height=2.0 * solid.sizes[1])


def pose(frame: np.ndarray) -> fs.Pose:
    """Return the pose of a frame."""
    matrix = frame[:3, :3]
    # The eigenvector of the symmetric matrix of quaternions: no case has to be told apart.
    (a, b, c), (d, e, f), (g, h, i) = matrix
    square = [[a - e - i, d + b, g + c, h - f], [d + b, e - a - i, h + f, c - g]]
    square += [[g + c, h + f, i - a - e, d - b], [h - f, c - g, d - b, a + e + i]]
    values, vectors = np.linalg.eigh(np.array(square))
    return fs.Pose(tuple(frame[:3, 3]), tuple(vectors[:, np.argmax(values)]))


def random_frame(rng: np.random.Generator, spread: float, upright: bool = False) -> np.ndarray:
    frame = np.eye(4)
    vector = rng.normal(size=3)
    vector *= rng.uniform(0.2, 3.0) / np.linalg.norm(vector)
    frame[:3, :3] = rigid.turn([0.0, 0.0, vector[2]] if upright else vector)
    frame[:3, 3] = rng.uniform(-spread, spread, 3)
    return frame


def random_solid(rng: np.random.Generator, kind: str, frame: np.ndarray) -> Solid:
    """Return a body of unequal sizes between 0.1 and 0.5 m."""
    sizes = rng.uniform(0.1, 0.5, {"box": 3, "sphere": 1, "mesh": 1}.get(kind, 2))
    corners = rng.normal(size=(30, 3)) * [0.17, 0.23, 0.3] if kind == "mesh" else None
    return Solid(kind, sizes, frame, corners)


def write_hull(path: Any, corners: np.ndarray) -> str:
    """Write a mesh file of triangles between corners; its convex hull is that of the corners."""
    lines = ["v {:.17g} {:.17g} {:.17g}".format(*corner) for corner in corners]
    lines += [f"f {a + 1} {a + 2} {a + 3}" for a in range(0, len(corners) - 2, 3)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def march(solids: Sequence[Solid], starts: np.ndarray, ways: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how far rays (N, 3), (N, 3) of length 1 go until they meet a solid, infinite beyond `reach`, and which.

    Bodies around the start of a ray are left out, as is said of sensors.
    """
    ranges, which = np.full(len(starts), np.inf), np.full(len(starts), -1)
    for index, solid in enumerate(solids):
        gone = np.zeros(len(starts))
        live = np.flatnonzero(solid.distances(starts) > 0.0)
        # A ray that grazes a face comes nearer by its slope: 23 / slope steps to 1e-10.
        for _ in range(5000):
            gaps = solid.distances(starts[live] + gone[live, None] * ways[live])
            gone[live] += gaps
            # What is farther than the whole body and leaves is no hit.
            live = live[(gaps > 1e-10) & (gone[live] < np.minimum(ranges[live], reach) + 1e-9)]
            if not len(live):
                break
        near = solid.distances(starts + gone[:, None] * ways) <= 1e-10
        near &= (solid.distances(starts) > 0.0) & (gone < ranges) & (gone <= reach)
        ranges[near], which[near] = gone[near], index
    return ranges, which


def through_triangles(corners: np.ndarray, starts: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return how far rays (N, 3), (N, 3) go to the first of triangles (T, 3, 3), by Moeller and Trumbore."""
    first, one, two = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(ways[:, None], two[None])
    volume = np.einsum("tk,ntk->nt", one, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = starts[:, None] - first
        u = np.einsum("ntk,ntk->nt", out, across) / volume
        turned = np.cross(out, one[None])
        v = np.einsum("nk,ntk->nt", ways, turned) / volume
        t = np.einsum("tk,ntk->nt", two, turned) / volume
    hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0) & np.isfinite(t)
    return np.asarray(np.where(hit, t, np.inf).min(axis=1))


def scene(
    compiled: str, dt: float, at: fs.Pose, *, kinds: tuple[str, ...] = KINDS[:4], seed: int = 2, **settings: Any
) -> tuple[Any, fs.Agent, list[Solid], list[int]]:
    """A robot among tilted and upright bodies around it, with one of its own that no sensor of it may see."""
    given = {"gui": False, "target_rtf": 0, "timestep": dt, "compiled_code": compiled, "enable_floor": False}
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(**given, **settings))
    rng = np.random.default_rng(seed)
    hull = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.5))
    robot = sim.spawn(fs.AgentSpawnParams(hull, hull, at, name="eye", motion_mode="omnidirectional"))
    solids, ids = [], []
    for index in range(14):
        frame = random_frame(rng, 0.2, upright=index % 3 == 0)
        angle = 2.0 * math.pi * (index + rng.uniform()) / 14
        away = rng.uniform(1.3, 3.2)
        frame[:3, 3] += [0.4 + away * math.cos(angle), -0.3 + away * math.sin(angle), 0.9 + 0.2 * rng.normal()]
        solid = random_solid(rng, kinds[index % len(kinds)], frame)
        shape = params(solid)
        ids.append(sim.spawn(fs.SimObjectSpawnParams(shape, shape, pose(frame))).object_id)
        solids.append(solid)
    sim.step_once()
    return sim, robot, solids, ids
