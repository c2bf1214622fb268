"""Inertia tensors of descriptions: the principal moments and the frame say the same as the tensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fleet_sim import load_robot_model
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.spatial import quaternions

URDF = """<robot name="r"><link name="base"><inertial>
<origin xyz="0.1 0.2 0.3" rpy="{rpy}"/><mass value="{mass}"/>
<inertia ixx="{t[0]}" ixy="{t[1]}" ixz="{t[2]}" iyy="{t[3]}" iyz="{t[4]}" izz="{t[5]}"/>
</inertial></link></robot>"""


def read(folder: Path, tensor: list[float], rpy: str = "0 0 0", mass: float = 2.0) -> tuple[Floats, Floats]:
    """Return the moments (3,) of a link with `tensor`, and the tensor (3, 3) they mean in the frame of the link."""
    file = folder / "robot.urdf"
    file.write_text(URDF.format(t=tensor, rpy=rpy, mass=mass))
    inertial = load_robot_model(str(file)).inertials[0]
    axes = quaternions.to_matrices(np.array([inertial.orientation]))[0]
    moments = np.array(inertial.inertia)
    return moments, axes @ np.diag(moments) @ axes.T


def full(tensor: list[float]) -> Floats:
    xx, xy, xz, yy, yz, zz = tensor
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("seed", range(8))
def test_a_tensor_in_any_frame_keeps_its_meaning(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(5, 3))
    # Of five points of one kilogram: a body that can be.
    whole = (parts * parts).sum() * np.eye(3) - parts.T @ parts
    tensor = [float(whole[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    moments, found = read(tmp_path, tensor)
    assert found == pytest.approx(whole, abs=1e-9)
    assert sorted(moments.tolist()) == pytest.approx(np.linalg.eigvalsh(whole).tolist())


def test_the_frame_of_the_file_counts(tmp_path: Path) -> None:
    tensor = [0.2, 0.05, 0.0, 0.3, 0.0, 0.4]
    turn = quaternions.to_matrices(quaternions.from_eulers(np.array([[0.3, -0.2, 0.9]])))[0]
    _, found = read(tmp_path, tensor, rpy="0.3 -0.2 0.9")
    assert found == pytest.approx(turn @ full(tensor) @ turn.T)


def test_a_diagonal_tensor_keeps_its_order(tmp_path: Path) -> None:
    moments, found = read(tmp_path, [0.4, 0.0, 0.0, 0.2, 0.0, 0.3])
    assert moments.tolist() == [0.4, 0.2, 0.3]
    assert found == pytest.approx(np.diag([0.4, 0.2, 0.3]))


def test_a_body_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FleetSimError, match="no negative principal moment"):
        read(tmp_path, [0.1, 0.5, 0.0, 0.1, 0.0, 0.1])
    with pytest.raises(FleetSimError, match="no negative principal moment"):
        read(tmp_path, [-0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    with pytest.raises(FleetSimError, match="mass must not be negative"):
        read(tmp_path, [0.1, 0.0, 0.0, 0.1, 0.0, 0.1], mass=-1.0)


def test_what_rounding_makes_negative_is_zero(tmp_path: Path) -> None:
    moments, _ = read(tmp_path, [0.1, 0.1, 0.0, 0.1, 0.0, 0.2])
    assert moments.min() == pytest.approx(0.0, abs=1e-12)
    assert moments.min() >= 0.0
    thin, _ = read(tmp_path, [1.0, 0.0, 0.0, 1.0, 0.0, -1e-12])
    assert thin.tolist() == [1.0, 1.0, 0.0]
