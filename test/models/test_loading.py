"""Models are numbered, named, limited and placed as PyBullet has them, for every file that PyBullet brings along."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest
from robot_models import assert_equal_to_pybullet

from fleet_sim.models import load_robot_model
from fleet_sim.world.shapes import BASE

DATA = Path(pybullet_data.getDataPath())
# PyBullet reads these as something else than they say, or not at all.
UNREADABLE = {
    "biped/biped2d_pybullet.urdf": "lower must be a finite number",  # -1.57.
    "kuka_iiwa/model_for_sdf.urdf": "there is no mesh",
    "torus_deform.urdf": "deformable",
    "toys/concave_box.urdf": "<geometry>",
}
MISREAD = {"husky/husky.urdf"}  # holds $(optenv ...), which PyBullet takes for zeros
# PyBullet takes seconds to load their meshes; the smaller of each family are among the others.
SLOW = {
    "mini_cheetah/mini_cheetah.urdf", "samurai.urdf", "quadruped/microtaur/microtaur.urdf",
    "laikago/laikago_toes.urdf", "laikago/laikago_toes_zup.urdf", "laikago/laikago_toes_limits.urdf",
    "laikago/laikago_toes_zup_lores.urdf", "racecar/racecar_differential.urdf", "quadruped/vision60.urdf",
    "xarm/xarm6_robot_white.urdf", "quadruped/spirit40newer.urdf", "aliengo/aliengo.urdf",
}  # fmt: skip
ALL = sorted(str(file.relative_to(DATA)) for file in DATA.rglob("*.urdf") if "random_urdfs" not in file.parts)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ALL if name not in UNREADABLE],
)
def test_urdf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA / name)
    body = pybullet.loadURDF(str(DATA / name), physicsClientId=client)
    assert model.name == pybullet.getBodyInfo(body, client)[1].decode()
    assert_equal_to_pybullet(model, client, body, frames=name not in MISREAD)
    dynamics = [pybullet.getDynamicsInfo(body, link, client) for link in range(BASE, model.num_joints)]
    for inertial, values in zip(model.inertials, dynamics, strict=True):
        if inertial.mass:
            assert inertial.mass == pytest.approx(values[0])
            np.testing.assert_allclose(inertial.position, values[3], atol=1e-9)
    pybullet.removeBody(body, client)


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_urdf_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=UNREADABLE[name]) as caught:
        load_robot_model(DATA / name)
    assert str(DATA / name) in str(caught.value)


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.urdf"
    file.write_text("<robot name='one'><link name='base'/></robot>")
    model = load_robot_model(file)
    assert load_robot_model(str(file)) is model
    file.write_text("<robot name='two'><link name='base'/></robot>")
    os.utime(file, ns=(1, 1))
    assert load_robot_model(file).name == "two"
