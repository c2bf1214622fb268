"""What marks the selected robot on a page: a ring around it, its path, and where that ends."""

from __future__ import annotations

import numpy as np
import viser

from fleet_sim.arrays import Floats, Ints
from fleet_sim.viewer.web.bodies import linear_light

RING, GOAL, PATH = (255, 140, 0), (46, 160, 95), (46, 160, 95)
SIDES = 48
SMALLEST = 0.45
"""Inner radius of the ring at least, in m."""
AROUND = 1.1
"""Inner radius of the ring for one of what it is around."""
SEEN = 0.018
"""Inner radius of the ring for one of how far away the eye is, at least: a robot of many is found again."""


class SelectionMarks:
    """Ring, path and goal of one robot, flat on the floor; on the page from the first `show` on."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._ring: viser.BatchedMeshHandle | None = None
        self._goal: viser.MeshHandle | None = None
        self._path: viser.LineSegmentsHandle | None = None

    def show(self, position: Floats, floor: float, lines: Floats, *, radius: float, away: float) -> None:
        """Mark what stands at `position` (3,) on a floor at that height, with `lines` (L, 2, 3) ahead of it.

        It is of a `radius` in m, as seen from above, and the eye is `away` m from it.
        """
        if self._ring is None or self._goal is None:
            self._ring = self._batch_of_one("/own/ring", *_ring(SMALLEST, 1.25 * SMALLEST))
            goal = _ring(0.0, 0.14)
            self._goal = self._scene.add_mesh_simple(
                "/own/goal", *goal, color=GOAL, side="double", cast_shadow=False, receive_shadow=False, visible=False
            )
        # One above the other, so that neither flickers through the other.
        self._ring.batched_positions = _lifted(position, floor, 0.02)[None].astype(np.float32)
        # Whole tenths: what does not change is not sent.
        scale = round(max(1.0, AROUND * radius / SMALLEST, SEEN * away / SMALLEST), 1)
        self._ring.batched_scales = np.array([scale], np.float32)
        self._ring.visible = True
        self._goal.visible = bool(len(lines))
        if len(lines):
            self._goal.position = _lifted(lines[-1, 1], floor, 0.045)
        self._show_path(lines, floor)

    def _batch_of_one(self, name: str, vertices: Floats, faces: Ints) -> viser.BatchedMeshHandle:
        """Return a mesh on the page whose place is that of a batch, as the places of bodies are.

        Pages move a mesh of its own at once, and a batch when they come to it, on a slow machine a second later: the
        ring would be where the robot is going to be.
        """
        return self._scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            np.array([[1.0, 0.0, 0.0, 0.0]]),
            np.zeros((1, 3), np.float32),
            batched_scales=np.ones(1, np.float32),
            batched_colors=linear_light(np.array([RING], np.uint8)),
            lod="off",
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            visible=False,
        )

    def _show_path(self, lines: Floats, floor: float) -> None:
        if not len(lines):
            if self._path is not None:
                self._path.visible = False
            return
        points = np.asarray(lines, np.float32).copy()
        points[..., 2] = floor + 0.04
        if self._path is None:
            self._path = self._scene.add_line_segments("/own/path", points, PATH, thickness=4, thickness_units="screen")
        self._path.points = points
        self._path.visible = True

    def hide(self) -> None:
        """Mark nothing."""
        for mark in (self._ring, self._goal, self._path):
            if mark is not None:
                mark.visible = False


def _lifted(point: Floats, floor: float, lift: float) -> Floats:
    return np.array([point[0], point[1], floor + lift])


def _ring(inner: float, outer: float) -> tuple[Floats, Ints]:
    """Return the vertices (V, 3) and faces (F, 3) of a flat ring around the origin."""
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    circle = np.stack((np.cos(angles), np.sin(angles), 0.0 * angles), axis=1)
    vertices = np.concatenate((inner * circle, outer * circle))
    own = np.arange(SIDES)
    after = (own + 1) % SIDES
    faces = np.concatenate(
        (np.stack((own, own + SIDES, after + SIDES), axis=1), np.stack((own, after + SIDES, after), axis=1))
    )
    return vertices, faces
