"""Distances of convex pieces and surfaces: those of PyBullet, compiled and in Python, and never a contact missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.distances import contact_pairs, distances_between
from fleet_sim.world.shapes import Geometry, half_extents_of

Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]
URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link></robot>"""
PART = '<collision><origin xyz="{} 0 0" rpy="0.3 0.2 0.1"/><geometry>{}</geometry></collision>'
EXACT = 1e-4


def mesh_file(folder: Path, name: str, points: Any, faces: Any) -> str:
    lines = ["v {:.9g} {:.9g} {:.9g}".format(*point) for point in points]
    lines += ["f {} {} {}".format(*(corner + 1 for corner in face)) for face in faces]
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


def forms(folder: Path) -> dict[str, Any]:
    """What can collide, each as params: plain shapes, robots with links, hulls round, flat and thin, a surface."""
    rng = np.random.default_rng(3)
    blob = rng.normal(size=(150, 3)) * [0.3, 0.2, 0.4]
    faces = np.arange(150).reshape(-1, 3)
    hills = [(0.3 * x, 0.3 * y, 0.2 * math.sin(2.0 * x + y)) for y in range(5) for x in range(5)]
    grid = [(5 * y + x, 5 * y + x + 1, 5 * y + x + 6) for y in range(4) for x in range(4)]
    grid += [(5 * y + x, 5 * y + x + 6, 5 * y + x + 5) for y in range(4) for x in range(4)]
    mesh = mesh_file(folder, "blob.obj", blob, faces)
    flat = mesh_file(folder, "flat.obj", [(0, 0, 0), (0.6, 0, 0), (0.5, 0.4, 0), (0, 0.5, 0)], [(0, 1, 2), (0, 2, 3)])
    surface = mesh_file(folder, "hills.obj", hills, grid)
    parts = ('<box size="0.4 0.3 0.2"/>', '<cylinder radius="0.2" length="0.5"/>', '<sphere radius="0.2"/>')
    parts += ('<capsule radius="0.1" length="0.4"/>', f'<mesh filename="{mesh}" scale="0.5 0.6 0.7"/>')
    (folder / "parts.urdf").write_text(URDF.format("".join(PART.format(0.5 * k, part) for k, part in enumerate(parts))))
    (folder / "cylinder.urdf").write_text(URDF.format(PART.format(0, parts[1])))
    plain = {
        "box": fs.ShapeParams("box", half_extents=(0.5, 0.3, 0.2)),
        "plate": fs.ShapeParams("box", half_extents=(0.6, 0.4, 0.0004)),
        "sphere": fs.ShapeParams("sphere", radius=0.3),
        "cylinder": fs.ShapeParams("cylinder", radius=0.3, height=0.8),
        "capsule": fs.ShapeParams("capsule", radius=0.2, height=0.6),
        "hull": fs.ShapeParams("mesh", mesh_path=mesh),
        "flat": fs.ShapeParams("mesh", mesh_path=flat),
        "surface": fs.ShapeParams("mesh", mesh_path=surface, concave=True),
    }
    made: dict[str, Any] = {
        name: fs.SimObjectSpawnParams(shape, shape, pickable=False) for name, shape in plain.items()
    }
    for name in ("parts", "cylinder"):
        urdf = str(folder / f"{name}.urdf")
        made[f"{name}.urdf"] = fs.AgentSpawnParams(urdf_path=urdf, use_fixed_base=True)
    made["arm"] = fs.AgentSpawnParams(urdf_path="arm_robot", use_fixed_base=True)
    return made


def turn(rng: Any) -> Any:
    quaternion = rng.normal(size=4)
    return quaternion / np.sqrt((quaternion**2).sum())


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sim, dict[str, list[Any]]]]:
    """Two of each form."""
    sim = Sim(fs.SimulationParams(gui=False, enable_floor=False))
    made = forms(tmp_path_factory.mktemp("forms"))
    yield sim, {name: [sim.spawn(params), sim.spawn(params)] for name, params in made.items()}
    sim.close()


def check(sim: Sim, one: Any, other: Any, limit: float = 1.0, exact: float = EXACT) -> float:
    """Compare all that is said of two entities with PyBullet; return their distance, infinite above the limit."""
    found = sim.queries.closest_points(one, other, limit)
    told = sim.bullet.getClosestPoints(one.body_id, other.body_id, limit)
    mine = min((point.distance for point in found), default=math.inf)
    theirs = min((point[8] for point in told), default=math.inf)
    pairs = np.array([[one.row, other.row]])
    # A contact is seen wherever PyBullet sees one, but for rounding at the limit itself.
    if min(mine, theirs) < limit - exact:
        assert mine <= theirs + exact and mine >= theirs - exact, (one.name, other.name, mine, theirs)
    assert sim.exact.distances(pairs, limit)[0] == mine
    assert (sim.exact.reaching(pairs, limit)[0] <= limit) == (mine <= limit)
    for point in found:
        assert math.isclose(float(point.normal @ point.normal), 1.0, rel_tol=1e-9)
        np.testing.assert_allclose(point.point - point.other_point, point.distance * point.normal, atol=2e-6)
    return mine


def test_distances_are_those_of_pybullet(zoo: Any) -> None:
    sim, made = zoo
    rng = np.random.default_rng(11)
    for first, second in combinations_with_replacement(made, 2):
        one, other = made[first][0], made[second][1]
        seen = []
        for _ in range(5):
            middle = rng.normal(size=3)
            place = middle + rng.normal(size=3) * rng.uniform(0.05, 0.6)
            one.set_pose(fs.Pose(tuple(middle), tuple(turn(rng))))
            other.set_pose(fs.Pose(tuple(place), tuple(turn(rng))))
            # What is thinner than PyBullet's margins is rounded in another way there.
            seen.append(check(sim, one, other, exact=1e-3 if "plate" in (first, second) else EXACT))
        # Two surfaces have no distance, as in PyBullet; all else meets in some of the poses.
        assert (min(seen) < 0.0) == ((first, second) != ("surface", "surface")), (first, second)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3])
def test_touching_nested_and_aligned_boxes_of_all_sizes(make_sim: Maker, scale: float) -> None:
    sim = make_sim(enable_floor=False)
    shape = fs.ShapeParams("box", half_extents=(0.5 * scale, 0.3 * scale, 0.2 * scale))
    inner = fs.ShapeParams("box", half_extents=(0.1 * scale, 0.1 * scale, 0.1 * scale))
    one, other, nested = (sim.spawn(fs.SimObjectSpawnParams(form, form)) for form in (shape, shape, inner))
    for away in (
        (1.0, 0, 0),
        (1.0, 0.6, 0),
        (1.0, 0.6, 0.4),
        (0, 0.6, 0.1),
        (0.5, 0, 0.4),
        (0, 0, 0),
        (1.0 - 1e-9, 0, 0),
    ):
        one.set_pose(fs.Pose((0, 0, 0)))
        other.set_pose(fs.Pose(tuple(scale * number for number in away)))
        check(sim, one, other, exact=EXACT * max(scale, 1.0))
    assert check(sim, one, nested) == pytest.approx(-0.3 * scale, rel=1e-6)
    # Face on face they touch, whatever rounding says.
    other.set_pose(fs.Pose((scale, 0, 0)))
    assert sim.queries.closest_points(one, other, 1e-9 * scale)


# ---- Distances in closed form: against PyBullet, against their own definition, and in any company --------------------


def one_shape(kind: ShapeKind, sizes: list[float], position: list[float], orientation: list[float]) -> ShapeArrays:
    size = np.array([sizes])
    radius, height = size[:, 0] if kind not in (ShapeKind.BOX, ShapeKind.PLANE) else np.zeros(1), size[:, 1]
    x, y, z = (0.5 * size[0]).tolist()
    half = np.array([half_extents_of(Geometry(int(kind), (x, y, z), float(radius[0]), float(height[0])))])
    unit = quaternions.normalized(np.array([orientation]))
    return ShapeArrays(np.array([kind]), np.array([position]), unit, half, radius)


def with_kind(shapes: ShapeArrays, kind: ShapeKind) -> ShapeArrays:
    """Return shapes that are the same in all but their kind."""
    return ShapeArrays(np.full(len(shapes.kinds), kind), *shapes[1:])


def joined(*shapes: ShapeArrays) -> ShapeArrays:
    return ShapeArrays(*(np.concatenate(parts) for parts in zip(*shapes, strict=True)))


BOX_SIZES = [1.0, 1.0, 1.0]
LEVEL = [0.0, 0.0, 0.0, 1.0]


def test_nothing_and_two_planes_are_infinitely_far() -> None:
    plane = one_shape(ShapeKind.PLANE, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    box = one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)
    nothing = with_kind(box, ShapeKind.NONE)
    distances, undecided_mask = distances_between(joined(plane, nothing, box), joined(plane, box, nothing))
    assert distances.tolist() == [np.inf] * 3 and not undecided_mask.any()


def test_only_pairs_without_a_formula_reach_the_solver() -> None:
    boxes = joined(*[one_shape(ShapeKind.BOX, BOX_SIZES, [0.0, 0.0, 0.0], LEVEL)] * 5)
    places = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [0.0, 1.2, 0.0], [1.09, 0.05, 0.0], [1.11, 0.0, 0.0]])
    turns = quaternions.from_eulers(np.array([[0.0, 0, 0], [0.3, 0, 0], [0, 0.4, 0], [0, 0, 0], [0, 0, 0]]))
    asked: list[tuple[list[list[int]], float]] = []

    def solve(open_pairs: Ints, reach: float) -> Floats:
        asked.append((open_pairs.tolist(), reach))
        return np.array([0.05, np.inf])

    pairs = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    assert contact_pairs(pairs, boxes.at(places, turns), 0.1, solve).tolist() == [[0, 1], [0, 3]]
    assert asked == [([[0, 1], [0, 2]], 0.1)]
