"""Bodies that block each other, against many small parts of their step measured by the library coal."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import solids_apart as apart
from oracle_rows import holds

import fleet_sim as fs

SKIN = 1e-3
"""How far from contact a body stops, in m."""
PARTS = 400


def meeting(
    sim: fs.MultiRobotSimulationCore, rng: np.random.Generator, number: int, folder: Path, kinds: tuple[str, str]
) -> tuple[list[fs.Agent], list[apart.Solid], np.ndarray]:
    """Two robots, tilted anyhow, on a course to each other or to a near miss; return them and their velocities."""
    place = np.array([6.0 * (number % 8), 6.0 * (number // 8), 1.0])
    solids = [apart.random_solid(rng, kind, apart.random_frame(rng, 0.1)) for kind in kinds]
    for solid in solids:
        solid.frame[:3, 3] += place
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    # Moved apart until a gap is left that one step can close.
    gap = rng.uniform(0.02, 0.5)
    for _ in range(60):
        short = gap - apart.distance(*solids)
        if short < 1e-3:
            break
        solids[1].frame[:3, 3] += max(short, 0.01) * way
    off = 0.3 * rng.normal(size=3)
    velocities = np.stack((way * rng.uniform(2.0, 12.0) + off, -way * rng.uniform(0.0, 12.0)))
    robots = []
    for index, solid in enumerate(solids):
        mesh = "" if solid.corners is None else apart.write_hull(folder / f"{number}_{index}.obj", solid.corners)
        shape = apart.params(solid, mesh)
        robots.append(
            sim.spawn(
                fs.AgentSpawnParams(
                    shape,
                    shape,
                    apart.pose(solid.frame),
                    motion_mode="omnidirectional",
                    block_on_collision=True,
                    max_linear_vel=50.0,
                    max_linear_accel=1e6,
                )
            )
        )
    return robots, solids, velocities


def first_contact(solids: list[apart.Solid], ways: np.ndarray, margin: float) -> float:
    """Return the share of a step after which two bodies are nearer than `margin`; 1 if they are not in it."""
    shapes = [solid.foreign() for solid in solids]
    frames = [solid.frame.copy() for solid in solids]
    for part in range(PARTS + 1):
        for index, solid in enumerate(solids):
            frames[index][:3, 3] = solid.frame[:3, 3] + ways[index] * (part / PARTS)
        if apart.apart(shapes[0], frames[0], shapes[1], frames[1]) < margin:
            return max(part - 1, 0) / PARTS
    return 1.0


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("dt", [0.05, 0.013])
@holds(
    "api:Agent.block_on_collision", "api:Agent.blocked_by", "api:Agent.position",
    fault="sensing/collision/blocking.py: pairs are measured up to `skin - 2 travel` instead of `skin + 2 travel`",
)  # fmt: skip
def test_bodies_that_meet_stop_where_they_meet(tmp_path: Path, compiled: str, dt: float) -> None:
    pytest.importorskip("coal")
    sim = fs.MultiRobotSimulationCore(
        fs.SimulationParams(gui=False, target_rtf=0, timestep=dt, enable_floor=False, compiled_code=compiled)
    )
    rng = np.random.default_rng(7)
    kinds = [(one, other) for index, one in enumerate(apart.KINDS) for other in apart.KINDS[index:]]
    met = 0
    made = [meeting(sim, rng, number, tmp_path, pair) for number, pair in enumerate(kinds + kinds)]
    for robots, solids, velocities in made:
        for robot, solid, velocity in zip(robots, solids, velocities, strict=True):
            robot.set_velocity(*(solid.frame[:3, :3].T @ velocity) / dt * 0.05)
    sim.step_once()
    for robots, solids, velocities in made:
        # From rest to the velocity within the step: the mean is half of it.
        ways = 0.5 * velocities * 0.05
        margin = SKIN + SKIN * sum(solid.kind == "mesh" for solid in solids)
        share = first_contact(solids, ways, margin)
        ends = [np.array(robot.get_pose().position) for robot in robots]
        for index, (robot, solid) in enumerate(zip(robots, solids, strict=True)):
            went = ends[index] - solid.frame[:3, 3]
            # Rounded edges and strides of the advancement: a millimetre and one part of the step.
            speed = np.linalg.norm(ways[0] - ways[1])
            far = share * np.linalg.norm(ways[index])
            assert abs(np.linalg.norm(went) - far) < 3.1e-3 + 1.5 * speed / PARTS, (solids[0].kind, solids[1].kind)
            blocked = share < 1.0 and np.linalg.norm(ways[index]) > 0.0
            assert robot.blocked_by is (robots[1 - index] if blocked else None)
        met += share < 1.0
        for solid, end in zip(solids, ends, strict=True):
            solid.frame[:3, 3] = end
        assert apart.distance(*solids) > 0.0
    assert len(made) // 3 < met < len(made)


@pytest.mark.parametrize(("compiled", "count"), [("never", 40), ("always", 40), ("never", 9)])
@holds(
    "api:MultiRobotSimulationCore.get_active_collision_pairs", "record:collisions",
    fault="sensing/collision/broad.py: the margin is subtracted from the ends of the boxes",
)  # fmt: skip
def test_pairs_that_collide_are_those_within_the_margin(tmp_path: Path, compiled: str, count: int) -> None:
    pytest.importorskip("coal")
    rng = np.random.default_rng(count)
    for margin in (0.0, 0.035):
        sim = fs.MultiRobotSimulationCore(
            fs.SimulationParams(
                gui=False, target_rtf=0, timestep=0.05, enable_floor=False, compiled_code=compiled,
                collision_margin=margin,
            )
        )  # fmt: skip
        spread = 0.35 * count ** (1.0 / 3.0)
        solids = [
            apart.random_solid(rng, apart.KINDS[index % 5], apart.random_frame(rng, spread, upright=index % 2 == 0))
            for index in range(count)
        ]
        robots, owns = [], []
        for index, solid in enumerate(solids):
            mesh = "" if solid.corners is None else apart.write_hull(tmp_path / f"{margin}_{index}.obj", solid.corners)
            # Of every third one the shape has a pose of its own in the body.
            owns.append(apart.random_frame(rng, 0.3) if index % 3 == 1 else np.eye(4))
            shape = dataclasses.replace(apart.params(solid, mesh), frame_pose=apart.pose(owns[-1]))
            body = apart.pose(solid.frame @ np.linalg.inv(owns[-1]))
            robots.append(sim.spawn(fs.AgentSpawnParams(shape, shape, body, name=f"r{index}")))
        for _ in range(2):
            # Moved anew, so that pairs begin and end.
            for robot, solid, own in zip(robots, solids, owns, strict=True):
                solid.frame[:3, 3] += 0.1 * rng.normal(size=3)
                robot.set_pose(apart.pose(solid.frame @ np.linalg.inv(own)))
            sim.step_once()
            told = {tuple(sorted((a.name, b.name))) for a, b in sim.get_active_collision_pairs()}
            wanted, doubtful = set(), set()
            for i in range(count):
                for j in range(i):
                    if np.linalg.norm(solids[i].frame[:3, 3] - solids[j].frame[:3, 3]) > 2.6:
                        continue
                    gap = apart.distance(solids[i], solids[j]) - margin
                    name = tuple(sorted((f"r{i}", f"r{j}")))
                    # Meshes are 1 mm larger, edges of what is tilted are round.
                    if -1e-4 < gap < 2.1 * SKIN:
                        doubtful.add(name)
                    elif gap <= 0.0:
                        wanted.add(name)
            assert len(wanted) > count // 4
            assert told - doubtful == wanted - doubtful
        sim.close()


@holds(
    "api:SpatialQueries.distance",
    fault="sensing/collision/pieces.py: pieces of links are placed as if the base were at the origin",
)
def test_robots_are_as_far_apart_as_their_links() -> None:
    pin: Any = pytest.importorskip("pinocchio")
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.05, enable_floor=False))
    folder, rng = Path(__file__).parents[2] / "urdf", np.random.default_rng(5)
    names = ["arm6", "diff_base", "mobile_manipulator", "rail_arm"]
    robots = [sim.spawn(fs.AgentSpawnParams(urdf_path=str(folder / f"{name}.urdf"), mass=0.0)) for name in names]
    models = []
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = pin.buildModelFromUrdf(str(folder / f"{name}.urdf"))
            models.append(
                (model, pin.buildGeomFromUrdf(model, str(folder / f"{name}.urdf"), pin.GeometryType.COLLISION))
            )
    for _ in range(3):
        placed = []
        for robot, (model, shapes) in zip(robots, models, strict=True):
            frame = apart.random_frame(rng, 1.4)
            robot.set_pose(apart.pose(frame))
            q = pin.neutral(model)
            values = {}
            for joint, name in zip(model.joints, model.names, strict=True):
                if joint.nq == 1 and name != "universe":
                    low, high = (side[joint.idx_q] for side in (model.lowerPositionLimit, model.upperPositionLimit))
                    values[name] = q[joint.idx_q] = rng.uniform(low, high)
            robot.set_joint_positions(values)
            data, places = model.createData(), shapes.createData()
            pin.updateGeometryPlacements(model, data, shapes, places, q)
            placed.append(
                [
                    (shape.geometry, frame @ place.homogeneous)
                    for shape, place in zip(shapes.geometryObjects, places.oMg, strict=True)
                ]
            )
        for i in range(len(robots)):
            for j in range(i):
                true = min(apart.apart(*one, *other) for one in placed[i] for other in placed[j])
                found = sim.queries.distance(robots[i], robots[j])
                # Cylinders of descriptions are prisms with 32 sides, 1 mm larger.
                assert found == pytest.approx(true, abs=6e-3) if true > 0.0 else found < 6e-3


FOLDED = ((-2.4, 1.9), (0.9, 2.5), (-2.2, -0.7), (-2.5, 2.5), (0.9, 2.5), (-2.3, 2.1))
"""Limits of an arm of boxes; some are without 0."""
BACK, BEND = {3: -0.25}, {4: 2.8}
"""A box that reaches back beyond the link before, in m, and a joint about which the arm is folded back, in rad."""


def folding_arm(path: Path) -> None:
    parts = ['<link name="base"><collision><geometry><box size=".3 .2 .2"/></geometry></collision></link>']
    for k, (low, high) in enumerate(FOLDED):
        box = f'<origin xyz="{BACK.get(k, 0.11)} .02 {0.03 * k}" rpy=".2 -.1 {0.3 * k}"/>'
        place = f'<origin xyz=".24 {0.05 * (-1) ** k} .03" rpy="{0.2 * k} {BEND.get(k, 0.3)} -.4"/>'
        parts.append(
            f'<link name="l{k}"><collision>{box}<geometry><box size=".24 .1 {0.1 + 0.02 * k}"/></geometry></collision>'
            f'</link><joint name="j{k}" type="revolute"><parent link="{f"l{k - 1}" if k else "base"}"/>'
            f'<child link="l{k}"/>{place}<axis xyz="{(".6 .8 0", ".48 -.36 .8")[k % 2]}"/>'
            f'<limit lower="{low}" upper="{high}" velocity="2" effort="9"/></joint>'
        )
    path.write_text(f'<robot name="folding">{"".join(parts)}</robot>')


@holds(
    "api:MultiRobotSimulationCore.get_self_collisions",
    fault="sensing/collision/system.py: a robot rests with all joints at 0, whatever their limits",
)
def test_links_of_one_robot_touch_but_for_neighbours_and_those_that_do_at_rest(tmp_path: Path) -> None:
    pin: Any = pytest.importorskip("pinocchio")
    folding_arm(tmp_path / "folding.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "folding.urdf"))
    shapes = pin.buildGeomFromUrdf(model, str(tmp_path / "folding.urdf"), pin.GeometryType.COLLISION)
    margin, names = 0.02, ["base", *(f"l{k}" for k in range(len(FOLDED)))]

    def touching(values: Any) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
        """Return the pairs of links within the margin, and those at its edge, neighbours left out."""
        data, places = model.createData(), shapes.createData()
        pin.updateGeometryPlacements(model, data, shapes, places, np.array(values))
        posed = [(one.geometry, at.homogeneous) for one, at in zip(shapes.geometryObjects, places.oMg, strict=True)]
        pairs = {
            frozenset((names[i], names[j])): apart.apart(*posed[i], *posed[j]) for j in range(7) for i in range(j - 1)
        }
        edge = {pair for pair, gap in pairs.items() if -1e-4 < gap - margin < 2.1 * SKIN}
        return {pair for pair, gap in pairs.items() if gap <= margin} - edge, edge

    rest, doubtful = touching([min(max(0.0, low), high) for low, high in FOLDED])
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, collision_margin=margin))
    arm = sim.spawn(
        fs.AgentSpawnParams(
            urdf_path=str(tmp_path / "folding.urdf"), mass=0.0, self_collision=True, use_fixed_base=True,
            initial_pose=fs.Pose.from_euler(0.4, -0.7, 2.0, 0.3, 0.2, 0.7),
        )
    )  # fmt: skip
    kept: set[frozenset[str]] = set()
    arm.events.on("self_collision_started", lambda link_a, link_b: kept.add(frozenset((link_a, link_b))))
    arm.events.on("self_collision_ended", lambda link_a, link_b: kept.remove(frozenset((link_a, link_b))))
    rng, never, seen = np.random.default_rng(4), rest | doubtful, set()
    for _ in range(60):
        values = [rng.uniform(*ends) for ends in FOLDED]
        arm.set_joint_positions(values)
        sim.step_once()
        wanted, edge = touching(values)
        told = {frozenset(pair) for pair in sim.get_self_collisions(arm)}
        assert told - edge == wanted - never - edge and told == kept
        seen |= wanted
    # Some that touch at rest, and some that would with all joints at 0.
    assert rest & seen and (touching(np.zeros(6))[0] & seen) - rest
