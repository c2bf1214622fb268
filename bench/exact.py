"""Compare distances with PyBullet's getClosestPoints: python bench/exact.py [--pairs 100000] [--kinds box hull ...]

Random poses of each combination of shapes, a good half of which overlap. Printed are the largest differences of those
apart and of those that overlap, how many differ by more than 0.1 mm, how many contacts are missed, and microseconds for
a pair of ours and of PyBullet with its poses. Some pairs in ten thousand that overlap differ by more: compared with a
search over all directions, PyBullet stops too early there and tells too small a depth. Needs PyBullet.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial import quaternions

LIMIT, ALIKE, CONTACT = 1.0, 1e-4, 0.0
URDF = (
    '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial><collision><geometry><cylinder radius="0.3" length="0.8"/></geometry></collision></link>'
    "</robot>"
)


def kinds(folder: Path) -> dict[str, Any]:
    """Return params of one entity of each kind."""
    rng = np.random.default_rng(3)
    hull, wall, prism = folder / "hull.obj", folder / "wall.obj", folder / "prism.urdf"
    corners = rng.normal(size=(60, 3)) * [0.3, 0.2, 0.4]
    hull.write_text(_obj(corners, np.arange(60).reshape(-1, 3)))
    wall.write_text(_obj(np.array([[-0.5, -0.4, 0.0], [0.6, -0.3, 0.1], [0.1, 0.5, -0.1]]), np.array([[0, 1, 2]])))
    prism.write_text(URDF)
    shapes = {
        "box": fs.ShapeParams("box", half_extents=(0.5, 0.3, 0.2)),
        "sphere": fs.ShapeParams("sphere", radius=0.3),
        "cylinder": fs.ShapeParams("cylinder", radius=0.3, height=0.8),
        "capsule": fs.ShapeParams("capsule", radius=0.2, height=0.6),
        "hull": fs.ShapeParams("mesh", mesh_path=str(hull)),
        "triangle": fs.ShapeParams("mesh", mesh_path=str(wall), concave=True),
        "plane": fs.ShapeParams("plane"),
    }
    made: dict[str, Any] = {
        name: fs.SimObjectSpawnParams(shape, shape, pickable=False) for name, shape in shapes.items()
    }
    return made | {"prism": fs.AgentSpawnParams(urdf_path=str(prism), use_fixed_base=True)}


def _obj(corners: Floats, faces: Any) -> str:
    lines = ["v {:.9g} {:.9g} {:.9g}".format(*corner) for corner in corners.tolist()]
    return "\n".join([*lines, *("f {} {} {}".format(*face) for face in (faces + 1).tolist())]) + "\n"


def poses(count: int, rng: Any, middle: Floats, spread: float) -> tuple[Floats, Floats]:
    turns = rng.normal(size=(count, 4))
    return middle + rng.normal(size=(count, 3)) * spread, turns / np.sqrt((turns**2).sum(axis=1))[:, None]


def by_engine(sim: fs.MultiRobotSimulationCore, bodies: list[int], first: Any, second: Any) -> Floats:
    import pybullet  # here, so that --help works without

    client, out = sim.client, np.full(len(first[0]), np.inf)
    places = [[part.tolist() for part in side] for side in (first, second)]
    for index in range(len(out)):
        for body, (positions, turns) in zip(bodies, places, strict=True):
            pybullet.resetBasePositionAndOrientation(body, positions[index], turns[index], client)
        found = pybullet.getClosestPoints(*bodies, LIMIT, physicsClientId=client)
        if found:
            out[index] = min(point[8] for point in found)
    return out


def compare(sim: fs.MultiRobotSimulationCore, one: Any, other: Any, count: int) -> str:
    rng = np.random.default_rng(1)
    first = poses(count, rng, np.zeros(3), 1.0)
    # A plane has no end: what is near it is near its height.
    second = poses(count, rng, first[0], 0.4 if "plane" not in one.name + other.name else 0.2)
    pairs = np.tile([one.row, other.row], (count, 1))
    spots = [
        (places + offset(sim, entity, turns), turns) for entity, (places, turns) in ((one, first), (other, second))
    ]
    begin = time.perf_counter()
    ours = sim.exact.posed(pairs, *spots, LIMIT)
    middle = time.perf_counter()
    theirs = by_engine(sim, [one.body_id, other.body_id], first, second)
    end = time.perf_counter()
    both = np.isfinite(ours) & np.isfinite(theirs)
    gaps = np.abs(np.where(both, ours, 0.0) - np.where(both, theirs, 0.0))
    apart, missed = theirs >= 0.0, np.count_nonzero((theirs < CONTACT - 1e-9) & (ours > CONTACT + ALIKE))
    worst = [float(gaps[mask].max(initial=0.0)) for mask in (both & apart, both & ~apart)]
    return (
        f"{one.name:11}{other.name:11}{worst[0]:10.1e}{worst[1]:10.1e}{np.count_nonzero(gaps > ALIKE):8d}{missed:8d}"
        f" {1e6 * (middle - begin) / count:9.2f} {1e6 * (end - middle) / count:9.2f}"
    )


def offset(sim: fs.MultiRobotSimulationCore, entity: Any, turns: Floats) -> Floats:
    """Return where the shape of an entity is beside its body that is turned."""
    return quaternions.rotate(turns, np.tile(sim.world.shape_position[entity.row], (len(turns), 1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, enable_floor=False))
        made = {}
        for name, params in kinds(Path(folder)).items():
            if args.kinds is None or name in args.kinds:
                made[name] = [sim.spawn(params), sim.spawn(params)]
                for twin in made[name]:
                    twin.set_name(f"{name}{len(made)}" if twin is made[name][1] else name)
        print("                     apart   overlap >0.1 mm  missed   ours us  PyBullet us")
        for one, other in combinations_with_replacement(made, 2):
            if {one, other} - {"plane", "triangle"}:
                print(compare(sim, made[one][0], made[other][1], args.pairs), flush=True)
        sim.close()


if __name__ == "__main__":
    main()
