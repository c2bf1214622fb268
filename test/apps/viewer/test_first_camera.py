# ruff: noqa: E402  the modules of the view need viser, without which there is nothing to test
"""Where a page looks from at the beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams

viser = pytest.importorskip("viser")
from fleet_sim.apps.viewer.bodies import ShownBodies
from fleet_sim.apps.viewer.panel import OWN, colors_of
from fleet_sim.apps.viewer.stage import frame_scene

BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))


@pytest.mark.parametrize("half", [(3.0, 2.0), (20.0, 12.0), (5.0, 40.0)])
@pytest.mark.parametrize("center", [(0.0, 0.0), (30.0, -12.0)])
def test_all_corners_of_a_walled_hall_are_in_the_first_picture(
    make_sim: Callable[..., MultiRobotSimulationCore], half: tuple[float, float], center: tuple[float, float]
) -> None:
    sim = make_sim()
    (x, y), (a, b), height = center, half, 1.8
    for dx, dy, length, width in ((a, 0, 0.1, b), (-a, 0, 0.1, b), (0, b, a, 0.1), (0, -b, a, 0.1)):
        wall = ShapeParams("box", half_extents=(length, width, 0.5 * height))
        sim.spawn(SimObjectSpawnParams(wall, wall, Pose.from_xyz(x + dx, y + dy, 0.5 * height), mass=0.0))
    sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(x, y, 0.1), name="cart"))
    server: Any = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        bodies = ShownBodies(server.scene)
        bodies.show(
            sim.snapshots.request().result(), lambda snapshot, shown: colors_of(snapshot, shown, OWN, collisions=True)
        )
        away = frame_scene(server, bodies)
        eye, target, view = server.initial_camera.position, server.initial_camera.look_at, server.initial_camera.fov
    finally:
        server.stop()
    forward = (np.array(target) - eye) / np.linalg.norm(np.array(target) - eye)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    ends = [(x + u * a, y + v * b, z) for u in (-1, 1) for v in (-1, 1) for z in (0.0, height)]
    corners = np.array(ends) - eye
    # In halves of the height of the picture.
    slope = corners @ forward * np.tan(0.5 * view)
    across, upward = corners @ right / slope, corners @ np.cross(right, forward) / slope
    assert np.abs(upward).max() < 0.97
    assert across.min() > -1.27 and across.max() < 0.77
    # And large: it reaches an edge.
    assert np.abs(upward).max() > 0.8 or across.min() < -1.1 or across.max() > 0.65
    assert away > 2.0
