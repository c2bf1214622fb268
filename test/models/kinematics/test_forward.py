"""Links are where PyBullet has them, for every robot description that PyBullet brings along."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest
from jointed_robots import add_robots, set_joints

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.links import WorldLinks
from fleet_sim.models.kinematics.tree import Forward, tree_of
from fleet_sim.world.clock import Clock
from fleet_sim.world.ports import Parts
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World

DATA = Path(pybullet_data.getDataPath())
# A file PyBullet takes for something else than it says, and files nobody can read.
LEFT_OUT = {
    *("husky/husky.urdf", "biped/biped2d_pybullet.urdf", "kuka_iiwa/model_for_sdf.urdf", "torus_deform.urdf"),
    "toys/concave_box.urdf",
}
FILES = sorted(str(file.relative_to(DATA)) for file in DATA.rglob("*.urdf") if "random_urdfs" not in file.parts)
PLACE, TURN = np.array([0.3, -0.2, 0.5]), quaternions.from_eulers(np.array([[0.2, 0.4, 0.9]]))[0]


@pytest.fixture(scope="module")
def client() -> Iterator[int]:
    number = pybullet.connect(pybullet.DIRECT)
    yield number
    pybullet.disconnect(number)


def pybullet_links(client: int, path: Path, model: RobotModel, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """World poses of all links as PyBullet has them, with the base link at PLACE and TURN."""
    hush = os.dup(1), os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        body = pybullet.loadURDF(str(path), flags=pybullet.URDF_IGNORE_VISUAL_SHAPES, physicsClientId=client)
    finally:
        os.dup2(hush[0], 1)
        os.dup2(hush[1], 2)
        for number in (sink, *hush):
            os.close(number)
    try:
        inertial = pybullet.getDynamicsInfo(body, -1, physicsClientId=client)[3:5]
        centre = pybullet.multiplyTransforms(PLACE.tolist(), TURN.tolist(), *inertial)
        pybullet.resetBasePositionAndOrientation(body, *centre, physicsClientId=client)
        for joint, value in zip(model.movable.tolist(), values.tolist(), strict=True):
            pybullet.resetJointState(body, joint, value, physicsClientId=client)
        states = pybullet.getLinkStates(
            body, list(range(model.num_joints)), computeForwardKinematics=True, physicsClientId=client
        )
        return np.array([state[4] for state in states]), np.array([state[5] for state in states])
    finally:
        pybullet.removeBody(body, physicsClientId=client)


@pytest.mark.parametrize("name", [name for name in FILES if name not in LEFT_OUT])
def test_links_are_where_pybullet_has_them(client: int, name: str) -> None:
    model = load_robot_model(DATA / name)
    if not model.num_joints:
        return
    values = np.random.default_rng(3).uniform(-1.0, 1.0, (3, len(model.movable)))
    expected_positions, expected_orientations = pybullet_links(client, DATA / name, model, values[1])

    world = World(Clock(0.1))
    world.connect(Parts(links=WorldLinks(world)))
    rows = add_robots(world, model, np.array([[5.0, 0.0, 0.0], PLACE, [0.0, 7.0, 0.0]]), np.array([TURN] * 3))
    set_joints(world, rows, values)
    links = np.arange(model.num_joints)
    positions, orientations = world.link_poses(np.full(len(links), rows[1]), links)

    assert np.abs(positions - expected_positions).max() < 1e-6
    same = np.abs(orientations - expected_orientations).max(axis=1)
    negated = np.abs(orientations + expected_orientations).max(axis=1)
    assert np.minimum(same, negated).max() < 1e-6


@pytest.mark.parametrize("name", ["franka_panda/panda.urdf", "r2d2.urdf", "laikago/laikago.urdf"])
def test_a_robot_has_the_same_bits_alone_and_in_company(name: str) -> None:
    tree = tree_of(load_robot_model(DATA / name))
    values = np.random.default_rng(4).uniform(-2.0, 2.0, (2100, len(tree.slots)))
    together, alone = Forward(tree), Forward(tree)
    # They are computed in pieces of 1024.
    for count in (2, 333, 1024, 2100, 333):
        many = together.frames(values[:count])
        for robot in (0, 1, count // 2, count - 1):
            one = alone.frames(values[robot : robot + 1])
            assert np.array_equal(one[..., 0], many[..., robot])


def test_links_in_a_cycle_are_refused() -> None:
    model = load_robot_model(DATA / "r2d2.urdf")
    parents = model.parents.copy()
    parents[0] = 1
    parents[1] = 0
    cyclic = RobotModel(**{**_fields(model), "parents": parents})
    with pytest.raises(InvalidValueError, match="not connected to the base"):
        tree_of(cyclic)


def _fields(model: RobotModel) -> dict[str, object]:
    names = model.__dataclass_fields__
    return {name: getattr(model, name) for name, field in names.items() if field.init}
