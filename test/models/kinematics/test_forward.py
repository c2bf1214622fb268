"""Links are where PyBullet has them, for every robot description that PyBullet brings along."""

from __future__ import annotations

from pathlib import Path

import pybullet_data
import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.tree import tree_of
from fleet_sim.world.shapes import RobotModel

DATA = Path(pybullet_data.getDataPath())


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
