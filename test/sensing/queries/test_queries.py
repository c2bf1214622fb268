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


# ---- regions ---------------------------------------------------------------------------------------------------------


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
